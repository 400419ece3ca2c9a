from __future__ import annotations

import errno
import gzip
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings, strategies as st

from graphfilter.data import Columns, read_tables, write_tables
from graphfilter.data.graph import Graph
from graphfilter.splits import Split
from graphfilter.tables.labels import UNLABELLED, encode_labels
from graphfilter.tables.parquet_files import read_chunks
from graphfilter.tables.source import MOST_COLUMNS, check_width, reading_table
from graphfilter.util.errors import DataFileError, GraphError, GraphFilterError

VERTICES = "id,label,age\na,x,1\nb,y,2\nc,,3\n"
EDGES = "source,target\na,b\nb,c\n"

in_one_folder = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def write(folder: Path, edges: str, vertices: str, suffix: str = ".csv") -> tuple[Path, Path]:
    paths = folder / f"edges{suffix}", folder / f"vertices{suffix}"
    for path, text in zip(paths, (edges, vertices), strict=True):
        path.write_text(text, encoding="utf-8", newline="")
    return paths


def read(folder: Path, edges: str = EDGES, vertices: str = VERTICES, **options) -> Graph:
    return read_tables(*write(folder, edges, vertices), **options)[0]


def dense(graph: Graph) -> np.ndarray:
    assert graph.features is not None
    features = graph.features
    return features if isinstance(features, np.ndarray) else features.toarray()


def class_names(graph: Graph) -> list[str | None]:
    assert graph.labels is not None
    return [None if c < 0 else str(graph.classes[c]) for c in graph.labels]


def test_read_tables_gives_the_graph_of_hand_written_files(tmp_path: Path) -> None:
    graph = read(tmp_path)
    assert graph.vertex_names == ("a", "b", "c")
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert class_names(graph) == ["x", "y", None]
    assert graph.feature_names == ("age",)
    np.testing.assert_array_equal(dense(graph), [[1], [2], [3]])
    assert graph.weights is None
    assert graph.splits == ()
    assert any("'label' as the label" in note for note in graph.notes)


def test_read_tables_reads_every_format_alike(tmp_path: Path) -> None:
    expected = read(tmp_path)
    paths = {".csv": write(tmp_path, EDGES, VERTICES)}
    tabs = EDGES.replace(",", "\t"), VERTICES.replace(",", "\t")
    paths[".tsv"] = write(tmp_path, *tabs, ".tsv")
    for suffix in (".csv", ".tsv"):
        zipped = [path.with_name(f"{path.name}.gz") for path in paths[suffix]]
        for path, target in zip(paths[suffix], zipped, strict=True):
            target.write_bytes(gzip.compress(path.read_bytes()))
        paths[f"{suffix}.gz"] = (zipped[0], zipped[1])
    columns = {"id": ["a", "b", "c"], "label": ["x", "y", None], "age": [1, 2, 3]}
    pq.write_table(pa.table(columns), tmp_path / "v.parquet")
    pq.write_table(pa.table({"source": ["a", "b"], "target": ["b", "c"]}), tmp_path / "e.parquet")
    paths[".parquet"] = tmp_path / "e.parquet", tmp_path / "v.parquet"
    for edges, vertices in paths.values():
        graph, _ = read_tables(edges, vertices)
        assert graph.vertex_names == expected.vertex_names
        np.testing.assert_array_equal(graph.edges, expected.edges)
        np.testing.assert_array_equal(dense(graph), dense(expected))
        assert class_names(graph) == class_names(expected)


def test_read_tables_keeps_leading_zeros_of_ids_and_labels(tmp_path: Path) -> None:
    graph = read(tmp_path, "u,v\n007,7\n", "id,class\n007,01\n7,1\n")
    assert graph.vertex_names == ("007", "7")
    assert class_names(graph) == ["01", "1"]


def test_parquet_integer_ids_match_csv_ids(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [10, 20], "y": [1, 2]}), tmp_path / "v.parquet")
    (tmp_path / "e.csv").write_text("u,v\n10,20\n")
    graph, _ = read_tables(tmp_path / "e.csv", tmp_path / "v.parquet")
    assert graph.vertex_names == ("10", "20")
    assert graph.n_edges == 1
    assert list(graph.classes) == ["1", "2"]


def test_integer_classes_are_ordered_as_numbers_and_others_as_words(tmp_path: Path) -> None:
    numbers = read(tmp_path, EDGES, "id,label\na,10\nb,9\nc,-1\n")
    assert list(numbers.classes) == ["9", "10"]
    assert class_names(numbers) == ["10", "9", None]
    words = read(tmp_path, EDGES, "id,label\na,10\nb,9\nc,k\n")
    assert list(words.classes) == ["10", "9", "k"]


def test_minus_one_is_a_class_only_beside_one(tmp_path: Path) -> None:
    graph = read(tmp_path, EDGES, "id,label\na,1\nb,-1\nc,\n")
    assert class_names(graph) == ["1", "-1", None]
    assert list(graph.classes) == ["-1", "1"]


def test_labels_follow_the_one_rule_and_the_notes_count_what_is_none(tmp_path: Path) -> None:
    words = ["x ", " x", "y", "NA", "na", "", "?", "-1.0", "None"]
    rows = "".join(f"v{i},{word}\n" for i, word in enumerate(words))
    graph = read(tmp_path, "u,v\nv0,v1\n", "id,label\n" + rows)
    codes, classes = encode_labels(words)
    assert graph.labels is not None
    assert graph.labels.tolist() == codes.tolist()
    assert graph.classes.tolist() == classes.tolist() == ["x", "y"]
    (note,) = [note for note in graph.notes if "unlabelled" in note]
    for part in ("1 'NA'", "1 'na'", "1 empty", "1 '?'", "1 '-1.0'", "1 'None'"):
        assert part in note


def test_unlabelled_says_which_labels_are_none(tmp_path: Path) -> None:
    vertices = "id,label\na,fraud\nb,none\nc,unknown\n"
    graph = read(tmp_path, EDGES, vertices, unlabelled=("unknown",))
    assert class_names(graph) == ["fraud", "none", None]
    with pytest.raises(DataFileError, match=r"'fraud' alone beside 'none', which counts as unlab"):
        read(tmp_path, EDGES, "id,label\na,fraud\nb,none\nc,\n")


def test_numbers_of_two_spellings_are_one_class(tmp_path: Path) -> None:
    graph = read(tmp_path, EDGES, "id,label\na,1\nb,1.0\nc,2.0\n")
    assert class_names(graph) == ["1", "1", "2"]


def test_parquet_words_that_are_not_utf8_are_our_error(tmp_path: Path) -> None:
    edges, _ = write(tmp_path, EDGES, VERTICES)
    words = pa.array([b"a", b"b", b"c\xff"]).view(pa.string())
    good = pa.array(["a", "b", "c"])
    for columns in ({"id": words, "y": good}, {"id": good, "y": words}, {"id": good, "f": words}):
        pq.write_table(pa.table(columns), tmp_path / "v.parquet")
        with pytest.raises(DataFileError, match="UTF"):
            read_tables(edges, tmp_path / "v.parquet")


def test_parquet_footer_equals_what_pyarrow_reads(tmp_path: Path) -> None:
    table = pa.table({"a": ["x"] * 500, "b": [{"c": 1.5, "d": [1, 2]}] * 500, "e": range(500)})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=99)
    metadata = pq.ParquetFile(tmp_path / "t.parquet").metadata
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    chunks = [group.column(j) for group in groups for j in range(group.num_columns)]
    assert len(chunks) == 24
    for ours, theirs in zip(read_chunks(tmp_path / "t.parquet"), chunks, strict=True):
        assert ours.name == theirs.path_in_schema.split(".")[0]
        assert ours.n_values == theirs.num_values
        assert ours.n_bytes == theirs.total_uncompressed_size
        assert not ours.is_delta


def test_parquet_footer_that_would_end_pyarrow_is_our_error(tmp_path: Path) -> None:
    """Each flip of a bit in the footer; with some of them pyarrow ends the process."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"id": ["a", "b"], "y": ["x", "y"]}), path)
    good = path.read_bytes()
    length = int.from_bytes(good[-8:-4], "little")
    edges = tmp_path / "e.csv"
    edges.write_text("u,v\na,b\n")
    for at in range(len(good) - 8 - length, len(good), 7):
        path.write_bytes(good[:at] + bytes([good[at] ^ 4]) + good[at + 1 :])
        with suppress(GraphFilterError):
            read_tables(edges, path)


def test_parquet_of_another_encoding_reads(tmp_path: Path) -> None:
    edges, _ = write(tmp_path, EDGES, VERTICES)
    table = pa.table({"id": ["a", "b", "c"], "y": ["x", "y", "y"]})
    encoding = {"id": "DELTA_BYTE_ARRAY", "y": "DELTA_LENGTH_BYTE_ARRAY"}
    pq.write_table(table, tmp_path / "v.parquet", use_dictionary=False, column_encoding=encoding)
    assert class_names(read_tables(edges, tmp_path / "v.parquet")[0]) == ["x", "y", "y"]


def test_parquet_labels_that_are_null_or_nan_are_unlabelled(tmp_path: Path) -> None:
    edges, _ = write(tmp_path, EDGES, VERTICES)
    labels = pa.array([2.0, np.nan, None])
    pq.write_table(pa.table({"id": ["a", "b", "c"], "y": labels}), tmp_path / "v.parquet")
    graph, _ = read_tables(edges, tmp_path / "v.parquet")
    assert class_names(graph) == ["2", None, None]


def test_labels_and_features_are_optional(tmp_path: Path) -> None:
    graph = read(tmp_path, EDGES, "id\na\nb\nc\n")
    assert graph.labels is None
    assert graph.features is None
    assert graph.n_edges == 2


def test_columns_say_what_names_do_not(tmp_path: Path) -> None:
    columns = Columns(
        id="key", label="kind", source="p", target="q", weight="strength", split="part", drop=("z",)
    )
    vertices = "label,key,kind,part,z\n1,a,x,train,9\n2,b,y,valid,9\n3,c,x,Test,9\n"
    graph = read(tmp_path, "strength,p,q\n0.5,a,b\n2,b,c\n", vertices, columns=columns)
    assert graph.feature_names == ("label",)
    assert graph.edge_weights is not None
    assert graph.edge_weights.tolist() == [0.5, 2]
    (split,) = graph.splits
    assert (list(split.train), list(split.val), list(split.test)) == ([0], [1], [2])
    assert not any("took column" in note for note in graph.notes)


def test_a_column_asked_for_as_a_feature_is_not_guessed_as_the_label(tmp_path: Path) -> None:
    vertices = "id,class,age\na,p,1\nb,q,2\nc,p,3\n"
    graph = read(tmp_path, EDGES, vertices, columns=Columns(features=("class",)))
    assert graph.labels is None
    assert graph.feature_names == ("class=p", "class=q")


def test_unnamed_column_of_row_numbers_is_not_a_feature(tmp_path: Path) -> None:
    graph = read(tmp_path, EDGES, ",id,age\n0,a,5\n1,b,6\n2,c,7\n")
    assert graph.feature_names == ("age",)


def test_edge_file_without_a_header_is_read_whole(tmp_path: Path) -> None:
    graph = read(tmp_path, "a,b\nb,c\n")
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert any("no header" in note for note in graph.notes)


def test_usual_names_are_a_header_even_where_vertices_are_called_so(tmp_path: Path) -> None:
    vertices = "id\nsource\ntarget\n"
    assert read(tmp_path, "source,target\n", vertices).n_edges == 0
    assert read(tmp_path, "source,target\nsource,target\n", vertices).n_edges == 1


def test_encoder_of_one_table_encodes_another(tmp_path: Path) -> None:
    _, encoder = read_tables(*write(tmp_path, EDGES, "id,colour\na,red\nb,blue\nc,red\n"))
    paths = write(tmp_path, "source,target\np,q\n", "id,colour,extra\np,green,1\nq,red,2\n")
    graph, same = read_tables(*paths, encoder=encoder)
    assert same is encoder
    np.testing.assert_array_equal(dense(graph), [[0, 0], [0, 1]])
    assert any("'green'" in note for note in graph.notes)
    with pytest.raises(DataFileError, match="no column 'colour'; did you mean 'color'"):
        read(tmp_path, EDGES, "id,color\na,red\nb,red\nc,red\n", encoder=encoder)


def test_allow_missing_drops_and_counts(tmp_path: Path) -> None:
    edges = "source,target,weight\na,b,1\na,zz,2\n,b,3\nb,c,4\n"
    graph = read(tmp_path, edges, allow_missing=True)
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.edge_weights is not None
    assert graph.edge_weights.tolist() == [1, 4]
    assert "2 edges to vertices not in vertices.csv dropped." in graph.notes


@pytest.mark.parametrize(
    ("edges", "line", "words"),
    [
        ("", None, "empty"),
        ("\n\n", None, "empty"),
        ("source\na\n", None, "two columns"),
        ("source,target\na,b\na,x9\n", 3, "vertex 'x9' is not in vertices.csv"),
        ("source,target\na,b\n,b\n", 3, "empty"),
        ("a,b\na,x9\n", 2, "vertex 'x9'"),
        ("source,target\na,b\na\n", 3, "Expected 2 columns, got 1"),
        ("source,target,weight\na,b,1\na,c,abc\n", 3, "'abc' is not a number"),
        ("source,target,weight\na,b,1\na,c,nan\n", 3, "missing"),
        ("source,target,weight\na,b,1\na,c,\n", 3, "missing"),
        ("source,target,weight\na,b,inf\na,c,1\n", 2, "infinite"),
        ("source,target,weight\na,b,1\na,c,1e39\n", 3, "too large"),
        ("source,target,weight\na,b,1\na,c,-2\n", 3, "-2 is less than 0"),
        ("source,target,target\na,b,c\n", None, "2 columns have the name 'target'"),
    ],
)
def test_bad_edges_are_named_by_line(
    tmp_path: Path, edges: str, line: int | None, words: str
) -> None:
    with pytest.raises(DataFileError, match=r"edges\.csv") as caught:
        read(tmp_path, edges)
    assert caught.value.line == line
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("vertices", "line", "words"),
    [
        ("", None, "empty"),
        ("id,label\n", None, "at least one row"),
        ("id,age\na,1\nb,2\na,3\n", 4, "'a' is also on line 2"),
        ("id,age\na,1\n,2\n", 3, "id is empty"),
        ("id,age\na,1\nb,-inf\n", 3, "infinite"),
        ("id,age\na,1\nb,2\nc,abc\n", 4, "'abc' is not a number"),
        ("id,split\na,train\nb,tset\n", 3, "got 'tset'"),
        ("id,age\na,1\nb,2,3\n", 3, "Expected 2 columns, got 3"),
        ("id,id\na,1\n", None, "2 columns have the name 'id'"),
    ],
)
def test_bad_vertices_are_named_by_line(
    tmp_path: Path, vertices: str, line: int | None, words: str
) -> None:
    with pytest.raises(DataFileError, match=r"vertices\.csv") as caught:
        read(tmp_path, EDGES, vertices)
    assert caught.value.line == line
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("role", ["id", "label", "split", "features", "categorical", "drop"])
def test_missing_column_suggests_the_nearest(tmp_path: Path, role: str) -> None:
    value: Any = ("labell",) if role in ("features", "categorical", "drop") else "labell"
    with pytest.raises(DataFileError, match=r"did you mean 'label'.*'id', 'label', 'age'"):
        read(tmp_path, columns=Columns(**{role: value}))
    with pytest.raises(DataFileError, match=r"edges\.csv: there is no column 'sorce'"):
        read(tmp_path, columns=Columns(source="sorce"))


def test_missing_column_of_a_table_in_one_piece_says_what_separates(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match=r"no column 'label'.*`delimiter`"):
        read(tmp_path, vertices=VERTICES.replace(",", "~"), columns=Columns(label="label"))


def test_table_of_vertices_is_not_taken_for_edges_unless_told(tmp_path: Path) -> None:
    path = tmp_path / "tree.csv"
    path.write_text("id,parent,age\na,a,1\nb,a,2\nc,b,3\n")
    with pytest.raises(DataFileError, match="it is the table of vertices"):
        read_tables(path, path)
    graph, _ = read_tables(path, path, columns=Columns(source="id", target="parent"))
    assert graph.edges.tolist() == [[0, 1], [1, 2]]


def test_one_column_cannot_have_two_roles(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="2 roles name 'label'"):
        read(tmp_path, columns=Columns(label="label", split="label"))


def test_parquet_errors_name_the_row(tmp_path: Path) -> None:
    edges, _ = write(tmp_path, EDGES, VERTICES)
    pq.write_table(pa.table({"id": ["a", "b", None]}), tmp_path / "v.parquet")
    with pytest.raises(DataFileError, match=r"v\.parquet: row 3: the vertex id is empty"):
        read_tables(edges, tmp_path / "v.parquet")
    pq.write_table(pa.table({"id": ["a", "a"]}), tmp_path / "v.parquet")
    with pytest.raises(DataFileError, match="row 2: vertex id 'a' is also on row 1"):
        read_tables(edges, tmp_path / "v.parquet")
    pq.write_table(pa.table({"id": [["a"], ["b"]]}), tmp_path / "v.parquet")
    with pytest.raises(DataFileError, match=r"v\.parquet: cannot be read"):
        read_tables(edges, tmp_path / "v.parquet")


def test_parquet_weights_of_another_type_are_our_error(tmp_path: Path) -> None:
    _, vertices = write(tmp_path, EDGES, VERTICES)
    table = pa.table({"u": ["a"], "v": ["b"], "weight": [[1.0]]})
    pq.write_table(table, tmp_path / "e.parquet")
    with pytest.raises(DataFileError, match="'weight' must hold numbers; got list"):
        read_tables(tmp_path / "e.parquet", vertices)


def test_files_that_are_no_tables_are_errors(tmp_path: Path) -> None:
    edges, vertices = write(tmp_path, EDGES, VERTICES)
    with pytest.raises(DataFileError, match="no such file"):
        read_tables(tmp_path / "nowhere.csv", vertices)
    with pytest.raises(DataFileError, match="no such file"):
        read_tables(edges, tmp_path / "nowhere")
    for name in ("v.parquet", "v.csv.gz"):
        (tmp_path / name).write_bytes(b"not what it says")
        with pytest.raises(DataFileError, match="cannot be read"):
            read_tables(edges, tmp_path / name)
    (tmp_path / "v.xls").write_bytes(b"PK")
    with pytest.raises(DataFileError, match=r"must be \.csv"):
        read_tables(edges, tmp_path / "v.xls")
    (tmp_path / "v.xlsx").write_bytes(b"PK")
    with pytest.raises(DataFileError, match="cannot be read"):
        read_tables(edges, tmp_path / "v.xlsx")
    damaged = "id,label\na,éèü\nb,".encode() + b"\xe9\nc,x\n"
    (tmp_path / "damaged.csv").write_bytes(damaged)
    with pytest.raises(DataFileError, match="`encoding`"):
        read_tables(edges, tmp_path / "damaged.csv")


def test_lines_are_counted_over_many_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphfilter.tables.text_files.BLOCK_BYTES", 64)
    rows = ["a,b,1"] * 100
    graph = read(tmp_path, "\n".join(["source,target,weight", *rows]))
    assert graph.edge_weights is not None
    assert graph.edge_weights.tolist() == [100]
    for bad in ("a,zz,1", "a,b,-1"):
        rows[70] = bad
        with pytest.raises(DataFileError) as caught:
            read(tmp_path, "\n".join(["source,target,weight", *rows]))
        assert caught.value.line == 72


broken_text = st.text(st.sampled_from('ab,"\n\r\t;1-.x\x00é idsource'), max_size=60)
suffixes = st.sampled_from([".csv", ".tsv", ".csv.gz", ".parquet"])


@in_one_folder
@given(content=st.one_of(st.binary(max_size=80), broken_text), suffix=suffixes, which=st.booleans())
def test_random_files_raise_nothing_but_our_errors(
    tmp_path: Path, content: bytes | str, suffix: str, which: bool
) -> None:
    edges, vertices = write(tmp_path, EDGES, VERTICES)
    data = content if isinstance(content, bytes) else content.encode()
    path = tmp_path / f"random{suffix}"
    path.write_bytes(gzip.compress(data) if suffix == ".csv.gz" else data)
    pair = (path, vertices) if which else (edges, path)
    try:
        graph, _ = read_tables(*pair, allow_missing=True)
    except GraphFilterError:
        return
    assert graph.n_vertices >= 1


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    ids = draw(st.lists(names, min_size=1, max_size=8, unique=True))
    n = len(ids)
    vertex = st.integers(0, n - 1)
    pairs = draw(st.lists(st.tuples(vertex, vertex), max_size=12, unique=True))
    positive = st.floats(2**-20, 2**20, width=32)
    weighted = draw(st.booleans())
    weights = draw(st.lists(positive, min_size=len(pairs), max_size=len(pairs)))
    n_features = draw(st.integers(0, 3))
    row = st.lists(numbers, min_size=n_features, max_size=n_features)
    columns = draw(st.lists(names, min_size=n_features, max_size=n_features, unique=True))
    classes = st.none() | names.filter(lambda name: name.strip().lower() not in UNLABELLED)
    parts = draw(st.lists(st.sampled_from([0, 1, 2, 3]), min_size=n, max_size=n))
    part = np.array(parts)
    return Graph.from_edges(
        np.array(pairs, dtype=np.int64).reshape(-1, 2),
        n,
        weights=weights if weighted else None,
        features=draw(st.lists(row, min_size=n, max_size=n)) if n_features else None,
        labels=draw(st.one_of(st.none(), st.lists(classes, min_size=n, max_size=n))),
        vertex_names=ids,
        feature_names=columns if n_features else None,
        splits=[Split(part == 0, part == 1, part == 2)] if (part < 3).any() else [],
    )


@in_one_folder
@given(graph=graphs())
def test_written_tables_read_back_to_the_same_graph(tmp_path: Path, graph: Graph) -> None:
    back, _ = read_tables(*write_tables(graph, tmp_path))
    assert back.vertex_names == graph.vertex_names
    np.testing.assert_array_equal(back.edges, graph.edges)
    np.testing.assert_array_equal(back.edge_weights, graph.edge_weights)
    if graph.features is None:
        assert back.features is None
    else:
        np.testing.assert_array_equal(dense(back), dense(graph))
    if graph.labels is None:
        assert back.labels is None
    else:
        assert class_names(back) == class_names(graph)
    assert len(back.splits) == len(graph.splits)
    for ours, theirs in zip(back.splits, graph.splits, strict=True):
        parts = ours.part_of(graph.n_vertices), theirs.part_of(graph.n_vertices)
        np.testing.assert_array_equal(*parts)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.csv", "vertices.csv"]


def test_small_graphs_survive_writing_and_reading(tmp_path: Path, small_graph: Graph) -> None:
    back, _ = read_tables(*write_tables(small_graph, tmp_path))
    assert abs(back.adjacency - small_graph.adjacency).max() == 0
    assert back.vertex_names == tuple(str(v) for v in range(small_graph.n_vertices))


def test_feature_names_that_read_as_something_else_are_changed(tmp_path: Path) -> None:
    graph = Graph.from_edges([[0, 1]], features=[[1, 2, 3], [4, 5, 6]])
    graph = graph.replace(feature_names=["label", "Split", "size"])
    back, _ = read_tables(*write_tables(graph, tmp_path))
    assert back.feature_names == ("feature_label", "feature_Split", "size")
    np.testing.assert_array_equal(dense(back), dense(graph))


def test_write_tables_refuses_names_that_are_alike_as_text(tmp_path: Path) -> None:
    graph = Graph.from_edges([[0, 1]], vertex_names=[1, "1"])
    with pytest.raises(GraphError, match="differ as text"):
        write_tables(graph, tmp_path)


def test_write_tables_leaves_the_old_files_where_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = write_tables(Graph.from_edges([[0, 1]]), tmp_path)
    before = [path.read_bytes() for path in paths]

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("graphfilter.data.files._write_vertices", fail)
    with pytest.raises(DataFileError, match="cannot be written: disk full"):
        write_tables(Graph.from_edges([[0, 1], [1, 2]]), tmp_path)
    assert [path.read_bytes() for path in paths] == before
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    with pytest.raises(DataFileError, match="cannot be written"):
        write_tables(Graph.from_edges([[0, 1]]), paths[0] / "folder")


def test_cora_survives_writing_and_reading(tmp_path: Path, data_folder: Path) -> None:
    with np.load(data_folder / "cora.npz", allow_pickle=False) as file:
        parts = (file["x_data"], file["x_indices"], file["x_indptr"])
        features = sp.csr_array(parts, shape=tuple(file["x_shape"]))
        graph = Graph.from_edges(file["edges"], features=features, labels=file["y"])
    back, encoder = read_tables(*write_tables(graph, tmp_path))
    np.testing.assert_array_equal(back.edges, graph.edges)
    assert sp.issparse(back.features)
    np.testing.assert_array_equal(dense(back), dense(graph))
    np.testing.assert_array_equal(back.labels, graph.labels)
    assert len(encoder.columns) == 1433


def test_kinds_and_directions_of_edges_come_from_their_table(tmp_path: Path) -> None:
    edges = "source,target,strength,relation\na,b,2, call \nb,a,3,mail\nb,c,1,\n"
    (tmp_path / "e.csv").write_text(edges)
    (tmp_path / "v.csv").write_text("id,x\na,1\nb,2\nc,3\n")
    columns = Columns(weight="strength", edge_kind="relation", directed=True)
    graph, _ = read_tables(tmp_path / "e.csv", tmp_path / "v.csv", columns=columns)
    assert graph.kinds is not None
    assert graph.kinds.names == ("call", "mail", "none")
    second = graph.kinds.adjacency(1, graph.indptr, graph.indices)
    assert second.toarray().tolist() == [[0, 3, 0], [3, 0, 0], [0, 0, 0]]
    assert graph.out_links().toarray().tolist() == [[0, 2, 0], [3, 0, 1], [0, 0, 0]]
    assert "Directions kept: 3 arcs; 1 edge goes both ways." in graph.notes
    assert "Edge types: call 1, mail 1, none 1." in graph.notes
    with pytest.raises(DataFileError, match="'relatoin'"):
        read_tables(tmp_path / "e.csv", tmp_path / "v.csv", columns=Columns(edge_kind="relatoin"))


def test_table_of_too_many_columns_is_refused() -> None:
    check_width("t.parquet", MOST_COLUMNS)
    with pytest.raises(DataFileError, match=r"t.parquet: .*at most 100,000 columns; got 100,001"):
        check_width("t.parquet", MOST_COLUMNS + 1)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "does not fit in memory"),
        (pa.ArrowException("Cannot allocate memory"), "does not fit in memory"),
        (pa.ArrowMemoryError("malloc of size 7 failed"), "does not fit in memory"),
        (OSError(errno.EMFILE, "Too many open files"), r"ulimit -n"),
        (OSError(errno.EIO, "Input/output error"), "Check the file and the disk"),
        (pa.ArrowInvalid("CSV parse error"), "encoding"),
    ],
)
def test_what_the_system_refuses_is_not_blamed_on_the_encoding(error, said) -> None:
    with pytest.raises(DataFileError, match=said) as raised, reading_table("t.csv"):
        raise error
    assert ("encoding" in str(raised.value)) == (said == "encoding")
