"""Fitted: a model that is fitted to rows at once, with the interface of a network.

TreeNodes: decision trees as plain tensors, and rows that go down them.

Forest: many random trees that vote, with the interface of a network.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.data.graph import Graph
from graphfilter.models.base import ConfigT, ModelConfig, SizedNetwork, Sizes, Working
from graphfilter.models.layers import Draws, Input
from graphfilter.operators import Operator
from graphfilter.tables.columns import Features
from graphfilter.util.errors import ModelFileError
from graphfilter.util.machine import thread_limit

__all__ = ["Fitted", "Forest", "ForestConfig"]

Weight = NDArray[np.float64] | None
# Rows and targets by which a model may choose how long it learns.
Validation = tuple[Any, NDArray[Any]] | None


class Given(NamedTuple):
    """What a model is fitted to; ``weight`` is that of each row."""

    rows: Features
    targets: NDArray[Any]
    weight: Weight
    seed: int
    val: Validation


class Fitted(SizedNetwork[ConfigT]):
    """A model with the interface of a network that is fitted to rows at once, without epochs.

    What it learned are buffers whose sizes depend on the data: :meth:`is_whole` must refuse
    tensors that are not its own.

    Attributes
    ----------
    kept : dict of str to torch.dtype
        The buffers and their types.
    settled : object
        What validation rows have chosen, for a fit to more rows; nothing where None.

    Examples
    --------
    >>> import graphfilter as gf
    >>> issubclass(gf.models.Trees, gf.models.Fitted), gf.models.TreesConfig.fitted
    (True, True)
    """

    kept: ClassVar[dict[str, torch.dtype]]
    settled: Any = None

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        self.n_features, self.n_classes = n_features, n_classes
        for name, dtype in self.kept.items():
            self.register_buffer(name, torch.zeros(0, dtype=dtype))

    def fit(
        self,
        rows: Features,
        targets: NDArray[Any],
        *,
        sample_weight: Weight = None,
        seed: int = 0,
        val: Validation = None,
    ) -> None:
        """Learn from rows (n, d), dense or sparse.

        ``targets`` are class numbers (n,), which of several labels a vertex has (bool, (n, L)), or
        numbers (float, (n, T)). Outputs are logits of classes and labels, or numbers. By the rows
        and targets of ``val`` a model may choose how long it learns.
        """
        self.learn(Given(rows, targets, sample_weight, seed, val))

    @abstractmethod
    def learn(self, given: Given) -> None:
        """Do what :meth:`fit` says."""

    def fitted_to_all(
        self, rows: Features, targets: NDArray[Any], weight: Weight, seed: int
    ) -> Self:
        """Return such a model fitted to more rows, with what validation rows have chosen."""
        made = type(self)(self.n_features, self.n_classes, self.config)
        made.settled = self.settled
        made.fit(rows, targets, sample_weight=weight, seed=seed)
        return made

    @property
    def remark(self) -> str:
        """What was done to the rows to fit it, in words; empty where nothing was."""
        return ""

    def keep_view(self, found: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep what the view found whose columns the model was fitted to, if it found something."""

    def kept_view(self) -> dict[str, NDArray[np.float32]] | None:
        """Return what :meth:`keep_view` was given; None of a model that keeps nothing."""
        return None

    def refitted(self, rows: Features, targets: NDArray[Any], weight: Weight = None) -> Self:
        """Return about what :meth:`fit` would make of the same vertices with other rows, cheaply.

        The model itself where other rows make little difference to what it has learned.
        """
        return self

    @abstractmethod
    def is_whole(self, state: Mapping[str, Tensor]) -> bool:
        """Return whether tensors, which have the right names and types, are such a model."""

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Take tensors of any size, after checking them."""
        kind = self.config.kind
        state = {name: self.narrowed(name, value) for name, value in state_dict.items()}
        types = {name: tensor.dtype for name, tensor in state.items()}
        if types != self.kept or not self.is_whole(state):
            raise ModelFileError(
                f"a saved {kind} must have its own tensors and no others; it is damaged. Fit again."
            )
        for name in state:
            setattr(self, name, state[name].clone())

    def narrowed(self, name: str, values: Tensor) -> Tensor:
        """Return values of twice the bytes, as 0.2 kept some, as they are kept; others as they are.

        A threshold is not above what it was, so that as many numbers in float32 are below it.
        """
        kinds = values.dtype, self.kept.get(name)
        if kinds == (torch.int64, torch.int32):
            return values.to(torch.int32)
        if name != "threshold" or kinds != (torch.float64, torch.float32):
            return values
        made = values.float()
        below = made.nextafter(made.new_tensor(-torch.inf))
        return torch.where(made.double() > values, below, made)


# What a class gets that no training vertex has.
NEVER = -20.0
# Rows that go down the trees at once, times trees: what they touch fits a cache.
CELLS = 1024 * 200
_NODES = {
    "threshold": torch.float32,
    "feature": torch.int32,
    "left": torch.int32,
    "right": torch.int32,
    "missing_left": torch.bool,
}
# What every kind of trees keeps.
TREES = {"roots": torch.int32, **_NODES}


class TreeNodes(Fitted[ConfigT]):
    """Trees that a library fitted, kept as tensors, which cannot run code.

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
    def fits_nodes(self, state: Mapping[str, Tensor], n_nodes: int) -> bool:
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
            values = self.narrowed(name, torch.from_numpy(values))
            setattr(self, name, values.to(self.kept[name]))

    def is_whole(self, state: Mapping[str, Tensor]) -> bool:
        """Children come after their parents, so every path ends."""
        n = len(state["left"]) if state["left"].ndim == 1 else 0
        if n < 1 or any(tuple(state[name].shape) != (n,) for name in _NODES):
            return False
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
            and self.fits_nodes(state, n)
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
    """Send rows down all trees, one level of all per step; at a leaf they stay."""
    nodes = {name: tensor.numpy() for name, tensor in trees.items()}
    n_trees, (n_rows, width) = len(nodes["roots"]), columns.shape
    children = np.stack([nodes["right"], nodes["left"]], axis=1).ravel()
    node = np.tile(nodes["roots"], n_rows)
    moving = np.arange(len(node))
    here, first, cells = node, moving // n_trees * width, columns.ravel()
    has_gaps = bool(np.isnan(columns).any())
    while len(moving):
        cell = cells[first + nodes["feature"][here]]
        smaller = cell <= nodes["threshold"][here]
        if has_gaps:
            smaller |= np.isnan(cell) & nodes["missing_left"][here]
        following = children[2 * here + smaller]
        moved = following != here
        moving, first, here = moving[moved], first[moved], following[moved]
        node[moving] = here
    return node.reshape(n_rows, n_trees)


# A leaf holds at least one of so many training vertices, so that a tree on many has few leaves.
MOST_LEAVES = 4000
# Bytes of a node that is kept, while all are joined, and of a node and class where a tree grows.
_KEPT_NODE, _GROWING_NODE = 100, 16
# Bytes of the trees that several threads grow at once.
GROWING_AT_ONCE = 2**26
# The most bytes in which one tree grows.
MOST_GROWING = 2**30
# What a view may find.
_FOUND = ("axes", "basis")


@dataclass(frozen=True)
class ForestConfig(ModelConfig):
    """See :class:`Forest`; fitted, not trained by gradients.

    Examples
    --------
    >>> import graphfilter as gf
    >>> gf.models.ForestConfig(n_trees=50)
    ForestConfig(dropout=0.0, n_trees=50)
    """

    kind: ClassVar[str] = "Forest"
    fitted: ClassVar[bool] = True
    compares: ClassVar[bool] = True
    dropout: float = 0.0
    n_trees: int = 200

    def skip_reason(self, graph: Graph, n_train: int) -> str | None:
        reason = super().skip_reason(graph, n_train)
        if reason is None and growing_bytes(n_train, graph.n_classes) > MOST_GROWING:
            return f"{graph.n_classes:,} classes are too many for trees that vote"
        return reason

    def memory(self, sizes: Sizes) -> Working:
        n_train = sizes.n_train
        nodes = self.n_trees * _KEPT_NODE * _most_nodes(n_train)
        return Working(growing_bytes(n_train, sizes.n_classes) + nodes)


class Forest(TreeNodes[ForestConfig], config=ForestConfig):
    """Extremely randomised trees (scikit-learn's ``ExtraTreesClassifier``), kept as plain tensors.

    Where vertices are few, many trees grown at random are surer of what they know than boosted
    ones, and take a tenth of the time.

    Parameters
    ----------
    n_features, n_classes : int
    config : ForestConfig, optional

    Attributes
    ----------
    first : Tensor (n_nodes + 1,)
        Where the votes of each node begin: a leaf knows few classes, another node has none.
    voted, votes : Tensors (n_votes,)
        A class or label, and its share among the training vertices of the leaf; or a number, and
        its mean.
    seen : bool Tensor (n_classes,)
        Whether a class has training vertices. Of labels (1, n_labels), of numbers (0, n_numbers).
    axes, basis : Tensors (n, k), (d, j)
        What the view found that it sees; empty where it found nothing.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> import graphfilter as gf
    >>> columns, labels = np.array([[0.0], [1.0]] * 20), np.array([0, 1] * 20)
    >>> forest = gf.models.Forest(1, 2, gf.models.ForestConfig(n_trees=5))
    >>> forest.fit(columns, labels, seed=0)
    >>> forest(None, torch.tensor([[0.0], [1.0]])).argmax(dim=1).tolist()
    [0, 1]
    """

    kept: ClassVar[dict[str, torch.dtype]] = {
        **TREES,
        "first": torch.int32,
        "voted": torch.int32,
        "votes": torch.float32,
        "seen": torch.bool,
        **dict.fromkeys(_FOUND, torch.float32),
    }

    first: Tensor
    voted: Tensor
    votes: Tensor
    seen: Tensor
    axes: Tensor
    basis: Tensor

    def learn(self, given: Given) -> None:
        rows, targets, weight, seed, _ = given
        columns = np.ascontiguousarray(dense(rows), dtype=np.float32)
        of_classes = targets.ndim == 1
        if of_classes:
            present, own = np.unique(targets, return_inverse=True)
            seen = np.isin(np.arange(self.n_classes), present)
        else:
            # Shares of labels are means of 0 and 1: trees of numbers have them in their leaves.
            present, own = np.arange(self.n_classes), targets.astype(np.float64)
            seen = np.ones((int(targets.dtype == np.bool_), self.n_classes))
        rng = np.random.RandomState(seed % 2**32)
        trees: list[dict[str, NDArray[Any]]] = []
        leaves: list[tuple[NDArray[Any], ...]] = []
        seeds = [rng.randint(np.iinfo(np.int32).max) for _ in range(self.config.n_trees)]

        finite = bool(np.isfinite(columns).all())

        def grow(seed: int) -> Any:
            return _grow(columns, own, weight, seed, finite=finite)

        for tree in _in_turn(grow, seeds, growing_bytes(len(targets), len(present))):
            # Copies: a view would keep all of scikit-learn's tree.
            trees.append(
                {
                    "threshold": tree.threshold.copy(),
                    "feature": tree.feature.copy(),
                    "left": tree.children_left.copy(),
                    "right": tree.children_right.copy(),
                    "missing_left": tree.missing_go_to_left.astype(bool),
                }
            )
            counts = tree.value[:, 0] if of_classes else tree.value[:, :, 0]
            leaves.append(_leaf_votes(counts, tree.children_left < 0, shares=of_classes))
        sizes, voted, votes = map(np.concatenate, zip(*leaves, strict=True))
        self.keep(
            trees,
            first=np.concatenate([[0], np.cumsum(sizes)]),
            voted=present[voted],
            votes=votes,
            seen=seen,
            **dict.fromkeys(_FOUND, np.zeros((0, 0))),
        )

    def keep_view(self, found: Mapping[str, NDArray[np.float32]]) -> None:
        for name, values in found.items():
            setattr(self, name, torch.from_numpy(values))

    def kept_view(self) -> dict[str, NDArray[np.float32]] | None:
        if not self.axes.numel() and not self.basis.numel():
            return None
        found = _FOUND if self.axes.numel() else ("basis",)
        return {name: getattr(self, name).cpu().numpy() for name in found}

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Take tensors, after checking them; 0.2.0 saved one more, which was empty."""
        own = {name: tensor for name, tensor in state_dict.items() if name != "places"}
        return super().load_state_dict(own)

    def fits_nodes(self, state: Mapping[str, Tensor], n_nodes: int) -> bool:
        first, voted, votes, seen = (state[name] for name in ("first", "voted", "votes", "seen"))
        are_shares = bool(((votes >= 0) & (votes <= 1)).all())
        return (
            tuple(first.shape) == (n_nodes + 1,)
            and voted.ndim == 1
            and voted.shape == votes.shape
            and int(first[0]) == 0
            and int(first[-1]) == len(voted)
            and bool((first.diff() >= 0).all())
            and within(voted, self.n_classes)
            and (are_shares or (seen.ndim == 2 and bool(votes.isfinite().all())))
            and seen.shape[-1:] == (self.n_classes,)
            and seen.shape[:-1] in ((), (0,), (1,))
            and (are_shares or not len(seen))
            and all(state[name].ndim == 2 for name in _FOUND)
            and all(bool(state[name].isfinite().all()) for name in _FOUND)
        )

    def answers(self, leaves: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the logarithm of the votes, with one vote more that is shared by all classes.

        Of labels the log odds, each with one undecided vote more; of numbers their mean.
        """
        n, n_trees = leaves.shape
        parts = (self.votes.double(), self.voted.long(), self.first)
        votes = sp.csr_array(
            tuple(part.cpu().numpy() for part in parts), (len(self.left), self.n_classes)
        )
        starts = np.arange(0, n * n_trees + 1, n_trees)
        ended = sp.csr_array((np.ones(n * n_trees), leaves.ravel(), starts), (n, len(self.left)))
        total = (ended @ votes).toarray()
        if self.seen.ndim == 1:
            shares = (total + 1 / self.n_classes) / (n_trees + 1)
            return np.where(self.seen.cpu().numpy(), np.log(shares), NEVER)
        if not len(self.seen):
            return total / n_trees
        return np.log(total + 0.5) - np.log(np.maximum(n_trees - total, 0.0) + 0.5)


def _grow(columns: Any, targets: Any, sample_weight: Any, seed: int, *, finite: bool) -> Any:
    """Fit one tree of scikit-learn's, which keeps every class at every node.

    It looks for missing values as it checks its input. Where there are none the checks are left
    out: they take longer than a small tree.
    """
    from sklearn import config_context
    from sklearn.tree import ExtraTreeClassifier, ExtraTreeRegressor

    leaf = max(1, len(targets) // MOST_LEAVES)
    if targets.ndim == 1:
        model = ExtraTreeClassifier(min_samples_leaf=leaf, random_state=seed)
    else:  # All columns at every node, as the forest of scikit-learn's.
        model = ExtraTreeRegressor(min_samples_leaf=leaf, max_features=1.0, random_state=seed)
    with config_context(skip_parameter_validation=True):
        return model.fit(columns, targets, sample_weight, check_input=not finite).tree_


def _in_turn(grow: Callable[[int], Any], seeds: list[int], size: int) -> Generator[Any]:
    """Yield trees in the order of their seeds; a few threads grow them, as memory allows."""
    n_threads = max(1, min(thread_limit(), GROWING_AT_ONCE // size))
    with warnings.catch_warnings():
        # That classes are many, for each tree.
        warnings.simplefilter("ignore", UserWarning)
        if n_threads == 1:
            yield from map(grow, seeds)
            return
        with ThreadPoolExecutor(n_threads) as pool:
            for i in range(0, len(seeds), 2 * n_threads):
                yield from pool.map(grow, seeds[i : i + 2 * n_threads])


def growing_bytes(n_train: int, n_classes: int) -> int:
    """Return what scikit-learn takes for one tree: all classes at every node."""
    return _GROWING_NODE * _most_nodes(n_train) * n_classes


def _most_nodes(n_train: int) -> int:
    return 2 * (n_train // max(1, n_train // MOST_LEAVES))


def _leaf_votes(
    counts: NDArray[np.float64], leaf: NDArray[np.bool_], *, shares: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Return how many classes each node votes for, which, and each leaf's votes.

    They are shares of a leaf's sum, or as they are.
    """
    ends = np.flatnonzero(leaf)
    row, classes = np.nonzero(counts[ends])
    at = ends[row]
    votes = counts[at, classes] / (counts.sum(axis=1)[at] if shares else 1.0)
    return np.bincount(at, minlength=len(counts)), classes, votes.astype(np.float32)
