"""Near singular vectors of large graphs: those of dense products, without one per component."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from graphfilter import Graph
from graphfilter.data import make_csbm
from graphfilter.models.places import MOST_PLACES, find_positions, fix_positions, near_singular


def normalised(links: sp.csr_array) -> np.ndarray:
    dense = links.toarray().astype(np.float64)
    out, into = dense.sum(axis=1), dense.sum(axis=0)
    return dense / np.sqrt(np.outer(np.maximum(out, 1), np.maximum(into, 1)))


def make_groups(n_groups: int, *, directed: bool) -> Graph:
    """Make graphs of 60 vertices that have no edge to each other, and five vertices alone."""
    rng = np.random.default_rng(0)
    pairs = [60 * i + rng.integers(60, size=(200, 2)) for i in range(n_groups)]
    return Graph.from_edges(np.vstack(pairs), 60 * n_groups + 5, directed=directed)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("n_groups", [1, 3])
def test_near_vectors_are_the_largest_of_a_dense_decomposition(
    n_groups: int, directed: bool
) -> None:
    links = make_groups(n_groups, directed=directed).out_links()
    n = normalised(links)
    left, right = near_singular(links, symmetric=not directed)
    assert right.shape == (n.shape[1], MOST_PLACES)
    np.testing.assert_allclose(right.T @ right, np.eye(MOST_PLACES), atol=1e-4)
    values = np.linalg.svd(n, compute_uv=False)
    # One value of 1 per component is left out, and components of vertices alone have none.
    n_ones = int((values > 1 - 1e-9).sum())
    assert n_ones >= n_groups
    found = np.linalg.norm(n @ right, axis=0)
    np.testing.assert_allclose(found, values[n_ones:][:MOST_PLACES], rtol=0.02)
    np.testing.assert_allclose(found[:5], values[n_ones:][:5], rtol=1e-4)
    if directed:
        np.testing.assert_allclose(left * found, n @ right, atol=1e-5)
    again = near_singular(links, symmetric=not directed)
    np.testing.assert_array_equal(right, again[1])


def test_few_values_beside_many_zeros_are_found() -> None:
    """Complete graphs of two sides have rank 2: between them one edge makes other values."""
    pairs = [[i, 100 + j] for i in range(100) for j in range(40)]
    more = [[200 + i, 300 + j] for i in range(100) for j in range(40)]
    links = Graph.from_edges([*pairs, *more, [0, 300]], 340).out_links()
    right = near_singular(links, symmetric=True)[1]
    values = np.linalg.svd(normalised(links), compute_uv=False)[2:]
    found = np.linalg.norm(normalised(links) @ right, axis=0)
    np.testing.assert_allclose(found[:2], values[:2], rtol=1e-3)
    assert values[2] < 0.02
    assert not right[:, 2:].any()


@pytest.mark.parametrize("edges", [[], [[i, i + 1] for i in range(0, 60, 2)]])
def test_graph_without_more_than_components_has_vectors_of_zeros(edges: list[list[int]]) -> None:
    links = Graph.from_edges(edges, 60).out_links()
    assert not near_singular(links, symmetric=True)[1].any()


def test_places_of_a_large_graph_tell_communities_apart() -> None:
    graph = make_csbm(400, mean_degree=12, frequency=0.2, n_features=2)
    assert graph.labels is not None
    features = np.asarray(graph.features)
    found = find_positions(graph, features, exact_up_to=100)
    made = fix_positions(graph, found)(features)
    first = made[:, 7]
    right = ((first > 0) == (graph.labels == 1)).mean()
    assert max(right, 1 - right) > 0.9


def test_columns_made_in_blocks_of_rows_are_the_same() -> None:
    graph = make_csbm(90, mean_degree=6, n_features=40)
    features = np.asarray(graph.features)
    found = find_positions(graph, features)
    whole = fix_positions(graph, found)(features)
    np.testing.assert_array_equal(fix_positions(graph, found, at_once=7)(features), whole)
