"""Tables of very many columns: what is done grows with them, not with their square."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
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
from graphfilter.tables import dates, parquet_files
from graphfilter.tables.encoder import TableEncoder
from graphfilter.tables.numbers import find_decimal_signs, parse_numbers
from graphfilter.tables.parquet_files import ParquetTable
from graphfilter.tables.suggestions import Cells, suggest
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
    before = Cells.of.__func__  # pyright: ignore[reportFunctionMemberAccess]

    def note(cls: type[Cells], column: object, name: str, kind: str) -> Cells:
        looked.append(name)
        return before(cls, column, name, kind)

    monkeypatch.setattr(Cells, "of", classmethod(note))
    ids = ["a", "b", "c", "d"]
    vertices = {"id": ids, "full": ["1", "2", "3", "5"], "gaps": ["1", "", "3", "5"]}
    edges = {"u": ["a"], "v": ["b"]}
    gf.read_tables(edges, {**vertices, "label": ["x", "y", "x", "y"]})
    assert looked == ["gaps"]
    gf.read_tables(edges, vertices)
    assert looked == ["gaps", "full", "gaps"]


SPELT = (
    "red", "1", "1.5", "1,5", "1.234,56 €", "(1,234.56)", "-3 %", "−2", "3e-4", "1 234", "1,2,3",
    "1\u00a0234,5", "1'234", "EUR 5", "5 zł", "5 ZŁ", "12.03.2024", "1.2.3", "nan", "inf", "", "?",
    "-Infinity", "0123", "٣", "1\v2", "1\t2", "$5", "5 usd", "+7", "..", "5 %", "\u200b5",
    "2024-03-12", "10:30", "3/4/24", "5-", "1.23.456", "1.234.567", "1-2", "(5)-", "1e-5", "1.5e-7",
)  # fmt: skip


@pytest.mark.parametrize("decimal", [".", ","])
def test_few_words_are_read_as_many_are(decimal: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python reads the words of a short column, Arrow those of a long one."""
    for words in (SPELT, *([word] for word in SPELT)):
        column = pa.chunked_array([pa.array(words)])
        few, signs = parse_numbers(column, decimal), find_decimal_signs(column)
        with monkeypatch.context() as patch:
            patch.setattr("graphfilter.tables.numbers._FEW_WORDS", -1)
            patch.setattr("graphfilter.tables.numbers._have_digits", lambda words: True)
            patch.setattr("graphfilter.tables.numbers._is_plain_word", lambda word: False)
            many = parse_numbers(column, decimal)
            assert signs == find_decimal_signs(column)
        np.testing.assert_array_equal(few.values, many.values)
        np.testing.assert_array_equal(few.is_word, many.is_word)
        assert few.units == many.units


def test_words_are_read_without_patterns_of_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Preparing one takes longer than to read a short column of words."""

    def fail(*_: object) -> None:
        raise AssertionError("a pattern was prepared")

    monkeypatch.setattr("graphfilter.tables.numbers._parts", fail)
    monkeypatch.setattr("graphfilter.tables.dates._read_words", fail)
    table = pa.table({"colour": ["red", "blue", "red"], "shape": ["round", "", "flat"]})
    assert len(TableEncoder.fit(table, "t.csv").columns) == 2


def test_dates_have_the_shape_of_their_spelling() -> None:
    """What is tried in Python leaves out no spelling that reads the words."""
    for spelling in dates.DAYS:
        day = datetime(2024, 2, 13, 14, 5)
        for clock in ("", " %H:%M", "T%H:%M:%S"):
            words = pa.array([day.strftime(spelling + clock)] * 9 + ["k"])
            read = dates.reads_most(words, spelling)
            assert not read or dates.find_spelling(words, day_first=True) is not None
            assert read or clock.startswith("T")


DATED = (
    "2024-02-29", "2023-02-29", "2024-02-30", "2024-2-3", "2024-13-01", "2024-00-10", "2024-01-32",
    "2024-01-45", "0000-01-01", "9999-12-31", "10000-01-01", "12.3.2024", "31.4.2024", "3/4/24",
    "3/4/69", "3/4/68", "13/4/2024", "4/13/2024", "1-1-2024", "2024/1/1", "2024.1.1", "1.1.24 1:01",
    "2024-01-01 10:00", "2024-01-01T10:00", "2024-1-1T10:00", "2024-01-01 24:00",
    "1.2.2024 9:05:07",
    "2024-01-01 10:60", "2024-01-01 10:00:61", "10:00", "24:00", "10:00:59", "10:5", "1:05 PM", "",
    "NA", "12 Jan 2024", "12 january 2024", "12 Janu 2024", "31-Sep-2024", "Jan 2, 2024",
    "March 2, 2024 11:59", "2024-01-01 10:00:00.5", "2024-01-01 10:00Z", "٣-01-2024",
    " 2024-01-01 ",
    "2024-01-01  10:00", "0:0:0", "00:00", "2024-01-01 1:01:01", "12 Foo 2024", "12:", "1²-01-2024",
    "\x1c2024-01-01", "\u30002024-01-01", "2024-01-01\n",
)  # fmt: skip


def test_few_dates_are_read_as_many_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python reads the words of a short column, Arrow those of a long one."""
    for spelling in (*dates.DAYS, dates.TIME):
        for words in (DATED, *([word] for word in DATED)):
            column = pa.array(words)
            few = dates._read_words(column, spelling)
            with monkeypatch.context() as patch:
                patch.setattr("graphfilter.tables.dates._FEW_WORDS", -1)
                many = dates._read_words(column, spelling)
            np.testing.assert_array_equal(few, many, f"{words} as {spelling}")


@pytest.mark.parametrize(
    "word", ["2024-02-{:02}", "{}.2.2024", "2/{}/2024", "{} Feb 2024", "2024-02-{:02} 10:30"]
)
def test_dates_are_read_without_arrow(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Preparing Arrow for a spelling takes longer than to read a short column of dates."""

    def fail(*_: object) -> None:
        raise AssertionError("Arrow was asked")

    monkeypatch.setattr("graphfilter.tables.dates._strptime", fail)
    column = [word.format(day) for day in range(1, 29)] + ["NA"]
    encoder = TableEncoder.fit(pa.table({"day": column}), "t.csv")
    assert [how.kind for how in encoder.columns] == ["date"]
    found = encoder.transform(pa.table({"day": column}), "t.csv")[:3, 0]
    assert found.astype(int).tolist() == [0, 1, 2]


def test_many_columns_are_compared_with_few_that_may_be_types() -> None:
    n = 60
    columns = {f"c{i}": ["red", "blue"] * 4 for i in range(n)}
    gaps = {f"g{i}": ["x", "", "y", ""] * 2 for i in range(n)}
    table = pa.table(columns | gaps)
    encoder = TableEncoder.fit(table, "t.csv")
    asked, source = [], cast("Any", SimpleNamespace(name="t.csv"))
    with pytest.MonkeyPatch.context() as patch:
        owners = Cells.owners
        patch.setattr(Cells, "owners", lambda own, kind: asked.append(1) or owners(own, kind))
        (note,) = suggest(table, encoder, source, labelled=True)
    assert "'c0' may be the vertex type" in note
    assert len(asked) <= 20 * n
