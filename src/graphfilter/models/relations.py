"""What is around a vertex, as columns for trees: known labels, and averages of columns.

A relation joins vertices: being neighbours, being whom a vertex links to or who links to it, an
edge type, two steps, sharing a value of a category, or being near by coordinates. Over each, the
known labels of the others are averaged. A vertex never sees its own label: it sees those outside
its fold only.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import nn

from graphfilter.data.graph import Graph
from graphfilter.models.forest import dense
from graphfilter.models.places import Known, averaging, basis_of
from graphfilter.models.scaling import or_one
from graphfilter.tables.columns import MISSING_MARK, Features, with_gaps
from graphfilter.tables.near import find_coordinates, nearest

Columns = NDArray[np.float32]
# From the numbers of vertices (n, c) to their sums over a relation, of some rows.
Sums = Callable[[NDArray[np.float64], Any], NDArray[np.float64]]

# Folds of the labels that are known: a vertex sees those of the others.
N_FOLDS = 10
# Of more columns than trees take, the fullest are read as they are and the others compressed.
MOST_COLUMNS = 256
MOST_PLAIN, LEAST_FILLED, COMPRESSED = 128, 0.05, 32
# Edge types, the most frequent, whose neighbours are told apart.
MOST_TYPES = 6
# A category of no more values is read value by value; trees read one of more by the known labels of
# those that share one.
FEW_VALUES = 20
# Of more classes what is known around a vertex is kept sparse: few of them come there.
FEW_CLASSES = 8
# Columns of which the largest and the smallest value among neighbours are seen, where vertices are
# more than so many.
MOST_EXTREMES, FEW_VERTICES = 32, 1000
# How many vertices are near by coordinates.
NEAREST = (10, 40)


def find_around(graph: Graph, features: Features) -> dict[str, NDArray[Any]]:
    """Return which columns are read as they are, and the basis of the others; none of few.

    Those of a category of many values are in neither. And whether extremes among neighbours are
    seen, also in a graph of another size.
    """
    found = {"extremes": np.array([graph.n_vertices > FEW_VERTICES], dtype=np.int64)}
    n_columns, names = features.shape[1], graph.feature_names or ()
    coded = [np.arange(*ends) for ends in _categories(names)]
    left = np.setdiff1d(np.arange(n_columns), np.concatenate([[], *coded]))
    if not len(left) or len(left) == n_columns <= MOST_COLUMNS:
        return found
    if len(left) <= MOST_COLUMNS:
        return found | {"plain": left.astype(np.int64)}
    matrix = sp.csc_array(features)
    filled = np.zeros(n_columns, dtype=np.int64)
    filled[left] = np.diff(matrix.indptr)[left]
    fullest = np.argsort(-filled, kind="stable")[:MOST_PLAIN]
    kept = set(fullest[filled[fullest] >= LEAST_FILLED * matrix.shape[0]].tolist())
    # What says where a column has gaps goes with it.
    own = {names[i].partition(" (")[0] for i in kept if names}
    kept |= {i for i, name in enumerate(names) if name.removesuffix(MISSING_MARK) in own}
    plain = np.array(sorted(kept), dtype=np.int64)
    others = np.setdiff1d(np.arange(n_columns), plain)
    pressed = np.isin(others, left)
    own_basis = basis_of(sp.csr_array(matrix[:, others[pressed]]), COMPRESSED)
    basis = np.zeros((len(others), own_basis.shape[1]), dtype=np.float32)
    basis[pressed] = own_basis
    return found | {"plain": plain, "basis": basis}


def told(targets: NDArray[Any], rows: NDArray[np.int64], n_classes: int) -> dict[str, Any]:
    """Return what is known of some vertices, as :func:`columns_around` takes it.

    ``targets`` are class numbers (n,), labels (bool, (n, L)), or numbers (n, T).
    """
    known = targets[rows]
    if known.ndim == 1:
        # Of two classes the share of one says that of the other.
        classes = np.arange(1 if n_classes == 2 else 0, n_classes)
        known = known[:, None] == classes
    folds = np.random.default_rng(len(rows)).permutation(len(rows)) % N_FOLDS
    return {
        "told_rows": np.asarray(rows, dtype=np.int64),
        "told_values": known.astype(np.float32),
        "told_folds": folds.astype(np.int8),
    }


def told_of(
    graph: Graph, found: Mapping[str, NDArray[Any]], known: Known | None
) -> NDArray[np.int64]:
    """Return which row of what is told each vertex of a graph has (n,); -1 where it has none."""
    rows = found["told_rows"]
    n_fitted = graph.n_vertices if known is None else known.n_fitted
    told = np.full(n_fitted + 1, -1)  # Of the number -1, of a vertex that is new, nothing is.
    inside = rows < n_fitted
    told[rows[inside]] = np.flatnonzero(inside)
    return told[: graph.n_vertices] if known is None else told[known.numbers]


def columns_around(
    graph: Graph, features: Features, found: Mapping[str, NDArray[Any]], known: Known | None = None
) -> Columns:
    """Return what is around the vertices of a graph as columns.

    Its own, with gaps; averages at one and two steps, and extremes, over neighbours; how many there
    are; and over every relation the average of the labels that are ``told``, drawn to that of all,
    with how many they are.
    """
    columns, names = _plain(graph, features, found)
    adjacency, degrees = averaging(graph, known)
    if known is not None:  # Those that are not known have no weight.
        adjacency = adjacency.copy()
        adjacency.eliminate_zeros()
    mean = sp.csr_array(sp.diags_array(1 / or_one(degrees)) @ adjacency).astype(np.float32)
    filled = np.nan_to_num(columns)
    share = 1.0 if known is None else known.share_present
    once = mean @ filled
    parts = [
        with_gaps(columns, names) if names else columns,
        np.log1p(degrees / share)[:, None],
        once,
        mean @ once,
    ]
    n_plain = len(names) if names else filled.shape[1]
    if n_plain <= MOST_EXTREMES and found["extremes"][0]:
        parts += _extremes(adjacency, filled[:, :n_plain])
    if "told_rows" in found:
        for total, n_known, usual in _known_sums(graph, features, found, known):
            parts += [(dense(total) + usual) / (n_known + 1), np.log1p(n_known)]
    return np.hstack(parts).astype(np.float32)


class KeepsView(nn.Module):
    """A model that keeps what its view found and was told, as buffers whose names begin so."""

    seen: ClassVar[dict[str, torch.dtype]] = {
        "seen_told_rows": torch.int64,
        "seen_told_values": torch.float32,
        "seen_told_folds": torch.int8,
    }

    def keep_view(self, found: Mapping[str, NDArray[Any]]) -> None:
        for name, values in found.items():
            setattr(self, f"seen_{name}", torch.tensor(values))

    def kept_view(self) -> dict[str, NDArray[Any]] | None:
        kept = {name.removeprefix("seen_"): getattr(self, name) for name in self.seen}
        return {
            name: tensor.cpu().numpy()
            for name, tensor in kept.items()
            if tensor.numel() or name.startswith("told")
        }

    def recognising(self, numbers: NDArray[np.int64]) -> Self:
        """Return the model told nothing, where nothing is recognised; else the view chooses."""
        if len(numbers):
            return self
        made = copy.copy(self)
        made._buffers = dict(self._buffers)
        for name in KeepsView.seen:
            setattr(made, name, getattr(self, name)[:0])
        return made

    def is_whole_view(self, state: Mapping[str, torch.Tensor]) -> bool:
        """Return whether what is told in a file goes together."""
        rows, values, folds = (state[name] for name in KeepsView.seen)
        return (
            values.ndim == 2
            and bool(values.isfinite().all())
            and all(one.ndim == 1 and len(one) == len(values) for one in (rows, folds))
            and bool((rows >= 0).all())
        )


# Stored values × classes of neighbours' columns up to which a linear model sees them.
MOST_BESIDE = 6 * 10**8


def find_beside(graph: Graph, features: Features) -> dict[str, NDArray[Any]]:
    """Return whether the columns of neighbours are seen beside a vertex's own: not too many."""
    per_row = np.diff(features.indptr) if sp.issparse(features) else np.full(*features.shape)
    values = per_row[graph.indices].sum(dtype=np.float64) * (2 if graph.directed else 1)
    fits = graph.n_edges > 0 and values * max(graph.n_classes, 1) <= MOST_BESIDE
    return {"beside": np.array([fits], dtype=np.int64)}


def columns_beside(
    graph: Graph, features: Features, found: Mapping[str, NDArray[Any]], known: Known | None = None
) -> Features:
    """Return the columns of the vertices, and beside them their averages over neighbours.

    Where edges have directions, over those it links to and those that link to it. Then come the
    labels that are ``told``, averaged over every relation, drawn to none or the mean.
    """
    parts: list[Any] = [features]
    if found["beside"][0]:
        parts += [mean @ features for mean in _means(graph, known)]
    if "told_rows" in found:
        values = found["told_values"]
        # Of classes and labels most are zeros, which are not stored.
        drawn = 0.0 if ((values == 0) | (values == 1)).all() else 1.0
        for total, n_known, usual in _known_sums(graph, features, found, known):
            if sp.issparse(total) and not drawn:
                parts.append(sp.diags_array(1 / (n_known[:, 0] + 1)) @ total)
            else:
                parts.append((dense(total) - drawn * n_known * usual) / (n_known + 1))
    if sp.issparse(features):
        return sp.csr_array(sp.hstack([sp.csr_array(p) for p in parts]), dtype=np.float32)
    return np.hstack(parts).astype(np.float32)


def _means(graph: Graph, known: Known | None) -> list[sp.csr_array]:
    if not graph.directed:
        adjacency, degrees = averaging(graph, known)
        return [sp.csr_array(sp.diags_array(1 / or_one(degrees)) @ adjacency)]
    means = []
    for half in (graph.out_links(), graph.in_links()):
        if known is not None:
            half.data = half.data * known.is_known[half.indices]
        means.append(sp.csr_array(sp.diags_array(1 / or_one(half.sum(axis=1))) @ half))
    return means


def _plain(
    graph: Graph, features: Features, found: Mapping[str, NDArray[Any]]
) -> tuple[NDArray[Any], Sequence[str]]:
    """Return the columns that trees read, dense, and the names of those that have some."""
    names = graph.feature_names or ()
    if not len(plain := found.get("plain", ())):
        return dense(features), names
    matrix = sp.csc_array(features)
    columns = matrix[:, plain].toarray()
    if "basis" in found:
        others = np.setdiff1d(np.arange(features.shape[1]), plain)
        columns = np.hstack([columns, sp.csr_array(matrix[:, others]) @ found["basis"]])
    return columns, [names[i] for i in plain] if names else ()


def _extremes(adjacency: sp.csr_array, columns: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the largest and the smallest value among neighbours; gaps where there are none."""
    made = []
    ends = np.flatnonzero(np.diff(adjacency.indptr))
    of_neighbours = columns[adjacency.indices]
    for extreme in (np.maximum, np.minimum):
        values = np.full(columns.shape, np.nan)
        if len(ends):
            values[ends] = extreme.reduceat(of_neighbours, adjacency.indptr[ends], axis=0)
        made.append(values)
    return made


def _known_sums(
    graph: Graph, features: Features, found: Mapping[str, NDArray[Any]], known: Known | None
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64], Any]]:
    """Yield sums of what is told over each relation, of how many, and the mean of all.

    A labelled vertex is told nothing of its own fold.
    """
    values, folds = found["told_values"], found["told_folds"]
    own = told_of(graph, found, known)
    is_told = own >= 0
    # The last column counts those that are known. Of many classes most are zeros.
    numbers: Any = np.zeros((graph.n_vertices, values.shape[1] + 1))
    numbers[is_told, :-1], numbers[is_told, -1] = values[own[is_told]], 1
    if values.shape[1] > FEW_CLASSES:
        numbers = sp.csr_array(numbers)
    fold = np.where(is_told, folds[own], -1) if len(folds) else own
    rows = [np.flatnonzero(fold < 0), *(np.flatnonzero(fold == one) for one in range(N_FOLDS))]
    place = np.argsort(np.concatenate(rows))
    shown = [numbers, *(_without_rows(numbers, one) for one in rows[1:])]
    stack: Any = sp.vstack if sp.issparse(numbers) else np.concatenate
    # The same for all: that of a fold would say what is in the fold.
    usual = values.mean(axis=0, dtype=np.float64) if len(values) else 0.0
    for sums in _relations(graph, features, known):
        total = stack([sums(seen, own) for seen, own in zip(shown, rows, strict=True)])
        total = (total.tocsr() if sp.issparse(total) else total)[place]
        yield total[:, :-1], np.maximum(dense(total[:, [-1]]), 0), usual


def _without_rows(numbers: Any, rows: NDArray[np.int64]) -> Any:
    kept = np.ones(numbers.shape[0])
    kept[rows] = 0
    shown = sp.diags_array(kept) @ numbers
    return sp.csr_array(shown) if sp.issparse(numbers) else shown


def _relations(graph: Graph, features: Features, known: Known | None) -> Iterator[Sums]:
    """Yield what adds up numbers over the others in each relation of a vertex."""
    # Also without edges, so that there are as many relations as in the fitted graph.
    adjacency = graph.adjacency
    squares = sp.csr_array(adjacency.multiply(adjacency)).sum(axis=1)[:, None]
    yield lambda numbers, rows: adjacency[rows] @ numbers
    # Two steps that do not lead back.
    yield (
        lambda numbers, rows: (
            adjacency[rows] @ (adjacency @ numbers) - squares[rows] * numbers[rows]
        )
    )
    if graph.directed:
        for half in (graph.out_links(), graph.in_links()):
            yield lambda numbers, rows, half=half: half[rows] @ numbers
    if graph.kinds is not None and len(graph.kinds.names) > 1:
        strength = np.count_nonzero(graph.kinds.values, axis=1)
        for kind in np.sort(np.argsort(-strength, kind="stable")[:MOST_TYPES]):
            data = graph.kinds.values[kind].astype(np.float64)
            shape = (graph.n_vertices,) * 2
            links = sp.csr_array((data, graph.indices, graph.indptr), shape=shape)
            yield lambda numbers, rows, links=links: links[rows] @ numbers
    for has in shared_values(graph, features):
        if known is not None and known.parts is not None:  # Each part shares within itself.
            width = has.shape[1]
            apart = has.indices + width * np.repeat(known.parts, np.diff(has.indptr))
            shape = (len(known.parts), width * (int(known.parts.max()) + 1))
            has = sp.csr_array((has.data, apart, has.indptr), shape=shape)
        yield (
            lambda numbers, rows, has=has: (
                has[rows] @ (has.T @ numbers) - has[rows].sum(axis=1)[:, None] * numbers[rows]
            )
        )
    for links in near_places(graph, features, None if known is None else known.parts):
        yield lambda numbers, rows, links=links: links[rows] @ numbers


def shared_values(graph: Graph, features: Features) -> Iterator[sp.csr_array]:
    """Yield which value each vertex has (n, k), of every category that joins vertices."""
    if graph.feature_names and sp.issparse(features):
        columns = sp.csc_array(features)
        for start, end in _categories(graph.feature_names):
            yield sp.csr_array(columns[:, start:end] != 0).astype(np.float64)


def near_places(
    graph: Graph, features: Features, parts: NDArray[np.int64] | None = None
) -> Iterator[sp.csr_array]:
    """Yield the weights (n, n) of the vertices nearest to each by coordinates, in its own part.

    They fall with the distance, and add up to how many there are.
    """
    for pair in find_coordinates(graph.feature_names or ()):
        x: Any = features[:, list(pair)]
        places = np.asarray(x.toarray() if sp.issparse(x) else x, dtype=np.float64)
        for n_near in NEAREST:
            yield _nearest(places, min(n_near, len(places) - 1), parts)


def _nearest(places: NDArray[np.float64], n_near: int, parts: Any) -> sp.csr_array:
    n = len(places)
    if parts is not None:  # Parts lie apart from each other.
        width = 4 * np.abs(places).max(initial=1)
        places = np.column_stack([places, width * parts])
    distance, who = nearest(places, n_near + 1)
    there = who != np.arange(n)[:, None]
    if parts is not None:
        there &= parts[who] == parts[:, None]
    distance[~there] = 0
    weight = there / (distance + distance.max(axis=1, keepdims=True) / 10 + 1e-9)
    weight *= there.sum(axis=1, keepdims=True) / or_one(weight.sum(axis=1, keepdims=True))
    rows = np.arange(n + 1) * (n_near + 1)
    return sp.csr_array((weight.ravel(), who.ravel(), rows), shape=(n, n))


def _categories(names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where the columns of each category of many values begin and end."""
    at = 0
    for column, own in groupby(names, lambda name: name.partition("=")[0]):
        n_values = sum(1 for _ in own)
        if n_values > FEW_VALUES and "=" in names[at] and names[at].startswith(f"{column}="):
            yield at, at + n_values
        at += n_values
