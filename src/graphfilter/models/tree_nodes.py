"""TreeNodes: decision trees as plain tensors, and rows that go down them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.errors import ModelFileError
from graphfilter.graph import Features
from graphfilter.models.base import ConfigT
from graphfilter.models.fitted import Fitted
from graphfilter.models.layers import Draws, Input
from graphfilter.operators import Operator, takes_trees, tree_leaves

# What a class gets that no training vertex has.
NEVER = -20.0
# Rows that go down the trees at once, times trees: what they touch fits a cache.
CELLS = 1024 * 200
_NODES = {
    "threshold": torch.float64,
    "feature": torch.int64,
    "left": torch.int64,
    "right": torch.int64,
    "missing_left": torch.bool,
}
# What every kind of trees keeps.
TREES = {"roots": torch.int64, **_NODES}


class TreeNodes(Fitted[ConfigT]):
    """Trees that scikit-learn fitted, kept as tensors, which cannot run code.

    A tree asks one question per node, *column ≤ threshold?*; a missing value goes the way that it
    went in training.

    Attributes
    ----------
    roots : Tensor (n_trees,)
        The first node of each tree.
    threshold, feature, left, right, missing_left : Tensors (n_nodes,)
        A leaf is its own child on both sides.
    """

    roots: Tensor
    threshold: Tensor
    feature: Tensor
    left: Tensor
    right: Tensor
    missing_left: Tensor

    @abstractmethod
    def answers(self, leaves: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return logits (n, n_classes) from the nodes where rows end, (n, n_trees)."""

    @abstractmethod
    def is_whole(self, state: Mapping[str, Tensor], n_nodes: int) -> bool:
        """Return whether what a kind of trees keeps beside its nodes fits them."""

    def keep(self, trees: Sequence[Mapping[str, NDArray[Any]]], **kept: NDArray[Any]) -> None:
        """Take trees: of each its nodes, numbered from 0, with -1 as the children of a leaf."""
        sizes = [len(tree["left"]) for tree in trees]
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        joined = {name: np.concatenate([tree[name] for tree in trees]) for name in _NODES}
        here, shift = np.arange(sum(sizes)), np.repeat(first, sizes)
        leaf = joined["left"] < 0
        for side in ("left", "right"):
            joined[side] = np.where(leaf, here, joined[side].astype(np.int64) + shift)
        joined["feature"] = np.where(leaf, 0, joined["feature"].astype(np.int64))
        for name, values in ({"roots": first} | joined | kept).items():
            setattr(self, name, torch.from_numpy(values.astype(_numpy(self.kept[name]))))

    def check_state(self, state: Mapping[str, Tensor]) -> None:
        """Raise where these are no trees: children come after their parents, so every path ends."""
        expected = self.kept
        if set(state) != set(expected):
            raise ModelFileError("the trees must have their own tensors and no others.")
        n = len(state["left"]) if state["left"].ndim == 1 else 0
        right_types = all(state[name].dtype == dtype for name, dtype in expected.items())
        right_sizes = n >= 1 and all(tuple(state[name].shape) == (n,) for name in _NODES)
        if not right_types or not right_sizes or not self._ends(state, n):
            raise ModelFileError("the trees of the model are damaged; fit again.")

    def _ends(self, state: Mapping[str, Tensor], n: int) -> bool:
        here = torch.arange(n)
        leaf = state["left"] == here
        return (
            state["roots"].ndim == 1
            and within(state["roots"], n)
            and len(state["roots"]) > 0
            and not bool(state["threshold"].isnan().any())
            and within(state["feature"], self.n_features)
            and all(within(state[side], n) for side in ("left", "right"))
            and all(bool(((state[side] > here) | leaf).all()) for side in ("left", "right"))
            and torch.equal(leaf, state["right"] == here)
            and self.is_whole(state, n)
        )

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        columns = (x if isinstance(x, Tensor) else x.to_dense()).cpu().numpy()
        # A graph without edges has no averages of neighbours: they are 0, as of an isolated vertex.
        columns = np.pad(columns, ((0, 0), (0, max(0, self.n_features - columns.shape[1]))))
        nodes = {name: getattr(self, name).cpu() for name in TREES}
        rows = max(1, CELLS // len(self.roots))
        parts = [
            self.answers(_leaves(nodes, part))
            for part in np.array_split(columns, len(columns) // rows + 1)
        ]
        return torch.from_numpy(np.concatenate(parts)).to(x.device, torch.float32)


def dense(rows: Features) -> NDArray[np.float32]:
    """Return rows with their zeros."""
    return rows.toarray() if sp.issparse(rows) else np.asarray(rows)


def within(index: Tensor, end: int) -> bool:
    """Return whether all numbers are in [0, end)."""
    return bool(((index >= 0) & (index < end)).all())


def _leaves(trees: Mapping[str, Tensor], columns: NDArray[Any]) -> NDArray[np.int64]:
    """Send rows down all trees: compiled, or one level of all per step; at a leaf they stay."""
    given = torch.from_numpy(np.ascontiguousarray(columns))
    if takes_trees(given):
        return tree_leaves(trees, given).numpy()
    nodes = {name: tensor.numpy() for name, tensor in trees.items()}
    n_trees, (n_rows, width) = len(nodes["roots"]), columns.shape
    node = np.tile(nodes["roots"].astype(np.int64), n_rows)
    moving = np.arange(len(node))
    first, cells = moving // n_trees * width, columns.ravel()
    has_gaps = bool(np.isnan(columns).any())
    while len(moving):
        here = node[moving]
        cell = cells[first + nodes["feature"][here]]
        smaller = cell <= nodes["threshold"][here]
        if has_gaps:
            smaller |= np.isnan(cell) & nodes["missing_left"][here]
        following = np.where(smaller, nodes["left"][here], nodes["right"][here])
        moved = following != here
        moving, first = moving[moved], first[moved]
        node[moving] = following[moved]
    return node.reshape(n_rows, n_trees)


def _numpy(dtype: torch.dtype) -> Any:
    return torch.zeros(0, dtype=dtype).numpy().dtype
