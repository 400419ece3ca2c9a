"""Repeated edges: what they weigh together, against plain loops over the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from graphfilter.data import Columns, build_store, open_store, read_tables
from graphfilter.data.graph import Graph
from graphfilter.util.errors import ConfigError, GraphError

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
            weight="minutes" if weighted else None, merge=merge, directed=directed, id="id"
        )
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
        "edges: not used: 'minutes' (`weight='minutes'`), 'day' (`edge_time='day'`), "
        "'how' (`edge_kind='how'`), 'balance'."
    )
    assert expected in graph.notes
    used = Columns(weight="minutes", edge_time="day", edge_kind="how")
    graph, encoder = read_tables(edges, vertices, columns=used)
    assert "edges: not used: 'balance'." in graph.notes
    later, _ = read_tables(edges, vertices, columns=used, encoder=encoder)
    assert not any("not used" in note for note in later.notes)
