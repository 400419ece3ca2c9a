from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.models.places import Known, link_features
from graphfilter.models.views import VIEWS, find_view, fix_view

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


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


def columns(graph: Graph, view: str, found: Any, known: Known | None = None) -> np.ndarray:
    return dense(fix_view(graph, view, found, known)(graph.features))


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
        columns(grown, view, found, known)[:30],
        columns(fitted, view, found),
        rtol=1e-5,
        atol=1e-6,
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
    assert Known.all_but(4, [0]).share_present == 0.75


def test_new_vertex_is_never_trusted_as_a_known_one() -> None:
    edge = Graph.from_edges([[0, 1]])
    np.testing.assert_allclose(Known(np.array([0, -1]), 1).shares(edge), [0, 0.9])
