"""Graph: made of anything that holds one, checked once, immutable."""

from __future__ import annotations

import copy
import warnings
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph, is_wide
from graphfilter.splits import Split
from graphfilter.util.errors import GraphError

# Tests hand in what users do, and know which attributes they have set.
# pyright: reportArgumentType=false, reportOptionalMemberAccess=false, reportOptionalSubscript=false


N = 9
pairs = st.lists(st.tuples(st.integers(0, N - 1), st.integers(0, N - 1)), max_size=40)
triples = st.lists(
    st.tuples(st.integers(0, N - 1), st.integers(0, N - 1), st.integers(0, 8)), max_size=40
)


def assert_same_graph(a: Graph, b: Graph) -> None:
    np.testing.assert_array_equal(a.indptr, b.indptr)
    np.testing.assert_array_equal(a.indices, b.indices)
    assert (a.weights is None) == (b.weights is None)
    if a.weights is not None and b.weights is not None:
        np.testing.assert_array_equal(a.weights, b.weights)


def dense(edges: list[Any], weights: NDArray[Any] | None = None) -> NDArray[np.float64]:
    """The adjacency by its definition, entry by entry."""
    one_way = np.zeros((N, N))
    for i, (u, v) in enumerate(edges):
        if u != v:
            one_way[u, v] += 1 if weights is None else weights[i]
    both = np.maximum(one_way, one_way.T)
    return np.minimum(both, 1) if weights is None else both


@given(pairs)
def test_from_edges_adjacency_equals_its_definition(edges: list[tuple[int, int]]) -> None:
    graph = Graph.from_edges(edges, N)
    np.testing.assert_array_equal(graph.adjacency.toarray(), dense(edges))
    assert graph.weights is None


@given(triples)
def test_from_edges_weights_equal_their_definition(given_edges: list[tuple[int, int, int]]) -> None:
    edges = [(u, v) for u, v, _ in given_edges]
    weights = np.array([w for *_, w in given_edges], dtype=float) / 4
    graph = Graph.from_edges(edges, N, weights=weights)
    np.testing.assert_array_equal(graph.adjacency.toarray(), dense(edges, weights))
    assert graph.weights is not None
    assert (graph.weights > 0).all()


@given(triples, st.booleans())
def test_graph_invariants_hold(given_edges: list[tuple[int, int, int]], weighted: bool) -> None:
    weights = [w for *_, w in given_edges] if weighted else None
    graph = Graph.from_edges([t[:2] for t in given_edges], N, weights=weights)
    matrix = graph.adjacency
    assert (matrix != matrix.T).nnz == 0
    assert not matrix.diagonal().any()
    rows = np.split(graph.indices, graph.indptr[1:-1])
    assert all((np.diff(row) > 0).all() for row in rows)
    np.testing.assert_allclose(graph.degrees, matrix.sum(axis=1), rtol=1e-12)
    assert graph.degrees.dtype == np.float64
    assert graph.n_edges == len(graph.edges) == matrix.nnz / 2
    assert (graph.edges[:, 0] < graph.edges[:, 1]).all()
    assert graph.edges.tolist() == sorted(graph.edges.tolist())
    again = Graph.from_edges(graph.edges, N, weights=graph.edge_weights)
    assert_same_graph(graph, again)
    assert not [note for note in again.notes if "isolated" not in note]


@given(pairs, st.randoms())
def test_from_edges_forgets_order_and_direction(edges: list[tuple[int, int]], random: Any) -> None:
    shuffled = [(v, u) if random.random() < 0.5 else (u, v) for u, v in edges]
    random.shuffle(shuffled)
    graph = Graph.from_edges(edges, N)
    assert_same_graph(graph, Graph.from_edges(shuffled, N))
    if len(edges) > 2:
        assert_same_graph(graph, Graph.from_edges(np.array(shuffled).T, N))


def test_from_edges_counts_vertices_from_what_it_is_given() -> None:
    edges = [[0, 2]]
    assert Graph.from_edges(edges).n_vertices == 3
    assert Graph.from_edges(edges, 7).n_vertices == 7
    assert Graph.from_edges(edges, features=np.eye(5)).n_vertices == 5
    assert Graph.from_edges(edges, features=[[1.0]] * 4).n_vertices == 4
    assert Graph.from_edges(edges, labels=list("abcd")).n_vertices == 4
    assert Graph.of(None, n_vertices=3).n_edges == 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"edges": []}, "at least one vertex"),
        ({"edges": [], "n_vertices": -1}, "at least one vertex"),
        ({"n_vertices": 2}, r"names vertex 2, but there are only 2 vertices \(0\.\.1\)"),
        ({"n_vertices": 3.7}, "whole number; got 3.7"),
        ({"n_vertices": "3"}, "whole number; got '3'"),
        ({"edges": [[0, 10**12]]}, "1 edge would make 1,000,000,000,001 vertices"),
        ({"features": np.eye(3), "n_vertices": 4}, "features must have 4 entries; got 3"),
        ({"features": [1.0, 2.0, 3.0]}, "must be a table"),
        ({"features": sp.coo_array([1.0, 2.0, 3.0])}, "must be a table"),
        ({"features": [[1.0], [2.0, 3.0], [4.0]]}, "unequal length"),
        ({"features": 5}, "one entry per vertex; got 5"),
        ({"features": [["red"]] * 3}, "encode text columns"),
        ({"features": np.full((3, 1), np.nan)}, "finite"),
        ({"features": sp.csr_array(np.diag([1.0, np.inf, 1.0]))}, "finite"),
        ({"features": np.eye(3) * 1e300}, "finite in float32"),
        ({"features": sp.eye_array(3) * 1e300}, "finite in float32"),
        ({"features": np.eye(3) * 1j}, "real"),
        ({"features": sp.eye_array(3) * 1j}, "real"),
        ({"labels": ["a", "b"], "n_vertices": 3}, "labels must have 3 entries; got 2"),
        ({"labels": 5}, "one entry per vertex; got 5"),
        ({"weights": [1.0]}, "one number per edge"),
        ({"vertex_names": ["x"]}, "vertex_names must have 3 entries; got 1"),
        ({"features": np.eye(3), "feature_names": ["x"]}, "feature_names must have 3 entries"),
        ({"feature_names": ["x"]}, "feature_names must have 0 entries"),
        ({"splits": [Split([0], [1], [7])]}, r"test vertices must lie in 0\.\.2"),
        ({"splits": [5]}, "splits must hold Splits; got a int"),
        ({"splits": 5}, "splits must be a list; got 5"),
        ({"vertex_names": 5}, "vertex_names must be a list; got 5"),
        ({"kinds": 5}, "kinds must be a list; got 5"),
        ({"kinds": [["a"], ["b"]]}, "kinds must be words or numbers"),
        ({"n_vertices": 10**12}, "n_vertices must be at most .* memory; got 1000000000000"),
        ({"n_vertices": 10**400}, "n_vertices must be at most"),
        ({"features": np.zeros((3, 1), dtype="M8[D]")}, "real numbers; got datetime64"),
        ({"weights": np.ones(2, dtype="m8[s]")}, "real numbers; got timedelta64"),
        ({"weights": np.ones(2, dtype=[("a", float)])}, "real numbers; got"),
        ({"weights": [[1], [1, 2]]}, "weights must be a table; got rows of unequal length"),
        ({"edges": torch.eye(3).to_sparse()}, "dense .* got torch.sparse_coo"),
        ({"features": torch.eye(3).bfloat16()}, "numpy has; got torch.strided of torch.bfloat16"),
    ],
)
def test_from_edges_refuses_what_makes_no_graph(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(GraphError, match=problem):
        Graph.from_edges(**{"edges": [[0, 1], [1, 2]], **arguments})


def test_graph_is_immutable(small_graph: Graph) -> None:
    graph = small_graph.replace(
        features=np.eye(small_graph.n_vertices), labels=np.arange(small_graph.n_vertices)
    )
    sparse = graph.replace(features=sp.eye_array(graph.n_vertices))
    assert graph.labels is not None
    arrays = [graph.indptr, graph.indices, graph.features, graph.labels, graph.classes]
    arrays += [sparse.features.data, sparse.features.indices, sparse.features.indptr]
    arrays += [] if graph.weights is None else [graph.weights]
    for array in arrays:
        if array.size:
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
    with pytest.raises(FrozenInstanceError):
        graph.name = "other"  # pyright: ignore
    assert copy.deepcopy(graph) is graph


def test_graph_leaves_what_it_was_given_alone() -> None:
    """Values and write permission; the CSR features are unsorted and repeat a column."""
    edges, weights, labels = np.array([[1, 0], [1, 1]]), np.array([2.0, 1.0]), np.array([3, 4])
    features = sp.csr_array(
        (np.array([1, 2, 3], np.float32), np.array([1, 0, 1]), np.array([0, 3, 3])), shape=(2, 2)
    )
    given_arrays = [edges, weights, labels, features.data, features.indices, features.indptr]
    before = [a.copy() for a in given_arrays]
    graph = Graph.from_edges(edges, features=features, labels=labels, weights=weights)
    np.testing.assert_array_equal(graph.features.toarray(), [[2, 4], [0, 0]])
    for array, value in zip(given_arrays, before, strict=True):
        np.testing.assert_array_equal(array, value)
        array[...] = 0  # still the caller's own
    np.testing.assert_array_equal(graph.features.toarray(), [[2, 4], [0, 0]])
    assert graph.adjacency[0, 1] == 2
    assert graph.classes.tolist() == [3, 4]


def test_dense_features_are_copied() -> None:
    features = np.eye(3, dtype=np.float32)
    graph = Graph.from_edges([[0, 2]], features=features)
    features[0, 0] = 9
    assert graph.features[0, 0] == 1


@pytest.mark.parametrize("make", [np.asarray, torch.tensor, sp.csr_matrix, sp.lil_array])
def test_features_of_any_kind_become_float32(make: Any) -> None:
    values = np.array([[1, 0], [0, 2]])
    features = Graph.from_edges([[0, 1]], features=make(values)).features
    assert features.dtype == np.float32
    assert sp.issparse(features) == sp.issparse(make(values))
    np.testing.assert_array_equal(features.toarray() if sp.issparse(features) else features, values)


def test_masked_cells_are_refused_and_masked_labels_unknown() -> None:
    masked = np.ma.masked_array(np.eye(3), mask=np.eye(3) > 0)
    with pytest.raises(GraphError, match="features must have a value in every cell; 3 are masked"):
        Graph.from_edges([[0, 1]], 3, features=masked)
    weights = np.ma.masked_array([1.0, 2.0], mask=[False, True])
    with pytest.raises(GraphError, match="weights must have a value in every cell; 1 are masked"):
        Graph.from_edges([[0, 1], [1, 2]], 3, weights=weights)
    whole = np.ma.masked_array(np.eye(3))
    assert np.array_equal(np.asarray(Graph.from_edges([[0, 1]], 3, features=whole).features), whole)
    labels = np.ma.masked_array([5, 7, 7], mask=[False, False, True])
    graph = Graph.from_edges([[0, 1]], 3, labels=labels)
    assert graph.labels is not None
    assert graph.labels.tolist() == [0, 1, -1]
    assert graph.classes.tolist() == [5, 7]


@pytest.mark.parametrize("what", ["features", "weights"])
def test_a_whole_number_that_no_float_holds_is_refused(what: str) -> None:
    given = [[10**400], [1]] if what == "features" else [10**400]
    with pytest.raises(GraphError, match=f"{what} must be finite in float32"):
        Graph.from_edges([[0, 1]], 2, **{what: given})


def test_replace_checks_and_clears() -> None:
    graph = Graph.from_edges(
        [[0, 1]], features=np.eye(2), labels=["a", "b"], vertex_names="xy", feature_names="pq"
    )
    assert graph.replace(name="other").feature_names == ("p", "q")
    assert graph.replace(vertex_names=None).vertex_names is None
    cleared = graph.replace(features=None, labels=None)
    assert (cleared.features, cleared.labels, cleared.n_classes) == (None, None, 0)
    assert (cleared.n_features, cleared.feature_names) == (0, None)
    assert graph.replace(features=np.ones((2, 3))).feature_names is None
    assert graph.n_features == 2
    with pytest.raises(GraphError, match="labels must have 2 entries; got 3"):
        graph.replace(labels=[1, 2, 3])
    with pytest.raises(TypeError, match="no attribute 'indptr'"):
        graph.replace(indptr=[0])


def test_subgraph_equals_the_block_of_the_adjacency(small_graph: Graph) -> None:
    n = small_graph.n_vertices
    graph = small_graph.replace(
        features=sp.diags_array(np.arange(n, dtype=float)),
        labels=np.arange(n) % 3,
        vertex_names=[f"v{i}" for i in range(n)],
        splits=[Split([0, 1], [2], [3])],
    )
    index = [3, 0, n - 1] if n > 4 else [3, 0]
    part = graph.subgraph(index)
    np.testing.assert_array_equal(
        part.adjacency.toarray(), graph.adjacency.toarray()[np.ix_(index, index)]
    )
    assert part.vertex_names == tuple(f"v{i}" for i in index)
    np.testing.assert_array_equal(part.features.toarray()[:, index], np.diag(index))
    assert part.labels is not None
    assert part.labels.tolist() == [i % 3 for i in index]
    assert part.splits[0].part_of(2).tolist() == ["test", "train"]


def test_largest_component_equals_networkx(data_folder: Path) -> None:
    graph = Graph.from_edges(np.load(data_folder / "citeseer.npz")["edges"], 3327)
    network = nx.Graph(graph.edges.tolist())
    largest = max(nx.connected_components(network), key=len)
    part = graph.largest_component()
    assert (part.n_vertices, part.n_edges) == (2120, network.subgraph(largest).number_of_edges())


def test_largest_component_of_a_connected_graph_is_itself() -> None:
    graph = Graph.from_edges([[0, 1], [1, 2]])
    assert_same_graph(graph, graph.largest_component())


def test_graph_repr_counts_in_the_right_number() -> None:
    graph = Graph.from_edges([[0, 1]], features=np.ones((2, 1)), labels=["a", ""], name="g")
    assert repr(graph) == "Graph('g', 2 vertices, 1 edge, 1 feature, 1 class)"


# Tests hand in what users do, and know which attributes they have set.
# pyright: reportArgumentType=false, reportOptionalMemberAccess=false, reportOptionalSubscript=false


with warnings.catch_warnings():
    # torch_geometric scripts classes on import, which newer versions of torch deprecate.
    warnings.simplefilter("ignore", DeprecationWarning)
    from torch_geometric.data import Data


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


PATH = Graph.from_edges([(v, v + 1) for v in range(999)])
STAR = Graph.from_edges([(0, v) for v in range(1, 1000)])
PAIRS = Graph.from_edges([(v, v + 1) for v in range(0, 1000, 2)])
ALONE = Graph.from_edges([], 1000)
RANDOM = make_csbm(1000, mean_degree=8, n_features=2, frequency=1.0, seed=0)


@pytest.mark.parametrize(
    ("graph", "wide"),
    [(PATH, True), (STAR, False), (PAIRS, False), (ALONE, False), (RANDOM, False)],
)
def test_graphs_of_known_shape(graph: Graph, wide: bool) -> None:
    assert is_wide(graph, 6) is wide


def test_a_path_is_wide_until_the_steps_reach_a_tenth_of_it() -> None:
    # From within, k steps reach 2 k + 1 vertices of a thousand.
    assert is_wide(PATH, 49)
    assert not is_wide(PATH, 50)


def test_the_answer_does_not_depend_on_the_order_of_edges() -> None:
    edges = np.array([(v, v + 1) for v in range(999)])
    mixed = np.random.default_rng(0).permutation(edges)[:, ::-1]
    assert is_wide(Graph.from_edges(mixed), 6)
