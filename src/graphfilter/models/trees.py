"""Trees: gradient boosting by LightGBM, with the interface of a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.data.graph import Graph
from graphfilter.models.base import ModelConfig, Sizes, Working
from graphfilter.models.forest import NEVER, TREES, TreeNodes, Weight, dense, within
from graphfilter.tables.columns import Features
from graphfilter.util.errors import ConfigError, check_count, check_number
from graphfilter.util.machine import compiled_threads
from graphfilter.util.words import count

__all__ = ["Trees", "TreesConfig"]

# The most work of boosting: training vertices × columns × classes.
MOST_BOOSTED = 2 * 10**7
# Bytes of a training vertex and class while trees grow: logit, gradient, hessian, and the last two
# once more in the order of a tree's rows.
BOOSTED = 40
# The share of the columns that each tree sees: half the time, and better scores on validation
# vertices (benchmarks/trees.py).
SHARE_OF_COLUMNS = 0.5
# The same seed gives the same bits, whatever the number of threads.
_FIXED = {"deterministic": True, "force_col_wise": True, "verbosity": -1, "num_leaves": 31}
_LEAF = {"threshold": 0.0, "feature": 0, "left": -1, "right": -1, "missing_left": 0, "value": 0.0}
# Bits of a node's decision_type in LightGBM's text.
_MISSING_LEFT, _KNOWS_MISSING = 2, 8


@dataclass(frozen=True)
class TreesConfig(ModelConfig):
    """See :class:`Trees`; fitted, not trained by gradients.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.models.TreesConfig(n_rounds=50)
    TreesConfig(dropout=0.0, n_rounds=50, step=0.1, l2=1.0)
    """

    kind: ClassVar[str] = "Trees"
    fitted: ClassVar[bool] = True
    dropout: float = 0.0
    n_rounds: int = 100
    step: float = 0.1
    l2: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("n_rounds", self.n_rounds)
        for name in ("step", "l2"):
            check_number(name, getattr(self, name))

    def skip_reason(self, graph: Graph, n_train: int) -> str | None:
        work = graph.n_features * n_train * graph.n_classes
        return "trees would take too long" if work > MOST_BOOSTED else None

    @property
    def needs_edges(self) -> bool:
        return False

    def memory(self, sizes: Sizes, available: int) -> Working:
        return Working(BOOSTED * sizes.n_train * sizes.n_classes)


class Trees(TreeNodes[TreesConfig], config=TreesConfig):
    """Boosted trees (LightGBM's), kept as plain tensors.

    Parameters
    ----------
    n_features, n_classes : int
    config : TreesConfig, optional

    Attributes
    ----------
    value : Tensor (n_nodes,)
        What a leaf adds to a logit.
    outputs : Tensor (n_trees,)
        The class whose logit a tree adds to.
    start : Tensor (n_classes,)
    n_left_out : int
        Columns without a value on any training vertex, which no tree asks for. Not kept when saved.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> import graphfilter as gf
    >>> columns, labels = np.array([[0.0], [1.0]] * 20), np.array([0, 1] * 20)
    >>> trees = gf.models.Trees(1, 2)
    >>> trees.fit(columns, labels, seed=0)
    >>> trees(None, torch.tensor([[0.0], [1.0]])).argmax(dim=1).tolist()
    [0, 1]
    """

    kept: ClassVar[dict[str, torch.dtype]] = {
        **TREES,
        "value": torch.float64,
        "outputs": torch.int64,
        "start": torch.float64,
    }

    value: Tensor
    outputs: Tensor
    start: Tensor
    n_left_out: int = 0

    def learn(self, rows: Features, targets: NDArray[Any], weight: Weight, seed: int) -> None:
        columns = np.ascontiguousarray(dense(rows), dtype=np.float32)
        self.n_left_out = int(np.isnan(columns).all(axis=0).sum())
        trees: list[dict[str, NDArray[Any]]] = []
        outputs: list[int] = []
        if targets.ndim == 1:
            present, numbers = np.unique(targets, return_inverse=True)
            start = np.full(self.n_classes, NEVER)
            start[present] = 0.0
            if len(present) > 1:
                # Two classes have one tree per round, for the second.
                kinds = {"objective": "binary"}
                if len(present) > 2:
                    kinds = {"objective": "multiclass", "num_class": len(present)}
                trees = self._boosted(columns, numbers, weight, seed, **kinds)
                own = present[1:] if len(present) == 2 else present
                outputs = np.tile(own, len(trees) // len(own)).tolist()
        else:
            are_labels = targets.dtype == np.bool_
            start, scale = targets.mean(axis=0, dtype=np.float64), np.ones(targets.shape[1])
            kind = "binary" if are_labels else "regression"
            constant = (targets == targets[0]).all(axis=0)
            if are_labels:
                # Odds of a label that all training vertices have, or none: one half is added to
                # the counts. Trees of another label bring their own start.
                counts = targets.sum(axis=0)
                odds = np.log(counts + 0.5) - np.log(len(targets) - counts + 0.5)
                start = np.where(constant, odds, 0.0)
            else:  # LightGBM reads them in single precision.
                scale = np.where(constant, 1.0, targets.std(axis=0, dtype=np.float64))
                targets = (targets - start) / scale
            for column in np.flatnonzero(~constant):
                grown = self._boosted(columns, targets[:, column], weight, seed, objective=kind)
                for tree in grown:
                    tree["value"] *= scale[column]
                trees += grown
                outputs += [int(column)] * len(grown)
        if not trees:  # Nothing to be told apart: one leaf that adds nothing.
            trees, outputs = [{name: np.array([end]) for name, end in _LEAF.items()}], [0]
        value = np.concatenate([tree.pop("value") for tree in trees])
        self.keep(trees, value=value, outputs=np.array(outputs), start=start)

    def _boosted(
        self,
        columns: NDArray[np.float32],
        targets: NDArray[Any],
        weight: Weight,
        seed: int,
        **kinds: Any,
    ) -> list[dict[str, NDArray[Any]]]:
        """Return the trees of every round, of each its nodes."""
        try:
            import lightgbm
        except (ImportError, OSError) as error:
            raise ConfigError(
                f"boosted trees need LightGBM, which cannot be loaded ({error}). Install it with "
                "pip install lightgbm; on macOS its OpenMP too, with brew install libomp."
            ) from None
        settings = (
            _FIXED
            | kinds
            | {
                "learning_rate": self.config.step,
                "lambda_l2": self.config.l2,
                "feature_fraction": SHARE_OF_COLUMNS,
                "num_threads": compiled_threads(),
                "seed": seed % 2**31,
            }
        )
        data = lightgbm.Dataset(columns, targets, weight=weight, params=settings)
        booster = lightgbm.train(settings, data, self.config.n_rounds)
        # What stands between the heads of two trees; the last ends with an empty line, too.
        return [_nodes(text) for text in booster.model_to_string().split("\nTree=")[1:]]

    @property
    def remark(self) -> str:
        if not self.n_left_out:
            return ""
        return f"{count(self.n_left_out, 'column')} without a value on any training vertex left out"

    def is_whole(self, state: Mapping[str, Tensor], n_nodes: int) -> bool:
        return (
            tuple(state["value"].shape) == (n_nodes,)
            and state["outputs"].shape == state["roots"].shape
            and within(state["outputs"], self.n_classes)
            and tuple(state["start"].shape) == (self.n_classes,)
            and all(bool(state[name].isfinite().all()) for name in ("value", "start"))
        )

    def answers(self, leaves: NDArray[np.int64]) -> NDArray[np.float64]:
        outputs = self.outputs.cpu().numpy()
        ones = (np.ones(len(outputs)), (np.arange(len(outputs)), outputs))
        one_hot = sp.csr_array(ones, (len(outputs), self.n_classes))
        return self.start.cpu().numpy() + self.value.cpu().numpy()[leaves] @ one_hot


def _nodes(text: str) -> dict[str, NDArray[Any]]:
    """Return the nodes of a tree that LightGBM wrote, its leaves after the others.

    A leaf is numbered ``~number`` there.
    """
    lines = dict(line.split("=", 1) for line in text.split("\n\n")[0].splitlines() if "=" in line)

    def numbers(name: str, dtype: type) -> NDArray[Any]:
        return np.array(lines[name].split(), dtype=dtype)

    values, threshold = numbers("leaf_value", float), numbers("threshold", float)
    kind, n_inner = numbers("decision_type", int), len(threshold)
    # Where no value was missing in training, a missing one counts as 0.
    left = np.where(kind & _KNOWS_MISSING, kind & _MISSING_LEFT, threshold >= 0)
    made = {"threshold": threshold, "feature": numbers("split_feature", int), "missing_left": left}
    for side in ("left", "right"):
        child = numbers(f"{side}_child", int)
        made[side] = np.where(child < 0, n_inner + ~child, child)
    made["value"] = np.zeros(n_inner)
    leaves = {name: np.full(len(values), end) for name, end in _LEAF.items()} | {"value": values}
    return {name: np.append(made[name], leaves[name]) for name in _LEAF}
