"""Rows of X matched with the vertices of a graph by name, or refused: never paired by luck."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.util.errors import GraphError
from graphfilter.util.words import count


def row_names(table: Any) -> list[Any] | None:
    """Return the index of a DataFrame or Series; None for anything that names no rows."""
    index = getattr(table, "index", None)
    # ``list.index`` and ``tuple.index`` are methods.
    return None if index is None or callable(index) else list(index)


def align(X: Any, graph: Graph, *, has_names: bool) -> Graph:
    """Return the graph with its vertices in the order of the rows of X.

    Rows that have names (the index of a DataFrame) and vertices that have names (the nodes of a
    networkx graph) are matched by them; rows without names are in the order of the vertices.

    Parameters
    ----------
    X : features as the user gave them
    graph : Graph
    has_names : bool
        Whether rows without names are ambiguous where the vertices are numbers out of order, as
        in a networkx graph: is row 0 that of vertex 0, or of the vertex that was added first?
    """
    rows, n = row_names(X), graph.n_vertices
    vertices = None if graph.vertex_names is None else list(graph.vertex_names)
    if rows is None:
        if vertices is None or vertices == list(range(n)):
            return graph
        if hasattr(X, "columns"):
            raise GraphError(
                "X must say which row is which vertex of the graph, whose vertices have names; "
                f"a {type(X).__name__} has no index. Pass a pandas DataFrame with the names as its "
                "index, or an array with its rows in the order of the graph's vertices."
            )
        if has_names and _are_numbers(vertices, n):
            raise GraphError(
                f"the vertices of the graph are the numbers 0..{n - 1} in another order, so it is "
                "not clear whether row 0 of X is that of vertex 0 or of the first vertex. Pass "
                "graph=Graph.from_networkx(graph) for rows in the order of its nodes, or a "
                "DataFrame with the nodes as its index."
            )
        return graph
    if len(rows) != n:
        raise GraphError(f"the graph must have {len(rows)} vertices, one per row of X; got {n}.")
    if vertices is None:
        if rows != list(range(n)) and _are_numbers(rows, n):
            raise GraphError(
                f"the index of X must be in order, or not be the numbers 0..{n - 1}: it is not "
                "clear whether edges name rows by their index or by their position. Pass "
                "X.sort_index() (and y in the same order), or X.reset_index(drop=True)."
            )
        # Kept, so that a later X in another order is matched too.
        return graph.replace(vertex_names=rows) if len(set(rows)) == n else graph
    if rows == vertices:
        return graph
    return graph.subgraph(places_of(rows, vertices))


def align_target(X: Any, y: Any, graph: Any) -> Any:
    """Return y in the order of the rows of X, or of the vertices, where both have names.

    Rows that the index of y does not name have no label. Without common names, labels are paired
    with rows by their position, as scikit-learn does.
    """
    found, expected = row_names(y), row_names(X)
    if X is None and isinstance(graph, Graph) and graph.vertex_names is not None:
        expected = list(graph.vertex_names)
    if found is None or expected is None or found == expected or not _are_among(found, expected):
        return y
    return y.reindex(expected)


def _are_among(found: Sequence[Any], expected: Sequence[Any]) -> bool:
    """Return whether the names of y are some of those of X, each once: not just row numbers."""
    try:
        some = set(found)
        if found == list(range(len(found))) and len(found) != len(expected):
            return False
        return len(some) == len(found) and some <= set(expected)
    except TypeError:
        return False


def places_of(rows: Sequence[Any], vertices: Sequence[Any]) -> NDArray[np.int64]:
    """Return the position among the vertices of each row's name."""
    place = {name: i for i, name in enumerate(vertices)}
    missing = [row for row in rows if row not in place]
    if missing:
        raise GraphError(
            f"the index of X must name the vertices of the graph; {count(len(missing), 'row')} "
            f"of {len(rows):,} do not, for example {missing[0]!r} (vertices are called "
            f"{vertices[0]!r}, ...). Set it with X.set_index(...), or pass an array with its rows "
            "in the order of its nodes."
        )
    if len(set(rows)) != len(rows):
        twice = next(row for i, row in enumerate(rows) if row in rows[:i])
        raise GraphError(f"the index of X must name every vertex once; got {twice!r} twice.")
    return np.array([place[row] for row in rows])


def _are_numbers(names: Sequence[Any], n: int) -> bool:
    """Return whether names are the numbers from 0 to n - 1, in any order."""
    return _same(names, range(n))


def _same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    try:
        return set(a) == set(b)
    except TypeError:
        return False
