"""Graphs from scipy, networkx and PyTorch Geometric, the same as from their edges."""

# Tests hand in what users do, and know which attributes they have set.
# pyright: reportArgumentType=false, reportOptionalMemberAccess=false, reportOptionalSubscript=false

from __future__ import annotations

import warnings
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, strategies as st
from tests.data.test_graph import assert_same_graph

from graphfilter.data.graph import Graph
from graphfilter.util.errors import GraphError

with warnings.catch_warnings():
    # torch_geometric scripts classes on import, which newer versions of torch deprecate.
    warnings.simplefilter("ignore", DeprecationWarning)
    from torch_geometric.data import Data

N = 9


@given(
    st.lists(
        st.tuples(st.integers(0, N - 1), st.integers(0, N - 1), st.integers(0, 8)),
        min_size=1,
        max_size=40,
    )
)
def test_every_source_gives_the_same_graph(given_edges: list[tuple[int, int, int]]) -> None:
    """Edges, scipy, networkx and PyG, each edge listed once with a weight of its own."""
    weights = {tuple(sorted(t[:2])): 1.5 + t[2] for t in given_edges if t[0] != t[1]}
    edges = np.array(sorted(weights), dtype=np.int64).reshape(-1, 2)
    data = np.array([weights[tuple(e)] for e in edges.tolist()])
    graph = Graph.from_edges(edges, N, weights=data)
    if not len(edges):
        return
    matrix = sp.coo_array((data, (edges[:, 0], edges[:, 1])), shape=(N, N))
    network = nx.Graph()
    network.add_nodes_from(range(N))
    network.add_weighted_edges_from((*e, w) for e, w in zip(edges.tolist(), data, strict=True))
    pyg = Data(
        edge_index=torch.from_numpy(edges.T), edge_weight=torch.from_numpy(data), num_nodes=N
    )
    for source in (matrix, matrix.tocsc(), sp.csr_matrix(matrix + matrix.T), network, pyg, graph):
        assert_same_graph(graph, Graph.of(source))


def test_from_scipy_reads_the_matrix_not_its_storage() -> None:
    """Repeated entries of a COO matrix add up to one value."""
    ones, rows, columns = np.ones(3), np.array([0, 0, 1]), np.array([1, 1, 2])
    stored = sp.coo_array((ones, (rows, columns)), shape=(3, 3))
    graph = Graph.from_scipy(stored)
    assert_same_graph(graph, Graph.from_scipy(stored.tocsr()))
    np.testing.assert_array_equal(graph.edge_weights, [2, 1])
    assert stored.nnz == 3


@pytest.mark.parametrize(
    ("matrix", "problem"),
    [
        (sp.csr_array((2, 3)), r"square; got shape \(2, 3\)"),
        (sp.csr_array(np.array([[0, 1j], [1j, 0]])), "real"),
        (sp.csr_array(np.array([[0, -1.0], [1, 0]])), "not be negative"),
        (sp.csr_array((0, 0)), "at least one vertex"),
    ],
)
def test_from_scipy_refuses_what_is_no_adjacency(matrix: Any, problem: str) -> None:
    with pytest.raises(GraphError, match=problem):
        Graph.from_scipy(matrix, directed=False)


def test_from_networkx_keeps_names_and_reads_labels() -> None:
    network = nx.Graph([("x", "y"), ("y", "z")])
    network.nodes["x"]["kind"] = "b"
    network.nodes["z"]["kind"] = "a"
    by_name = Graph.from_networkx(network, labels="kind")
    by_map = Graph.of(network, labels={"z": "a", "x": "b"})
    for graph in (by_name, by_map):
        assert graph.vertex_names == ("x", "y", "z")
        assert graph.labels is not None
        assert graph.labels.tolist() == [1, -1, 0]
        assert graph.classes.tolist() == ["a", "b"]
    assert Graph.from_networkx(network, labels=[1, 2, 3], vertex_names="abc").vertex_names == tuple(
        "abc"
    )


def test_from_networkx_reads_directed_and_multiple_edges() -> None:
    directed = Graph.from_networkx(nx.DiGraph([(0, 1), (1, 0), (1, 2)]), directed=False)
    multiple = Graph.from_networkx(nx.MultiGraph([(0, 1), (0, 1), (1, 2)]))
    assert directed.edges.tolist() == multiple.edges.tolist() == [[0, 1], [1, 2]]
    assert directed.notes == multiple.notes == ("1 repeated edge merged.",)
    grid = Graph.from_networkx(nx.grid_2d_graph(2, 2))
    assert grid.vertex_names == ((0, 0), (0, 1), (1, 0), (1, 1))


def test_from_networkx_reads_the_weight_attribute_asked_for() -> None:
    network = nx.Graph()
    network.add_edge(0, 1, cost=3.0)
    network.add_edge(1, 2)
    assert Graph.from_networkx(network).weights is None
    np.testing.assert_array_equal(Graph.from_networkx(network, weight="cost").degrees, [3, 4, 1])


def test_from_networkx_refuses_attributes_that_cannot_be_used() -> None:
    network = nx.Graph([(0, 1)])
    with pytest.raises(GraphError, match="no node has the attribute 'colour'"):
        Graph.from_networkx(network, labels="colour")
    network.edges[0, 1]["weight"] = "heavy"
    with pytest.raises(GraphError, match="'weight' must be a number"):
        Graph.from_networkx(network)


def test_from_pyg_reads_features_labels_and_masks() -> None:
    data = Data(
        x=torch.eye(4),
        y=torch.tensor([[1], [0], [1], [-1]]),
        edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
        train_mask=torch.tensor([True, False, False, False]),
        val_mask=torch.tensor([False, True, False, False]),
        test_mask=torch.tensor([False, False, True, False]),
    )
    graph = Graph.of(data)
    np.testing.assert_array_equal(graph.features, np.eye(4))
    assert graph.labels is not None
    assert graph.labels.tolist() == [1, 0, 1, -1]
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.notes == ("1 isolated vertex kept.",)
    assert graph.splits[0].part_of(4).tolist() == ["train", "val", "test", ""]
    assert graph.splits[0].rule == "fixed"
    assert Graph.from_pyg(data, labels=[1, 2, 3, 4]).n_classes == 4


def test_from_pyg_reads_a_split_from_every_column_of_masks() -> None:
    masks = torch.tensor([[[1, 0], [0, 0], [0, 1]], [[0, 0], [1, 1], [0, 0]]]).bool()
    data = Data(
        edge_index=torch.tensor([[0, 1], [1, 2]]),
        num_nodes=3,
        train_mask=masks[0],
        val_mask=masks[1],
        test_mask=torch.zeros(3, 2, dtype=torch.bool),
    )
    splits = Graph.from_pyg(data).splits
    assert [s.part_of(3).tolist() for s in splits] == [["train", "val", ""], ["", "val", "train"]]


def test_from_pyg_refuses_data_without_edges() -> None:
    with pytest.raises(GraphError, match="edge_index"):
        Graph.of(Data(x=torch.eye(2)))


def test_of_refuses_a_graph_of_another_size() -> None:
    graph = Graph.from_edges([[0, 1]])
    for source in (graph, graph.adjacency):
        with pytest.raises(GraphError, match="must have 5 vertices, one per row of X; got 2"):
            Graph.of(source, n_vertices=5)


def test_repeats_of_small_whole_numbers_are_added_up_without_overflow() -> None:
    at = np.zeros(300, dtype=int), np.ones(300, dtype=int)
    matrix = sp.coo_array((np.full(300, 100, dtype=np.int8), at), shape=(2, 2))
    weights = Graph.from_scipy(matrix).weights
    assert weights is not None
    assert weights.tolist() == [30_000, 30_000]


@pytest.mark.parametrize("make", [Graph.from_scipy, Graph.from_networkx])
def test_what_is_no_graph_is_named(make: Any) -> None:
    with pytest.raises(GraphError, match="got a NoneType"):
        make(None)


def test_weight_beyond_any_float_is_refused() -> None:
    with pytest.raises(GraphError, match="must be a number on every edge"):
        Graph.from_networkx(nx.Graph([(0, 1, {"weight": 10**400})]))
