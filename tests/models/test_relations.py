"""What is around a vertex: known labels of others, never its own; averages and extremes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.models.places import Known
from graphfilter.models.relations import (
    find_around,
    find_beside,
    fix_around,
    fix_beside,
    told,
)

PATH = Graph.from_edges([[0, 1], [1, 2], [2, 3]], features=np.array([[1.0], [2], [4], [8]]))


def columns_of(graph: Graph, **found: object) -> np.ndarray:
    return fix_around(graph, {**find_around(graph, graph.features), **found})(graph.features)


def test_columns_are_own_degree_average_largest_and_smallest() -> None:
    found = columns_of(PATH)
    np.testing.assert_allclose(found[:, 0], [1, 2, 4, 8])
    np.testing.assert_allclose(found[:, 1], np.log1p([1, 2, 2, 1]))
    np.testing.assert_allclose(found[:, 2], [2, 2.5, 5, 4])
    np.testing.assert_allclose(found[:, 3:5], [[2, 2], [4, 1], [8, 2], [4, 4]])


def test_labels_of_neighbours_and_of_two_steps_in_closed_form() -> None:
    """Of the path 0 - 1 - 2 - 3, where 0 is known to be of class 1 and 3 of class 0."""
    labels = np.array([1, -1, -1, 0])
    known = told(labels, np.array([0, 3]), 2)
    found = columns_of(PATH, **known)[:, 5:]
    gap = np.nan
    one = [[gap, 0], [1, np.log(2)], [0, np.log(2)], [gap, 0]]
    # Two steps away from 2 is 0, and from 1 is 3; nobody is two steps from themselves.
    two = [[gap, 0], [0, np.log(2)], [1, np.log(2)], [gap, 0]]
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
    features = sp.csr_array(np.hstack([graph.features, shared]).astype(np.float32))
    graph = graph.replace(features=features, feature_names=names)
    vertex = int(rng.integers(40))
    other = values.copy()
    other[vertex] = (values[vertex] + 1) % 4
    rows = np.sort(rng.permutation(40)[:30])
    first, second = (columns_of(graph, **told(y, rows, 4)) for y in (values, other))
    np.testing.assert_array_equal(first[vertex], second[vertex])


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
    np.testing.assert_allclose(found[2], [0.5, np.log(3)])
    assert np.isnan(found[[9, 12], 0]).all()
    np.testing.assert_allclose(found[0], [0, np.log(2)])


def test_nothing_told_is_a_gap_everywhere() -> None:
    found = columns_of(PATH, **told(np.array([0, 1, 0, 1]), np.array([], dtype=int), 2))
    assert np.isnan(found[:, 5::2]).all()
    assert (found[:, 6::2] == 0).all()


def test_what_is_told_goes_with_the_vertices_into_another_graph() -> None:
    """A graph whose vertices are in another order has the same rows in that order."""
    labels, order = np.array([0, 1, 1, 0]), np.array([2, 0, 3, 1])
    known = told(labels, np.arange(4), 2)
    first = columns_of(PATH, **known)
    turned = PATH.subgraph(order)
    second = fix_around(turned, known, Known(order, 4))(turned.features)
    np.testing.assert_allclose(second, first[order])


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
    columns = fix_around(graph, found)(features)
    assert np.isnan(columns[7, 0])
    assert columns.shape[1] < 330
    np.testing.assert_allclose(np.delete(columns[:, 0], 7), np.delete(number.ravel(), 7), rtol=1e-6)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_averages_stand_beside_own_columns(directed: bool, sparse: bool) -> None:
    x = np.array([[1.0, 0], [0, 2], [4, 0]], dtype=np.float32)
    features = sp.csr_array(x) if sparse else x
    graph = Graph.from_edges([[0, 1], [2, 1]], features=features, directed=directed)
    made = fix_beside(graph, find_beside(graph, graph.features))(graph.features)
    made = made.toarray() if sparse else made
    own, around = made[:, :2], made[:, 2:]
    np.testing.assert_allclose(own, x)
    into = [[0, 0], [2.5, 0], [0, 0]]
    out = [[0, 2], [0, 0], [0, 2]]
    expected = np.hstack([out, into]) if directed else np.add(out, into)
    np.testing.assert_allclose(around, expected)
