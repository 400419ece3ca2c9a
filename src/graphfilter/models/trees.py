"""The rounds of boosting, with trees that grow in compiled code.

Trees: gradient boosting on columns, with the interface of a network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.data.graph import Graph
from graphfilter.models.base import ModelConfig, Sizes, Working
from graphfilter.models.forest import NEVER, TREES, TreeNodes, Weight, dense, within
from graphfilter.operators.kernels.native_boosting import Grown, TreeGrower, takes_boosting
from graphfilter.tables.columns import Features
from graphfilter.util.errors import check_count, check_number
from graphfilter.util.words import count


def boost(
    model: Any, columns: NDArray[Any], targets: NDArray[Any], weight: Weight, n_rounds: int
) -> None:
    """Give a model of scikit-learn's that was fitted for one round all its rounds.

    Its bins, loss and start stay as they are, and its trees are those that it would have grown,
    with the rounds of all classes in one call: between the steps of its own trees, which are ten
    thousands, its threads wait for each other and for Python's.
    """
    mapper, loss = model._bin_mapper, model._loss
    binned, n_bins = mapper.transform(columns.astype(np.float64)), mapper.n_bins_non_missing_
    grower = TreeGrower(binned, n_bins, model.l2_regularization, model.learning_rate)
    wanted = targets.astype(np.float64)
    if hasattr(model, "classes_"):
        wanted = np.searchsorted(model.classes_, targets).astype(np.float64)
    start = np.ravel(model._baseline_prediction)
    raw = np.repeat(start[:, None], len(wanted), axis=1)
    gradients, hessians = (np.ones(raw.shape, dtype=np.float32) for _ in range(2))
    # As scikit-learn's losses take them: a row per vertex, and no second axis of one output.
    seen = [part.T if len(part) > 1 else part[0] for part in (raw, gradients, hessians)]
    given = {"y_true": wanted, "raw_prediction": seen[0], "sample_weight": weight}
    thresholds = np.full((len(n_bins), 256), np.inf)
    for column, own in enumerate(mapper.bin_thresholds_):
        thresholds[column, : len(own)] = own
    model._predictors = []
    for _ in range(n_rounds):
        if loss.constant_hessian:
            loss.gradient(**given, gradient_out=seen[1])
        else:
            loss.gradient_hessian(**given, gradient_out=seen[1], hessian_out=seen[2])
        grown = grower.grow(*(torch.from_numpy(part) for part in (gradients, hessians, raw)))
        model._predictors.append([_tree(grown, t, thresholds) for t in range(len(raw))])


def _tree(grown: Grown, number: int, thresholds: NDArray[np.float64]) -> Any:
    """Return a tree with the fields that scikit-learn's have."""
    size = grown.sizes[number]
    feature, bins, left, right, missing_left = grown.nodes[number, :size].T
    nodes = {
        "num_threshold": np.where(left < 0, 0.0, thresholds[feature, bins]),
        "feature_idx": feature,
        "left": left,
        "right": right,
        "missing_go_to_left": missing_left,
        "is_leaf": left < 0,
        "value": grown.values[number, :size],
    }
    return SimpleNamespace(nodes=nodes)


# The most work of boosting: training vertices × columns × classes.
MOST_BOOSTED = 2 * 10**7
# Bytes of a training vertex and class while trees grow: logit, gradient, hessian, and the last two
# once more in the order of a tree's rows.
BOOSTED = 40


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
    """Boosted trees (scikit-learn's ``HistGradientBoosting…``), kept as plain tensors.

    Where it was compiled, :func:`~graphfilter.models.trees.boost` grows the same trees.

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
        columns = dense(rows)
        empty = np.isnan(columns).all(axis=0)
        self.n_left_out = int(empty.sum())
        if self.n_left_out:
            # Boosting fails on a column without values, and never asks for a constant one.
            columns = np.where(empty, np.float32(0), columns)
        if targets.ndim == 1:
            self._take_classes(self._boosted(columns, targets, weight, seed))
        else:
            self._take_columns(
                [self._boosted(columns, own, weight, seed) for own in targets.T], targets
            )

    @property
    def remark(self) -> str:
        if not self.n_left_out:
            return ""
        return f"{count(self.n_left_out, 'column')} without a value on any training vertex left out"

    def _boosted(
        self, columns: NDArray[Any], targets: NDArray[Any], weight: Weight, seed: int
    ) -> Any:
        """Return a fitted model of classes, a label or a number; None where all are the same."""
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        of_numbers = targets.dtype.kind == "f"
        if targets.dtype.kind in "fb" and (targets == targets[0]).all():
            return None
        kind = HistGradientBoostingRegressor if of_numbers else HistGradientBoostingClassifier
        compiled = takes_boosting()
        model = kind(
            max_iter=1 if compiled else self.config.n_rounds,
            learning_rate=self.config.step,
            l2_regularization=self.config.l2,
            early_stopping=False,
            random_state=seed,
        )
        model.fit(columns, targets, sample_weight=weight)
        if compiled:
            boost(model, columns, targets, weight, self.config.n_rounds)
        return model

    def _take_columns(self, models: Sequence[Any], targets: NDArray[Any]) -> None:
        """Copy the trees of one model per label or number."""
        if targets.dtype == np.bool_:
            # Odds of a label that all training vertices have, or none: one half added to counts.
            counts = targets.sum(axis=0)
            start = np.log(counts + 0.5) - np.log(len(targets) - counts + 0.5)
        else:
            start = targets.mean(axis=0, dtype=np.float64)
        nodes: list[NDArray[Any]] = []
        outputs: list[int] = []
        for column, model in enumerate(models):
            if model is None:
                continue
            start[column] = float(np.ravel(model._baseline_prediction)[0])
            own = [tree.nodes for trees in model._predictors for tree in trees]
            nodes += own
            outputs += [column] * len(own)
        self._keep_nodes(nodes, np.array(outputs, dtype=np.int64), start)

    def _take_classes(self, model: Any) -> None:
        """Copy the trees of a fitted model of classes."""
        present = np.asarray(model.classes_, dtype=np.int64)
        start = np.full(self.n_classes, NEVER)
        # Two classes have one row of trees, for the second.
        own = present[1:] if len(present) == 2 else present
        start[present] = 0.0
        start[own] = np.ravel(model._baseline_prediction)
        nodes = [tree.nodes for trees in model._predictors for tree in trees]
        self._keep_nodes(nodes, np.tile(own, len(model._predictors)), start)

    def _keep_nodes(
        self, nodes: Sequence[NDArray[Any]], outputs: NDArray[Any], start: NDArray[np.float64]
    ) -> None:
        if not len(nodes):
            # Nothing to be told apart: one leaf that adds nothing.
            leaf = {"threshold": 0.0, "feature": 0, "left": -1, "right": -1, "missing_left": False}
            tree = {name: np.array([value]) for name, value in leaf.items()}
            self.keep([tree], value=np.zeros(1), outputs=np.zeros(1), start=start)
            return
        self.keep(
            [
                {
                    "threshold": tree["num_threshold"],
                    "feature": tree["feature_idx"],
                    "left": np.where(tree["is_leaf"], -1, tree["left"].astype(np.int64)),
                    "right": np.where(tree["is_leaf"], -1, tree["right"].astype(np.int64)),
                    "missing_left": tree["missing_go_to_left"].astype(bool),
                }
                for tree in nodes
            ],
            value=np.concatenate([np.where(tree["is_leaf"], tree["value"], 0.0) for tree in nodes]),
            outputs=outputs,
            start=start,
        )

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
