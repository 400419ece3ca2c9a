"""Tables with a row per vertex: the same in blocks as at once, as CSV and as Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from pyarrow import csv, parquet

import graphfilter as gf
from graphfilter.runs import loading
from graphfilter.runs.loading import write_predictions, write_table
from graphfilter.training import CLASSIFICATION

NAMES = ["plain", 'quo"ted', "comma, here", "line\nbreak", "", "Zoë", "7"]
CLASSES = np.array(["a", "b,c"], dtype=object)
PROBABILITIES = np.linspace(0, 1, 14).reshape(7, 2)


@pytest.fixture
def graph() -> gf.Graph:
    return gf.Graph.from_edges([[0, 1]], 7, vertex_names=NAMES, labels=["a", "b,c", *[None] * 5])


PARTS = np.array(["train", "val", *["unlabelled"] * 5])


def write(path: Path, graph: gf.Graph) -> None:
    write_predictions(
        path, graph, CLASSIFICATION, CLASSES.tolist(), PROBABILITIES.__getitem__,
        CLASSIFICATION.decide(PROBABILITIES), PARTS, at_once=3,
    )  # fmt: skip


def expected() -> pa.Table:
    best = PROBABILITIES.argmax(axis=1)
    columns = {
        "id": pa.array(NAMES),
        "predicted": pa.array(CLASSES[best].tolist()),
        "probability": PROBABILITIES.max(axis=1).round(6),
        "p_a": PROBABILITIES[:, 0].round(6),
        "p_b,c": PROBABILITIES[:, 1].round(6),
    }
    return pa.table(columns | {"part": pa.array(PARTS.tolist())})


def test_predictions_in_blocks_are_the_csv_of_the_whole_table(graph, tmp_path: Path) -> None:
    write(tmp_path / "p.csv", graph)
    csv.write_csv(expected(), tmp_path / "q.csv")
    assert (tmp_path / "p.csv").read_bytes() == (tmp_path / "q.csv").read_bytes()


def test_predictions_stream_to_row_groups_of_parquet(graph, tmp_path: Path) -> None:
    write(tmp_path / "p.parquet", graph)
    assert parquet.read_table(tmp_path / "p.parquet").equals(expected())
    assert parquet.read_metadata(tmp_path / "p.parquet").num_row_groups == 3


def test_failed_write_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "p.parquet").write_text("before")

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"x": np.zeros(3)})
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_table(tmp_path / "p.parquet", batches(), excel_safe=False)
    assert (tmp_path / "p.parquet").read_text() == "before"
    assert [p.name for p in tmp_path.iterdir()] == ["p.parquet"]


SIGNS = "=+-@\t\r"


@given(st.lists(st.text(SIGNS + "a'7\n ", max_size=4), min_size=1, max_size=9))
def test_excel_safe_changes_what_begins_a_formula_and_nothing_else(names: list[str]) -> None:
    column = pa.array(names, pa.string())
    block = pa.record_batch({"=id": column, "x": np.arange(len(names)) - 5})
    found = loading._excel_block(block)
    assert found.schema.names == ["'=id", "x"]
    assert found["x"].equals(block["x"])
    for before, after in zip(names, found["'=id"].to_pylist(), strict=True):
        assert after == loading.excel_text(before)
        assert after.startswith("'") == (before[:1] in (*SIGNS, "'") and before != "")
        assert after in (before, f"'{before}")


def test_excel_safe_is_of_csv_alone(tmp_path: Path) -> None:
    names = ["=cmd", "-1", "plain"]
    for file in ("e.csv", "e.parquet"):
        write_table(tmp_path / file, [pa.record_batch({"id": pa.array(names)})], excel_safe=True)
    assert parquet.read_table(tmp_path / "e.parquet")["id"].to_pylist() == names
    assert csv.read_csv(tmp_path / "e.csv")["id"].to_pylist() == ["'=cmd", "'-1", "plain"]
