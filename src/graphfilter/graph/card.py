"""What a notebook shows of a graph."""

from __future__ import annotations

import numpy as np

from graphfilter.graph.arrays import GraphArrays
from graphfilter.plot import bar, card

# The largest number of classes, and of notes, that are shown.
_MOST = 12


def graph_card(graph: GraphArrays) -> str:
    """Return the sizes of a graph, its classes and what was cleaned, as HTML."""
    neighbours = np.diff(graph.indptr)
    edges = f"{graph.n_edges:,}{'' if graph.weights is None else ', weighted'}"
    rows = [("vertices", f"{graph.n_vertices:,}"), ("edges", edges)]
    if graph.n_edges:
        mean = f"{neighbours.mean():.1f} on average, {neighbours.max():,} at most"
        alone = int(np.count_nonzero(neighbours == 0))
        rows.append(("neighbours", mean + (f"; {alone:,} vertices have none" if alone else "")))
    if graph.arcs is not None:
        rows.append(("arcs", f"{np.count_nonzero(graph.arcs):,}"))
    if graph.kinds is not None:
        rows.append(("edge types", ", ".join(map(str, graph.kinds.names))))
    if graph.n_features:
        sparse = "" if isinstance(graph.features, np.ndarray) else ", sparse"
        rows.append(("features", f"{graph.n_features:,}{sparse}"))
    if graph.splits:
        rows.append(("fixed splits", str(len(graph.splits))))
    if graph.labels is not None and graph.n_classes:
        rows += _classes(graph, graph.labels)
    shown = " ".join(graph.notes[:_MOST])
    return card(f"Graph {graph.name!r}", rows, note=shown)


def _classes(graph: GraphArrays, labels: np.ndarray) -> list[tuple[str, str]]:
    known = labels[labels >= 0]
    counts = np.bincount(known, minlength=graph.n_classes)
    rows = [("labelled", f"{len(known):,} vertices, {graph.n_classes} classes")]
    largest = max(int(counts.max(initial=0)), 1)
    for name, n in list(zip(graph.classes.tolist(), counts.tolist(), strict=True))[:_MOST]:
        rows.append((str(name), bar(n / largest, f"{n:,}")))
    if graph.n_classes > _MOST:
        rows.append(("…", f"and {graph.n_classes - _MOST} more classes"))
    return rows
