"""The ids of a graph's vertices as text, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator

from graphfilter.graph import Graph

AT_ONCE = 1 << 17


def id_blocks(graph: Graph, at_once: int = AT_ONCE) -> Iterator[tuple[slice, list[str]]]:
    """Yield rows and the ids of their vertices; numbers where the graph has no names."""
    n, names = graph.n_vertices, graph.vertex_names
    for start in range(0, n, at_once):
        rows = slice(start, min(start + at_once, n))
        ids = range(n)[rows] if names is None else names[rows]
        yield rows, [str(name) for name in ids]
