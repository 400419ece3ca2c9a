"""Directions beside a graph: arcs, links out and in, and the graph without them unchanged."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from graphfilter.data.graph import Graph
from graphfilter.models.views import link_features
from graphfilter.util.errors import GraphError

# 0 → 1, 1 ⇄ 2, 3 → 0, 3 isolated but for that, 4 isolated.
ARCS = [[0, 1], [1, 2], [2, 1], [3, 0]]


def tiny(**options) -> Graph:
    return Graph.from_edges(ARCS, 5, directed=True, **options)


@st.composite
def arc_lists(draw) -> tuple[np.ndarray, np.ndarray | None, int]:
    n = draw(st.integers(1, 9))
    m = draw(st.integers(0, 25))
    pairs = draw(arrays(np.int64, (m, 2), elements=st.integers(0, n - 1)))
    weights = draw(st.none() | arrays(np.float32, m, elements=st.floats(0, 8, width=16)))
    return pairs, weights, n


def test_links_are_the_rows_of_the_arcs():
    expected = np.zeros((5, 5))
    expected[tuple(np.transpose(ARCS))] = 1
    graph = tiny()
    assert graph.directed
    assert np.array_equal(graph.out_links().toarray(), expected)
    assert np.array_equal(graph.in_links().toarray(), expected.T)
    assert graph.out_links().dtype == np.float32
    assert repr(graph) == "Graph('graph', 5 vertices, 3 edges, 4 arcs)"


@given(arc_lists())
def test_without_its_arcs_a_directed_graph_is_the_undirected_one(drawn):
    pairs, weights, n = drawn
    directed = Graph.from_edges(pairs, n, weights=weights, directed=True)
    plain = Graph.from_edges(pairs, n, weights=weights)
    for name in ("indptr", "indices", "weights"):
        assert np.array_equal(getattr(directed, name), getattr(plain, name))
    out = directed.out_links()
    assert (abs(sp.csr_array(out.maximum(out.T)) - plain.adjacency).max() if n else 0) == 0
    assert (directed.in_links() != out.T).nnz == 0


@given(arc_lists())
def test_weighted_links_add_up_repeats_of_one_direction(drawn):
    pairs, weights, n = drawn
    expected = np.zeros((n, n))
    values = np.ones(len(pairs)) if weights is None else weights
    np.add.at(expected, tuple(pairs.T), values)
    np.fill_diagonal(expected, 0)
    expected = np.minimum(expected, 1) if weights is None else expected
    graph = Graph.from_edges(pairs, n, weights=weights, directed=True)
    assert np.allclose(graph.out_links().toarray(), expected)


def test_undirected_graph_links_both_ways_and_keeps_its_checksum(small_graph):
    assert not small_graph.directed
    assert (small_graph.out_links() != small_graph.adjacency.astype(np.float32)).nnz == 0
    assert (small_graph.in_links() != small_graph.out_links()).nnz == 0


def test_checksum_knows_the_direction():
    turned = Graph.from_edges([[v, u] for u, v in ARCS], 5, directed=True)
    plain = Graph.from_edges(ARCS, 5)
    assert len({tiny().checksum(), turned.checksum(), plain.checksum()}) == 3


def test_both_directions_are_no_repeat_and_keep_their_weights():
    graph = Graph.from_edges([[0, 1], [1, 0]], weights=[2, 3], directed=True)
    assert graph.notes == ()
    assert graph.edge_weights is not None
    assert graph.edge_weights.tolist() == [3]
    assert graph.out_links().toarray().tolist() == [[0, 2], [3, 0]]


def test_arcs_are_immutable():
    arcs = tiny().arcs
    assert arcs is not None
    with pytest.raises(ValueError, match="read-only"):
        arcs[0] = 5
    links = tiny().out_links()
    links.data[:] = 7  # what is given out is the caller's own
    assert tiny().out_links().max() == 1


@given(arc_lists(), st.randoms(use_true_random=False))
def test_subgraph_keeps_the_arcs_among_its_vertices(drawn, random):
    pairs, weights, n = drawn
    graph = Graph.from_edges(pairs, n, weights=weights, directed=True)
    chosen = random.sample(range(n), random.randint(1, n))
    part = graph.subgraph(chosen)
    assert part.directed
    expected = graph.out_links().toarray()[np.ix_(chosen, chosen)]
    assert np.array_equal(part.out_links().toarray(), expected)


def test_link_features_have_two_halves_of_unit_length():
    features = link_features(tiny(weights=[1, 2, 1, 3])).toarray()
    assert features.shape == (5, 10)
    out = np.linalg.norm(features[:, :5], axis=1)
    into = np.linalg.norm(features[:, 5:], axis=1)
    assert np.allclose(out, [1, 1, 1, 1, 0])
    assert np.allclose(into, [1, 1, 1, 0, 0])
    # Vertex 1 is linked to by 0 with weight 1 and by 2 with weight 1.
    assert np.allclose(features[1, 5:], [2**-0.5, 0, 2**-0.5, 0, 0])


def test_link_features_of_an_undirected_graph_are_its_neighbours_once(small_graph):
    n = small_graph.n_vertices
    assert link_features(small_graph).shape == (n, n)


def test_networkx_scipy_and_pairs_give_the_same_arcs():
    nodes = nx.DiGraph()
    nodes.add_nodes_from(range(5))
    nodes.add_edges_from((u, v) for u, v in ARCS)
    matrix = tiny().out_links()
    for graph in (
        Graph.from_networkx(nodes, directed=True),
        Graph.of(nodes, directed=True),
        Graph.from_scipy(matrix, directed=True),
    ):
        assert graph.checksum() == tiny().checksum()


@pytest.mark.parametrize("make", [Graph.from_networkx, Graph.of])
def test_directions_of_an_undirected_networkx_graph_are_refused(make):
    with pytest.raises(GraphError, match="needs a directed networkx graph"):
        make(nx.path_graph(3), directed=True)
