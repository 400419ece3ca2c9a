"""Graphs of DataFrames: the same whichever library holds them, and the same as from files."""

from __future__ import annotations

import datetime
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import graphfilter as gf
from graphfilter.data.attributes import number_names
from graphfilter.data.graph import Graph
from graphfilter.util.errors import ConfigError, DataFileError, GraphError, GraphFilterError

VERTICES: dict[str, list[Any]] = {
    "key": [10, 20, 30],
    "label": [1, None, 2],
    "age": [1.5, None, 4.5],
    "town": ["A", "B", "A"],
    "when": [datetime.datetime(2024, 2, day) for day in (1, 2, 4)],
    "vector": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
    "member": [True, False, True],
}
EDGES: dict[str, list[Any]] = {"a": [10, 20], "b": [20, 30], "strength": [1.0, 2.0]}
NAMES = (
    "age", "age is missing", "town=A", "town=B", "when (days since 2024-02-01)",
    "vector[0]", "vector[1]", "member",
)  # fmt: skip
FEATURES = [[1.5, 0, 1, 0, 0, 1, 2, 1], [3, 1, 0, 1, 1, 3, 4, 0], [4.5, 0, 1, 0, 3, 5, 6, 1]]


def make(library: str, columns: dict[str, list[Any]]) -> Any:
    if library == "dict":
        return columns
    if library == "pyarrow":
        return pa.table(columns)
    return pytest.importorskip(library).DataFrame(columns)


def dense(graph: Graph) -> Any:
    return graph.features


def check(graph: Graph, names: tuple[Any, ...] = (10, 20, 30)) -> None:
    assert graph.vertex_names == names
    assert graph.feature_names == NAMES
    np.testing.assert_allclose(dense(graph), FEATURES)
    np.testing.assert_array_equal(graph.labels, [0, -1, 1])
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    np.testing.assert_array_equal(graph.edge_weights, [1, 2])


@pytest.mark.parametrize("library", ["dict", "pyarrow", "pandas", "polars"])
def test_frames_of_every_library_give_the_same_graph(library: str) -> None:
    frames = make(library, VERTICES), make(library, EDGES)
    graph = Graph.from_frames(*frames, id="key", source="a", target="b", weight="strength")
    check(graph)
    assert graph.classes.tolist() == [1, 2]
    guessed = Graph.from_frames(*frames, weight="strength")
    check(guessed)
    assert any("'key' as the id (its values are in edges)" in note for note in guessed.notes)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_survive_files(tmp_path: Path, library: str) -> None:
    frames = {"v": make(library, VERTICES), "e": make(library, EDGES)}
    for name, frame in frames.items():
        pq.write_table(pa.table(frame), tmp_path / f"{name}.parquet")
    columns = gf.data.Columns(id="key", weight="strength")
    graph, encoder = gf.read_tables(tmp_path / "e.parquet", tmp_path / "v.parquet", columns=columns)
    check(graph, ("10", "20", "30"))
    again, _ = gf.read_tables(frames["e"], frames["v"], columns=columns, encoder=encoder)
    check(again)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_survive_excel_and_csv(tmp_path: Path, library: str) -> None:
    pytest.importorskip("openpyxl")
    frame = pytest.importorskip("pandas").DataFrame
    plain = {name: column for name, column in VERTICES.items() if name != "vector"}
    write_excel(tmp_path / "v.xlsx", plain)
    write_excel(tmp_path / "e.xlsx", EDGES)
    frame(plain).to_csv(tmp_path / "v.csv")
    frame(EDGES).to_csv(tmp_path / "e.csv", sep=";", decimal=",", index=False)
    held = Graph.from_frames(make(library, plain), make(library, EDGES), weight="strength")
    for kind in ("xlsx", "csv"):
        columns = gf.data.Columns(id="key", weight="strength")
        graph, _ = gf.read_tables(tmp_path / f"e.{kind}", tmp_path / f"v.{kind}", columns=columns)
        assert graph.feature_names == held.feature_names
        np.testing.assert_allclose(dense(graph), dense(held))
        np.testing.assert_array_equal(graph.labels, held.labels)
        np.testing.assert_array_equal(graph.edge_weights, held.edge_weights)
        assert graph.vertex_names == ("10", "20", "30")


def write_excel(path: Path, columns: dict[str, list[Any]]) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet: Any = book.active
    sheet.append([])
    sheet.append(list(columns))
    for row in zip(*columns.values(), strict=True):
        sheet.append(list(row))
    book.save(path)


def test_excel_errors_name_excels_rows(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    write_excel(tmp_path / "v.xlsx", {"id": ["a", "b", "a"]})
    write_excel(tmp_path / "e.xlsx", {"u": ["a", "x"], "v": ["b", "b"]})
    with pytest.raises(DataFileError, match="row 5: vertex id 'a' is also on row 3"):
        gf.read_tables(tmp_path / "e.xlsx", tmp_path / "v.xlsx")
    write_excel(tmp_path / "v.xlsx", {"id": ["a", "b", "c"]})
    with pytest.raises(DataFileError, match=r"row 4: vertex 'x' is not in v\.xlsx"):
        gf.read_tables(tmp_path / "e.xlsx", tmp_path / "v.xlsx")


def test_excel_sheets_are_named_behind_the_path(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    import openpyxl

    book = openpyxl.Workbook()
    for title, rows in {
        "People": [["id", "age"], ["a", 1], ["b", 2]],
        "Calls": [["from", "to"], ["a", "b"]],
    }.items():
        sheet: Any = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    path = tmp_path / "book.xlsx"
    book.save(path)
    graph, _ = gf.read_tables(f"{path}#calls", path)
    assert graph.vertex_names == ("a", "b")
    assert graph.n_edges == 1
    assert any("using sheet 'People'" in note for note in graph.notes)
    with pytest.raises(DataFileError, match=r"no sheet 'Mails'\. Sheets: 'Sheet', 'People'"):
        gf.read_tables(f"{path}#Mails", path)
    with pytest.raises(DataFileError, match="it is the table of vertices"):
        gf.read_tables(path, path)


def test_sheets_that_are_hidden_or_empty_are_not_the_table(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title, book.active.sheet_state = "Hidden", "hidden"
    book.active.append(["secret"])
    book.create_sheet("Empty")
    people = book.create_sheet("People")
    for row in (["id", "age"], ["a", 1], ["b", 2]):
        people.append(row)
    book.active = 2
    book.save(tmp_path / "book.xlsx")
    graph, _ = gf.read_tables({"u": ["a"], "v": ["b"]}, tmp_path / "book.xlsx")
    assert graph.vertex_names == ("a", "b")
    assert "book.xlsx: using sheet 'People', one of 3; name another as book.xlsx#Empty." in (
        graph.notes
    )


def test_times_in_a_zone_that_is_not_known_are_read_as_stored(tmp_path: Path) -> None:
    seconds = pa.array([0, 86_400, 10 * 86_400])
    made = {}
    for zone in ("UTC", "Mars/Base"):
        path = tmp_path / f"{zone[:4]}.parquet"
        when = seconds.cast(pa.timestamp("s", zone))
        pq.write_table(pa.table({"id": ["a", "b", "c"], "when": when}), path)
        graph, _ = gf.read_tables({"u": ["a"], "v": ["b"]}, path, allow_missing=True)
        made[zone] = np.asarray(graph.features)
    np.testing.assert_array_equal(made["UTC"], made["Mars/Base"])


def test_remedy_for_a_table_that_is_no_text_names_no_encoding(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["a", "b"], "label": [[1], [2]]}), tmp_path / "v.parquet")
    with pytest.raises(DataFileError, match=r"Fix it, or save it again as \.csv"):
        gf.read_tables({"u": ["a"], "v": ["b"]}, tmp_path / "v.parquet")


def test_formulas_without_stored_values_are_said(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    for name, double in (("plain", 2), ("not computed", "=2*B2")):
        book = openpyxl.Workbook()
        for row in (["id", "age", "double"], ["a", 1, double], ["b", None, 4], ["c", 3, double]):
            book.active.append(row)
        book.save(tmp_path / f"{name}.xlsx")
    edges = {"u": ["a", "b"], "v": ["b", "c"]}
    graph, _ = gf.read_tables(edges, tmp_path / "not computed.xlsx")
    (note,) = [note for note in graph.notes if "stored value" in note]
    assert "has formulas: those without a stored value are read as empty" in note
    graph, _ = gf.read_tables(edges, tmp_path / "plain.xlsx")
    assert not [note for note in graph.notes if "formula" in note]


def test_missing_openpyxl_is_said_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "v.xlsx", "w") as archive:
        archive.writestr("x", "y")
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(DataFileError, match=r"pip install 'graphfilter\[excel\]'"):
        gf.read_tables({"u": ["a"], "v": ["b"]}, tmp_path / "v.xlsx")


def test_pandas_index_may_be_the_id() -> None:
    frame = pytest.importorskip("pandas").DataFrame
    people = frame({"age": [1, 2, 3]}, index=["x", "y", "z"])
    graph = Graph.from_frames(people, frame({"from": ["x", "y"], "to": ["y", "z"]}))
    assert graph.vertex_names == ("x", "y", "z")
    assert graph.feature_names == ("age",)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_types_of_their_own_are_read(library: str) -> None:
    made = pytest.importorskip(library)
    words: Any = ["x", "y", None]
    if library == "pandas":
        words = made.Categorical(words)
        numbers, truths = made.array([1, None, 3], "Int64"), made.array([True, None, False])
    else:
        words = made.Series(words, dtype=made.Categorical)
        numbers, truths = made.Series([1, None, 3]), made.Series([True, None, False])
    people = made.DataFrame({"id": ["a", "b", "c"], "w": words, "n": numbers, "t": truths})
    graph = Graph.from_frames(people, made.DataFrame({"u": ["a"], "v": ["b"]}))
    names = ("w=x", "w=y", "n", "n is missing", "t", "t is missing")
    assert graph.feature_names == names
    expected = [[1, 0, 1, 0, 1, 0], [0, 1, 2, 1, 0.5, 1], [0, 0, 3, 0, 0, 0]]
    np.testing.assert_array_equal(dense(graph), expected)


def test_pandas_columns_of_mixed_types_are_words() -> None:
    frame = pytest.importorskip("pandas").DataFrame
    people = frame({"id": [1, 2, "x"], "what": [1, "two", None]})
    graph = Graph.from_frames(people, frame({"u": ["1", "2"], "v": ["2", "x"]}))
    assert graph.edges.tolist() == [[0, 1], [1, 2]]


def test_float_ids_match_whole_ones() -> None:
    graph = Graph.from_frames(
        {"id": [1, 2, 3]}, {"u": [1.0, 2.0, None], "v": [2.0, 3.0, 1.0]}, allow_missing=True
    )
    assert graph.edges.tolist() == [[0, 1], [1, 2]]


def test_frames_refuse_other_things() -> None:
    with pytest.raises(GraphError, match="must be a DataFrame of pandas, polars or pyarrow"):
        Graph.from_frames([1, 2], {"u": [1], "v": [2]})
    with pytest.raises(ConfigError, match="did you mean 'weight'"):
        Graph.from_frames({"id": [1]}, {"u": [1], "v": [1]}, wieght="x")
    with pytest.raises(DataFileError, match="vertices: row 2: vertex id '1' is also on row 1"):
        Graph.from_frames({"id": [1, 1]}, {"u": [1], "v": [1]})


def test_edges_between_names_are_numbered() -> None:
    graph = Graph.from_edges([("b", "a"), ("c", "a")])
    assert graph.vertex_names == ("a", "b", "c")
    assert graph.edges.tolist() == [[0, 1], [0, 2]]
    named = Graph.from_edges(np.array([["b", "a"]]), vertex_names=["z", "b", "a"])
    assert named.edges.tolist() == [[1, 2]]
    assert named.n_vertices == 3
    assert Graph.of([("b", "a")], vertex_names=["a", "b"]).n_edges == 1
    with pytest.raises(GraphError, match="'aa', which must be one of vertex_names; did you mean"):
        Graph.from_edges([("aa", "b")], vertex_names=["a", "b"])
    with pytest.raises(GraphError, match="must come with vertex_names"):
        Graph.from_edges([("a", "b")], labels=[0, 1])


def test_numbers_are_never_taken_for_names() -> None:
    for edges in ([[0, 1]], np.array([[0, 1]]), np.empty((0, 2)), [], "ab"):
        assert number_names(edges, None, others_known=False)[0] is edges


def test_estimator_takes_edges_between_the_rows_of_a_frame() -> None:
    frame = pytest.importorskip("pandas").DataFrame
    graph = gf.data.make_csbm(n_vertices=40, frequency=0.3, n_features=3, seed=0)
    rows = [f"v{i}" for i in range(40)]
    X = frame(np.asarray(graph.features), index=rows, columns=["a", "b", "c"])
    named = [(rows[u], rows[v]) for u, v in graph.edges]
    model = gf.SGFClassifier(max_epochs=3, n_layers=2, random_state=0)
    by_name = model.fit(X, graph.labels, graph=named).predict_proba()
    by_number = model.fit(X, graph.labels, graph=graph.edges).predict_proba()
    np.testing.assert_array_equal(by_name, by_number)


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([[], [], []], pa.list_(pa.float64())),
        pa.array([10**13, 0, 5], pa.timestamp("s")),
        pa.array([(1, 2, 3), (1, 2, 3), (0, 0, 1)], pa.month_day_nano_interval()),
        pa.array([b"x", b"y", b"z"], pa.binary_view()),
        pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["x", "y"])),
    ],
    ids=["empty lists", "years beyond 9999", "intervals", "binary views", "runs"],
)
def test_columns_of_odd_types_are_left_out_and_said(cells: Any) -> None:
    vertices = pa.table({"id": ["a", "b", "c"], "x": cells, "age": [1, 2, 3]})
    edges = pa.table({"source": ["a", "b"], "target": ["b", "c"], "z": cells[:2]})
    graph, _ = gf.read_tables(edges, vertices)
    assert graph.feature_names is not None
    assert graph.feature_names[0] == "age"
    assert any("column 'x' left out" in note for note in graph.notes)
    # In any other place they are read, or refused as a user's error.
    places: dict[str, Any] = dict.fromkeys(("label", "id", "vertex_kind"), "x")
    places |= dict.fromkeys(("edge_kind", "edge_time", "weight"), "z")
    places["kinds"] = (("x", "number"),)
    for name, column in places.items():
        with suppress(GraphFilterError):
            gf.read_tables(edges, vertices, **{name: column})


def test_ids_that_read_like_names_are_text_unless_dropped() -> None:
    names = [f"{a}-{b}" for a in ("python", "ruby", "perl") for b in ("json", "http", "yaml")]
    ids = [f"{name}-x{i}" for i in range(4) for name in names]
    vertices, edges = {"name": ids, "age": range(36)}, {"u": ids[:1], "v": ids[1:2]}
    graph, encoder = gf.read_tables(edges, vertices)
    assert "name: python" in (graph.feature_names or ())
    assert any("`drop=('name',)`" in note for note in graph.notes)
    again, _ = gf.read_tables(edges, vertices, encoder=encoder)
    assert again.checksum() == graph.checksum()
    assert gf.read_tables(edges, vertices, drop="name")[0].feature_names == ("age",)
    kinds = {"name": "text"}
    told, _ = gf.read_tables({"u": ["a 1"], "v": ["a 2"]}, {"name": ["a 1", "a 2"]}, kinds=kinds)
    assert told.feature_names == ("name: a",)
    assert [one.name for one in encoder.describe()] == ["name", "age"]


def test_words_that_are_held_as_views_are_words_anywhere(tmp_path: Path) -> None:
    days = pa.array([f"2024-03-0{day}" for day in range(1, 4)], pa.string_view())
    edges = pa.table({"from": ["1", "2", "3"], "to": ["2", "3", "1"], "day": days})
    words = pa.array(["x", "y", "z"], pa.string_view())
    vertices = pa.table({"id": ["1", "2", "3"], "word": words})
    pq.write_table(edges, tmp_path / "e.parquet")
    coded = vertices.append_column("coded", words.dictionary_encode())
    for table in (edges, tmp_path / "e.parquet"):
        graph, _ = gf.read_tables(table, coded, edge_time="day")
        assert graph.feature_names is not None
        assert graph.feature_names[:6] == (
            "word=x",
            "word=y",
            "word=z",
            "coded=x",
            "coded=y",
            "coded=z",
        )
        assert graph.history is not None
