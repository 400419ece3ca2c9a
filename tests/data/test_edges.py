"""Edges: repeats and weights merged, directions, types and times kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from graphfilter import build_store
from graphfilter.data import Columns, open_store, read_npz, read_tables, write_npz
from graphfilter.data.attributes import as_pairs, check_weights
from graphfilter.data.edges import MOST_KINDS, EdgeKinds, build_links, index_type
from graphfilter.data.graph import Graph
from graphfilter.models.places import link_features
from graphfilter.util.errors import ConfigError, GraphError

# Tests hand in what users do.
# pyright: reportArgumentType=false


@pytest.mark.parametrize(
    "edges",
    [
        [[0, 1], [1, 2], [5, 0]],
        [(0, 1), (1, 2), (5, 0)],
        np.array([[0, 1], [1, 2], [5, 0]], dtype=np.uint8),
        np.array([[0, 1], [1, 2], [5, 0]], dtype=np.float32),
        np.array([[0, 1, 5], [1, 2, 0]]),
        torch.tensor([[0, 1, 5], [1, 2, 0]]),
    ],
    ids=["lists", "tuples", "uint8", "whole floats", "two rows", "torch edge_index"],
)
def test_as_pairs_takes_every_usual_form(edges: object) -> None:
    np.testing.assert_array_equal(as_pairs(edges), [[0, 1], [1, 2], [5, 0]])


def test_as_pairs_reads_a_two_by_two_array_as_rows() -> None:
    np.testing.assert_array_equal(as_pairs([[0, 1], [2, 3]]), [[0, 1], [2, 3]])


@pytest.mark.parametrize("empty", [[], np.empty((2, 0), int), np.empty((0, 2), int)])
def test_as_pairs_of_nothing_is_no_edges(empty: object) -> None:
    pairs = as_pairs(empty)
    assert pairs.shape == (0, 2)
    assert pairs.dtype == np.int64


@pytest.mark.parametrize(
    ("edges", "problem"),
    [
        ([0, 1, 2], r"shape \(m, 2\) or \(2, m\); got \(3,\)"),
        (np.eye(3, dtype=int), "csr_array"),
        ([[0, 1], [1, 2, 3]], "unequal length"),
        ([["a", "b"]], "read_tables"),
        ([[0.5, 1.0]], "whole vertex numbers"),
        ([[True, False]], "whole vertex numbers; got bool"),
        ([[0, -3]], "not be negative; got -3"),
        ([[0.0, np.nan]], "whole vertex numbers"),
        ([[0.0, np.inf]], "must run from 0.*got inf"),
        ([[0.0, 1e30]], "must run from 0.*1e\\+30"),
        (np.array([[0, 2**63]], dtype=np.uint64), "must run from 0"),
        ([[0, 2**70]], "whole vertex numbers"),
    ],
)
def test_as_pairs_refuses_what_is_no_edge_list(edges: object, problem: str) -> None:
    with pytest.raises(GraphError, match=problem):
        as_pairs(edges)


@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        ([1.0], r"one number per edge \(2\); got \(1,\)"),
        ([[1.0, 2.0]], r"got \(1, 2\)"),
        (["light", "heavy"], "must be numbers"),
        ([1.0, -2.0], "not be negative; got -2. Use absolute values"),
        ([1.0, np.nan], "finite.* Fill those in"),
        ([1.0, np.inf], "finite"),
        ([1.0, 1e60], "finite in float32"),
        ([1.0, 2j], "real"),
    ],
)
def test_check_weights_refuses_what_is_no_weight(weights: object, problem: str) -> None:
    with pytest.raises(GraphError, match=problem):
        check_weights(weights, 2)


def test_check_weights_takes_a_tensor_that_requires_grad() -> None:
    weights = torch.tensor([1.0, 0.5], requires_grad=True)
    np.testing.assert_array_equal(check_weights(weights, 2), [1.0, 0.5])


def test_build_links_adds_repeats_and_keeps_the_larger_direction() -> None:
    """0→1 weighs 1 + 2 = 3, 1→0 weighs 2.5: the edge weighs 3."""
    pairs = as_pairs([[0, 1], [1, 0], [0, 1], [1, 2]])
    indptr, indices, weights, _, notes = build_links(pairs, check_weights([1, 2.5, 2, 7], 4), 3)
    np.testing.assert_array_equal(indptr, [0, 1, 3, 4])
    np.testing.assert_array_equal(indices, [1, 0, 2, 1])
    np.testing.assert_array_equal(weights, [3, 3, 7, 7])
    assert notes == [
        "2 repeated edges merged: those of one direction were added up.",
        "1 edge had a different weight in each direction: the larger was kept.",
    ]


def test_build_links_drops_edges_of_weight_zero() -> None:
    pairs = as_pairs([[0, 1], [1, 2], [2, 2]])
    indptr, _, weights, _, notes = build_links(pairs, check_weights([0, 2, 0], 3), 3)
    np.testing.assert_array_equal(indptr, [0, 0, 1, 2])
    np.testing.assert_array_equal(weights, [2, 2])
    assert notes == [
        "1 self loop dropped.",
        "1 edge of weight 0 dropped.",
        "1 isolated vertex kept.",
    ]


def test_build_links_merges_more_repeats_than_a_byte_can_count() -> None:
    pairs = np.tile([[0, 1]], (512, 1))
    _, indices, _, _, notes = build_links(pairs, None, 2)
    np.testing.assert_array_equal(indices, [1, 0])
    assert notes == ["511 repeated edges merged."]


def test_build_links_refuses_repeats_that_add_up_beyond_float32() -> None:
    pairs = as_pairs([[0, 1], [0, 1]])
    with pytest.raises(GraphError, match="finite in float32"):
        build_links(pairs, check_weights([3e38, 3e38], 2), 2)


@pytest.mark.parametrize(
    ("edges", "notes"),
    [
        ([[0, 1], [1, 2]], []),
        ([[0, 1], [1, 0], [1, 2], [2, 1]], []),
        ([[0, 1], [1, 0], [1, 2]], ["1 repeated edge merged."]),
        ([[0, 1], [0, 1], [1, 2]], ["1 repeated edge merged."]),
        (
            [[0, 1], [1, 2], [0, 0], [1, 1], [0, 1]],
            ["2 self loops dropped.", "1 repeated edge merged."],
        ),
        ([[2, 2]], ["1 self loop dropped.", "3 isolated vertices kept."]),
    ],
)
def test_build_links_notes_say_what_was_cleaned(edges: list[list[int]], notes: list[str]) -> None:
    """Listing every edge in both directions, as symmetric matrices do, is no repeat."""
    assert build_links(as_pairs(edges), None, 3).notes == notes


def test_index_type_is_the_narrower_that_fits() -> None:
    assert index_type(2**31 - 1) is np.int32
    assert index_type(2**31) is np.int64


def test_build_links_chooses_each_index_type_by_what_it_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Vertex numbers are held to n, row pointers to the number of entries."""
    narrow = {False: np.int16, True: np.int64}
    monkeypatch.setattr("graphfilter.data.edges.index_type", lambda largest: narrow[largest > 4])
    path = as_pairs([[0, 1], [1, 2], [2, 3]])
    indptr, indices, *_ = build_links(path, None, 4)
    assert (indptr.dtype, indices.dtype) == (np.int64, np.int16)
    indptr, indices, *_ = build_links(path[:1], None, 9)
    assert (indptr.dtype, indices.dtype) == (np.int16, np.int64)


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


MEANINGS: dict[str, Any] = {"sum": sum, "mean": np.mean, "max": max, "last": lambda w: w[-1]}
ROWS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), st.sampled_from([0.5, 1.0, 2.0, 8.0])),
    min_size=1,
    max_size=30,
)


def by_hand(rows: list[tuple[int, int, float]], merge: str) -> dict[tuple[int, int], float]:
    """Return the weight of every edge, by its lower vertex."""
    found: dict[tuple[int, int], list[float]] = {}
    for u, v, weight in rows:
        if u != v:
            found.setdefault((min(u, v), max(u, v)), []).append(weight)
    one_way: dict[tuple[int, int], float] = {}
    for u, v, weight in rows:
        one_way[u, v] = one_way.get((u, v), 0) + weight
    symmetric = all(one_way.get((v, u)) == w for (u, v), w in one_way.items() if u != v)
    half = 0.5 if merge == "sum" and symmetric else 1.0
    return {edge: half * float(MEANINGS[merge](weights)) for edge, weights in found.items()}


@pytest.mark.parametrize("merge", MEANINGS)
@pytest.mark.parametrize("directed", [False, True])
@settings(max_examples=40, deadline=None)
@given(rows=ROWS)
def test_repeats_weigh_together_what_is_asked(
    rows: list[tuple[int, int, float]], merge: str, directed: bool
) -> None:
    graph = Graph.from_edges(
        [row[:2] for row in rows], 5, weights=[row[2] for row in rows], merge=merge,
        directed=directed,
    )  # fmt: skip
    found = {} if graph.edge_weights is None else dict(
        zip(map(tuple, graph.edges.tolist()), graph.edge_weights.tolist(), strict=True)
    )  # fmt: skip
    assert found == pytest.approx(by_hand(rows, merge), rel=1e-6)
    if directed:
        arcs = graph.out_links().todok()
        for u, v in {row[:2] for row in rows if row[0] != row[1]}:
            own = [weight for a, b, weight in rows if (a, b) == (u, v)]
            assert arcs[u, v] == pytest.approx(MEANINGS[merge](own), rel=1e-6)
        again = graph.subgraph(range(5))
        assert again.checksum() == graph.checksum()


def test_repeats_without_weights_are_counted_where_that_is_asked() -> None:
    graph = Graph.from_edges([[0, 1], [1, 0], [0, 1], [1, 2]], merge="sum")
    assert graph.edge_weights is not None
    assert graph.edge_weights.tolist() == [3, 1]
    with pytest.raises(GraphError, match=r"there are none\. Name their column with `weight`"):
        Graph.from_edges([[0, 1]], merge="mean")
    with pytest.raises(ConfigError, match="did you mean 'mean'"):
        Graph.from_edges([[0, 1]], weights=[1.0], merge="mea")


@pytest.mark.parametrize(
    ("name", "told", "expected", "said"),
    [
        ("minutes", None, 12.0, "their weights were added up"),
        ("similarity", None, 7.0, "the largest of their weights was kept"),
        ("weight", None, 7.0, ""),
        ("minutes", "mean", 4.0, "the mean"),
        ("minutes", "last", 7.0, "the weight of the last was kept"),
    ],
)
def test_tables_merge_by_what_the_weight_is_and_say_so(
    name: str, told: str | None, expected: float, said: str
) -> None:
    edges = {"from": ["a", "a", "b"], "to": ["b", "b", "a"], name: ["2", "3", "7"]}
    vertices = {"id": ["a", "b"], "x": ["1", "2"]}
    graph, _ = read_tables(edges, vertices, columns=Columns(weight=name, merge=told))
    assert graph.edge_weights is not None
    assert graph.edge_weights.tolist() == [expected]
    (note,) = [note for note in graph.notes if "repeated edge" in note]
    assert said in note
    assert ("to change this: `merge`" in note) == bool(said)


@pytest.mark.parametrize("merge", [None, *MEANINGS])
@pytest.mark.parametrize("weighted", [True, False])
@settings(
    max_examples=2,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(rows=ROWS)
def test_a_store_merges_as_a_graph_in_memory(
    rows: list[tuple[int, int, float]],
    merge: str | None,
    weighted: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    if not weighted and merge not in (None, "sum"):
        return
    folder: Path = tmp_path_factory.mktemp("tables")
    lines = "".join(f"{u},{v},{w}\n" for u, v, w in rows)
    (folder / "edges.csv").write_text("from,to,minutes\n" + lines)
    (folder / "vertices.csv").write_text("id,x\n" + "".join(f"{i},{i % 2}\n" for i in range(5)))
    files = folder / "edges.csv", folder / "vertices.csv"
    for directed in (False, True):
        columns = Columns(
            weight="minutes" if weighted else None, merge=merge, directed=directed, id="id",
            drop=("minutes",),
        )  # fmt: skip
        header = build_store(*files, folder / f"store{directed}", columns=columns)
        graph, _ = read_tables(*files, columns=columns)
        assert open_store(folder / f"store{directed}").checksum() == graph.checksum()
        assert header.notes == list(graph.notes)


def test_columns_of_edges_that_nothing_uses_are_named_with_their_options() -> None:
    edges = {
        "from": ["a", "b", "c"], "to": ["b", "c", "a"], "minutes": ["1", "2", "3"],
        "day": ["2024-01-01", "2024-01-02", "2024-01-03"], "how": ["call", "text", "call"],
        "balance": ["-1", "2", "3"],
    }  # fmt: skip
    vertices = {"id": ["a", "b", "c"], "x": ["1", "2", "3"]}
    graph, _ = read_tables(edges, vertices)
    expected = (
        "edges: not used but for features of the vertices: 'minutes', 'day', 'how', 'balance' "
        "(`weight`, `edge_kind`, `edge_time` may name one)."
    )
    assert expected in graph.notes
    used = Columns(weight="minutes", edge_time="day", edge_kind="how")
    graph, encoder = read_tables(edges, vertices, columns=used)
    assert "edges: not used but for features of the vertices: 'balance'." in graph.notes
    later, _ = read_tables(edges, vertices, columns=used, encoder=encoder)
    assert not any("not used" in note for note in later.notes)
