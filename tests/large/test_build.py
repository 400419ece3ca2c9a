"""Stores built from tables: the graph in memory, from files of any size, whatever happens."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from pyarrow import parquet

import graphfilter as gf
from graphfilter import build_store
from graphfilter.data import Columns, TableEncoder, TextOptions
from graphfilter.data.store import HEADER_FILE
from graphfilter.large import build, vertices as engine
from graphfilter.large.build import check_disk, open_tables
from graphfilter.large.vertices import query_batches
from graphfilter.util.errors import ConfigError, DataFileError, GraphFilterError

pytest.importorskip("duckdb", reason="stores are built by duckdb: pip install graphfilter[scale]")

PEOPLE = """name,age,team,joined,label,split
Ann,31,red,2020-01-02,yes,train
Bob,,blue,2021-05-01,no,val
Zoë,40,red,2019-11-30,,
007,28,,2022-02-02,yes,test
7,55,green,2020-07-07,no,train
"""
CALLS = """from,to,weight
Ann,Bob,1
Bob,Ann,3
Bob,Zoë,2
Zoë,Bob,2
7,007,0.5
7,007,0.25
Ann,Ann,4
Ann,7,0
"""
MEMORY = 1 << 30


@pytest.fixture
def tables(tmp_path) -> tuple[Path, Path]:
    return write(tmp_path, CALLS, PEOPLE)


def write(folder: Path, calls: str, people: str) -> tuple[Path, Path]:
    paths = folder / "calls.csv", folder / "people.csv"
    for path, text in zip(paths, (calls, people), strict=True):
        path.write_text(text, "utf-8")
    return paths


def check_same(tables: tuple[Any, Any], folder: Path, **options: Any) -> gf.Graph:
    """Build a store and read the tables: the two must be one graph, to the bit."""
    graph, encoder = gf.read_tables(*tables, **options)
    header = build_store(*tables, folder, memory=MEMORY, **options)
    opened = gf.open_store(folder)
    assert opened.checksum() == graph.checksum()
    assert opened.notes == graph.notes
    assert opened.name == graph.name
    assert opened.vertex_names == graph.vertex_names
    assert opened.feature_names == graph.feature_names
    assert opened.classes.tolist() == graph.classes.tolist()
    assert opened.classes.dtype == graph.classes.dtype
    assert TableEncoder.from_dict(header.encoder) == encoder
    assert not (folder / "building").exists()
    return opened


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"columns": Columns(label="label", id="name", directed=True)},
        {"columns": Columns(features=("age",), label="team")},
        {"columns": Columns(drop=("joined", "split"), kinds=(("age", "category"),))},
    ],
)
def test_store_of_tables_is_the_graph_in_memory(tables: tuple[Path, Path], tmp_path, options):
    check_same(tables, tmp_path / "store", **options)


def test_store_of_unweighted_and_sparse_tables_is_the_graph_in_memory(tmp_path):
    rows = "".join(f"v{i},word{i % 9}\n" for i in range(40))
    pairs = "".join(f"v{i},v{(i * i + 1) % 40}\n" for i in range(40))
    tables = write(tmp_path, "u,v\n" + pairs, "id,kind\n" + rows)
    opened = check_same(tables, tmp_path / "store")
    assert not isinstance(opened.features, np.ndarray)


def test_store_of_parquet_and_of_a_file_without_header_is_the_graph_in_memory(tmp_path):
    people = {"id": [3, 1, 2], "x": [0.5, None, 2.0], "vec": [[1.0, 2.0]] * 3}
    parquet.write_table(pa.table(people), tmp_path / "people.parquet")
    parquet.write_table(pa.table({"a": [1, 2], "b": [2, 3]}), tmp_path / "calls.parquet")
    both = tmp_path / "calls.parquet", tmp_path / "people.parquet"
    check_same(both, tmp_path / "store")
    (tmp_path / "calls.txt").write_text("1 2\n2 3\n")
    check_same((tmp_path / "calls.txt", both[1]), tmp_path / "other")


def test_edges_to_unknown_vertices_stop_the_build_or_are_left_out(
    tables: tuple[Path, Path], tmp_path
):
    tables[0].write_text(CALLS + "Ann,bob,1\n", "utf-8")
    with pytest.raises(DataFileError) as in_memory:
        gf.read_tables(*tables)
    with pytest.raises(DataFileError) as on_disk:
        build_store(*tables, tmp_path / "store", memory=MEMORY)
    assert str(on_disk.value) == str(in_memory.value)
    assert on_disk.value.__notes__ == in_memory.value.__notes__
    check_same(tables, tmp_path / "store", allow_missing=True)


@pytest.mark.parametrize(
    ("calls", "people"),
    [
        (CALLS, PEOPLE + "Ann,1,red,2020-01-01,yes,\n"),
        (CALLS, PEOPLE + ",1,red,2020-01-01,yes,\n"),
        (CALLS, "name,age,label\n"),
        (CALLS + "Ann,Bob,-3\n", PEOPLE),
        (CALLS + "Ann,Bob,many\n", PEOPLE),
        (CALLS, PEOPLE.replace("train", "trian")),
        (CALLS, PEOPLE.replace("55", "inf")),
    ],
)
def test_mistakes_in_tables_are_said_as_in_memory(tmp_path, calls, people):
    tables = write(tmp_path, calls, people)
    with pytest.raises(GraphFilterError) as in_memory:
        gf.read_tables(*tables)
    with pytest.raises(GraphFilterError) as on_disk:
        build_store(*tables, tmp_path / "store", memory=MEMORY)
    assert str(on_disk.value) == str(in_memory.value)
    with pytest.raises(DataFileError, match="unfinished"):
        gf.open_store(tmp_path / "store")


def test_vertices_without_a_table_are_the_ids_of_the_edges_sorted(
    tables: tuple[Path, Path], tmp_path
):
    build_store(tables[0], None, tmp_path / "store", memory=MEMORY)
    opened = gf.open_store(tmp_path / "store")
    assert list(opened.vertex_names or ()) == ["007", "7", "Ann", "Bob", "Zoë"]
    assert opened.n_edges == 3
    assert opened.features is None
    assert opened.name == "calls"


QUOTES = """it's; DROP TABLE ids -- "x" """


def test_quotes_in_names_of_files_and_columns_are_only_names(tmp_path):
    folder = tmp_path / "o'brien"
    folder.mkdir()
    people = {QUOTES: ["a'", 'b"', "'; --"], "'": [1, 2, 3]}
    ends = {"'a'": ["a'", 'b"'], "$1": ['b"', "'; --"]}
    parquet.write_table(pa.table(people), folder / "v'; --.parquet")
    parquet.write_table(pa.table(ends), folder / "e';.parquet")
    tables = folder / "e';.parquet", folder / "v'; --.parquet"
    check_same(tables, folder / "sto're; --")


words = st.text(st.sampled_from(list("ab'\"é0 7.-")), min_size=1, max_size=4)


@settings(max_examples=5, deadline=None)
@given(ids=st.lists(words, min_size=2, max_size=8, unique=True), data=st.data())
def test_store_is_the_graph_in_memory_for_any_ids(ids, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("ids")
    ends = st.sampled_from(ids)
    rows = data.draw(st.lists(st.tuples(ends, ends, st.integers(0, 3)), min_size=1, max_size=20))
    columns = zip(("source", "target", "weight"), zip(*rows, strict=True), strict=True)
    chosen = {name: list(column) for name, column in columns}
    if data.draw(st.booleans()):
        del chosen["weight"]
    numbers = list(range(len(ids)))
    parquet.write_table(pa.table({"id": ids, "x": numbers}), folder / "v.parquet")
    parquet.write_table(pa.table(chosen), folder / "e.parquet")
    columns = Columns(directed=data.draw(st.booleans()))
    check_same((folder / "e.parquet", folder / "v.parquet"), folder / "s", columns=columns)


def test_edges_that_span_many_batches_are_merged_across_them(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "ROWS_AT_ONCE", 2048)
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 40, (30_000, 2))
    ends = pa.table({"source": pairs[:, 0], "target": pairs[:, 1], "weight": [0.5] * len(pairs)})
    parquet.write_table(ends, tmp_path / "e.parquet")
    parquet.write_table(pa.table({"id": np.arange(41)}), tmp_path / "v.parquet")
    check_same((tmp_path / "e.parquet", tmp_path / "v.parquet"), tmp_path / "s")


STAGES = ["understand_vertices", "encode_features", "number_ends", "sort_pairs", "write_header"]


@pytest.mark.parametrize("killed", range(len(STAGES)))
def test_killed_build_resumes_after_its_last_stage(
    tables: tuple[Path, Path], tmp_path, monkeypatch, killed
):
    ran: list[str] = []
    for stage in STAGES:
        monkeypatch.setattr(at(stage), stage, counted(stage, getattr(at(stage), stage), ran))
    monkeypatch.setattr(at(STAGES[killed]), STAGES[killed], die)
    with pytest.raises(KeyboardInterrupt):
        build_store(*tables, tmp_path / "store", memory=MEMORY)
    with pytest.raises(DataFileError, match="unfinished"):
        gf.open_store(tmp_path / "store")
    monkeypatch.undo()
    for stage in STAGES:
        monkeypatch.setattr(at(stage), stage, counted(stage, getattr(at(stage), stage), ran))
    build_store(*tables, tmp_path / "store", memory=MEMORY)
    assert ran == STAGES
    assert gf.open_store(tmp_path / "store").checksum() == gf.read_tables(*tables)[0].checksum()


def test_interrupt_while_edges_are_read_stops_the_build(
    tables: tuple[Path, Path], tmp_path, monkeypatch
):
    monkeypatch.setattr("graphfilter.large.build.read_edge_blocks", die)
    with pytest.raises(KeyboardInterrupt):
        build_store(*tables, tmp_path / "store", memory=MEMORY)
    monkeypatch.undo()
    check_same(tables, tmp_path / "store")


def at(stage: str) -> Any:
    """Return where a build looks a stage up."""
    return build if hasattr(build, stage) else build.stores


def counted(name: str, run: Any, ran: list[str]) -> Any:
    def call(*args: Any, **options: Any) -> Any:
        ran.append(name)
        return run(*args, **options)

    return call


def die(*args: Any, **options: Any) -> None:
    raise KeyboardInterrupt


def test_stages_are_written_once_each_however_long_the_tables_are(tmp_path, monkeypatch) -> None:
    """What is remembered of a stage, such as the encoding of many columns, is not written again."""
    written: list[str] = []
    before = build.write_checked_json

    def note(path: Path, content: Any) -> None:
        written.append(path.name)
        before(path, content)

    monkeypatch.setattr(build, "write_checked_json", note)
    for n in (10, 3000):
        people = "id,age\n" + "".join(f"v{i},{i}\n" for i in range(n))
        calls = "source,target\n" + "".join(f"v{i},v{(i + 1) % n}\n" for i in range(n))
        build_store(*write(tmp_path, calls, people), tmp_path / f"s{n}")
    stages = ["vertices.json", "features.json", "pairs.json", "edges.json"]
    assert written == 2 * [build.ASKED_FILE, *stages]


def test_build_of_changed_files_starts_anew(tables: tuple[Path, Path], tmp_path, monkeypatch):
    monkeypatch.setattr(at("write_header"), "write_header", die)
    with pytest.raises(KeyboardInterrupt):
        build_store(*tables, tmp_path / "store", memory=MEMORY)
    monkeypatch.undo()
    tables[1].write_text(PEOPLE.replace("31", "99"), "utf-8")
    check_same(tables, tmp_path / "store")


# Runs in a process of its own: a limit on the size of its files is a disk that fills up.
FULL_DISK = """
import resource, signal, sys
from graphfilter import build_store
import duckdb, pyarrow.parquet
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), resource.RLIM_INFINITY))
try:
    build_store(*sys.argv[1:4], memory=1 << 30)
except ValueError as error:
    print(error)
    sys.exit(2)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on files there")
def test_full_disk_leaves_nothing_taken_for_whole_and_resumes(tmp_path):
    rows = "".join(f"v{i:05d},{i % 7}\n" for i in range(5000))
    pairs = "".join(f"v{i:05d},v{(7 * i + 1) % 5000:05d}\n" for i in range(5000))
    tables = write(tmp_path, "u,v\n" + pairs, "id,x\n" + rows)
    folder = tmp_path / "store"
    said = []
    for limit in (8_000, 30_000):
        words = [sys.executable, "-c", FULL_DISK, *map(str, tables), str(folder), str(limit)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 2, done.stderr
        said.append(done.stdout)
        assert not (folder / HEADER_FILE).exists()
    assert all("File too large" in text for text in said)
    build_store(*tables, folder, memory=MEMORY)
    assert gf.open_store(folder).checksum() == gf.read_tables(*tables)[0].checksum()


# The peak of a whole process: the memory of libraries, and what the build itself takes.
PEAK = r"""
import re, sys
from pathlib import Path
from graphfilter import build_store
import duckdb, pyarrow.parquet, scipy.sparse
def peak():
    return int(re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())[1])
base = peak()
build_store(*sys.argv[1:4], memory=int(sys.argv[4]))
print(peak() - base)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="measured on Linux alone")
def test_build_stays_within_its_memory(tmp_path):
    """In memory, the graph takes several times as much."""
    rng = np.random.default_rng(0)
    ends = rng.integers(0, 100_000, (2, 600_000))
    names = pa.array([f"user-{i:08d}" for i in range(100_000)])
    table = pa.table({"source": names.take(ends[0]), "target": names.take(ends[1])})
    parquet.write_table(table, tmp_path / "e.parquet", row_group_size=1 << 17)
    parquet.write_table(pa.table({"id": names}), tmp_path / "v.parquet")
    memory = 512 << 20
    words = [tmp_path / "e.parquet", tmp_path / "v.parquet", tmp_path / "store", memory]
    done = subprocess.run(
        [sys.executable, "-c", PEAK, *map(str, words)], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) << 10 < memory


def test_engine_reaches_neither_files_nor_the_network(tmp_path):
    (tmp_path / "x.csv").write_text("a\n1\n")
    for query in (f"FROM read_csv('{tmp_path}/x.csv')", "INSTALL httpfs", "LOAD httpfs"):
        batches = pa.schema([("id", pa.string())]), iter(())
        with pytest.raises(DataFileError, match="DuckDB stopped"):
            next(query_batches(query, *batches, tmp_path, MEMORY))


def test_what_a_store_cannot_hold_is_said_before_anything_is_written(
    tables: tuple[Path, Path], tmp_path
):
    folder = tmp_path / "store"
    with pytest.raises(ConfigError, match="leave out `edge_kind`"):
        build_store(*tables, folder, columns=Columns(edge_kind="weight"))
    with pytest.raises(DataFileError, match="it is the table of vertices"):
        build_store(tables[0], tables[0], folder)
    with pytest.raises(ConfigError, match="at least 512"):
        build_store(*tables, folder, memory=1000)
    tables[1].write_bytes(PEOPLE.encode("cp1252"))
    with pytest.raises(DataFileError, match="text in UTF-8"):
        build_store(*tables, folder, text=TextOptions(encoding="cp1252"))
    assert not folder.exists()


def test_store_is_replaced_only_where_that_is_asked_for(tables: tuple[Path, Path], tmp_path):
    check_same(tables, tmp_path / "store")
    with pytest.raises(ConfigError, match="`overwrite=True`"):
        build_store(*tables, tmp_path / "store", memory=MEMORY)
    build_store(*tables, tmp_path / "store", memory=MEMORY, overwrite=True)
    with pytest.raises(ConfigError, match="not empty"):
        build_store(*tables, tmp_path, memory=MEMORY)


def test_disk_that_is_too_small_is_refused_beforehand(
    tables: tuple[Path, Path], tmp_path, monkeypatch
):
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 10}))
    with pytest.raises(DataFileError, match=r"building needs about .* of disk"):
        build_store(*tables, tmp_path / "store", memory=MEMORY)
    assert not (tmp_path / "store").exists()


def test_size_of_a_build_is_near_what_is_there(tmp_path):
    rows = "".join(f"v{i:05d},{i % 7}\n" for i in range(5000))
    pairs = "".join(f"v{i:05d},v{(7 * i + 1) % 5000:05d}\n" for i in range(20_000))
    tables = open_tables(*write(tmp_path, "u,v\n" + pairs, "id,x\n" + rows), None)
    assert check_disk(*tables, tmp_path) == pytest.approx((20_000, 5000), rel=0.1)


def test_parquet_that_was_cut_is_refused_before_anything_is_made(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "edges.parquet"
    pq.write_table(pa.table({"source": ["a", "b"], "target": ["b", "c"]}), path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DataFileError, match=r"edges\.parquet"):
        build_store(path, None, tmp_path / "store", memory=MEMORY)
    assert not (tmp_path / "store").exists()


def test_store_that_was_built_meanwhile_is_not_built_over(tmp_path: Path) -> None:
    """A second process may have looked at the folder before the first one had ended."""
    gf.data.write_store(gf.data.make_karate(), tmp_path / "store")
    with (
        pytest.raises(ConfigError, match="holds a store"),
        build.building(tmp_path / "store", overwrite=False),
    ):
        pytest.fail("the store is there")
    gf.open_store(tmp_path / "store")
