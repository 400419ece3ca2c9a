"""Prepared: a graph made ready for training and prediction, once for all that use it.

Which scale a number is learned on, which a simple model says before anything is trained. And folds:
labelled vertices divided so that each is held once from what is fitted to the others.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from graphfilter.data.graph import Graph
from graphfilter.large.hops import make_hops
from graphfilter.models import HopNetworkConfig, views
from graphfilter.models.places import Known
from graphfilter.models.scaling import FeatureScaler
from graphfilter.operators import Operator, SparseFeatures, make_operator, to_tensor
from graphfilter.operators.kernels import triton_works
from graphfilter.operators.operator import WITH_LOOPS, loop_weight
from graphfilter.splits import Split
from graphfilter.systems.system import System
from graphfilter.tables.columns import Features
from graphfilter.training import CLASSIFICATION, TargetScale, Task
from graphfilter.training.tasks import choose_scale
from graphfilter.util.errors import GraphError

__all__ = ["Prepared"]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A graph ready for training and prediction: scaled features, on a device, and operators.

    Everything is made once, when it is first asked for. ``found`` is what a view found in graph and
    features. ``known`` says which vertices are those of the fitted graph, where this is another one
    that shares some. What is learned is the labels' classes, or ``targets`` (n, T) of another task;
    the graph's classes then name these.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> prepared = gf.systems.Prepared.of(g, scaling="row")
    >>> prepared.operator("laplacian").interval
    (0.0, 2.0)
    """

    graph: Graph
    scaler: FeatureScaler
    device: str
    task: Task = CLASSIFICATION
    targets: NDArray[np.float32] | None = None
    found: views.Found = field(default_factory=dict, repr=False)
    known: Known | None = None
    weights: NDArray[np.float64] | None = None
    _operators: dict[str, Operator] = field(default_factory=dict, repr=False)
    _views: dict[str, Prepared] = field(default_factory=dict, repr=False)
    _hops: dict[tuple[str, int], Tensor] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        graph: Graph,
        *,
        scaling: str | FeatureScaler = "auto",
        device: str = "cpu",
        task: Task = CLASSIFICATION,
        targets: NDArray[np.float32] | None = None,
        known: Known | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> Self:
        """Prepare a graph with features.

        Parameters
        ----------
        scaling : str or FeatureScaler
            How to scale the features, or a scaler that was fitted on another graph.
        task, targets : Task and array (n, T), optional
            What to learn where it is not the labels' classes.
        known : Known, optional
            Which vertices are those of the graph that a model was fitted on.
        weights : array (n,), optional
            What each vertex weighs in the losses that are learned from.
        """
        if graph.features is None:
            raise GraphError(f"{graph.name} must have features to train on; it has no features.")
        if (place := torch.device(device)).type == "cuda":
            # Begins in a thread what the first product there would wait for.
            threading.Thread(target=triton_works, args=[place], daemon=True).start()
        if isinstance(scaling, FeatureScaler):
            scaler = scaling
        else:
            known_labels = None if graph.labels is None else graph.labels >= 0
            scaler = FeatureScaler.fit(
                graph.features, scaling, labelled=known_labels, loop=loop_weight(graph.past)
            )
        return cls(graph, scaler, device, task, targets, known=known, weights=weights)

    def weigh(
        self, rows: NDArray[np.int64], class_weight: NDArray[np.float64] | None
    ) -> NDArray[np.float64] | None:
        """Return what some vertices weigh in the loss: their own, times their class's weight."""
        of_class = None if class_weight is None else class_weight[self.labels[rows]]
        if self.weights is None:
            return of_class
        return self.weights[rows] * (1 if of_class is None else of_class)

    @cached_property
    def x(self) -> Tensor | SparseFeatures:
        """The scaled features, as networks take them."""
        return to_tensor(self.scaled(), device=self.device, share=True)

    def scaled(self) -> Features:
        """Return the scaled features; made every time, as ``x`` is what is kept of them."""
        assert self.graph.features is not None
        return self.scaler.transform(self.graph.features)

    def rows(self, rows: slice) -> Tensor | SparseFeatures:
        """Return the scaled features of some vertices, as networks take them."""
        assert self.graph.features is not None
        return to_tensor(self.scaler.transform(self.graph.features[rows]), device=self.device)

    def inputs(self, system: System) -> Tensor | SparseFeatures:
        """Return what the networks of a system read, where this is its view of the graph."""
        if isinstance(system.model, HopNetworkConfig):
            return self.hops(system.operator, system.model.n_hops)
        return self.x

    def operator(self, kind: str) -> Operator:
        """Return the operator of this kind, made when it is first asked for."""
        if kind not in self._operators:
            # Of an augmented adjacency alone are loops added.
            loop = {"loop": self.scaler.loop} if kind in WITH_LOOPS else {}
            self._operators[kind] = make_operator(kind, self.graph, device=self.device, **loop)
        return self._operators[kind]

    def seen_as(self, view: str, found: views.Found | None = None) -> Prepared:
        """Return the graph with the columns of a view in place of its features; made once.

        ``found`` is what the view found when a network was fitted; found now where None.
        """
        if view == "features":
            return self
        made = self._views.get(view)
        if made is not None and found is not None:
            same = made.found.keys() == found.keys()
            if not same or any(not np.array_equal(made.found[key], found[key]) for key in found):
                made = None
        if made is None:
            features = self.scaled()
            kept = views.find_view(self.graph, features, view) if found is None else found
            columns = views.view_columns(self.graph, features, view, kept, self.known)
            made = self._views[view] = replace(
                self,
                graph=replace(self.graph, features=columns),
                scaler=FeatureScaler("none", loop=self.scaler.loop),
                found=kept,
                _views={},
                _hops={},
            )
        return made

    def hops(self, kind: str, n_hops: int) -> Tensor:
        """Return X, P X, …, P^K X of every vertex (n, K + 1, d), in main memory or mapped."""
        if (kind, n_hops) not in self._hops:
            on_cpu = self if self.device == "cpu" else replace(self, device="cpu", _operators={})
            self._hops[kind, n_hops] = make_hops(
                self.graph, self.scaler, on_cpu.operator(kind), n_hops
            )
        return self._hops[kind, n_hops]

    def knowing(self, known: Known) -> Prepared:
        """Return the same graph as one that shares only some vertices with the fitted one."""
        return replace(self, known=known, _views={})

    def taking_for_new(self, vertices: ArrayLike) -> Prepared:
        """Return the fitted graph itself, some vertices of which count as new."""
        numbers = np.arange(n := self.graph.n_vertices)
        numbers[np.asarray(vertices, dtype=np.int64)] = -1
        return self.knowing(Known(numbers, n))

    @cached_property
    def past(self) -> Prepared:
        """The graph that training may know; this one where every edge may be known."""
        if self.graph.history is None or self.graph.history.moment is None:
            return self
        return replace(self, graph=self.graph.past, found={}, _operators={}, _views={}, _hops={})

    @property
    def labels(self) -> NDArray[np.int64]:
        """The class numbers of the vertices, -1 where unknown."""
        if self.graph.labels is None:
            raise GraphError(f"{self.graph.name} must have labels to train on; it has no labels.")
        return self.graph.labels


# Rounds of the trees that compare the scales.
N_ROUNDS = 50
# Rows of which scales are compared: more say nothing new.
MOST_ROWS = 5000


def find_scale(prepared: Prepared, y: NDArray[np.float64], split: Split) -> TargetScale:
    """Return the scale on which boosted trees best foretell the numbers of validation vertices.

    They see features and neighbours' averages; where columns are too many for that, numbers as they
    are and the others compressed.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor  # Slow to import.

    features = prepared.graph.features
    assert features is not None
    view = views.AVERAGES if features.shape[1] <= views.MOST_AVERAGED else views.AROUND
    rows: Any = prepared.seen_as(view).scaled()
    train = split.train
    if len(train) > MOST_ROWS:
        train = np.sort(np.random.default_rng(0).permutation(train)[:MOST_ROWS])

    def predict(t: NDArray[np.float64]) -> NDArray[np.float64]:
        model = HistGradientBoostingRegressor(
            max_iter=N_ROUNDS, early_stopping=False, random_state=0
        )
        return model.fit(rows[train], t).predict(rows[split.val])

    chosen = choose_scale(y, train, split.val, predict)
    return TargetScale.fit(y[split.train], chosen.name)


N_FOLDS = 5
# The fold of a vertex that is in none.
NO_FOLD = -1


@dataclass(frozen=True, eq=False)
class Folding:
    """The labelled vertices of a split in folds: each is held out once, and else learned from.

    Attributes
    ----------
    held : int8 array (n,)
        The fold of each training and validation vertex, -1 of the others.
    splits : tuple of Split
        One per fold, which is what it validates on.
    """

    held: NDArray[np.int8]
    splits: tuple[Split, ...]

    @classmethod
    def of(cls, split: Split, classes: NDArray[np.int64]) -> Self:
        """Divide training and validation vertices, each class evenly.

        The folds depend on the vertices and their classes (n,) alone.

        >>> split = Split(train=[0, 1, 2, 3, 4, 5], val=[6, 7, 8, 9], test=[10])
        >>> folding = Folding.of(split, np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0]))
        >>> [len(one.val) for one in folding.splits], int(folding.held[10])
        ([2, 2, 2, 2, 2], -1)
        """
        labelled = np.sort(np.concatenate([split.train, split.val]))
        held = np.full(len(classes), NO_FOLD, dtype=np.int8)
        totals = np.zeros(N_FOLDS, dtype=np.int64)
        rng = np.random.default_rng((len(labelled), 7))
        for one in np.unique(classes[labelled]):
            members = labelled[classes[labelled] == one]
            counts = np.zeros(N_FOLDS, dtype=np.int64)
            for vertex in rng.permutation(members).tolist():
                fold = min(range(N_FOLDS), key=lambda f: (counts[f], totals[f]))
                held[vertex] = fold
                counts[fold] += 1
                totals[fold] += 1
        return cls.again(held, split)

    @classmethod
    def again(cls, held: NDArray[np.int8], split: Split) -> Self:
        """Return the folds that vertices (n,) of a split are in already."""
        splits = (
            Split(
                np.flatnonzero((held != NO_FOLD) & (held != fold)),
                np.flatnonzero(held == fold),
                split.test,
                rule=split.rule,
            )
            for fold in range(N_FOLDS)
        )
        return cls(held, tuple(splits))


def held_folds(
    vertices: NDArray[np.int64], seed: int, n_folds: int = N_FOLDS
) -> list[NDArray[np.int64]]:
    """Divide vertices at random into folds of nearly equal size, none of them empty.

    >>> [len(fold) for fold in held_folds(np.arange(12), seed=0)]
    [3, 3, 2, 2, 2]
    """
    drawn = vertices[np.random.default_rng((seed, 2)).permutation(len(vertices))]
    return [np.sort(part) for part in np.array_split(drawn, min(n_folds, len(drawn)) or 1)]
