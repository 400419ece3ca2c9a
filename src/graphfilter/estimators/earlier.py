"""The vertices of a fit, found again in another graph by their ids."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.models.places import Known
from graphfilter.models.scaling import FeatureScaler
from graphfilter.tables.columns import Features
from graphfilter.util.errors import GraphError
from graphfilter.util.machine import blocks

# Numbers that are kept of each vertex's features, to tell whether its id still means the same.
SKETCH = 4
# Features have changed where they are more than half as far from what they were as those of two
# vertices are from each other: of squared distances.
CHANGED = 0.25
# From this share of the known vertices on, changed features are not chance.
MANY_CHANGED = 0.01
NO_IDS = (
    "The model keeps no ids (`as_of` and `forget_ids` leave them out): every vertex counts as new, "
    "and members that know vertices by their links are not used."
)
# Vertices whose features are scaled at a time.
_ROWS_AT_ONCE = 1 << 10
# Pairs of vertices whose distance is the measure.
_PAIRS = 10_000
# A VertexEstimator: it is made of these parts, which therefore cannot import it.
FittedEstimator = Any


@dataclass(frozen=True, eq=False)
class KnownVertices:
    """The vertices that a model was fitted on: who they are, and a little of what they were.

    Attributes
    ----------
    ids : int64 array (n,)
        Hashes of their ids.
    sketch : float32 array (n, SKETCH)
        Their scaled features, projected.
    directed : bool
        Whether links had directions.
    """

    ids: NDArray[np.int64]
    sketch: NDArray[np.float32]
    directed: bool

    @classmethod
    def of(cls, graph: Graph, scaler: FeatureScaler) -> Self | None:
        """Return the vertices of a graph; None where two have the same id."""
        ids = hash_ids(graph.vertex_names or range(graph.n_vertices))
        if len(np.unique(ids)) < len(ids):
            return None
        return cls(ids, _sketch(graph, scaler), graph.directed)

    def recognise(self, graph: Graph) -> Known | None:
        """Return which vertices of a graph these are; None where none is, or it has no ids.

        The numbers 0, 1, … in order are places of rows, not ids.
        """
        names = graph.vertex_names
        if names is None or graph.directed != self.directed or names == (*range(len(names)),):
            return None
        ids = hash_ids(names)
        _check_once(names, ids)
        numbers = self._numbers(ids)
        return Known(numbers, len(self.ids)) if (numbers >= 0).any() else None

    def grown(self, known: Known, names: Sequence[str]) -> Known:
        """Return what is known of a graph with more vertices of these ids after its own."""
        more = self._numbers(hash_ids(names))
        return replace(known, numbers=np.append(known.numbers, more))

    def _numbers(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of hashed ids; -1 of those that are not there."""
        place = np.searchsorted(self.ids, ids, sorter=self._order).clip(max=len(self.ids) - 1)
        numbers = self._order[place]
        return np.where(self.ids[numbers] == ids, numbers, -1)

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        return np.argsort(self.ids)

    def n_changed(self, graph: Graph, known: Known, scaler: FeatureScaler) -> int:
        """Return how many known vertices have features that are far from what they were."""
        old = self.sketch[known.numbers[known.is_known]]
        new = _sketch(graph, scaler)[known.is_known]
        moved = np.square(new.astype(np.float64) - old).sum(axis=1)
        rng = np.random.default_rng(0)
        one, other = rng.integers(len(self.sketch), size=(2, _PAIRS))
        apart = np.square(self.sketch[one].astype(np.float64) - self.sketch[other]).sum(axis=1)
        return int((moved > CHANGED * apart[one != other].mean()).sum()) if len(old) > 1 else 0

    def describe_changed(self, graph: Graph, known: Known | None, scaler: FeatureScaler) -> str:
        """Return what is to be said of ids whose features have changed; nothing of a few."""
        if known is None:
            return ""
        n_changed, n_known = self.n_changed(graph, known, scaler), int(known.is_known.sum())
        if n_changed < max(1, MANY_CHANGED * n_known):
            return ""
        return (
            f"the features of {n_changed:,} of {n_known:,} known vertices are far from what they "
            "were in the fit: their ids may name other vertices now. `forget_ids` ignores them."
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, to be saved."""
        return {"ids": self.ids, "sketch": self.sketch, "directed": np.array([self.directed])}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self | None:
        """Return what :meth:`to_arrays` returned; None of nothing."""
        if not arrays:
            return None
        ids, sketch, directed = (arrays[name] for name in ("ids", "sketch", "directed"))
        right = ids.dtype == np.int64 and sketch.dtype == np.float32 and directed.dtype == np.bool_
        right &= ids.ndim == 1 and directed.shape == (1,) and sketch.shape == (len(ids), SKETCH)
        if not right or not len(ids) or not np.isfinite(sketch).all():
            raise ValueError("the ids of the vertices are damaged")
        return cls(ids, sketch, bool(directed[0]))


def describe_known(known: Known | None) -> str:
    """Return how many vertices of a graph a model knows, that would know some."""
    if known is None:
        return "No vertex is known by its id from the fit: members that need them are not used."
    n_known, n = int(known.is_known.sum()), len(known.numbers)
    return f"{n_known:,} of {n:,} vertices are known by id from the fit."


def named(graph: Graph, vertex_ids: Sequence[Any] | None) -> Graph:
    """Return a graph whose vertices have the ids given, each once."""
    if vertex_ids is None:
        return graph
    names = tuple(str(name) for name in vertex_ids)
    if len(names) != graph.n_vertices:
        n = graph.n_vertices
        raise GraphError(f"vertex_ids must be one per vertex ({n:,}); got {len(names):,}.")
    _check_once(names, hash_ids(names))
    return graph.replace(vertex_names=names)


def hash_ids(names: Iterable[Any]) -> NDArray[np.int64]:
    """Return a hash of 64 bits for each id: of its text, so that 7 and '7' are the same.

    Ids themselves are not kept with a model; who knows one can still ask whether it was there.
    """
    digests = (
        hashlib.blake2b(str(name).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        for name in names
    )
    return np.frombuffer(b"".join(digests), dtype="<i8").astype(np.int64)


def _check_once(names: Sequence[Any], ids: NDArray[np.int64]) -> None:
    _, first = np.unique(ids, return_index=True)
    if len(first) < len(ids):
        twice = np.setdiff1d(np.arange(len(ids)), first)[0]
        name = str(names[twice])
        raise GraphError(f"vertex ids must name every vertex once; got {name!r} twice.")


def _sketch(graph: Graph, scaler: FeatureScaler) -> NDArray[np.float32]:
    """Return random projections of scaled features, the same ones for every graph."""
    assert graph.features is not None
    features: Features = graph.features
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(features.shape[1], SKETCH))
    made = np.empty((graph.n_vertices, SKETCH), dtype=np.float32)
    for rows in blocks(len(made), _ROWS_AT_ONCE):
        made[rows] = scaler.transform(features[rows]) @ signs.astype(np.float32)
    return made


def ids_of(graph: Graph) -> Sequence[Any]:
    """Return the ids of a graph's vertices: their names, or their numbers."""
    return range(graph.n_vertices) if graph.vertex_names is None else graph.vertex_names
