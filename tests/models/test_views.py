from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.models.places import MOST_PLACES, Known, basis_of
from graphfilter.models.views import (
    VIEWS,
    averages,
    beside,
    find_basis,
    find_view,
    fix_view,
    two_steps_of_links,
    unit_rows,
)
from graphfilter.util.errors import ConfigError


def see(graph: Graph, features: Any, view: str) -> Any:
    """Return the columns of a view; ``features`` are those of the graph, scaled."""
    return fix_view(graph, view, find_view(graph, features, view))(features)


PATH = Graph.from_edges([[0, 1], [1, 2]], 4, features=np.array([[3.0, 4], [0, 0], [1, 0], [5, 12]]))


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


def test_unit_rows_have_length_one_and_zeros_stay() -> None:
    expected = [[0.6, 0.8], [0, 0], [1, 0], [5 / 13, 12 / 13]]
    np.testing.assert_allclose(unit_rows(PATH.features), expected, rtol=1e-6)
    np.testing.assert_allclose(dense(unit_rows(sp.csr_array(PATH.features))), expected, rtol=1e-6)


def test_averages_are_those_of_neighbours_step_by_step() -> None:
    found = averages(PATH, PATH.features)
    x = np.asarray(PATH.features)
    log_degrees = np.log1p([[1], [2], [1], [0]])
    mean = np.array([x[1], (x[0] + x[2]) / 2, x[1], [0, 0]])
    twice = np.array([mean[1], (mean[0] + mean[2]) / 2, mean[1], [0, 0]])
    np.testing.assert_allclose(found[:, :7], np.hstack([x, log_degrees, mean, twice]), atol=1e-6)
    assert found.shape == (4, 2 + 1 + 3 * 2)


def test_averages_of_more_steps_come_later() -> None:
    """On a path whose end the other end's feature reaches in three steps, not in one."""
    path = Graph.from_edges([[0, 1], [1, 2], [2, 3]], features=np.array([[0.0], [0], [0], [8]]))
    found = averages(path, path.features)
    np.testing.assert_allclose(found[0, 2:], [0, 0, 2], atol=1e-6)
    np.testing.assert_allclose(found[2, 2:], [4, 0, 3], atol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_own_gaps_are_shown_to_trees_and_filled_in_for_neighbours(scale: float) -> None:
    features = np.array([[7.0, 1], [2.0, 0], [3.0, 0]]) * scale - scale + 1
    graph = Graph.from_edges(
        [[0, 1], [1, 2]], features=features, feature_names=["age", "age is missing"]
    )
    found = averages(graph, features)
    np.testing.assert_array_equal(np.isnan(found), [[True, *[False] * 8], *[[False] * 9] * 2])
    np.testing.assert_allclose(found[1, 3], (features[0, 0] + features[2, 0]) / 2, rtol=1e-6)


def test_averages_are_left_out_where_columns_are_many() -> None:
    assert PATH.features is not None
    assert averages(PATH, PATH.features, most_columns=5).shape == (4, 2 + 1 + 2)


def test_features_and_links_are_as_they_are_known_vertices_by_their_old_numbers() -> None:
    features = np.arange(8, dtype=np.float32).reshape(4, 2)
    made = dense(fix_view(PATH, "features+links", {})(features))
    np.testing.assert_array_equal(made, np.hstack([features, PATH.adjacency.toarray()]))
    known = Known(np.array([2, 0, -1, 1]), 3)
    grown = dense(fix_view(PATH, "features+links", {}, known)(features))
    expected = np.zeros((4, 3))
    for v, u in PATH.edges.tolist():
        for one, other in ((v, u), (u, v)):
            if known.numbers[other] >= 0:
                expected[one, known.numbers[other]] = 1
    np.testing.assert_array_equal(grown, np.hstack([features, expected]))


def test_links_say_who_is_connected_to_whom_in_one_step_and_two() -> None:
    found = dense(two_steps_of_links(PATH))
    np.testing.assert_allclose(found[0], [0, 1, 0, 0, *np.array([1, 0, 1, 0]) / np.sqrt(2)])
    np.testing.assert_allclose(found[3], 0)


def test_second_step_is_left_out_where_it_fills_too_much() -> None:
    assert two_steps_of_links(PATH, most_links=1).shape == (4, 4)
    assert two_steps_of_links(PATH, most_sums=1).shape == (4, 4)


def places(graph: Graph, features: Any) -> Any:
    return see(graph, features, "places")


def test_fixed_view_takes_other_features_and_keeps_what_it_found() -> None:
    """Columns are linear in features, so that hidden ones can be put in their place."""
    graph = make_csbm(50, mean_degree=6, n_features=60)
    features = np.asarray(graph.features)
    make = fix_view(graph, "places", find_view(graph, features, "places"))
    zero = make(0 * features)
    np.testing.assert_allclose(make(3 * features) - zero, 3 * (make(features) - zero), atol=1e-4)
    links = fix_view(graph, "neighbours", {})
    assert links(features) is links(0 * features)


def test_places_are_the_singular_vectors_of_the_normalised_adjacency() -> None:
    graph = make_csbm(40, mean_degree=6, n_features=3)
    found = places(graph, graph.features)
    mean = sp.diags_array(1 / np.maximum(graph.degrees, 1)) @ graph.adjacency
    once = mean @ graph.features
    columns = [graph.features, once, mean @ once, np.log1p(graph.degrees)[:, None]]
    np.testing.assert_allclose(found[:, :10], np.hstack(columns), atol=1e-5)
    root = np.where(graph.degrees > 0, graph.degrees, 1) ** -0.5
    normalised = root[:, None] * graph.adjacency.toarray() * root
    values = np.linalg.svd(normalised, compute_uv=False)[:MOST_PLACES]
    np.testing.assert_allclose(np.linalg.norm(found[:, 10:], axis=0), values, atol=1e-5)


def test_places_of_directed_edges_are_of_both_sides() -> None:
    features = np.ones((30, 2))
    pairs = np.random.default_rng(0).integers(30, size=(80, 2))
    one = Graph.from_edges(pairs, 30, features=features)
    two = Graph.from_edges(pairs, 30, features=features, directed=True)
    n_places = places(one, features).shape[1] - 7
    assert places(two, features).shape[1] - 7 == 2 * n_places == 2 * 29


@pytest.mark.parametrize("sparse", [False, True])
def test_many_features_are_compressed_and_empty_ones_do_no_harm(sparse: bool) -> None:
    rng = np.random.default_rng(1)
    wide = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 90))
    graph = make_csbm(50, mean_degree=6, n_features=90)
    seen = [sp.csr_array(part) if sparse else part for part in (wide, np.zeros((50, 90)))]
    found = places(graph, seen[0])[:, :MOST_PLACES]
    lengths = np.linalg.norm(found, axis=0)
    np.testing.assert_allclose(lengths[:3], np.linalg.svd(wide, compute_uv=False)[:3], rtol=1e-4)
    np.testing.assert_allclose(lengths[3:], 0, atol=1e-3)
    assert not places(graph, seen[1])[:, 0].any()


def test_columns_beside_each_other_are_sparse_while_few_are_filled() -> None:
    sparse, full = sp.eye_array(20, format="csr"), np.ones((20, 3))
    assert sp.issparse(beside(sparse, full))
    assert isinstance(beside(sp.eye_array(3, format="csr"), np.ones((3, 9))), np.ndarray)


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_has_a_row_per_vertex_and_leaves_the_features(name: str) -> None:
    graph = make_csbm(30, n_features=4)
    before = np.array(graph.features)
    seen = see(graph, graph.features, name)
    assert seen.shape[0] == 30
    assert np.isfinite(dense(seen)).all()
    np.testing.assert_array_equal(graph.features, before)


def test_unknown_view_is_refused() -> None:
    with pytest.raises(ConfigError, match="did you mean 'links'"):
        see(PATH, PATH.features, "link")


def test_compressed_averages_are_those_of_features_on_their_singular_vectors() -> None:
    graph = make_csbm(50, mean_degree=6, n_features=20)
    features = np.asarray(graph.features)
    # As few columns as trees can see are left as they are.
    assert find_view(graph, features, "compressed averages") == {}
    np.testing.assert_array_equal(
        see(graph, features, "compressed averages"), see(graph, features, "averages")
    )
    found = find_basis(graph, features, n_found=3, most_columns=19)
    made = fix_view(graph, "compressed averages", found)(features)
    right = np.linalg.svd(features, full_matrices=False)[2][:3].T
    np.testing.assert_allclose(np.abs(found["basis"]), np.abs(right), atol=1e-5)
    np.testing.assert_allclose(made, averages(graph, features @ found["basis"]), atol=1e-6)
    assert made.shape == (50, 3 * 4 + 1)
    sparse = fix_view(graph, "compressed averages", found)(sp.csr_array(features))
    np.testing.assert_allclose(sparse, made, atol=1e-5)


def test_basis_of_many_vertices_is_that_of_some_of_them() -> None:
    rows = np.tile(np.random.default_rng(0).normal(size=(1, 6)), (40, 1))
    basis = basis_of(rows, 64, most_rows=10)
    assert basis.shape == (6, 5)
    np.testing.assert_allclose(
        np.abs(basis[:, 0]), np.abs(rows[0]) / np.linalg.norm(rows[0]), atol=1e-5
    )


def test_positions_in_a_graph_of_many_components_are_the_same_every_time() -> None:
    pairs = np.random.default_rng(0).integers(1000, size=(700, 2))
    graph = Graph.from_edges(pairs, 1000, features=np.ones((1000, 3)))
    first, second = (find_view(graph, np.ones((1000, 3)), "places") for _ in range(2))
    np.testing.assert_array_equal(first["axes"], second["axes"])


def test_dense_columns_beside_sparse_ones_keep_no_zero() -> None:
    dense = np.array([[1.0, 0.0], [0.0, 0.0], [2.0, 3.0]], dtype=np.float32)
    links = sp.csr_array((3, 40), dtype=np.float32)
    made = beside(dense, links)
    expected = sp.csr_array(np.hstack([dense, links.toarray()]))
    assert made.nnz == 3
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(made, name), getattr(expected, name))
