"""What is around a vertex, as columns for trees: known labels, and averages of columns.

A relation joins vertices: being neighbours, being whom a vertex links to or who links to it, an
edge type, two steps, or sharing a value of a category. Over each, the known labels of the others
are averaged. A vertex never sees its own label: it sees those outside its fold only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.models.places import Known, averaging, basis_of
from graphfilter.models.scaling import or_one
from graphfilter.tables.columns import MISSING_MARK, Features, with_gaps

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
# A category with fewer values is read value by value; one with more joins vertices, too.
FEW_VALUES = 20
# Columns of which the largest and the smallest value among neighbours are seen.
MOST_EXTREMES = 32


def find_around(graph: Graph, features: Features) -> dict[str, NDArray[Any]]:
    """Return which columns are read as they are, and the basis of the others; empty of few."""
    if features.shape[1] <= MOST_COLUMNS:
        return {}
    matrix = sp.csc_array(features)
    filled = np.diff(matrix.indptr)
    fullest = np.argsort(-filled, kind="stable")[:MOST_PLAIN]
    kept = set(fullest[filled[fullest] >= LEAST_FILLED * matrix.shape[0]].tolist())
    # What says where a column has gaps goes with it.
    names = graph.feature_names or ()
    own = {names[i].partition(" (")[0] for i in kept if names}
    kept |= {i for i, name in enumerate(names) if name.removesuffix(MISSING_MARK) in own}
    plain = np.array(sorted(kept), dtype=np.int64)
    others = np.setdiff1d(np.arange(matrix.shape[1]), plain)
    return {"plain": plain, "basis": basis_of(sp.csr_array(matrix[:, others]), COMPRESSED)}


def told(targets: NDArray[Any], rows: NDArray[np.int64], n_classes: int) -> dict[str, Any]:
    """Return what is known of some vertices, as :func:`fix_around` takes it.

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


def fix_around(
    graph: Graph, found: Mapping[str, NDArray[Any]], known: Known | None = None
) -> Callable[[Features], Columns]:
    """Return what makes the columns of the vertices of a graph from its features.

    Its own, with gaps; averages, and extremes, over neighbours; how many there are; and over every
    relation the average of the labels that are ``told``, with how many they are. Where none is,
    there is a gap.
    """

    def make(features: Features) -> Columns:
        columns, names = _plain(graph, features, found)
        adjacency, degrees = averaging(graph, known)
        if known is not None:  # Those that are not known have no weight.
            adjacency = adjacency.copy()
            adjacency.eliminate_zeros()
        mean = sp.csr_array(sp.diags_array(1 / or_one(degrees)) @ adjacency).astype(np.float32)
        dense = np.nan_to_num(columns)
        share = 1.0 if known is None else known.share_present
        parts = [
            with_gaps(columns, names) if names else columns,
            np.log1p(degrees / share)[:, None],
            mean @ dense,
        ]
        n_plain = len(names) if names else dense.shape[1]
        if n_plain <= MOST_EXTREMES and graph.n_edges:
            parts += _extremes(adjacency, dense[:, :n_plain])
        if "told_rows" in found:
            parts += _known_labels(graph, features, found, known)
        return np.hstack(parts).astype(np.float32)

    return make


# Stored values × classes of neighbours' columns up to which a linear model sees them.
MOST_BESIDE = 6 * 10**8


def find_beside(graph: Graph, features: Features) -> dict[str, NDArray[Any]]:
    """Return whether the columns of neighbours are seen beside a vertex's own: not too many."""
    per_row = np.diff(features.indptr) if sp.issparse(features) else np.full(*features.shape)
    values = per_row[graph.indices].sum(dtype=np.float64) * (2 if graph.directed else 1)
    fits = graph.n_edges > 0 and values * max(graph.n_classes, 1) <= MOST_BESIDE
    return {"beside": np.array([fits], dtype=np.int64)}


def fix_beside(
    graph: Graph, found: Mapping[str, NDArray[Any]], known: Known | None = None
) -> Callable[[Features], Features]:
    """Return what puts the averages over neighbours beside the columns of the vertices.

    Where edges have directions, over those it links to and those that link to it.
    """

    def make(features: Features) -> Features:
        if not found["beside"][0]:
            return features
        parts = [features, *(mean @ features for mean in _means(graph, known))]
        if sp.issparse(features):
            return sp.csr_array(sp.hstack(parts), dtype=np.float32)
        return np.hstack(parts).astype(np.float32)

    return make


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
    if "plain" not in found:
        return (features.toarray() if sp.issparse(features) else features), names
    plain, n_columns = found["plain"], features.shape[1]
    others = np.setdiff1d(np.arange(n_columns), plain)
    matrix = sp.csc_array(features)
    own = matrix[:, plain].toarray()
    columns = np.hstack([own, sp.csr_array(matrix[:, others]) @ found["basis"]])
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


def _known_labels(
    graph: Graph,
    features: Features,
    found: Mapping[str, NDArray[Any]],
    known: Known | None,
) -> list[NDArray[np.float64]]:
    rows, values, folds = (found[f"told_{name}"] for name in ("rows", "values", "folds"))
    n_fitted = graph.n_vertices if known is None else known.n_fitted
    told = np.full(n_fitted + 1, -1)  # Of the number -1, of a vertex that is new, nothing is.
    inside = rows < n_fitted
    told[rows[inside]] = np.flatnonzero(inside)
    own = told[: graph.n_vertices] if known is None else told[known.numbers]
    is_told = own >= 0
    # The last column counts those that are known.
    numbers = np.zeros((graph.n_vertices, values.shape[1] + 1))
    numbers[is_told, :-1], numbers[is_told, -1] = values[own[is_told]], 1
    fold = np.where(is_told, folds[own], -1) if len(folds) else own
    parts = []
    for sums in _relations(graph, features, known):
        total = sums(numbers, slice(None))
        for one in range(N_FOLDS):
            if len(own := np.flatnonzero(fold == one)):
                total[own] = sums(np.where((fold == one)[:, None], 0, numbers), own)
        n_known = total[:, -1:]
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = np.where(n_known > 1e-9, total[:, :-1] / n_known, np.nan)
        parts += [shares, np.log1p(np.maximum(n_known, 0))]
    return parts


def _relations(graph: Graph, features: Features, known: Known | None) -> Iterator[Sums]:
    """Yield what adds up numbers over the others in each relation of a vertex."""
    if graph.n_edges:
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


def shared_values(graph: Graph, features: Features) -> Iterator[sp.csr_array]:
    """Yield which value each vertex has (n, k), of every category that joins vertices."""
    if graph.feature_names and sp.issparse(features):
        columns = sp.csc_array(features)
        for start, end in _categories(graph.feature_names):
            yield sp.csr_array(columns[:, start:end] != 0).astype(np.float64)


def _categories(names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield where the columns of each category of many values begin and end."""
    at = 0
    for column, own in groupby(names, lambda name: name.partition("=")[0]):
        n_values = sum(1 for _ in own)
        if n_values > FEW_VALUES and "=" in names[at] and names[at].startswith(f"{column}="):
            yield at, at + n_values
        at += n_values
