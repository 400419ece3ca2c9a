"""Tables of very many columns: what is done grows with them, not with their square."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import graphfilter as gf
from graphfilter.large.vertices import ColumnsOnDisk
from graphfilter.tables import parquet_files
from graphfilter.tables.cells import Cells
from graphfilter.tables.encoder import TableEncoder
from graphfilter.tables.numbers import parse_numbers
from graphfilter.tables.parquet_files import ParquetTable
from graphfilter.tables.roles import suggest
from graphfilter.tables.text_files import TextOptions
from graphfilter.util.files import Budget

EDGES = {"u": ["a", "b"], "v": ["b", "c"]}
ID = gf.data.Columns(id="id")


def table(n: int) -> pa.Table:
    cells = {f"c{i}": [f"{i}.5", f"{i * 7 % 11}", ""] for i in range(n)}
    return pa.table({"id": ["a", "b", "c"], **cells})


class Names(list[str]):
    """Names that count the comparisons of looking for one."""

    n_compared = 0

    def __contains__(self, name: object) -> bool:
        self.n_compared += len(self)
        return super().__contains__(name)


def count_calls(work: Callable[[], Any]) -> int:
    """Return how many functions are called, those of generators and libraries in C included."""
    n = 0

    def seen(frame: Any, event: str, argument: Any) -> None:
        nonlocal n
        n += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(before)
    return n


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_calls_grow_with_the_columns(kind: str, tmp_path: Path) -> None:
    def read(n: int) -> Callable[[], Any]:
        path = tmp_path / f"{n}.{kind}"
        if kind == "csv":
            table(n).to_pandas().to_csv(path, index=False)
        else:
            pq.write_table(table(n), path)
        return lambda: gf.read_tables(EDGES, path, columns=ID)

    read(3)()  # Imports what it needs.
    few, more, most = (count_calls(read(n)) for n in (20, 60, 180))
    # Three times the step, three times the calls, but for those that happen now and then.
    assert most - more < 3.3 * (more - few)


@pytest.mark.parametrize(
    ("cells", "most"),
    [
        (["2024-01-05", "2024-02-06", "2023-03-07"], 420),
        (["red", "blue", "red"], 330),
        (["1.5", "2", "3"], 330),
    ],
)
def test_column_takes_a_few_hundred_calls(cells: list[str], most: int, tmp_path: Path) -> None:
    def read(n: int) -> Callable[[], Any]:
        made = pa.table({"id": ["a", "b", "c"], **dict.fromkeys(map(str, range(n)), cells)})
        pa_csv.write_csv(made, tmp_path / f"{n}.csv")
        return lambda: gf.read_tables(EDGES, tmp_path / f"{n}.csv", columns=ID)

    read(3)()  # Imports what it needs.
    few, more = (count_calls(read(n)) for n in (20, 60))
    assert (more - few) / 40 < most


def test_columns_of_parquet_are_looked_for_in_a_set(tmp_path: Path) -> None:
    pq.write_table(table(200), tmp_path / "t.parquet")
    names = Names(pq.read_schema(tmp_path / "t.parquet").names)
    parquet_files._open(tmp_path / "t.parquet", names)
    assert names.n_compared <= len(names)


def test_checked_table_lists_its_names_a_few_times(tmp_path: Path) -> None:
    whole, asked = table(50), []

    class Watched(SimpleNamespace):
        @property
        def column_names(self) -> list[str]:
            asked.append(1)
            return whole.column_names

    watched: Any = Watched(columns=whole.columns, validate=whole.validate)
    found = parquet_files._plain(watched, Budget(tmp_path))
    assert found.equals(whole)
    assert len(asked) <= 3


def test_columns_on_disk_are_each_read_once(tmp_path: Path, monkeypatch) -> None:
    pq.write_table(table(100), tmp_path / "t.parquet")
    monkeypatch.setattr("graphfilter.large.vertices._CELLS_AT_ONCE", 30)
    source = ParquetTable(tmp_path / "t.parquet", TextOptions())
    read: list[str] = []
    plainly = source.read
    monkeypatch.setattr(source, "read", lambda names: (read.extend(names), plainly(names))[1])
    columns = ColumnsOnDisk(tmp_path / "t.parquet", source)
    columns.column_names = Names(columns.column_names)
    for name in list(columns.column_names):
        assert columns.column(name).equals(table(100).column(name))
    assert read == list(columns.column_names)
    assert columns.column_names.n_compared == 0


def test_numbers_without_gaps_are_no_suggestions_where_the_label_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each costs a pass over its cells, and neither a label nor a vertex type is looked for."""
    looked: list[str] = []

    def note(column: object, name: str = "") -> Cells:
        looked.extend([name] * bool(name))
        return Cells(column, name)

    monkeypatch.setattr("graphfilter.tables.roles.cell_values.Cells", note)
    ids = ["a", "b", "c", "d"]
    vertices = {"id": ids, "full": ["1", "2", "3", "5"], "gaps": ["1", "", "3", "5"]}
    edges = {"u": ["a"], "v": ["b"]}
    gf.read_tables(edges, {**vertices, "label": ["x", "y", "x", "y"]})
    assert looked == ["gaps"]
    gf.read_tables(edges, vertices)
    assert looked == ["gaps", "full", "gaps"]


PLAIN = ("1", "1.5", "-2", "+7", "3e-4", "1e400", "9" * 30, ".5", "5.", "nan", "inf", "", "NA")


def test_plain_numbers_are_read_as_written_ones_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow reads a column of plain numbers; one cell that is none leaves all to us."""
    cells = Cells(pa.chunked_array([PLAIN]))
    plain = parse_numbers(cells)
    monkeypatch.setattr("graphfilter.tables.numbers._cast_plain", lambda text: None)
    written = parse_numbers(cells)
    np.testing.assert_array_equal(plain.values, written.values)
    assert not plain.is_word.any()
    assert not written.is_word.any()


def test_many_columns_are_compared_with_few_that_may_be_types() -> None:
    n = 60
    columns = {f"c{i}": ["red", "blue"] * 4 for i in range(n)}
    gaps = {f"g{i}": ["x", "", "y", ""] * 2 for i in range(n)}
    table = pa.table(columns | gaps)
    encoder = TableEncoder.fit(table, "t.csv")
    asked, source = [], cast("Any", SimpleNamespace(name="t.csv"))
    with pytest.MonkeyPatch.context() as patch:
        bincount = np.bincount
        patch.setattr(np, "bincount", lambda *a, **b: asked.append(1) or bincount(*a, **b))
        (note,) = suggest(table, encoder, source, labelled=True)
    assert "'c0' may be the vertex type" in note
    assert len(asked) <= 20 * n
