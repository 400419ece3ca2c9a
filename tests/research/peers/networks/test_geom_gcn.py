from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import Isomap

from graphfilter import operators
from graphfilter.data.graph import Graph
from graphfilter.util.errors import GraphError
from graphfilter_research.peers.geom_gcn import (
    GeomGCN,
    GeomGCNConfig,
    isomap,
    near_pairs,
    place,
    poincare,
    relations,
    structure,
)


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
    np.testing.assert_allclose(total([matrices[0], matrices[-1]])[3:], expected[3:])
    assert not total(matrices[1:-1])[3:].any()
    edgeless = Graph.from_edges(np.empty((0, 2), int), 4)
    np.testing.assert_allclose(total(relations(edgeless, isomap(edgeless))), np.eye(4))


def test_place_refuses_a_graph_too_large() -> None:
    with pytest.raises(GraphError, match="at most 5 vertices; got 6"):
        place(Graph.from_edges([[0, 5]]), "isomap", most_vertices=5)


def test_relations_add_up_to_the_neighbourhoods() -> None:
    graph = Graph.from_networkx(nx.gnp_random_graph(30, 0.15, seed=1)).largest_component()
    matrices = relations(graph, isomap(graph))
    in_graph, in_plane = total(matrices[:4]), total(matrices[4:8])
    assert np.array_equal(in_graph != 0, graph.adjacency.toarray() != 0)
    np.testing.assert_allclose(in_plane, in_plane.T, atol=1e-12)
    n_latent = np.count_nonzero(in_plane) / 2
    assert 0.9 * graph.n_edges <= n_latent <= graph.n_edges
    # Entry (v, u) is 1 / √(d_v d_u), so that each row of S_i √d sums to entries / √d.
    counts = np.sum([m.toarray() != 0 for m in matrices], axis=0).sum(axis=1)
    np.testing.assert_allclose(np.diag(matrices[8].toarray()), 1 / counts)
    np.testing.assert_allclose(total(matrices) @ np.sqrt(counts), np.sqrt(counts))


def test_relations_are_the_quadrants() -> None:
    star = Graph.from_edges([[0, i] for i in range(1, 5)])
    places = np.array([[0, 0], [1, 1], [-1, 1], [-1, -1], [1, -1]], dtype=float)
    matrices = relations(star, places)
    centre = [m.toarray()[0].nonzero()[0].tolist() for m in matrices[:4]]
    # Neither right nor above, right, above, both.
    assert centre == [[3], [4], [2], [1]]
    assert matrices[8].toarray()[0].nonzero()[0].tolist() == [0]


def test_geom_gcn_concatenates_before_the_activation() -> None:
    graph = Graph.from_networkx(nx.gnp_random_graph(20, 0.2, seed=1)).replace(
        features=np.random.default_rng(0).normal(size=(20, 3)),
        labels=np.arange(20) % 2,
        classes=np.arange(2),
    )
    model = GeomGCN(graph, GeomGCNConfig(hidden_size=2)).eval()
    x = torch.tensor(graph.features, dtype=torch.float32)
    matrices = [
        torch.tensor(m.toarray(), dtype=torch.float32) for m in relations(graph, isomap(graph))
    ]
    with torch.no_grad():
        first = model.first.weight.view(3, 9, 2)
        hidden = torch.relu(torch.cat([s @ x @ first[:, i] for i, s in enumerate(matrices)], dim=1))
        second = model.second.weight.view(18, 9, 2)
        expected = sum(s @ hidden @ second[:, i] for i, s in enumerate(matrices)) / 9
        got = model(operators.augmented_adjacency(graph), x)
    torch.testing.assert_close(got, expected)


def test_poincare_puts_neighbours_nearer_than_others() -> None:
    tree = Graph.from_networkx(nx.balanced_tree(3, 4))
    places = poincare(tree)
    radius = np.linalg.norm(places, axis=1)
    assert radius.max() < 1
    square = squareform(pdist(places)) ** 2
    room = 1 - radius**2
    distance = np.arccosh(1 + 2 * square / np.outer(room, room))
    adjacent = tree.adjacency.toarray() > 0
    apart = ~adjacent & ~np.eye(len(places), dtype=bool)
    assert distance[adjacent].mean() < 0.6 * distance[apart].mean()
    # The balls of the disc hold what its distances say.
    pairs = near_pairs(places, tree.n_edges, hyperbolic=True)
    longest = distance[pairs[:, 0], pairs[:, 1]].max()
    assert len(pairs) == np.count_nonzero(np.triu(distance <= longest + 1e-9, 1))


def test_structure_places_like_surroundings_alike() -> None:
    """On a star all leaves are in one place; on a path the ends are, and mirrored vertices."""
    star = structure(Graph.from_edges([[0, i] for i in range(1, 7)]))
    np.testing.assert_allclose(star[1:], np.tile(star[1], (6, 1)), atol=1e-9)
    assert np.linalg.norm(star[0] - star[1]) > 0.1
    path = structure(Graph.from_edges([[i, i + 1] for i in range(8)]))
    np.testing.assert_allclose(path, path[::-1], atol=1e-9)


def test_near_pairs_are_the_nearest() -> None:
    places = np.array([[0.0, 0], [1, 0], [3, 0], [7, 0]])
    assert sorted(map(tuple, near_pairs(places, 2))) == [(0, 1), (1, 2)]
    assert len(near_pairs(places, 6)) == 6
    assert len(near_pairs(np.zeros((4, 2)), 3)) == 0
