"""Trees: gradient boosting by LightGBM, with the interface of a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.data.graph import Graph
from graphfilter.filters.base import ADDED
from graphfilter.models import forest
from graphfilter.models.base import ModelConfig, Sizes, Working
from graphfilter.models.relations import MOST_COLUMNS, KeepsView
from graphfilter.util.errors import ConfigError
from graphfilter.util.machine import compiled_threads
from graphfilter.util.words import count

__all__ = ["ToldTrees", "ToldTreesConfig", "Trees", "TreesConfig"]

# The most work of boosting in one round: training vertices × columns × classes; and in all rounds
# of trees that stop by themselves, which are left out where fewer rounds than these would fit.
MOST_BOOSTED = 2 * 10**7
MOST_WORK, LEAST_ROUNDS = 15 * 10**8, 60
# Bytes of a training vertex and class while trees grow: logit, gradient, hessian, and the last two
# once more in the order of a tree's rows.
BOOSTED = 40
# The share of the columns that each tree sees: half the time, and better scores on validation
# vertices (benchmarks/trees.py).
SHARE_OF_COLUMNS = 0.5
# The same seed gives the same bits, whatever the number of threads.
_FIXED = {"deterministic": True, "force_col_wise": True, "verbosity": -1}
# Of trees that stop by themselves each sees a share of the rows; the rate is no lower than this,
# and higher where fewer rounds fit.
SHARE_OF_ROWS, LEAST_STEP, ROUNDS_TIMES_STEP = 0.8, 0.03, 20.0
# Several classes are learned at a higher rate, and stop in half of the rounds: each of these is a
# tree per class.
LEAST_STEP_OF_MANY = 0.1
# Leaves of trees: of others; of those that stop by themselves on few rows, on many, and on many
# where there is one tree per round.
LEAVES, LEAVES_OF_FEW, LEAVES_OF_MANY, LEAST_IN_LEAF = 31, 15, 63, 10
FEW_ROWS, SHARE_OF_MANY = 10_000, 0.8
# Cells below which threads wait for each other longer than they work.
CELLS_PER_THREAD = 10**6
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
    TreesConfig(dropout=0.0, n_rounds=50, step=0.1, l2=1.0, stop_after=0)

    With ``stop_after`` trees stop where the validation loss has not fallen for so many rounds, at a
    rate that is lower the more rounds fit, and each sees a part of the rows.
    """

    kind: ClassVar[str] = "Trees"
    fitted: ClassVar[bool] = True
    dropout: float = 0.0
    least: ClassVar[Mapping[str, int]] = {"stop_after": 0}
    n_rounds: int = 100
    step: float = 0.1
    l2: float = 1.0
    stop_after: int = field(default=0, metadata=ADDED)

    def skip_reason(self, graph: Graph, n_train: int) -> str | None:
        work = graph.n_features * n_train * graph.n_classes
        if self.stop_after:
            n_columns = 4 * min(graph.n_features, MOST_COLUMNS) + 4 * graph.n_classes
            fit = self.rounds(n_train, n_columns, graph.n_classes)
            too_much = fit < min(LEAST_ROUNDS, self.n_rounds)
        else:
            too_much = work > MOST_BOOSTED
        return "trees would take too long" if too_much else None

    def rounds(self, n_train: int, n_columns: int, n_outputs: int) -> int:
        """Return how many rounds fit; others grow in all of theirs."""
        fit = MOST_WORK // max(n_train * n_columns * n_outputs, 1)
        return min(self.n_rounds, fit) if self.stop_after else self.n_rounds

    @property
    def needs_edges(self) -> bool:
        return False

    def memory(self, sizes: Sizes) -> Working:
        return Working(BOOSTED * sizes.n_train * sizes.n_classes)


class Trees(forest.TreeNodes[TreesConfig], config=TreesConfig):
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
        **forest.TREES,
        "value": torch.float64,
        "outputs": torch.int64,
        "start": torch.float64,
    }

    value: Tensor
    outputs: Tensor
    start: Tensor
    n_left_out: int = 0

    def learn(self, given: forest.Given) -> None:
        rows, targets, weight, seed, val = given
        # Of each output that trees are grown for, how many rounds were best, and at which rate.
        self.settled = self.settled or {}
        columns = np.ascontiguousarray(forest.dense(rows), dtype=np.float32)
        seen = None
        if val is not None and len(val[1]) and self.config.stop_after:
            seen = np.ascontiguousarray(forest.dense(val[0]), dtype=np.float32), val[1]
        self.n_left_out = int(np.isnan(columns).all(axis=0).sum())
        boost = partial(self._boosted, columns, weight, seed)
        trees: list[dict[str, NDArray[Any]]] = []
        outputs: list[int] = []
        if targets.ndim == 1:
            present, numbers = np.unique(targets, return_inverse=True)
            start = np.full(self.n_classes, forest.NEVER)
            start[present] = 0.0
            if len(present) > 1:
                # Two classes have one tree per round, for the second.
                kinds = {"objective": "binary"}
                if len(present) > 2:
                    kinds = {"objective": "multiclass", "num_class": len(present)}
                if seen is not None:
                    known = np.isin(seen[1], present)
                    seen = seen[0][known], np.searchsorted(present, seen[1][known])
                trees = boost(0, numbers, seen, **kinds)
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
                seen = None if seen is None else (seen[0], (seen[1] - start) / scale)
            for column in np.flatnonzero(~constant).tolist():
                watched = None if seen is None else (seen[0], seen[1][:, column])
                grown = boost(column, targets[:, column], watched, objective=kind)
                for tree in grown:
                    tree["value"] *= scale[column]
                trees += grown
                outputs += [column] * len(grown)
        if not trees:  # Nothing to be told apart: one leaf that adds nothing.
            trees, outputs = [{name: np.array([end]) for name, end in _LEAF.items()}], [0]
        value = np.concatenate([tree.pop("value") for tree in trees])
        self.keep(trees, value=value, outputs=np.array(outputs), start=start)

    def _boosted(
        self,
        columns: NDArray[np.float32],
        weight: forest.Weight,
        seed: int,
        column: int,
        targets: NDArray[Any],
        seen: forest.Validation,
        **kinds: Any,
    ) -> list[dict[str, NDArray[Any]]]:
        """Return the trees of every round, of each its nodes; of the rounds that were best."""
        try:
            import lightgbm
        except (ImportError, OSError) as error:
            raise ConfigError(
                f"boosted trees need LightGBM, which cannot be loaded ({error}). Install it with "
                "pip install lightgbm; on macOS its OpenMP too, with brew install libomp."
            ) from None
        config = self.config
        rounds, step = self.settled.get(column, (0, 0.0))
        many = "num_class" in kinds
        if not rounds:
            rounds = config.rounds(len(columns), columns.shape[1], self.n_classes)
            step = config.step
            if config.stop_after:
                least = LEAST_STEP_OF_MANY if many else LEAST_STEP
                step = min(step, max(least, ROUNDS_TIMES_STEP / max(rounds, 1)))
        settings = (
            _FIXED
            | kinds
            | {
                "learning_rate": step,
                "lambda_l2": config.l2,
                "num_leaves": LEAVES,
                "feature_fraction": SHARE_OF_COLUMNS,
                "num_threads": max(1, min(compiled_threads(), columns.size // CELLS_PER_THREAD)),
                "seed": seed % 2**31,
            }
        )
        if config.stop_after:
            settings |= {"bagging_fraction": SHARE_OF_ROWS, "bagging_freq": 1}
            settings |= {"min_data_in_leaf": LEAST_IN_LEAF}
            if len(columns) <= FEW_ROWS:
                settings |= {"num_leaves": LEAVES_OF_FEW}
            elif not many:
                settings |= {"num_leaves": LEAVES_OF_MANY, "feature_fraction": SHARE_OF_MANY}
        data = lightgbm.Dataset(columns, targets, weight=weight, params=settings)
        options: dict[str, Any] = {}
        if seen is not None:
            options["valid_sets"] = [
                lightgbm.Dataset(seen[0], seen[1], params=settings, reference=data)
            ]
            wait = config.stop_after // (3 if many else 1) or 1
            options["callbacks"] = [lightgbm.early_stopping(wait, verbose=False)]
        booster = lightgbm.train(settings, data, max(rounds, 1), **options)
        if seen is not None:
            rounds = booster.best_iteration or rounds
        self.settled[column] = rounds, step
        text = booster.model_to_string(num_iteration=rounds)
        # What stands between the heads of two trees; the last ends with an empty line, too.
        return [_nodes(one) for one in text.split("\nTree=")[1:]]

    @property
    def remark(self) -> str:
        if not self.n_left_out:
            return ""
        return f"{count(self.n_left_out, 'column')} without a value on any training vertex left out"

    def fits_nodes(self, state: Mapping[str, Tensor], n_nodes: int) -> bool:
        return (
            tuple(state["value"].shape) == (n_nodes,)
            and state["outputs"].shape == state["roots"].shape
            and forest.within(state["outputs"], self.n_classes)
            and tuple(state["start"].shape) == (self.n_classes,)
            and all(bool(state[name].isfinite().all()) for name in ("value", "start"))
        )

    def answers(self, leaves: NDArray[np.int64]) -> NDArray[np.float64]:
        outputs = self.outputs.cpu().numpy()
        ones = (np.ones(len(outputs)), (np.arange(len(outputs)), outputs))
        one_hot = sp.csr_array(ones, (len(outputs), self.n_classes))
        return self.start.cpu().numpy() + self.value.cpu().numpy()[leaves] @ one_hot


# The share of vertices that have one of the columns, at least: bags of words are for other models.
LEAST_FILLED = 0.5


@dataclass(frozen=True)
class ToldTreesConfig(TreesConfig):
    """See :class:`ToldTrees`."""

    kind: ClassVar[str] = "ToldTrees"
    recognises: ClassVar[bool] = True
    refits: ClassVar[bool] = True
    n_rounds: int = 2000
    l2: float = 0.0
    stop_after: int = 100

    def skip_reason(self, graph: Graph, n_train: int) -> str | None:
        x: Any = graph.features
        if sp.issparse(x) and x.shape[1] > MOST_COLUMNS:
            filled = np.bincount(x.indices, minlength=x.shape[1]).max()
            if filled < LEAST_FILLED * x.shape[0]:
                return "its columns are words alone"
        return super().skip_reason(graph, n_train)


class ToldTrees(KeepsView, Trees, config=ToldTreesConfig):
    """Boosted trees that see the known labels around a vertex.

    They keep what the view was told of training vertices: see
    :func:`~graphfilter.models.relations.columns_around`.

    Examples
    --------
    >>> import graphfilter as gf
    >>> trees = gf.models.ToldTrees(3, 2, gf.models.ToldTreesConfig(n_rounds=50))
    >>> trees.config.stop_after
    100
    """

    seen: ClassVar[dict[str, torch.dtype]] = {
        "seen_plain": torch.int64,
        "seen_basis": torch.float32,
        "seen_extremes": torch.int64,
    } | KeepsView.seen
    kept: ClassVar[dict[str, torch.dtype]] = Trees.kept | seen

    def fits_nodes(self, state: Mapping[str, Tensor], n_nodes: int) -> bool:
        plain, basis = state["seen_plain"], state["seen_basis"]
        return (
            super().fits_nodes(state, n_nodes)
            and self.is_whole_view(state)
            and bool(basis.isfinite().all() and (plain >= 0).all())
            and plain.ndim == 1
            and (basis.ndim == 2 or not basis.numel())
            and state["seen_extremes"].shape == (1,)
        )


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
