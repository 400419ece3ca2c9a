"""What a model sees of each vertex: columns made once, on a common scale, on grown graphs too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from sklearn.preprocessing import MaxAbsScaler, StandardScaler, normalize

from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.models.places import (
    MOST_PLACES,
    Known,
    basis_of,
    columns_of_places,
    find_positions,
    link_features,
    near_singular,
)
from graphfilter.models.scaling import SCALINGS, FeatureScaler
from graphfilter.models.views import (
    VIEWS,
    averages,
    beside,
    find_basis,
    find_view,
    unit_rows,
    view_columns,
)
from graphfilter.operators.sparse import DENSE_ABOVE, SparseFeatures, to_tensor
from graphfilter.util.errors import ConfigError, GraphError


def see(graph: Graph, features: Any, view: str) -> Any:
    """Return the columns of a view; ``features`` are those of the graph, scaled."""
    return view_columns(graph, features, view, find_view(graph, features, view))


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
    made = dense(view_columns(PATH, features, "features+links", {}))
    np.testing.assert_array_equal(made, np.hstack([features, PATH.adjacency.toarray()]))
    known = Known(np.array([2, 0, -1, 1]), 3)
    grown = dense(view_columns(PATH, features, "features+links", {}, known))
    expected = np.zeros((4, 3))
    for v, u in PATH.edges.tolist():
        for one, other in ((v, u), (u, v)):
            if known.numbers[other] >= 0:
                expected[one, known.numbers[other]] = 1
    np.testing.assert_array_equal(grown, np.hstack([features, expected]))


def places(graph: Graph, features: Any) -> Any:
    return see(graph, features, "places")


def test_fixed_view_takes_other_features_and_keeps_what_it_found() -> None:
    """Columns are linear in features, so that hidden ones can be put in their place."""
    graph = make_csbm(50, mean_degree=6, n_features=60)
    features = np.asarray(graph.features)
    found = find_view(graph, features, "places")
    zero, one, three = (view_columns(graph, k * features, "places", found) for k in (0, 1, 3))
    np.testing.assert_allclose(three - zero, 3 * (one - zero), atol=1e-4)


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
    with pytest.raises(ConfigError, match="did you mean 'places'"):
        see(PATH, PATH.features, "place")


def test_compressed_averages_are_those_of_features_on_their_singular_vectors() -> None:
    graph = make_csbm(50, mean_degree=6, n_features=20)
    features = np.asarray(graph.features)
    # As few columns as trees can see are left as they are.
    assert find_view(graph, features, "compressed averages") == {}
    np.testing.assert_array_equal(
        see(graph, features, "compressed averages"), see(graph, features, "averages")
    )
    found = find_basis(graph, features, n_found=3, most_columns=19)
    made = view_columns(graph, features, "compressed averages", found)
    right = np.linalg.svd(features, full_matrices=False)[2][:3].T
    np.testing.assert_allclose(np.abs(found["basis"]), np.abs(right), atol=1e-5)
    np.testing.assert_allclose(made, averages(graph, features @ found["basis"]), atol=1e-6)
    assert made.shape == (50, 3 * 4 + 1)
    sparse = view_columns(graph, sp.csr_array(features), "compressed averages", found)
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


RECOGNISING = [name for name, view in VIEWS.items() if view.recognises]
WEIGHTS = np.random.default_rng(1).uniform(0.5, 2, size=80)


def graph_of(kind: str) -> Graph:
    if kind == "plain":
        return make_csbm(40, mean_degree=6, n_features=3)
    pairs = np.random.default_rng(0).integers(40, size=(80, 2))
    features = np.random.default_rng(2).normal(size=(40, 3))
    return Graph.from_edges(
        pairs, 40, features=features, weights=WEIGHTS, directed=kind == "directed", merge="sum"
    )


def columns(graph: Graph, view: str, found: Any, known: Known | None = None) -> np.ndarray:
    return dense(view_columns(graph, graph.features, view, found, known))


def all_known(n: int) -> Known:
    return Known(np.arange(n), n)


@pytest.mark.parametrize("kind", ["plain", "weighted", "directed"])
@pytest.mark.parametrize("view", RECOGNISING)
def test_graph_that_is_all_known_has_the_fitted_columns_to_the_bit(view: str, kind: str) -> None:
    graph = graph_of(kind)
    found = find_view(graph, graph.features, view)
    fitted = columns(graph, view, found)
    again = columns(graph, view, found, all_known(graph.n_vertices))
    np.testing.assert_array_equal(again, fitted)


@pytest.mark.parametrize("kind", ["plain", "weighted", "directed"])
@pytest.mark.parametrize("view", RECOGNISING)
def test_columns_do_not_depend_on_the_order_of_the_vertices(view: str, kind: str) -> None:
    graph = graph_of(kind)
    found = find_view(graph, graph.features, view)
    order = np.random.default_rng(3).permutation(graph.n_vertices)
    moved = columns(graph.subgraph(order), view, found, Known(order, graph.n_vertices))
    np.testing.assert_allclose(moved, columns(graph, view, found)[order], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["plain", "weighted", "directed"])
@pytest.mark.parametrize("view", RECOGNISING)
def test_known_vertices_of_a_grown_graph_have_their_fitted_columns(view: str, kind: str) -> None:
    grown = graph_of(kind)
    old = np.arange(30)
    fitted = grown.subgraph(old)
    found = find_view(fitted, fitted.features, view)
    known = Known(np.concatenate([old, np.full(10, -1)]), 30)
    np.testing.assert_allclose(
        columns(grown, view, found, known)[:30], columns(fitted, view, found), rtol=1e-5, atol=1e-6
    )


def test_place_of_a_new_vertex_is_that_of_a_known_one_with_the_same_neighbours() -> None:
    fitted = graph_of("plain")
    twin = int(fitted.degrees.argmax())
    links = [[40, int(u)] for u in fitted.adjacency[[twin]].indices]
    edges = np.concatenate([fitted.edges, links])
    own = np.asarray(fitted.features)
    features = np.vstack([own, own[[twin]]])
    grown = Graph.from_edges(edges, 41, features=features)
    found = find_view(fitted, fitted.features, "places")
    known = Known(np.concatenate([np.arange(40), [-1]]), 40)
    made = columns(grown, "places", found, known)
    np.testing.assert_allclose(made[40, 9:], made[twin, 9:], rtol=1e-6)
    links = dense(link_features(grown, known))
    np.testing.assert_allclose(links[40], links[twin])


def test_averages_of_a_new_vertex_are_of_known_neighbours_or_of_all_where_it_has_none() -> None:
    # 0 and 1 are known; 2 is a neighbour of 1 and of 3, which knows nobody else.
    path = Graph.from_edges([[0, 1], [1, 2], [2, 3]], features=np.array([[1.0], [2], [4], [8]]))
    made = columns(path, "averages", {}, Known(np.array([0, 1, -1, -1]), 2))
    np.testing.assert_allclose(made[:, 2], [2, 1, 2, 4])
    np.testing.assert_allclose(made[:, 3], [1, 2, 1, 2])
    np.testing.assert_allclose(made[:, 1], np.log1p([1, 1, 1, 1]), rtol=1e-6)


def test_links_to_new_vertices_have_no_column_and_no_part_in_the_length() -> None:
    star = Graph.from_edges([[0, 1], [0, 2], [0, 3]])
    known = Known(np.array([2, -1, 0, 1]), 3)
    found = dense(link_features(star, known))
    np.testing.assert_allclose(found[0], [0.5**0.5, 0.5**0.5, 0], rtol=1e-6)
    np.testing.assert_allclose(found[1], [0, 0, 1])


def test_shares_say_how_much_is_known_of_each_vertex() -> None:
    path = Graph.from_edges([[0, 1], [1, 2], [2, 3], [3, 4]], 7)
    known = Known(np.array([0, 1, -1, -1, -1, 2, -1]), 3)
    # Known; known; new between one of each; new among new; an isolated known one; a new one.
    np.testing.assert_allclose(known.shares(path), [1, 1, 0.5, 0, 0, 0, 0])
    assert known.share_present == 1
    assert Known(np.array([-1, 1, 2, 3]), 4).share_present == 0.75


def test_new_vertex_is_never_trusted_as_a_known_one() -> None:
    edge = Graph.from_edges([[0, 1]])
    np.testing.assert_allclose(Known(np.array([0, -1]), 1).shares(edge), [0, 0.9])


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
    made = columns_of_places(graph, features, found)
    first = made[:, 7]
    right = ((first > 0) == (graph.labels == 1)).mean()
    assert max(right, 1 - right) > 0.9


def test_columns_made_in_blocks_of_rows_are_the_same() -> None:
    graph = make_csbm(90, mean_degree=6, n_features=40)
    features = np.asarray(graph.features)
    found = find_positions(graph, features)
    whole = columns_of_places(graph, features, found)
    np.testing.assert_array_equal(columns_of_places(graph, features, found, at_once=7), whole)


# Tests know which attributes of a graph they have set.
# pyright: reportArgumentType=false, reportOptionalMemberAccess=false


tables = hnp.arrays(
    np.float32,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=6),
    # Eighths: scikit-learn takes the smallest floats for zero.
    elements=st.integers(-800, 800).map(lambda i: i / 8),
)


def make_sparse(seed: int = 0, scale: float = 5.0) -> sp.csr_array:
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(30, 80)) * scale * (rng.random((30, 80)) < 0.2)
    return sp.csr_array(dense.astype(np.float32))


@pytest.mark.parametrize("scaling", ["standardise", "auto"])
def test_dense_scaling_equals_standard_scaler(scaling: str) -> None:
    rng = np.random.default_rng(0)
    fitted, new = (rng.normal(3, 2, size=(n, 5)).astype(np.float32) for n in (40, 7))
    ours = FeatureScaler.fit(fitted, scaling)
    theirs = StandardScaler().fit(fitted)
    for rows in (fitted, new):
        got = ours.transform(rows)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, theirs.transform(rows), rtol=1e-5, atol=1e-6)


def test_standardise_makes_sparse_features_dense_alike() -> None:
    matrix = make_sparse()
    got = FeatureScaler.fit(matrix, "standardise").transform(matrix)
    expected = StandardScaler().fit_transform(matrix.toarray())
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, -1e6, 3e38])
def test_standardise_maps_a_constant_column_to_zero(value: float) -> None:
    column = np.full((1000, 1), value, dtype=np.float32)
    scaled = FeatureScaler.fit(column, "standardise").transform(column)
    np.testing.assert_array_equal(scaled, np.zeros_like(column))


def test_standardise_leaves_the_scale_of_rounding_noise_alone() -> None:
    column = np.float32(0.1) + np.float32(1e-8) * np.arange(10, dtype=np.float32)[:, None]
    assert 0 < np.ptp(column) < 1e-6
    scaled = FeatureScaler.fit(column, "standardise").transform(column)
    assert np.abs(scaled).max() < 1e-6


@given(tables)
def test_row_scaling_equals_l1_normalisation(table: NDArray[np.float32]) -> None:
    expected = normalize(table.astype(float), norm="l1")
    scaler = FeatureScaler.fit(table, "row")
    np.testing.assert_allclose(scaler.transform(table), expected, rtol=1e-5, atol=1e-7)
    sparse = scaler.transform(sp.csr_array(table))
    assert isinstance(sparse, sp.csr_array)
    np.testing.assert_allclose(sparse.toarray(), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("value", [3e38, 1e-42])
def test_row_scaling_holds_at_the_ends_of_float32(value: float) -> None:
    row = np.full((1, 4), value, dtype=np.float32)
    for features in (row, sp.csr_array(row)):
        scaled = FeatureScaler("row").transform(features)
        np.testing.assert_allclose(scaled.sum(), 1, rtol=1e-6)
        assert scaled.dtype == np.float32


def test_auto_divides_sparse_columns_beyond_one_as_max_abs_scaler() -> None:
    matrix = make_sparse()
    assert (abs(matrix).max(axis=0).toarray() > 1).all()
    scaler = FeatureScaler.fit(matrix)
    theirs = MaxAbsScaler().fit(matrix)
    for rows in (matrix, make_sparse(seed=1)):
        got = scaler.transform(rows)
        assert isinstance(got, sp.csr_array)
        assert got.dtype == np.float32
        assert got.nnz == rows.nnz
        expected = theirs.transform(rows).toarray().clip(-3, 3)
        np.testing.assert_allclose(got.toarray(), expected, rtol=1e-6)
        np.testing.assert_allclose(scaler.transform(rows.toarray()), got.toarray(), rtol=1e-6)


def test_auto_standardises_a_table_that_is_stored_as_sparse() -> None:
    """Few columns, of which many entries are filled, are no bag of words."""
    table = sp.csr_array(make_sparse()[:, :8])
    scaled = FeatureScaler.fit(table).transform(table)
    np.testing.assert_allclose(scaled, StandardScaler().fit_transform(table.toarray()), atol=1e-5)
    words = sp.csr_array(np.eye(40, 30, dtype=np.float32))
    np.testing.assert_array_equal(
        FeatureScaler.fit(words).transform(words).toarray(), words.toarray()
    )


def test_auto_leaves_bags_of_words_alone() -> None:
    matrix = make_sparse(scale=0.05)
    words = sp.csr_array(matrix.astype(bool).astype(np.float32))
    for bag in (matrix, words):
        scaled = FeatureScaler.fit(bag).transform(bag)
        np.testing.assert_array_equal(scaled.toarray(), bag.toarray())


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_transform_leaves_the_features_of_a_graph_alone(scaling: str, form: str) -> None:
    table = make_sparse() if form == "sparse" else make_sparse().toarray()
    graph = Graph.from_edges([[0, 1]], features=table)
    before = graph.features.copy()
    FeatureScaler.fit(graph.features, scaling).transform(graph.features)
    assert (abs(graph.features - before)).sum() == 0


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_transform_refuses_another_width(form: str) -> None:
    table = make_sparse() if form == "sparse" else make_sparse().toarray()
    with pytest.raises(GraphError, match="must have 80 columns, as when fitted; got 5"):
        FeatureScaler.fit(table).transform(table[:, :5])


def test_scaler_refuses_an_unknown_scaling() -> None:
    with pytest.raises(ConfigError, match="did you mean 'standardise'"):
        FeatureScaler.fit(np.eye(2), "standardize")


@pytest.mark.parametrize("scaling", SCALINGS)
def test_scaler_arrays_restore_it(scaling: str) -> None:
    table = make_sparse().toarray()
    fitted = FeatureScaler.fit(table, scaling)
    restored = FeatureScaler(scaling, **fitted.to_arrays())
    np.testing.assert_array_equal(restored.transform(table), fitted.transform(table))


def test_to_tensor_keeps_sparse_what_is_sparse_enough() -> None:
    matrix = sp.csr_array(make_sparse(scale=1))
    assert matrix.nnz <= DENSE_ABOVE * 2400
    x = to_tensor(matrix, dtype=torch.float64)
    assert isinstance(x, SparseFeatures)
    identity = torch.eye(80, dtype=torch.float64)
    np.testing.assert_array_equal(x.project(identity).numpy(), matrix.toarray())


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_to_tensor_copies_a_dense_table(form: str) -> None:
    table = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    graph = Graph.from_edges([[0, 1]], features=sp.csr_array(table) if form == "sparse" else table)
    x = to_tensor(graph.features, dtype=torch.float64)
    assert isinstance(x, torch.Tensor)
    assert x.dtype == torch.float64
    np.testing.assert_array_equal(x.numpy(), table)
    x.zero_()
    assert abs(graph.features).sum() == 21
