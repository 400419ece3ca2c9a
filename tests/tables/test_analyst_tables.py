"""What three analysts' tables mean: labels, kinds of vertices, codes, text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.analyst_tables import AnalystTables, make_churn, make_fraud, make_revenue

from graphfilter import build_store
from graphfilter.data import Columns, open_store, read_tables
from graphfilter.data.graph import Graph
from graphfilter.tables.encoder import TableEncoder
from graphfilter.util.errors import DataFileError

FRAUD = make_fraud(n_accounts=60, n_devices=30)


def read(tables: AnalystTables, **columns: Any) -> Graph:
    return read_tables(tables.edges, tables.vertices, columns=Columns(**columns))[0]


def note_with(graph: Graph, word: str) -> str:
    (note,) = [note for note in graph.notes if word in note]
    return note


def test_a_column_with_unexplained_blanks_is_the_first_that_may_be_the_label() -> None:
    note = note_with(read(FRAUD), "no column is the label")
    assert "`label` may name 'is_fraud', 'type'" in note
    churn = note_with(read(make_churn(60)), "no column is the label")
    assert "`label` may name 'churn'" in churn
    revenue = note_with(read(make_revenue(60)), "no column is the label")
    assert "`number` may name 'revenue'" in revenue


def test_sentences_are_text_and_choices_are_categories() -> None:
    graph = read(make_churn(240), label="churn")
    assert graph.feature_names is not None
    assert "complaint: bill" in graph.feature_names
    assert not any(name.startswith("complaint=") for name in graph.feature_names)
    assert "to change this: `kinds=(('complaint', 'category'),)`" in note_with(graph, "'complaint'")
    few = TableEncoder.fit(pa.table({"why": ["too far from home", "costs too much"] * 20}), "x.csv")
    assert few.feature_names == ("why=costs too much", "why=too far from home")


@pytest.mark.parametrize(
    ("cells", "are_codes"),
    [
        (["01067", "80331", "10115"] * 10, True),
        (["01067", "80331", ""] * 10, True),
        (["007"] + ["8", "19", "3000"] * 10, False),  # one slip among numbers
        (["0", "1", "10"] * 10, False),
        (["0.5", "01", "2"] * 10, False),
    ],
)
def test_whole_numbers_with_a_zero_in_front_are_codes(cells: list[str], are_codes: bool) -> None:
    table = pa.table({"code": cells})
    encoder = TableEncoder.fit(table, "x.csv")
    assert encoder.columns[0].kind == ("category" if are_codes else "number")
    if are_codes:
        assert "to change this: `kinds=(('code', 'number'),)`" in encoder.notes[0]
    told = TableEncoder.fit(table, "x.csv", kinds={"code": "number"})
    assert told.columns[0].kind == "number"


def test_a_column_that_explains_blanks_of_others_may_be_the_kind_of_vertex() -> None:
    note = note_with(read(FRAUD, label="is_fraud"), "may be the vertex type")
    assert "column 'type'" in note
    assert "all of 'opened', 'balance', 'model', 'rooted' is empty" in note
    assert "`vertex_kind='type'`" in note
    churn = read(make_churn(60), label="churn")
    assert not any("vertex type" in note for note in churn.notes)


def test_gaps_that_belong_to_a_kind_are_not_missing() -> None:
    graph = read(FRAUD, label="is_fraud", vertex_kind="type", drop=("logins", "first_seen"))
    assert graph.feature_names == (
        "type=account", "type=device", "opened (days since 2020-02-27)", "balance",
        "model=desktop", "model=phone", "model=tablet", "rooted",
    )  # fmt: skip
    assert not any("missing" in note for note in graph.notes)
    features = np.asarray(graph.features)
    balance = np.array([float(b) for b in FRAUD.vertices["balance"] if b], dtype=np.float32)
    np.testing.assert_array_equal(features[:60, 3], balance)
    np.testing.assert_array_equal(features[60:, 3], np.median(balance))
    assert not features[:60, 4:7].any()


def test_gaps_within_a_kind_are_missing_and_marked_there_alone() -> None:
    table = pa.table({
        "type": ["a", "a", "a", "b", "b"],
        "size": ["1", "", "4", "", ""],
        "colour": ["", "", "", "red", ""],
    })  # fmt: skip
    encoder = TableEncoder.fit(table, "x.csv", vertex_kind="type")
    assert encoder.feature_names == ("type=a", "type=b", "size", "size is missing", "colour=red")
    expected = [[1, 0, 1, 0, 0], [1, 0, 2.5, 1, 0], [1, 0, 4, 0, 0], [0, 1, 2.5, 0, 1]]
    np.testing.assert_array_equal(
        np.asarray(encoder.transform(table, "x.csv")), [*expected, [0, 1, 2.5, 0, 0]]
    )
    again = TableEncoder.from_dict(encoder.to_dict())
    assert again == encoder
    other = pa.table({"type": ["c", "a"], "size": ["9", "9"], "colour": ["red", "red"]})
    found = np.asarray(again.transform(other, "y.csv"))
    np.testing.assert_array_equal(found, [[0, 0, 2.5, 0, 0], [1, 0, 9, 0, 0]])
    with pytest.raises(DataFileError, match="no column 'type'"):
        again.transform(other.drop(["type"]), "y.csv")


def test_rare_kinds_of_vertices_are_one() -> None:
    kinds = [*(f"k{i % 15}" for i in range(60)), *(f"rare{i}" for i in range(10))]
    sizes = ["" if kind.startswith("rare") else "7" for kind in kinds]
    table = pa.table({"kind": kinds, "size": sizes})
    encoder = TableEncoder.fit(table, "x.csv", vertex_kind="kind", kinds={"kind": "category"})
    assert encoder.vertex_kinds == tuple(sorted(f"k{i}" for i in range(15)))
    assert "are taken as one" in encoder.notes[-1]
    assert not any("missing" in name for name in encoder.feature_names)
    again = TableEncoder.from_dict(encoder.to_dict())
    other = pa.table({"kind": ["never seen", "k3"], "size": ["", "9"]})
    assert again.encode(other, "y.csv")[0].toarray()[:, -1].tolist() == [7, 9]


def test_a_store_understands_kinds_of_vertices_as_a_table_in_memory(tmp_path: Path) -> None:
    FRAUD.write(tmp_path)
    # What edges have beside is not summed up by a store.
    columns = Columns(label="is_fraud", vertex_kind="type", drop=("logins", "first_seen"))
    files = tmp_path / "edges.csv", tmp_path / "vertices.csv"
    header = build_store(*files, tmp_path / "store", columns=columns)
    graph, _ = read_tables(*files, columns=columns)
    assert open_store(tmp_path / "store").checksum() == graph.checksum()
    # Times of edges are not kept by a store, which offers no option for them.
    assert header.notes == list(graph.notes)
