"""What a file may hold and ask for, and where one may be written."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.peak_memory import PeakMemory

from graphfilter.data import read_graph, read_npz, read_tables
from graphfilter.tables.parquet_files import ParquetTable
from graphfilter.tables.text_files import TextOptions
from graphfilter.util.errors import ConfigError, DataFileError, GraphError
from graphfilter.util.files import (
    LOCK_FILE,
    SMALL_BYTES,
    VARIABLE,
    Budget,
    check_file,
    check_text,
    files_in,
    load_arrays,
    scratch_folder,
)

PAIR = np.array([[0, 1]])


def write_headers(path: Path, **arrays: tuple[tuple[int, ...], str]) -> None:
    """Write an npz file of arrays that are announced; their content is missing."""
    np.savez(path, edges=PAIR)
    with zipfile.ZipFile(path, "a") as archive:
        for key, (shape, dtype) in arrays.items():
            stream = io.BytesIO()
            header = {"descr": dtype, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(stream, header)
            archive.writestr(f"{key}.npy", stream.getvalue())


def gzipped(head: bytes, line: bytes, n_bytes: int) -> bytes:
    """Gzip a head and lines to so many bytes, by repeating a packed piece."""
    piece = line * ((1 << 20) // len(line))
    return gzip.compress(head) + gzip.compress(piece) * (n_bytes // len(piece))


def write_npz_x(folder: Path) -> Path:
    write_headers(folder / "g.npz", x=((1 << 20, 1000), "|u1"))
    return folder / "g.npz"


def write_npz_names(folder: Path) -> Path:
    write_headers(folder / "g.npz", vertex_names=((2,), "<U200000000"))
    return folder / "g.npz"


def write_npz_vertices(folder: Path) -> Path:
    np.savez(folder / "g.npz", edges=PAIR, n_vertices=np.int64(3 * 10**9))
    return folder / "g.npz"


def write_npz_far_edge(folder: Path) -> Path:
    np.savez(folder / "g.npz", edges=np.array([[0, 2**31 - 2]]))
    return folder / "g.npz"


def write_npz_wide(folder: Path) -> Path:
    parts = {"x_data": np.ones(1), "x_indices": np.array([0]), "x_indptr": np.array([0, 1, 1])}
    np.savez(folder / "g.npz", edges=PAIR, x_shape=np.array([2, 2**31 - 1]), **parts)
    return folder / "g.npz"


@pytest.mark.parametrize(
    "write", [write_npz_x, write_npz_names, write_npz_vertices, write_npz_far_edge, write_npz_wide]
)
def test_small_graph_file_cannot_ask_for_much_memory(
    tmp_path: Path, write: Callable[[Path], Path]
) -> None:
    path, peak = write(tmp_path), PeakMemory()
    with pytest.raises(DataFileError) as caught:
        read_graph(path)
    assert "\n" not in str(caught.value)
    assert peak.grown() < 100 << 20


def write_table(folder: Path, what: str) -> Path:
    """Write a table of one kind of harm."""
    if what == "rows.csv.gz":
        (folder / what).write_bytes(gzipped(b"id,y\n", b"a,\n", 2 << 30))
    elif what == "columns.csv.gz":
        (folder / what).write_bytes(gzipped(b"", b",", 16 << 20))
    elif what == "rows.parquet":
        zeros = pa.array(np.zeros(20_000_000, np.int8))
        pq.write_table(pa.table({"id": zeros, "y": zeros}), folder / what)
    elif what == "words.parquet":
        index = pa.array(np.zeros(20_000, np.int32))
        word = pa.DictionaryArray.from_arrays(index, pa.array(["w" * (1 << 20)]))
        pq.write_table(pa.table({"id": word, "y": word}), folder / what, store_schema=False)
    elif what == "long.parquet":
        table = pa.table({"id": pa.array(["w" * (100 << 20)]), "y": ["x"]})
        pq.write_table(table, folder / what, compression="zstd", use_dictionary=False)
    elif what == "shared.parquet":
        table = pa.table({"id": pa.array(["w" * (1 << 20)] * 250), "y": ["x"] * 250})
        encoding = {"id": "DELTA_BYTE_ARRAY"}
        pq.write_table(table, folder / what, use_dictionary=False, column_encoding=encoding)
    elif what == "rows.xlsx":
        write_workbook(folder / what, b'<row r="1000000"><c r="XFD1000000"><v>1</v></c></row>')
    elif what == "spaces.xlsx":
        write_workbook(folder / what, b"<row>" + b" " * (64 << 20) + b"</row>")
    return folder / what


def write_workbook(path: Path, rows: bytes) -> None:
    """Write a workbook of one sheet with these rows, as XML."""
    import openpyxl

    openpyxl.Workbook().save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    head, tail = re.split(rb"<sheetData ?/>|<sheetData></sheetData>", parts[sheet])
    parts[sheet] = head + b"<sheetData>" + rows + b"</sheetData>" + tail
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    "what",
    [
        "rows.xlsx",
        "spaces.xlsx",
        "rows.csv.gz",
        "columns.csv.gz",
        "rows.parquet",
        "words.parquet",
        "long.parquet",
        "shared.parquet",
    ],
)
def test_small_table_cannot_ask_for_much_memory(tmp_path: Path, what: str) -> None:
    path = write_table(tmp_path, what)
    assert path.stat().st_size < 3 << 20
    (tmp_path / "pair.csv").write_text("id,y\na,x\nb,y\n")
    for tables in ((path, tmp_path / "pair.csv"), (tmp_path / "pair.csv", path)):
        peak = PeakMemory()
        with pytest.raises(DataFileError) as caught:
            read_tables(*tables)
        assert "\n" not in str(caught.value)
        assert peak.grown() < 500 << 20


def test_budget_grows_with_the_file_and_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(1 << 20))
    assert Budget(path).limit == 200 << 20
    path.write_bytes(b"")
    assert Budget(path).limit == SMALL_BYTES
    monkeypatch.setenv(VARIABLE, str(1 << 40))
    assert Budget(path).limit == 1 << 40
    monkeypatch.setenv(VARIABLE, "much")
    with pytest.raises(ConfigError, match="whole number of bytes; got 'much'"):
        Budget(path)


def test_variable_lets_a_file_ask_for_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "g.npz"
    np.savez(path, edges=PAIR, n_vertices=5_000_000)
    with pytest.raises(DataFileError, match=f"set {VARIABLE} to 160000000 or more"):
        read_graph(path)
    monkeypatch.setenv(VARIABLE, "160000000")
    assert read_graph(path).n_vertices == 5_000_000


def test_dense_and_mostly_empty_features_are_no_bomb(tmp_path: Path) -> None:
    """A bag of words of 30 MB packs a hundred and more times over."""
    x = np.zeros((2708, 1433))
    x[np.arange(2708), np.arange(2708) % 1433] = 1
    np.savez_compressed(tmp_path / "g.npz", edges=PAIR, x=x)
    assert x.nbytes > 100 * (tmp_path / "g.npz").stat().st_size
    assert read_npz(tmp_path / "g.npz").n_features == 1433


def test_parquet_that_is_read_in_pieces_is_not_kept(tmp_path: Path) -> None:
    """Arrow reads ahead and keeps what it has read until the end, unless it is told not to."""
    rows, n_groups = 1 << 14, 40
    numbers = np.random.default_rng(0).integers(0, 2**60, (2, rows * n_groups))
    table = pa.table(dict(zip(("source", "target"), numbers, strict=True)))
    pq.write_table(table, tmp_path / "e.parquet", row_group_size=rows, use_dictionary=False)
    n_bytes = table.nbytes
    del table, numbers
    before, most, n_rows = pa.total_allocated_bytes(), 0, 0
    source = ParquetTable(tmp_path / "e.parquet", TextOptions(), batch_rows=rows)
    for batch in source.read_batches(["source", "target"], header=True):
        n_rows += len(batch)
        most = max(most, pa.total_allocated_bytes() - before)
    assert n_rows == rows * n_groups
    assert most < n_bytes / 4


def test_file_in_the_way_is_replaced_only_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    check_file(path, overwrite=False)
    path.touch()
    with pytest.raises(ConfigError, match="exists; pass `overwrite=True`"):
        check_file(path, overwrite=False)
    check_file(path, overwrite=True)


def test_file_needs_a_folder_and_a_name_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder to write"):
        check_file(tmp_path / "missing" / "x.csv", overwrite=True)
    with pytest.raises(DataFileError, match="it is a folder"):
        check_file(tmp_path, overwrite=True)
    assert not (tmp_path / "missing").exists()


def test_own_files_do_not_count_as_the_users(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).touch()
    assert files_in(tmp_path) == set() == files_in(tmp_path / "missing")
    (tmp_path / "notes.txt").touch()
    assert files_in(tmp_path) == {"notes.txt"}
    with pytest.raises(ConfigError, match="a file is in the way"):
        files_in(tmp_path / "notes.txt")


def test_scratch_folder_that_cannot_be_made_is_one_line_with_a_remedy(tmp_path: Path) -> None:
    with (
        pytest.raises(
            DataFileError, match=r"cannot be written: .*\. Give the name of a folder that exists"
        ),
        scratch_folder(".answers-", tmp_path / "missing"),
    ):
        pass


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("number", [0x110000, 0x26000031])
def test_signs_beyond_unicode_are_refused(number: int, order: str, tmp_path: Path) -> None:
    # As a damaged file holds it: numpy does not look.
    signs = np.array([ord("a"), number], dtype=f"{order}u4")
    np.savez(tmp_path / "t.npz", names=signs.view(f"{order}U1"))
    with pytest.raises(DataFileError, match="'names' must be valid text; got characters outside"):
        load_arrays(tmp_path / "t.npz", ["names"], remedy="Save it again.")


@pytest.mark.parametrize("order", ["<", ">"])
def test_text_of_any_language_is_read(order: str, tmp_path: Path) -> None:
    words = np.array(["Zoë", "王", "\U0010ffff", ""], dtype=f"{order}U3")
    np.savez(tmp_path / "t.npz", names=words, none=words[:0], blank=np.zeros(2, f"{order}U0"))
    found = load_arrays(tmp_path / "t.npz", ["names", "none", "blank"], remedy="Save it again.")
    assert found["names"].tolist() == words.tolist()
    assert found["none"].tolist() == []


def test_lone_surrogates_are_no_names() -> None:
    check_text(["Zoë", "王", 3, None], "ids")
    with pytest.raises(GraphError, match=r"ids must be valid text; got 'b\\ud800c', which"):
        check_text(["a", "b\ud800c", "d"], "ids")
