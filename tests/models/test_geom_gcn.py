from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import Isomap

from graphfilter import operators
from graphfilter.errors import GraphError
from graphfilter.graph import Graph
from graphfilter.models import geom_gcn
from graphfilter.models.geom_gcn import isomap, near_pairs, relations


def test_isomap_of_a_path_is_a_line() -> None:
    """A path embeds exactly: its distances are those of points on a line."""
    path = Graph.from_edges([[i, i + 1] for i in range(9)])
    distances = squareform(pdist(isomap(path)))
    steps = np.abs(np.subtract.outer(np.arange(10), np.arange(10)))
    np.testing.assert_allclose(distances, steps, atol=1e-6)


def test_isomap_agrees_with_scikit_learn() -> None:
    """Its Isomap on a grid of points whose neighbour graph is the grid itself."""
    points = np.array([[i, j] for i in range(4) for j in range(7)], dtype=float)
    nearby = squareform(pdist(points)) < 1.1
    graph = Graph.from_scipy(sp.coo_array(nearby ^ np.eye(28, dtype=bool)))
    expected = Isomap(radius=1.1, n_neighbors=None, n_components=2).fit_transform(points)
    np.testing.assert_allclose(pdist(isomap(graph)), pdist(expected), atol=1e-6)


def test_isomap_with_landmarks_places_the_others_alike() -> None:
    path = Graph.from_edges([[i, i + 1] for i in range(59)])
    np.testing.assert_allclose(
        pdist(isomap(path, exact_up_to=0, n_landmarks=20)), pdist(isomap(path)), atol=1e-6
    )


def test_isomap_places_the_largest_component_only() -> None:
    apart = Graph.from_edges([[0, 1], [1, 2], [3, 4]], 6)
    places = isomap(apart)
    np.testing.assert_allclose(pdist(places[:3]), [1, 2, 1], atol=1e-6)
    assert np.isnan(places[3:]).all()


def total(matrices: Sequence[sp.csr_array]) -> np.ndarray:
    return np.sum([matrix.toarray() for matrix in matrices], axis=0)


def test_relations_of_what_is_not_placed_are_those_of_the_graph() -> None:
    apart = Graph.from_edges([[0, 1], [1, 2], [3, 4]], 6)
    matrices = relations(apart, isomap(apart))
    expected = operators.augmented_adjacency(apart).matrix.toarray()
    np.testing.assert_allclose(matrices[0].toarray()[3:], expected[3:])
    assert not total(matrices[1:])[3:].any()
    edgeless = Graph.from_edges(np.empty((0, 2), int), 4)
    np.testing.assert_allclose(total(relations(edgeless, isomap(edgeless))), np.eye(4))


def test_isomap_refuses_a_graph_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geom_gcn, "MOST_VERTICES", 5)
    with pytest.raises(GraphError, match="at most 5 vertices; got 6"):
        isomap(Graph.from_edges([[0, 5]]))


def test_relations_add_up_to_the_neighbourhoods() -> None:
    graph = Graph.from_networkx(nx.gnp_random_graph(30, 0.15, seed=1)).largest_component()
    places = isomap(graph)
    matrices = relations(graph, places)
    in_graph, in_plane = total(matrices[:4]), total(matrices[4:])
    expected = operators.augmented_adjacency(graph).matrix.toarray()
    np.testing.assert_allclose(in_graph, expected, atol=1e-12)
    np.testing.assert_allclose(in_plane, in_plane.T, atol=1e-12)
    n_latent = np.count_nonzero(in_plane) / 2
    assert 0.9 * graph.n_edges <= n_latent <= graph.n_edges


def test_relations_are_the_quadrants() -> None:
    star = Graph.from_edges([[0, i] for i in range(1, 5)])
    places = np.array([[0, 0], [1, 1], [-1, 1], [-1, -1], [1, -1]], dtype=float)
    centre = [m.toarray()[0].nonzero()[0].tolist() for m in relations(star, places)[:4]]
    # Neither right nor above, right, above, both; itself counts as neither.
    assert centre == [[0, 3], [4], [2], [1]]


def test_near_pairs_are_the_nearest() -> None:
    places = np.array([[0.0, 0], [1, 0], [3, 0], [7, 0]])
    assert sorted(map(tuple, near_pairs(places, 2))) == [(0, 1), (1, 2)]
    assert len(near_pairs(places, 6)) == 6
    assert len(near_pairs(np.zeros((4, 2)), 3)) == 0
