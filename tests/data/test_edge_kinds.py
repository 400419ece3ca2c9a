"""Edge types beside the graph of all edges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from graphfilter.data import read_npz, write_npz
from graphfilter.data.edges import MOST_KINDS, EdgeKinds
from graphfilter.data.graph import Graph
from graphfilter.util.errors import GraphError


def kinds_of(graph: Graph) -> EdgeKinds:
    assert graph.kinds is not None
    return graph.kinds


@st.composite
def typed_graphs(draw) -> tuple[np.ndarray, np.ndarray | None, list[str], int]:
    n = draw(st.integers(1, 8))
    m = draw(st.integers(0, 25))
    pairs = draw(arrays(np.int64, (m, 2), elements=st.integers(0, n - 1)))
    weights = draw(st.none() | arrays(np.float32, m, elements=st.floats(0, 8, width=16)))
    kinds = draw(st.lists(st.sampled_from("abc"), min_size=m, max_size=m))
    return pairs, weights, kinds, n


def test_kinds_are_the_edges_of_each_name():
    graph = Graph.from_edges([[0, 1], [1, 2], [1, 0], [2, 0]], kinds=["call", "mail", "mail", None])
    assert kinds_of(graph).names == ("call", "mail", "none")
    call, mail, none = (
        kinds_of(graph).adjacency(k, graph.indptr, graph.indices).toarray() for k in range(3)
    )
    assert call.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    assert mail.tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert none.tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    assert repr(graph) == "Graph('graph', 3 vertices, 3 edges, 3 edge types)"


@given(typed_graphs())
def test_graph_of_all_kinds_is_the_one_without(drawn):
    pairs, weights, kinds, n = drawn
    typed = Graph.from_edges(pairs, n, weights=weights, kinds=kinds)
    plain = Graph.from_edges(pairs, n, weights=weights)
    for name in ("indptr", "indices", "weights"):
        assert np.array_equal(getattr(typed, name), getattr(plain, name))
    assert plain.kinds is None
    own = kinds_of(typed)
    # Every edge is of a kind, and every kind is the graph of its own edges.
    assert (own.values.sum(axis=0) > 0).all()
    for k, name in enumerate(own.names):
        chosen = np.array(kinds) == name
        alone = Graph.from_edges(
            pairs[chosen], n, weights=None if weights is None else weights[chosen]
        )
        assert np.array_equal(
            own.adjacency(k, typed.indptr, typed.indices).toarray(), alone.adjacency.toarray()
        )


@given(typed_graphs(), st.randoms(use_true_random=False))
def test_subgraph_and_file_keep_the_kinds(tmp_path_factory, drawn, random):
    pairs, weights, kinds, n = drawn
    graph = Graph.from_edges(pairs, n, weights=weights, kinds=kinds, directed=True)
    chosen = random.sample(range(n), random.randint(1, n))
    part = graph.subgraph(chosen)
    assert kinds_of(part).names == kinds_of(graph).names
    for k in range(len(kinds_of(graph).names)):
        expected = (
            kinds_of(graph)
            .adjacency(k, graph.indptr, graph.indices)
            .toarray()[np.ix_(chosen, chosen)]
        )
        assert np.array_equal(
            kinds_of(part).adjacency(k, part.indptr, part.indices).toarray(), expected
        )
    path = tmp_path_factory.mktemp("kinds") / "g.npz"
    write_npz(graph, path)
    assert read_npz(path).checksum() == graph.checksum()


def test_checksum_knows_the_kinds():
    edges = [[0, 1], [1, 2]]
    sums = {
        Graph.from_edges(edges, kinds=kinds).checksum()
        for kinds in (None, ["a", "a"], ["b", "b"], ["a", "b"], ["b", "a"])
    }
    assert len(sums) == 5


def test_kinds_are_refused_where_they_do_not_fit():
    with pytest.raises(GraphError, match=r"one edge type per edge \(1\); got 2"):
        Graph.from_edges([[0, 1]], kinds=["a", "b"])
    many = [f"k{i}" for i in range(MOST_KINDS + 1)]
    with pytest.raises(GraphError, match="Name another column, or merge rare types"):
        Graph.from_edges([[0, i + 1] for i in range(len(many))], kinds=many)
