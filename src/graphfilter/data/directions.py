"""The direction of the links of a dataset, from an original that still has it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data import readers
from graphfilter.errors import DataFileError
from graphfilter.graph import Graph, align_arcs


def add_directions(graph: Graph, path: Path) -> Graph:
    """Return the graph with the directions in ``path``; its edges must be those of the graph.

    Parameters
    ----------
    path : Path
        ``out1_graph_edges.txt`` of Geom-GCN, or an npz file of gnn-benchmark, whose vertices may
        be in another order: they are told by their features, and by those of their neighbours.
    """
    if path.suffix == ".npz":
        source = readers.read_gnn_benchmark(path, directed=True)
        links = source.out_links().tocoo()
        pairs = _match_vertices(source, graph, path)[np.stack([links.row, links.col], axis=1)]
    else:
        pairs = readers.read_geom_gcn_edges(path, graph.n_vertices)
    found = Graph.from_edges(pairs, graph.n_vertices)
    if not np.array_equal(found.edges, graph.edges):
        raise DataFileError(
            path,
            f"without directions its {found.n_edges:,} edges must be the {graph.n_edges:,} of "
            f"{graph.name}; they are not. Get both files again.",
        )
    return replace(graph, arcs=align_arcs(pairs, None, graph.indptr, graph.indices))


def _match_vertices(source: Graph, target: Graph, path: Path) -> NDArray[np.int64]:
    """Return the number in ``target`` of every vertex of ``source``.

    Vertices that are alike in their features and in those of their neighbours keep their order.
    """
    keys = [_descriptions(graph) for graph in (source, target)]
    if Counter(keys[0]) != Counter(keys[1]):
        problem = f"its vertices must be those of {target.name}, by their features and neighbours"
        raise DataFileError(path, f"{problem}; they are not. Get both files again.")
    orders = [sorted(range(len(k)), key=k.__getitem__) for k in keys]
    number = np.empty(target.n_vertices, dtype=np.int64)
    number[orders[0]] = orders[1]
    return number


def _descriptions(graph: Graph) -> list[tuple[Any, ...]]:
    """Describe every vertex by the columns of its features and of its neighbours' features."""
    x: Any = graph.features
    rows = [tuple(part.tolist()) for part in np.split(x.indices, x.indptr[1:-1])]
    neighbours = np.split(graph.indices, graph.indptr[1:-1])
    return [
        (row, tuple(sorted(rows[v] for v in near)))
        for row, near in zip(rows, neighbours, strict=True)
    ]
