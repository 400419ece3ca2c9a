"""Trees: gradient boosting on columns, with the interface of a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.errors import ModelFileError, check_count, check_number
from graphfilter.graph import Graph
from graphfilter.models.base import ModelConfig, Network
from graphfilter.models.layers import Draws, Input
from graphfilter.operators import Operator

# What a class gets that no training vertex has.
NEVER = -20.0
# That go down the trees at once, so that what they touch fits a cache.
ROWS = 1024
_FIELDS = ("threshold", "value", "feature", "left", "right", "missing_left")
_DTYPES = (torch.float64, torch.float64, torch.int64, torch.int64, torch.int64, torch.bool)


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
    dropout: float = 0.0
    n_rounds: int = 100
    step: float = 0.1
    l2: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("n_rounds", self.n_rounds)
        for name in ("step", "l2"):
            check_number(name, getattr(self, name))

    def build(self, graph: Graph, generator: torch.Generator) -> Trees:
        return Trees(graph.n_features, graph.n_classes, self)


class Trees(Network[TreesConfig]):
    """Boosted trees (scikit-learn's ``HistGradientBoostingClassifier``), kept as plain tensors.

    They are fitted by scikit-learn and predict here, so that they can be saved as tensors, which
    cannot run code. A tree asks one question per node, *column ≤ threshold?*; a missing value
    goes the way that it went in training.

    Parameters
    ----------
    n_features, n_classes : int
    config : TreesConfig, optional

    Attributes
    ----------
    roots : Tensor (n_trees,)
        The first node of each tree.
    outputs : Tensor (n_trees,)
        The class whose logit a tree adds to.
    start : Tensor (n_classes,)
    threshold, value, feature, left, right, missing_left : Tensors (n_nodes,)
        A leaf is its own child on both sides.

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

    start: Tensor
    roots: Tensor
    outputs: Tensor
    threshold: Tensor
    value: Tensor
    feature: Tensor
    left: Tensor
    right: Tensor
    missing_left: Tensor

    def __init__(self, n_features: int, n_classes: int, config: TreesConfig | None = None) -> None:
        super().__init__(config or TreesConfig())
        self.n_features, self.n_classes = n_features, n_classes
        self.register_buffer("start", torch.zeros(n_classes, dtype=torch.float64))
        for name in ("roots", "outputs"):
            self.register_buffer(name, torch.zeros(0, dtype=torch.int64))
        for name, dtype in zip(_FIELDS, _DTYPES, strict=True):
            self.register_buffer(name, torch.zeros(0, dtype=dtype))

    def fit(
        self,
        x: NDArray[np.float32],
        labels: NDArray[np.int64],
        *,
        sample_weight: NDArray[np.float64] | None = None,
        seed: int = 0,
    ) -> None:
        """Learn from rows (n, d) and class numbers."""
        from sklearn.ensemble import HistGradientBoostingClassifier

        model = HistGradientBoostingClassifier(
            max_iter=self.config.n_rounds,
            learning_rate=self.config.step,
            l2_regularization=self.config.l2,
            early_stopping=False,
            random_state=seed,
        )
        model.fit(x, labels, sample_weight=sample_weight)
        self._take(model)

    def _take(self, model: Any) -> None:
        """Copy the trees of a fitted model."""
        present = np.asarray(model.classes_, dtype=np.int64)
        start = np.full(self.n_classes, NEVER)
        baseline = np.ravel(model._baseline_prediction)
        # Of two classes there is one row of trees, for the second.
        own = present[1:] if len(present) == 2 else present
        start[present] = 0.0
        start[own] = baseline
        parts: dict[str, list[NDArray[Any]]] = {name: [] for name in _FIELDS}
        roots, outputs, first = [], [], 0
        for trees in model._predictors:
            for output, tree in zip(own, trees, strict=True):
                nodes = tree.nodes
                here = first + np.arange(len(nodes))
                leaf = nodes["is_leaf"].astype(bool)
                parts["threshold"].append(nodes["num_threshold"])
                parts["value"].append(np.where(leaf, nodes["value"], 0.0))
                parts["feature"].append(nodes["feature_idx"])
                parts["left"].append(np.where(leaf, here, first + nodes["left"]))
                parts["right"].append(np.where(leaf, here, first + nodes["right"]))
                parts["missing_left"].append(nodes["missing_go_to_left"].astype(bool))
                roots.append(first)
                outputs.append(int(output))
                first += len(nodes)
        self.start = torch.from_numpy(start)
        self.roots, self.outputs = torch.tensor(roots), torch.tensor(outputs)
        for name, dtype in zip(_FIELDS, _DTYPES, strict=True):
            joined = np.concatenate(parts[name])
            setattr(self, name, torch.from_numpy(joined.astype(_numpy(dtype))))

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Take trees of any number and size, after checking that every path ends."""
        _check(state_dict, self.n_features, self.n_classes)
        for name in ("start", "roots", "outputs", *_FIELDS):
            setattr(self, name, state_dict[name].clone())

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        columns = (x if isinstance(x, Tensor) else x.to_dense()).cpu().numpy()
        parts = [self._logits(part) for part in np.array_split(columns, len(columns) // ROWS + 1)]
        device = x.device if isinstance(x, Tensor) else x.values.device
        return torch.from_numpy(np.concatenate(parts)).to(device, torch.float32)

    def _logits(self, columns: NDArray[Any]) -> NDArray[np.float64]:
        """Send rows down all trees at once, one level per step."""
        trees = {name: getattr(self, name).cpu().numpy() for name in _FIELDS}
        rows = np.arange(len(columns))[:, None]
        node = np.broadcast_to(self.roots.cpu().numpy(), (len(columns), len(self.roots)))
        while True:
            cell = columns[rows, trees["feature"][node]]
            smaller = cell <= trees["threshold"][node]
            smaller |= np.isnan(cell) & trees["missing_left"][node]
            following = np.where(smaller, trees["left"][node], trees["right"][node])
            if np.array_equal(following, node):
                break
            node = following
        one_hot = np.eye(self.n_classes)[self.outputs.cpu().numpy()]
        return self.start.cpu().numpy() + trees["value"][node] @ one_hot


def _numpy(dtype: torch.dtype) -> Any:
    return torch.zeros(0, dtype=dtype).numpy().dtype


def _check(state: Mapping[str, Any], n_features: int, n_classes: int) -> None:
    """Raise where these are no trees: children come after their parents, so every path ends."""
    expected = dict(zip(_FIELDS, _DTYPES, strict=True))
    expected |= {"start": torch.float64, "roots": torch.int64, "outputs": torch.int64}
    if set(state) != set(expected):
        raise ModelFileError("the trees must have their own tensors and no others.")
    sizes = {name: tuple(tensor.shape) for name, tensor in state.items()}
    n = sizes["left"][0] if len(sizes["left"]) == 1 else -1
    here = torch.arange(n) if n > 0 else torch.zeros(0, dtype=torch.int64)
    leaf = state["left"] == here if sizes["left"] == (n,) else here < 0
    well_formed = (
        all(state[name].dtype == dtype for name, dtype in expected.items())
        and n >= 1
        and all(sizes[name] == (n,) for name in _FIELDS)
        and sizes["start"] == (n_classes,)
        and sizes["roots"] == sizes["outputs"]
        and len(sizes["roots"]) == 1
    )
    if not well_formed or not (
        _within(state["roots"], n)
        and _within(state["outputs"], n_classes)
        and _within(state["feature"], n_features)
        and all(_within(state[side], n) for side in ("left", "right"))
        and all(((state[side] > here) | leaf).all() for side in ("left", "right"))
        and torch.equal(leaf, state["right"] == here)
    ):
        raise ModelFileError("the trees of the model are damaged; fit again.")


def _within(index: Tensor, end: int) -> bool:
    return bool(((index >= 0) & (index < end)).all())
