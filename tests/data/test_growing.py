"""A graph that has grown is the graph that is made of all its edges at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

from graphfilter.data.from_tables import grow
from graphfilter.data.graph import Graph
from graphfilter.util.errors import GraphError

FIELDS = ("indptr", "indices", "weights", "arcs", "labels")


def assert_equal(one: Graph, other: Graph) -> None:
    for name in FIELDS:
        first, second = getattr(one, name), getattr(other, name)
        assert (first is None) == (second is None), name
        np.testing.assert_array_equal(first, second, err_msg=name)
    assert one.vertex_names == other.vertex_names
    assert one.checksum() == other.checksum()


@settings(max_examples=30, deadline=None)
@given(
    n=st.integers(2, 9),
    m=st.integers(1, 4),
    seed=st.integers(0, 1000),
    directed=st.booleans(),
    weighted=st.booleans(),
    kinds=st.booleans(),
    sparse=st.booleans(),
)
def test_grown_graph_equals_the_graph_of_all_edges(
    n: int, m: int, seed: int, directed: bool, weighted: bool, kinds: bool, sparse: bool
) -> None:
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, n, (12, 2))
    added = np.stack([rng.integers(n, n + m, 6), rng.integers(0, n + m, 6)], axis=1)
    both = np.concatenate([pairs, added])
    about: dict[str, Any] = {"directed": directed}
    given: dict[str, Any] = {}
    if weighted:
        weights = rng.integers(1, 9, len(both)).astype(np.float32)
        about["weights"], given["weights"] = weights, weights[len(pairs) :]
    if kinds:
        words = np.array([*"ab" * 6, *"bababa"])
        about["kinds"], given["kinds"] = words, words[len(pairs) :].tolist()
    features = rng.integers(0, 3, (n + m, 2)).astype(np.float32)
    x = sp.csr_array(features) if sparse else features
    labels = [*(["x", "y"] * n)[:n], *[None] * m]
    names = [f"v{i}" for i in range(n + m)]
    whole = Graph.from_edges(both, features=x, labels=labels, vertex_names=names, **about)
    old = {k: v[: len(pairs)] if k in ("weights", "kinds") else v for k, v in about.items()}
    part = Graph.from_edges(
        pairs, n, features=x[:n], labels=labels[:n], vertex_names=names[:n], **old
    )
    assert_equal(grow(part, x[n:], added, vertex_names=names[n:], **given), whole)


def test_known_edge_keeps_the_larger_weight() -> None:
    graph = Graph.from_edges([[0, 1], [1, 2]], weights=[2.0, 5.0], features=np.eye(3))
    grown = grow(graph, np.zeros((1, 3)), [[0, 1], [1, 2], [3, 0]], weights=[4.0, 1.0, 3.0])
    assert grown.edges.tolist() == [[0, 1], [0, 3], [1, 2]]
    assert grown.edge_weights is not None
    assert grown.edge_weights.tolist() == [4.0, 3.0, 5.0]


def test_vertex_without_edges_is_isolated() -> None:
    graph = Graph.from_edges([[0, 1]], features=np.eye(2))
    grown = grow(graph, np.ones((1, 2)), np.empty((0, 2), int))
    assert grown.degrees.tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"features": np.ones((1, 3))}, "the 2 features of the others; got 3"),
        ({"weights": [2.0]}, "must have weight 1"),
        ({"kinds": ["a"]}, "it has none"),
        ({"vertex_names": ["a"]}, "names where the others do"),
        ({"edges": [[2, 9]]}, "vertex 9"),
    ],
)
def test_what_does_not_go_with_the_graph_is_refused(change: dict[str, Any], words: str) -> None:
    graph = Graph.from_edges([[0, 1]], features=np.eye(2))
    given = {"features": np.ones((1, 2)), "edges": [[2, 0]], **change}
    with pytest.raises(GraphError, match=words):
        grow(graph, given.pop("features"), given.pop("edges"), **given)


def test_edge_of_an_unknown_kind_is_refused() -> None:
    graph = Graph.from_edges([[0, 1], [1, 2]], kinds=["a", "b"], features=np.eye(3))
    with pytest.raises(GraphError, match=r"one of the graph's \(a, b\); got 'c'"):
        grow(graph, np.ones((1, 3)), [[3, 0]], kinds=["c"])
    with pytest.raises(GraphError, match="one of the types a, b; got none"):
        grow(graph, np.ones((1, 3)), [[3, 0]])
