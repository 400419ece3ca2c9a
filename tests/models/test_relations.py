"""What is around a vertex: known labels of others, never its own; averages and extremes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.models import relations
from graphfilter.models.places import Known
from graphfilter.models.relations import (
    columns_around,
    columns_beside,
    find_around,
    find_beside,
    near_places,
    told,
)

PATH = Graph.from_edges([[0, 1], [1, 2], [2, 3]], features=np.array([[1.0], [2], [4], [8]]))


def columns_of(graph: Graph, **found: Any) -> NDArray[Any]:
    return columns_around(graph, graph.features, {**find_around(graph, graph.features), **found})


def test_columns_are_own_degree_averages_largest_and_smallest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(relations, "FEW_VERTICES", 0)
    found = columns_of(PATH)
    np.testing.assert_allclose(found[:, 0], [1, 2, 4, 8])
    np.testing.assert_allclose(found[:, 1], np.log1p([1, 2, 2, 1]))
    np.testing.assert_allclose(found[:, 2], [2, 2.5, 5, 4])
    np.testing.assert_allclose(found[:, 3], [2.5, 3.5, 3.25, 5])
    np.testing.assert_allclose(found[:, 4:6], [[2, 2], [4, 1], [8, 2], [4, 4]])


def test_labels_of_neighbours_and_of_two_steps_in_closed_form() -> None:
    """Of the path 0 - 1 - 2 - 3, where 0 is known to be of class 1 and 3 of class 0.

    What is seen is drawn to the mean of those known, a half.
    """
    labels = np.array([1, -1, -1, 0])
    known = told(labels, np.array([0, 3]), 2)
    found = columns_of(PATH, **known)[:, 4:]
    one = [[0.5, 0], [0.75, np.log(2)], [0.25, np.log(2)], [0.5, 0]]
    # Two steps away from 2 is 0, and from 1 is 3; nobody is two steps from themselves.
    two = [[0.5, 0], [0.25, np.log(2)], [0.75, np.log(2)], [0.5, 0]]
    np.testing.assert_allclose(found, np.hstack([one, two]), atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_no_vertex_sees_its_own_label(seed: int) -> None:
    """Whatever the label of a vertex, its own row is the same, also by way of two steps."""
    rng = np.random.default_rng(seed)
    graph = make_csbm(40, mean_degree=4, n_features=3, seed=seed % 1000)
    values = rng.integers(0, 4, size=40)
    names = [f"x{i}" for i in range(3)] + [f"device={i}" for i in range(25)]
    shared = np.zeros((40, 25))
    shared[np.arange(40), rng.integers(0, 25, 40)] = 1
    assert isinstance(graph.features, np.ndarray)
    features = sp.csr_array(np.hstack([graph.features, shared]).astype(np.float32))
    graph = graph.replace(features=features, feature_names=names)
    vertex = int(rng.integers(40))
    other = values.copy()
    other[vertex] = (values[vertex] + 1) % 4
    rows = np.sort(rng.permutation(40)[:30])
    seen = [relations._known_sums(graph, features, told(y, rows, 4), None) for y in (values, other)]
    for first, second in zip(*seen, strict=True):
        np.testing.assert_array_equal(first[0][vertex], second[0][vertex])


def test_vertices_that_share_a_value_see_each_others_labels() -> None:
    """Device 0 is that of 0, 1 and 2; nobody else shares one."""
    n = 30
    shared = np.zeros((n, n))
    shared[np.arange(n), [0, 0, 0, *range(3, n)]] = 1
    graph = Graph.from_edges(
        np.empty((0, 2), int), n, features=sp.csr_array(shared),
        feature_names=[f"device={i}" for i in range(n)],
    )  # fmt: skip
    labels = np.full(n, -1)
    labels[[0, 1, 9]] = [1, 0, 1]
    found = columns_of(graph, **told(labels, np.array([0, 1, 9]), 2))[:, -2:]
    # Drawn to the mean of all: two of three vertices.
    np.testing.assert_allclose(found[2], [(1 + 2 / 3) / 3, np.log(3)], rtol=1e-6)
    np.testing.assert_allclose(found[[9, 12]], [[2 / 3, 0]] * 2, rtol=1e-6)
    np.testing.assert_allclose(found[0], [1 / 3, np.log(2)], rtol=1e-6)


def test_nothing_told_is_the_same_everywhere() -> None:
    found = columns_of(PATH, **told(np.array([0, 1, 0, 1]), np.array([], dtype=int), 2))
    assert (found[:, 4:] == 0).all()


def test_what_is_told_goes_with_the_vertices_into_another_graph() -> None:
    """A graph whose vertices are in another order has the same rows in that order."""
    labels, order = np.array([0, 1, 1, 0]), np.array([2, 0, 3, 1])
    known = told(labels, np.arange(4), 2)
    known |= find_around(PATH, PATH.features)
    first = columns_of(PATH, **known)
    turned = PATH.subgraph(order)
    second = columns_around(turned, turned.features, known, Known(order, 4))
    np.testing.assert_allclose(second, first[order])


def test_graph_of_another_size_has_the_columns_of_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    for few in (0, 1000):
        monkeypatch.setattr(relations, "FEW_VERTICES", few)
        found = find_around(PATH, PATH.features)
        width = columns_around(PATH, PATH.features, found).shape[1]
        monkeypatch.setattr(relations, "FEW_VERTICES", 1000 - few)
        assert columns_around(PATH, PATH.features, found).shape[1] == width


def test_many_columns_are_read_or_compressed() -> None:
    """Those that most vertices have are read as they are, with gaps where they are missing."""
    rng = np.random.default_rng(0)
    words = (rng.random((60, 300)) < 0.04).astype(np.float32)
    number, missing = rng.normal(size=(60, 1)), np.zeros((60, 1))
    missing[7] = 1
    features = sp.csr_array(np.hstack([number, missing, words]), dtype=np.float32)
    names = ["age", "age is missing", *(f"text: {i}" for i in range(300))]
    graph = Graph.from_edges([[0, 1]], 60, features=features, feature_names=names)
    found = find_around(graph, features)
    assert 0 in found["plain"]
    assert found["basis"].shape[1] <= 32
    columns = columns_around(graph, features, found)
    assert np.isnan(columns[7, 0])
    assert columns.shape[1] < 500
    np.testing.assert_allclose(np.delete(columns[:, 0], 7), np.delete(number.ravel(), 7), rtol=1e-6)


def test_a_category_of_many_values_is_read_by_the_labels_of_those_that_share_one() -> None:
    rng = np.random.default_rng(0)
    words, street = (rng.random((60, 400)) < 0.05), np.eye(30)[rng.integers(30, size=60)]
    age = rng.normal(size=(60, 1))
    for width in (0, 400):
        features = sp.csr_array(np.hstack([age, street, words[:, :width]]), dtype=np.float32)
        names = ["age", *(f"street={i}" for i in range(30)), *(f"a: {i}" for i in range(width))]
        graph = Graph.from_edges([[0, 1]], 60, features=features, feature_names=names)
        found = find_around(graph, features)
        assert 0 in found["plain"]
        assert not np.isin(np.arange(1, 31), found["plain"]).any()
        if width:
            assert not found["basis"][:30].any()
            assert found["basis"][30:].any()


def test_the_nearest_by_coordinates_are_told_of_by_their_distance() -> None:
    """On a line of 60 vertices, the ten nearest are five to either side."""
    places = np.column_stack([np.zeros(60), np.arange(60.0)]).astype(np.float32)
    names = ["home_lat", "home_lon"]
    graph = Graph.from_edges(np.empty((0, 2), int), 60, features=places, feature_names=names)
    near = next(near_places(graph, places))[[30]].toarray()[0]
    np.testing.assert_array_equal(np.flatnonzero(near), [*range(25, 30), *range(31, 36)])
    assert near[29] > near[28] > near[26]
    np.testing.assert_allclose(near.sum(), 10)
    halves = np.arange(60) // 30  # Of two parts, nobody is near across.
    assert not next(near_places(graph, places, halves))[[30]].toarray()[0, :30].any()


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_averages_stand_beside_own_columns(directed: bool, sparse: bool) -> None:
    x = np.array([[1.0, 0], [0, 2], [4, 0]], dtype=np.float32)
    features = sp.csr_array(x) if sparse else x
    graph = Graph.from_edges([[0, 1], [2, 1]], features=features, directed=directed)
    made = columns_beside(graph, graph.features, find_beside(graph, graph.features))
    made = made.toarray() if sparse else made
    own, around = made[:, :2], made[:, 2:]
    np.testing.assert_allclose(own, x)
    into = [[0, 0], [2.5, 0], [0, 0]]
    out = [[0, 2], [0, 0], [0, 2]]
    expected = np.hstack([out, into]) if directed else np.add(out, into)
    np.testing.assert_allclose(around, expected)


@pytest.mark.parametrize(
    ("find", "fix"), [(find_around, columns_around), (find_beside, columns_beside)]
)
def test_as_many_columns_are_seen_with_and_without_edges(find: Any, fix: Any) -> None:
    """Whichever of the two was fitted."""
    bare = Graph.of(None, 4, features=PATH.features)
    for fitted in (PATH, bare):
        found = find(fitted, fitted.features) | told(np.array([1, -1, -1, 0]), np.array([0, 3]), 2)
        seen = [fix(graph, graph.features, found) for graph in (PATH, bare)]
        assert seen[0].shape == seen[1].shape
