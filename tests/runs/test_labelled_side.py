"""Which vertices can have a label, where a graph joins two kinds of them."""

from __future__ import annotations

import numpy as np
import pytest

from graphfilter.data.graph import Graph
from graphfilter.runs.cases import LEAST_EVIDENCE, labelled_side


def bipartite(n_side: int = 30, extra: int = 0, **options) -> Graph:
    """Join vertex i on the left with i, i + 1 and i + 7 on the right; then isolated vertices."""
    edges = [(i, n_side + (i + k) % n_side) for i in range(n_side) for k in (0, 1, 7)]
    return Graph.from_edges(edges, 2 * n_side + extra, **options)


def known_among(n: int, *vertices: int) -> np.ndarray:
    known = np.zeros(n, dtype=bool)
    known[list(vertices)] = True
    return known


def test_side_without_labels_cannot_have_one() -> None:
    can = labelled_side(bipartite(extra=2), known_among(62, *range(15)))
    np.testing.assert_array_equal(can, (np.arange(62) < 30) | (np.arange(62) >= 60))


@pytest.mark.parametrize(
    ("graph", "labelled"),
    [
        (bipartite(), [*range(15), 40]),
        (bipartite(), range(LEAST_EVIDENCE)),
        (Graph.from_edges([(i, (i + 1) % 61) for i in range(61)], 61), range(0, 60, 4)),
        (Graph.from_edges([(2 * i, 2 * i + 1) for i in range(30)], 60), range(0, 60, 2)),
        (bipartite(), range(60)),
        (bipartite(), []),
        (Graph.from_edges(np.empty((0, 2), int), 20), range(15)),
    ],
    ids=["both-sides", "too-few", "odd-cycle", "pairs-say-nothing", "all", "none", "no-edges"],
)
def test_vertices_stay_in_where_nothing_says_otherwise(graph: Graph, labelled) -> None:
    assert labelled_side(graph, known_among(graph.n_vertices, *labelled)).all()


def test_a_feature_of_the_kind_tells_of_vertices_without_neighbours() -> None:
    device = np.array([0.0] * 30 + [1.0] * 30 + [1.0, 0.0])
    graph = bipartite(extra=2, features=np.stack([device, np.arange(62.0)], axis=1))
    can = labelled_side(graph, known_among(62, *range(15)))
    np.testing.assert_array_equal(can, device == 0)
    plain = labelled_side(bipartite(extra=2), known_among(62, *range(15)))
    assert plain[60:].all()
