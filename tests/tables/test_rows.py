"""Columns of edges, attached tables and shared values: what lies beside the vertices is used."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

import graphfilter as gf
from graphfilter.data.from_tables import join_tables
from graphfilter.tables.attach import join_shared
from graphfilter.tables.cells import Cells
from graphfilter.tables.encoder import TableEncoder
from graphfilter.util.errors import GraphFilterError

PEOPLE = {"id": ["a", "b", "c", "d"], "x": [1, 2, 3, 4]}
TRANSFERS = {
    "payer": ["a", "a", "b", "c"],
    "payee": ["b", "c", "c", "a"],
    "amount": ["1,5 €", "2,5 €", "4 €", "4 €"],
    "channel": ["web", "app", "web", "web"],
    "when": ["2024-01-01", "2024-01-03", "2024-01-02", "2024-01-11"],
}
ORDERS = {"person": ["a", "a", "b", "z"], "price": [1.0, 3.0, 5.0, 7.0]}


def columns_of(graph: gf.Graph) -> dict[str, list[float]]:
    dense: Any = graph.features
    dense = dense if isinstance(dense, np.ndarray) else dense.toarray()
    return dict(zip(graph.feature_names or (), dense.T.tolist(), strict=True))


def test_columns_of_edges_are_summed_up_per_direction() -> None:
    graph, _ = gf.read_tables(TRANSFERS, PEOPLE)
    made = columns_of(graph)
    assert made["edges (count, sent)"] == [2, 1, 1, 0]
    assert made["edges (count, received)"] == [1, 1, 2, 0]
    assert made["amount (sum, sent)"] == [4, 4, 4, 0]
    assert made["amount (mean, sent)"] == [2, 4, 4, 4]  # the median where there is none
    assert made["amount (max, received)"][:3] == [4, 1.5, 4]
    assert made["amount (distinct, received)"] == [1, 1, 2, 0]
    assert made["channel=web (share, sent)"] == [0.5, 1, 1, 0]
    assert made["when (first, sent)"][:3] == [0, 1, 10]
    assert made["when (last, sent)"][:3] == [2, 1, 10]
    assert made["when (recency, sent)"][:3] == [8, 9, 0]
    assert made["when (spread, sent)"][:3] == [1, 0, 0]
    assert any("'amount', 'channel', 'when' became features" in note for note in graph.notes)


@given(data=st.data())
def test_sums_are_those_of_pandas(data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 6))
    edges = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), st.integers(-9, 9))
    frame = pd.DataFrame(
        data.draw(st.lists(edges, min_size=1, max_size=30)), columns=["u", "v", "y"]
    )
    graph, _ = gf.read_tables(
        frame, {"id": range(n), "x": range(n)}, id="id", source="u", target="v"
    )
    made = columns_of(graph)
    both = pd.concat([frame, frame.rename(columns={"u": "v", "v": "u"})])
    groups = both.groupby("u")["y"]
    for what, wanted in {
        "sum": groups.sum(), "mean": groups.mean(), "min": groups.min(), "max": groups.max(),
        "distinct": groups.nunique(),
    }.items():  # fmt: skip
        got = pd.Series(made[f"y ({what})"]).loc[wanted.index]
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_edges_without_a_direction_or_with_sides_of_their_own_have_one() -> None:
    edges = {"u": ["a", "b"], "v": ["b", "c"], "minutes": [1, 3]}
    made = columns_of(gf.read_tables(edges, PEOPLE)[0])
    assert made["minutes (sum)"] == [1, 4, 3, 0]
    sides = {"source": ["a", "a"], "target": ["c", "d"], "minutes": [1, 3]}
    assert "minutes (sum)" in columns_of(gf.read_tables(sides, PEOPLE)[0])
    directed = columns_of(gf.read_tables(edges, PEOPLE, directed=True)[0])
    assert directed["minutes (sum, sent)"] == [1, 3, 0, 0]


def test_a_weight_alone_is_no_feature_and_columns_can_be_dropped() -> None:
    edges = {"source": ["a", "b"], "target": ["b", "c"], "weight": [1, 3], "how": ["x", "y"]}
    assert gf.read_tables(edges, PEOPLE, drop="how")[0].feature_names == ("x",)
    assert "weight (sum, sent)" in columns_of(gf.read_tables(edges, PEOPLE)[0])
    one = gf.read_tables(edges, PEOPLE, kinds={"weight": "drop"})[0].feature_names or ()
    assert not any(name.startswith("weight") for name in one)


def test_tomorrow_edges_are_read_as_they_were_written() -> None:
    graph, encoder = gf.read_tables(TRANSFERS, PEOPLE)
    loaded = TableEncoder.from_dict(encoder.to_dict())
    assert loaded == encoder
    again, _ = gf.read_tables(TRANSFERS, PEOPLE, encoder=loaded)
    assert columns_of(again) == columns_of(graph)
    other = {**TRANSFERS, "amount": ["1 $"] * 4}
    with pytest.raises(GraphFilterError, match=r"'amount' must be in EUR.*got USD"):
        gf.read_tables(other, PEOPLE, encoder=encoder)
    with pytest.raises(GraphFilterError, match="no column 'channel'"):
        gf.read_tables(
            {k: v for k, v in TRANSFERS.items() if k != "channel"}, PEOPLE, encoder=encoder
        )


@pytest.mark.parametrize("sparse", [False, True])
def test_a_new_row_of_a_known_vertex_keeps_the_sums_of_its_edges(sparse: bool) -> None:
    """The table of new rows says nothing of the edges that the graph has."""
    graph, encoder = gf.read_tables(TRANSFERS, PEOPLE)
    before = columns_of(graph)
    if sparse:
        graph = graph.replace(features=sp.csr_array(graph.features))
    changed = {"id": ["b", "a"], "x": [7, 8]}
    joined = join_tables(graph, None, changed, title="known", encoder=encoder)
    after = columns_of(joined.graph)
    assert joined.n_updated == 2
    assert after.pop("x") == [8, 7, 3, 4]
    assert after.items() < before.items()


def test_rows_from_a_moment_on_do_not_count() -> None:
    options: dict[str, Any] = {"edge_time": "when", "as_of": "2024-01-03"}
    made = columns_of(gf.read_tables(TRANSFERS, PEOPLE, **options)[0])
    assert made["edges (count, sent)"] == [1, 1, 0, 0]
    assert made["when (recency, sent)"][:2] == [2, 1]


def test_rare_types_of_edges_are_one() -> None:
    n = 40
    kinds = [*(f"k{i % 15}" for i in range(30)), *(f"r{i}" for i in range(10))]
    edges = {"source": ["a"] * n, "target": ["b"] * n, "kind": kinds}
    graph, encoder = gf.read_tables(edges, PEOPLE, edge_kind="kind")
    assert graph.kinds is not None
    assert len(graph.kinds.names) == 16
    assert any("10 rare types of edges read as 'other'" in note for note in graph.notes)
    again, _ = gf.read_tables(
        {**edges, "kind": ["new"] * n}, PEOPLE, encoder=encoder, edge_kind="kind"
    )
    assert again.kinds is not None
    assert again.kinds.names == ("other",)
    assert columns_of(graph)["kind=k3 (count)"][0] == 2


def test_attached_rows_are_summed_up() -> None:
    edges = {"source": ["a"], "target": ["b"]}
    graph, encoder = gf.read_tables(edges, PEOPLE, rows={"orders": ORDERS})
    made = columns_of(graph)
    assert made["orders: rows (count)"] == [2, 1, 0, 0]
    assert made["orders: price (mean)"] == [2, 5, 3.5, 3.5]
    assert any("column 'person' names the vertex" in note for note in graph.notes)
    assert any("1 row of vertices that are not there" in note for note in graph.notes)
    again, _ = gf.read_tables(edges, PEOPLE, rows={"orders": ORDERS}, encoder=encoder)
    assert columns_of(again) == made
    without, _ = gf.read_tables(edges, PEOPLE, encoder=encoder)
    assert columns_of(without)["orders: price (mean)"] == [3.5] * 4
    assert any("no rows of 'orders' are given" in note for note in without.notes)
    with pytest.raises(GraphFilterError, match="none holds ids such as 'a'"):
        gf.read_tables(edges, PEOPLE, rows={"orders": {"person": ["x"], "price": [1]}})


def test_attached_tables_have_names_of_their_own() -> None:
    edges = {"source": ["a"], "target": ["b"]}
    with pytest.raises(GraphFilterError, match="two attached tables are called 'rows'"):
        gf.read_tables(edges, PEOPLE, rows=[ORDERS, ORDERS])
    assert "rows: price (sum)" in columns_of(gf.read_tables(edges, PEOPLE, rows=[ORDERS])[0])


def test_attached_rows_from_a_moment_on_do_not_count() -> None:
    orders = {"person": ["a", "a"], "day": ["2024-01-01", "2024-02-01"], "price": [1, 9]}
    options: dict[str, Any] = {"rows": {"orders": orders}, "as_of": "2024-01-15"}
    made = columns_of(gf.read_tables({"source": ["a"], "target": ["b"]}, PEOPLE, **options)[0])
    assert made["orders: price (sum)"] == [1, 0, 0, 0]


SHARED = {
    "id": [f"v{i}" for i in range(100)],
    "device": [f"d{i // 3}" for i in range(100)],
    "sex": ["m", "f"] * 50,
}


def test_without_edges_vertices_that_share_a_value_are_joined() -> None:
    graph, encoder = gf.read_tables(None, SHARED)
    assert graph.n_edges == 99
    assert {(0, 1), (0, 2), (1, 2)} <= {tuple(edge) for edge in graph.edges.tolist()}
    assert encoder.links == ("device",)
    assert any("share a value of 'device' are joined: 99 edges" in note for note in graph.notes)
    again, _ = gf.read_tables(None, SHARED, encoder=TableEncoder.from_dict(encoder.to_dict()))
    assert again.checksum() == graph.checksum()
    assert gf.read_tables(None, SHARED, no_link=True)[0].n_edges == 0
    edges = {"source": ["v0"], "target": ["v99"]}
    both, _ = gf.read_tables(edges, SHARED, link=["device"])
    assert both.kinds is not None
    assert both.kinds.names == ("device", "edges")
    assert both.n_edges == 100
    assert gf.read_tables(edges, SHARED)[0].n_edges == 1
    with pytest.raises(GraphFilterError, match="no column 'devices'"):
        gf.read_tables(edges, SHARED, link="devices")


@given(data=st.data())
def test_shared_values_join_few_edges_and_all_that_share(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 60), min_size=1, max_size=5))
    words = [f"w{k}" for k, size in enumerate(sizes) for _ in range(size)]
    words += [f"x{i}" for i in range(2000)]
    order = np.random.default_rng(0).permutation(len(words))
    pairs = join_shared(Cells(pa.array(words)), order)
    assert all(words[u] == words[v] for u, v in pairs.tolist())
    assert len({frozenset(pair) for pair in pairs.tolist()}) == len(pairs)
    graph = gf.Graph.from_edges(pairs, len(words))
    degree = np.diff(graph.indptr)
    for word, members in itertools.groupby(range(len(words)), lambda i: words[i]):
        own = list(members)
        if 1 < len(own) <= 0.03 * len(words):
            assert set(degree[own]) == {min(len(own) - 1, 8)}, word


@pytest.mark.parametrize(
    "hostile",
    [
        lambda n: {"id": range(n), "word": ["same"] * n},
        lambda n: {"id": range(n), "word": [f"word {i}" for i in range(n)]},
        lambda n: {"id": range(n), "word": [f"w{i // 2}" for i in range(n)]},
    ],
    ids=["one word", "a value per row", "many values"],
)
def test_hostile_columns_are_bounded(hostile: Callable[[int], dict[str, Any]]) -> None:
    n = 100_000
    graph, _ = gf.read_tables(None, hostile(n), id="id", kinds={"word": "category"})
    assert graph.n_edges <= 4 * n
    assert graph.n_features <= 100_000
    text, _ = gf.read_tables(None, hostile(n), id="id", kinds={"word": "text"})
    assert text.n_features <= 100_000


@settings(max_examples=10)
@given(seed=st.integers(0, 100))
def test_order_of_rows_changes_nothing(seed: int) -> None:
    n, random = 600, np.random.default_rng(seed)
    first, last = ("ann", "bob", "eve"), ("lee", "kim")
    people = pd.DataFrame({
        "id": [f"v{i}" for i in range(n)], "device": [f"d{i // 13}" for i in range(n)],
        "name": [f"{first[i % 3]} {last[i % 2]} {i}" for i in range(n)],
    })  # fmt: skip
    orders = pd.DataFrame({"id": [f"v{i % 50}" for i in range(n)], "price": np.arange(n) % 7})
    one, _ = gf.read_tables(None, people, rows={"orders": orders})
    shuffled = people.sample(frac=1, random_state=seed)
    order = random.permutation(n)
    other, _ = gf.read_tables(None, shuffled, rows={"orders": orders.iloc[order]})
    places = [(other.vertex_names or ()).index(name) for name in one.vertex_names or ()]
    again = other.subgraph(places)
    np.testing.assert_array_equal(again.edges, one.edges)
    columns, expected = columns_of(again), columns_of(one)
    assert set(columns) == set(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(columns[name], values, rtol=1e-6, err_msg=name)
