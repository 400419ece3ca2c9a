"""Forest: many random trees that vote, with the interface of a network."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.errors import check_count
from graphfilter.graph import Features, Graph
from graphfilter.models.base import ModelConfig
from graphfilter.models.comparing import too_many_to_compare
from graphfilter.models.fitted import Weight
from graphfilter.models.memory import Sizes, Working
from graphfilter.models.tree_nodes import NEVER, TREES, TreeNodes, dense, within
from graphfilter.runtime import thread_limit

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
    dropout: float = 0.0
    n_trees: int = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("n_trees", self.n_trees)

    def skip_reason(self, graph: Graph, n_train: int) -> str | None:
        if growing_bytes(n_train, graph.n_classes) > MOST_GROWING:
            many = f"{graph.n_classes:,} classes are too many for trees that vote"
            return too_many_to_compare(graph, n_train) or many
        return too_many_to_compare(graph, n_train)

    def memory(self, sizes: Sizes, available: int, n_processes: int = 1) -> Working:
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
        "first": torch.int64,
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

    def learn(self, rows: Features, targets: NDArray[Any], weight: Weight, seed: int) -> None:
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

    def is_whole(self, state: Mapping[str, Tensor], n_nodes: int) -> bool:
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
