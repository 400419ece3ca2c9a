"""Graphs that grow: new vertices and edges, and new rows of tables."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

import graphfilter as gf
from graphfilter.data import Columns
from graphfilter.data.from_tables import grow, join_tables
from graphfilter.data.graph import Graph
from graphfilter.util.errors import DataFileError, GraphError

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


N, KNOWN = 30, 20
VERTICES = pd.DataFrame(
    {
        "id": [f"v{i}" for i in range(N)],
        "x": np.random.default_rng(0).normal(size=N).round(3),
        "colour": np.random.default_rng(1).choice(["red", "blue", "green"], N),
    }
)


# What edges have beside is summed up for the vertices of one table, not for those known before.
BESIDE = ("amount", "kind")


def edges(n: int, seed: int = 2) -> pd.DataFrame:
    """Return edges in one direction, repeats of some among them."""
    rng = np.random.default_rng(seed)
    pairs = np.sort(rng.integers(0, n, size=(4 * n, 2)), axis=1)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    frame = pd.DataFrame({"source": [f"v{i}" for i in pairs[:, 0]]})
    frame["target"] = [f"v{i}" for i in pairs[:, 1]]
    frame["amount"] = rng.integers(1, 9, len(frame)).astype(float)
    frame["kind"] = rng.choice(["call", "mail"], len(frame))
    return frame


def read(rows: pd.DataFrame, links: pd.DataFrame, columns: Columns, encoder=None) -> gf.Graph:
    return gf.read_tables(links, rows, columns=columns, encoder=encoder)[0]


def equal(first: gf.Graph, second: gf.Graph) -> None:
    assert first.vertex_names == second.vertex_names
    assert np.array_equal(first.indptr, second.indptr)
    assert np.array_equal(first.indices, second.indices)
    for name in ("weights", "arcs"):
        one, other = getattr(first, name), getattr(second, name)
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-6)
    assert (first.kinds is None) == (second.kinds is None)
    if first.kinds is not None and second.kinds is not None:
        assert first.kinds.names == second.kinds.names
        np.testing.assert_allclose(first.kinds.values, second.kinds.values, rtol=1e-6)
    np.testing.assert_array_equal(first.features, second.features)


@pytest.mark.parametrize(
    "columns",
    [
        Columns(id="id", drop=BESIDE),
        Columns(id="id", weight="amount", merge="sum", drop=BESIDE),
        Columns(id="id", weight="amount", merge="max", drop=BESIDE),
        Columns(id="id", weight="amount", merge="last", drop=BESIDE),
        Columns(id="id", weight="amount", merge="sum", directed=True, drop=BESIDE),
        Columns(id="id", weight="amount", merge="sum", edge_kind="kind", drop=BESIDE),
        Columns(id="id", edge_kind="kind", directed=True, drop=BESIDE),
    ],
    ids=["plain", "sum", "max", "last", "directed", "kinds", "directed kinds"],
)
def test_joined_rows_are_those_of_one_table(columns: Columns) -> None:
    links = edges(N)
    numbers = links[["source", "target"]].map(lambda name: int(name[1:]))
    old = (numbers < KNOWN).all(axis=1).to_numpy(copy=True)
    # Some edges between known vertices come again with the new rows.
    old[::7] = False
    whole, encoder = gf.read_tables(links, VERTICES, columns=columns)
    ordered = pd.concat([links[old], links[~old]])
    whole = read(VERTICES, ordered, columns, encoder)
    known = read(VERTICES[:KNOWN], links[old], columns, encoder)
    new = VERTICES[KNOWN:].sample(frac=1, random_state=0)
    joined = join_tables(
        known, links[~old], new, title="what is known", columns=columns, encoder=encoder
    )
    names = joined.graph.vertex_names or ()
    order = [names.index(name) for name in whole.vertex_names or ()]
    equal(joined.graph.subgraph(order), whole)
    assert [names[row] for row in joined.rows] == new["id"].tolist()
    assert joined.n_updated == 0


@pytest.mark.parametrize("sparse", [False, True])
def test_known_row_replaces_its_features(sparse: bool) -> None:
    columns = Columns(id="id")
    known, encoder = gf.read_tables(
        edges(KNOWN)[["source", "target"]], VERTICES[:KNOWN], columns=columns
    )
    if sparse:
        import scipy.sparse as sp

        known = known.replace(features=sp.csr_array(known.features))
    rows = VERTICES.iloc[[3, 25, 7]].copy()
    rows["x"] = [10.0, 20.0, 0.0]
    links = pd.DataFrame({"source": ["v25"], "target": ["v3"]})
    joined = join_tables(
        known, links, rows, title="what is known", columns=columns, encoder=encoder
    )
    assert joined.rows.tolist() == [3, KNOWN, 7]
    assert joined.n_updated == 2
    expected = read(rows, links, columns, encoder).features
    found, before = cast(Any, joined.graph.features), cast(Any, known.features)
    if sparse:
        found, before = found.toarray(), before.toarray()
    np.testing.assert_array_equal(found[joined.rows], expected)
    others = np.setdiff1d(np.arange(KNOWN), [3, 7])
    np.testing.assert_array_equal(found[others], before[others])
    assert joined.graph.n_edges == known.n_edges + 1
    said = joined.describe(known, "what is known")
    assert said.endswith("with 1 new vertex, 2 known with the features given, 1 new edge")


def test_rows_without_edges_are_joined_alone() -> None:
    known, encoder = gf.read_tables(
        edges(KNOWN), VERTICES[:KNOWN], columns=Columns(id="id", drop=BESIDE)
    )
    joined = join_tables(known, None, VERTICES[KNOWN:], title="it", encoder=encoder)
    (said,) = [note for note in joined.notes if "edges" in note]
    assert said == "no table of edges: new vertices have no neighbours."
    assert joined.graph.n_edges == known.n_edges
    assert joined.graph.n_vertices == N


def test_what_cannot_be_joined_is_refused() -> None:
    columns = Columns(id="id", weight="amount", merge="mean", edge_kind="kind", drop=BESIDE)
    known, encoder = gf.read_tables(edges(KNOWN), VERTICES[:KNOWN], columns=columns)

    def join(links: pd.DataFrame, rows: pd.DataFrame, columns: Columns = columns) -> None:
        join_tables(known, links, rows, title="what is known", columns=columns, encoder=encoder)

    one = pd.DataFrame({"source": ["v25"], "target": ["v99"], "amount": [1.0], "kind": ["call"]})
    with pytest.raises(DataFileError, match="'v99' is not in vertices, nor in what is known"):
        join(one, VERTICES[KNOWN:])
    with pytest.raises(DataFileError, match="also on row"):
        join(one, VERTICES.iloc[[25, 25]])
    again = edges(KNOWN)[:1]
    with pytest.raises(GraphError, match="the mean weight of rows"):
        join(again, VERTICES[KNOWN:])
    with pytest.raises(GraphError, match="must be one of the graph's"):
        join(one.assign(target="v3", kind="fax"), VERTICES[KNOWN:])
    with pytest.raises(GraphError, match="edges must have one of the types"):
        join(
            one.assign(target="v3"),
            VERTICES[KNOWN:],
            Columns(id="id", weight="amount", drop=BESIDE),
        )
