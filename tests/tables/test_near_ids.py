"""Ids that look alike: counted, named with the option that joins them, and joined by it."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import graphfilter as gf
from graphfilter.tables.build import note_near_ids
from graphfilter.tables.cells import clean_ids
from graphfilter.tables.formats import frame_table
from graphfilter.util.errors import DataFileError

TABLE = frame_table({"id": []}, "the vertices")
WIDTHLESS = "\u200b\u200c\u200d\u2060\ufeff\u00ad"
E_ACUTE, E_AND_ACUTE = "\u00e9", "e\u0301"


def plainly_clean(name: str) -> str:
    return unicodedata.normalize("NFC", "".join(c for c in name if c not in WIDTHLESS)).strip()


some_ids = st.lists(
    st.text(f"ab {E_ACUTE}e\u0301\u200b\ufeff\t", min_size=1, max_size=4), unique=True, max_size=12
)


@given(some_ids)
def test_ids_are_cleaned_as_said(ids: list[str]) -> None:
    found = clean_ids(pa.array(ids, pa.string())).to_pylist()
    assert found == [plainly_clean(name) for name in ids]


@given(some_ids, st.integers(0, 12))
def test_note_counts_the_vertices_that_would_be_joined(ids: list[str], cut: int) -> None:
    column = pa.chunked_array([ids[:cut], ids[cut:]], pa.string())
    n_alike = len(ids) - len({plainly_clean(name) for name in ids})
    notes = note_near_ids(column, TABLE)
    assert len(notes) == (n_alike > 0)
    if notes:
        assert f"the vertices: {n_alike} id" in notes[0]
        assert "clean_ids=True" in notes[0]
        first, second = notes[0].partition("(")[2].partition(")")[0].split(" and ")
        shown = {ascii(name): plainly_clean(name) for name in ids}
        assert first != second
        assert shown[first] == shown[second]


def write(folder: Path, vertices: list[str], edges: list[tuple[str, str]]) -> tuple[Path, Path]:
    (folder / "v.csv").write_text("id,x\n" + "".join(f"{v},{i}\n" for i, v in enumerate(vertices)))
    (folder / "e.csv").write_text("u,v\n" + "".join(f"{u},{v}\n" for u, v in edges))
    return folder / "e.csv", folder / "v.csv"


def test_look_alike_vertices_are_noted_and_refused_when_cleaned(tmp_path: Path) -> None:
    tables = write(tmp_path, ["a", "b", f"caf{E_ACUTE}", f"caf{E_AND_ACUTE}"], [("a", "b")])
    graph = gf.data.read_tables(*tables)[0]
    assert graph.n_vertices == 4
    (note,) = [note for note in graph.notes if "clean_ids=True" in note]
    assert "'caf\\xe9' and 'cafe\\u0301'" in note
    with pytest.raises(DataFileError, match="is also on line 4"):
        gf.data.read_tables(*tables, columns=gf.data.Columns(clean_ids=True))


def test_clean_ids_join_what_two_tables_write_differently(tmp_path: Path) -> None:
    tables = write(tmp_path, ["a", "b\u200b", "c "], [("a\ufeff", "b"), ("b", "c")])
    with pytest.raises(DataFileError, match=r"pass `clean_ids=True`, or pass `allow_missing=True`"):
        gf.data.read_tables(*tables)
    clean = gf.data.Columns(clean_ids=True)
    graph = gf.data.read_tables(*tables, columns=clean)[0]
    assert list(graph.vertex_names or ()) == ["a", "b", "c"]
    assert graph.n_edges == 2
    pytest.importorskip("duckdb")
    gf.build_store(*tables, tmp_path / "store", columns=clean)
    stored = gf.open_store(tmp_path / "store")
    assert stored.checksum() == graph.checksum()
    # Without a table of vertices, ends that look alike are one.
    gf.build_store(tables[0], None, tmp_path / "ends", columns=clean)
    assert gf.open_store(tmp_path / "ends").vertex_names == ("a", "b", "c")
    gf.build_store(tables[0], None, tmp_path / "apart")
    apart = gf.open_store(tmp_path / "apart")
    assert apart.n_vertices == 3


def test_clean_ids_of_a_frame() -> None:
    import pandas as pd

    vertices = pd.DataFrame({"id": [" a", "b"], "x": [1, 2]})
    edges = pd.DataFrame({"u": ["a"], "v": ["b "]})
    graph = gf.Graph.from_frames(vertices, edges, clean_ids=True)
    assert list(graph.vertex_names or ()) == ["a", "b"]
    numbers = pd.DataFrame({"id": [1, 2], "x": [1, 2]})
    links = pd.DataFrame({"u": [1], "v": [2]})
    graph = gf.Graph.from_frames(numbers, links, clean_ids=True)
    assert list(graph.vertex_names or ()) == [1, 2]


def test_predict_cleans_ids_as_its_run_did(graphfilter, tmp_path: Path) -> None:
    rows = [f"v{i},{i % 5},{i % 2}\n" for i in range(20)]
    (tmp_path / "v.csv").write_text("id,x,label\n" + "".join(rows))
    ends = "".join(f"v{i} ,v{(i + 1) % 20}\n" for i in range(20))
    (tmp_path / "e.csv").write_text("u,v\n" + ends)
    tables = ("--edges", tmp_path / "e.csv", "--vertices", tmp_path / "v.csv", "--quiet")
    fast = ("--model", "sgf", "--epochs", 2, "--set", "n_layers=2", "--no-baselines")
    fit = ("fit", *tables, "--label", "label", *fast, "--out", tmp_path / "run")
    refused = graphfilter(*fit, code=2)
    assert refused.err.count("\n") == 1
    assert "'v0' is: blanks, invisible characters" in refused.err
    graphfilter(*fit, "--set", "clean_ids")
    graphfilter("predict", tmp_path / "run", *tables, "--out", tmp_path / "p.csv")
