"""Graphs in files: what is read comes back as it was, what is damaged is an error in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st
from tests.samples import assert_same_data, assert_same_split, dense

from graphfilter import SGFClassifier
from graphfilter.data import (
    read_edge_list,
    read_graph,
    read_networkx,
    read_npz,
    read_tables,
    write_npz,
    write_tables,
)
from graphfilter.data.attributes import check_sparse
from graphfilter.data.graph import Graph
from graphfilter.splits import Split
from graphfilter.util.errors import ConfigError, DataFileError, GraphError

ROUGH = np.random.default_rng(4).random((12, 12))
PARTS = ("train", "val", "test")


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    n = draw(st.integers(1, 8))
    vertex = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(vertex, vertex), max_size=12))
    number = st.floats(-1e3, 1e3, width=32)
    features = draw(
        st.none() | st.lists(st.lists(number, min_size=2, max_size=2), min_size=n, max_size=n)
    )
    if features is not None and draw(st.booleans()):
        features = sp.csr_array(np.array(features))
    label = st.sampled_from(draw(st.sampled_from([["a", "ü", None], [0, 3, -1], [0.5, 2.0]])))
    labels = draw(st.none() | st.lists(label, min_size=n, max_size=n))
    weight = st.floats(0, 10, width=32)
    weights = st.lists(weight, min_size=len(edges), max_size=len(edges))
    rules = draw(st.lists(st.sampled_from(["fixed", "stratified 0.6/0.2/0.2", "public", "sgf"])))
    names = draw(st.none() | st.permutations([f"v{i}" for i in range(n)]))
    order = draw(st.permutations(range(n)))
    cut, end = sorted(draw(st.tuples(st.integers(0, n), st.integers(0, n))))
    splits = [
        Split(*(np.array(p, int) for p in (order[:cut], order[cut:end], order[end:])), rule=rule)
        for rule in rules
    ]
    return Graph.from_edges(
        np.array(edges, dtype=int).reshape(-1, 2),
        n,
        features=features,
        labels=labels,
        weights=draw(st.none() | weights),
        vertex_names=names,
        feature_names=None if features is None else ["a", "b"],
        splits=splits,
        name=draw(st.sampled_from(["graph", "ü"])),
    )


@settings(max_examples=120, deadline=None)
@given(graph=graphs())
def test_npz_gives_back_what_was_written(tmp_path_factory, graph):
    path = tmp_path_factory.mktemp("npz") / "any.npz"
    write_npz(graph, path)
    got = read_npz(path)
    assert repr(got) == repr(graph)
    for name in ("indptr", "indices", "weights", "labels", "classes"):
        expected = getattr(graph, name)
        np.testing.assert_array_equal(getattr(got, name), expected)
        assert expected is None or getattr(got, name).dtype == expected.dtype
    assert (got.features is None) == (graph.features is None)
    assert sp.issparse(got.features) == sp.issparse(graph.features)
    if graph.features is not None:
        np.testing.assert_array_equal(dense(got), dense(graph))
    assert (got.vertex_names, got.feature_names) == (graph.vertex_names, graph.feature_names)
    assert got.notes == graph.notes
    for a, b in zip(got.splits, graph.splits, strict=True):
        assert_same_split(a, b)


def test_npz_of_datasets_names_single_splits_by_their_keys(tmp_path: Path) -> None:
    masks = dict(zip(("train", "val", "test"), np.eye(3, dtype=bool), strict=True))
    keys: dict[str, Any] = {
        f"{rule}_{part}": mask for rule in ("sgf", "public") for part, mask in masks.items()
    }
    np.savez(tmp_path / "old.npz", edges=np.array([[0, 1], [1, 2]]), **keys)
    splits = read_npz(tmp_path / "old.npz").splits
    assert [split.rule for split in splits] == ["public", "sgf"]
    assert [split.part_of(3).tolist() for split in splits] == [["train", "val", "test"]] * 2


@pytest.mark.parametrize("weights", [None, [1, 2, 3, 0.5]])
def test_npz_and_tables_keep_directions(tmp_path, weights):
    arcs = [[0, 1], [1, 2], [2, 1], [3, 0]]
    graph = Graph.from_edges(arcs, 5, weights=weights, directed=True, labels=[0, 1, 0, 1, 0])
    write_npz(graph, tmp_path / "g.npz")
    assert read_npz(tmp_path / "g.npz").checksum() == graph.checksum()
    assert read_graph(tmp_path / "g.npz", directed=True).directed
    edges, vertices = write_tables(graph, tmp_path)
    again, _ = read_tables(edges, vertices, directed=True)
    assert np.array_equal(again.out_links().toarray(), graph.out_links().toarray())
    assert not read_tables(edges, vertices)[0].directed


def test_directions_are_read_from_every_format_that_has_them(tmp_path):
    arcs = [[0, 1], [1, 2], [2, 1], [3, 0]]
    (tmp_path / "g.edges").write_text("".join(f"{u} {v}\n" for u, v in arcs))
    nx.write_graphml(nx.DiGraph((u, v) for u, v in arcs), tmp_path / "g.graphml")
    expected = np.zeros((4, 4))
    expected[tuple(np.transpose(arcs))] = 1
    for name in ("g.edges", "g.graphml"):
        graph = read_graph(tmp_path / name, directed=True)
        assert np.array_equal(graph.out_links().toarray(), expected), name
        assert not read_graph(tmp_path / name).directed


def test_directions_that_a_file_does_not_hold_are_refused(tmp_path):
    nx.write_graphml(nx.path_graph(3), tmp_path / "g.graphml")
    write_npz(Graph.from_edges([[0, 1]]), tmp_path / "g.npz")
    for name in ("g.graphml", "g.npz"):
        with pytest.raises(DataFileError, match=r"[Ll]eave out"):
            read_graph(tmp_path / name, directed=True)


def test_npz_reads_its_own_writing_of_real_datasets(data_folder, tmp_path):
    for path in (data_folder / "citeseer.npz", data_folder / "photo.npz"):
        graph = read_npz(path)
        write_npz(graph, tmp_path / path.name)
        again = read_npz(tmp_path / path.name)
        assert_same_data(again, graph)
        assert again.notes == graph.notes
        for a, b in zip(again.splits, graph.splits, strict=True):
            assert_same_split(a, b)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"edges": np.array([[0, 9]])}, "names vertex 9"),
        ({"edges": np.array([[0.5, 1]])}, "whole numbers"),
        ({"edges": np.array([[0, -1]])}, "negative"),
        ({"y": np.array([0, 1, 7])}, "0..2"),
        ({"y": np.array([0, 1, -2])}, "must lie in"),
        ({"y": np.array([0, 1])}, "3 entries"),
        ({"y": np.array([0.0, 1.0, 1.0])}, "whole number"),
        ({"classes": np.array(["a"])}, "0..0"),
        ({"classes": np.array(["a", "a"])}, "different"),
        ({"x_indices": np.array([0, 5])}, "indices must lie in"),
        ({"x_indptr": np.array([0, 2, 1, 2])}, "does not rise"),
        ({"x_indptr": np.array([0, 1, 2])}, "fit its shape"),
        ({"x_shape": np.array([3, 1 << 40])}, "empty columns"),
        ({"x_shape": None}, "x_shape"),
        ({"x_data": np.array([1.0, np.nan])}, "finite"),
        ({"train_masks": np.ones((1, 3), bool)}, "disjoint"),
        ({"train_masks": np.ones((1, 4), bool)}, "one column per vertex"),
        ({"train_masks": np.ones((2, 3), bool)}, "as many"),
        ({"train_masks": np.ones((1, 3))}, "boolean"),
        ({"val_masks": None}, "missing"),
        ({"split_rules": np.array(["a", "b"])}, "one rule per split"),
        ({"weights": np.array([-1.0])}, "negative"),
        ({"vertex_names": np.array(["a"])}, "3 entries"),
        ({"unlabelled": np.array([True])}, "unlabelled"),
        ({"edges": np.array([[0, {}]], dtype=object)}, "pickle"),
        ({"edges": None}, "'edges'"),
        ({"edges": np.array([["a", "b"]])}, "whole numbers"),
        ({"edges": np.array(3)}, r"shape \(\) of int64"),
        ({"y": np.array("a")}, r"shape \(\)"),
        ({"y": np.array(["a", "b", "c"])}, "whole number per vertex"),
        ({"y": np.array(1)}, r"shape \(\)"),
        ({"weights": np.array("1.5")}, "'weights' must be numbers"),
        ({"weights": np.array(["1.5"])}, "'weights' must be numbers"),
        ({"weights": np.array(1.5)}, "one number per edge"),
        ({"x": np.array(1.5)}, r"table \(n, d\)"),
        ({"x": np.array([["a"]])}, "'x' must be numbers"),
        ({"x_data": np.array(["a", "b"])}, "must be numbers"),
        ({"x_shape": np.array(3)}, "two whole numbers"),
        ({"train_masks": np.array(True)}, "boolean of shape"),
        ({"public_train": np.array(True)}, "one is missing"),
        ({"unlabelled": np.array(True)}, "unlabelled"),
        ({"name": np.array(["a", "b"])}, "one text"),
        ({"name": np.array(3)}, "one text"),
        ({"name": np.array("a\ud800")}, r"valid text; got 'a\\ud800'"),
        ({"classes": np.array(["a", "\udfff"])}, "valid text"),
        ({"vertex_names": np.array(["a", "b", "\ud800"])}, "valid text"),
        ({"notes": np.array(["\ud800"])}, "valid text"),
        ({"notes": np.array("note")}, "list of names"),
        ({"directed": np.array([True])}, "'directed' must be one boolean"),
        ({"kinds": np.array(["a"])}, r"'kind_weights' of shape \(1, 1\)"),
        ({"kind_weights": np.ones((1, 1))}, "'kinds' must be different names"),
        ({"kinds": np.array(["a"]), "kind_weights": np.ones((2, 1))}, r"of shape \(1, 1\)"),
        ({"kinds": np.array(["a", "a"]), "kind_weights": np.ones((2, 1))}, "different names"),
        ({"kinds": np.array(["a"]), "kind_weights": -np.ones((1, 1))}, "not be negative"),
        ({"kinds": np.array(["a"]), "kind_weights": np.full((1, 1), np.nan)}, "finite"),
    ],
)
def test_npz_refuses_parts_that_do_not_fit(tmp_path, changes, match):
    arrays = {
        "edges": np.array([[0, 1]]),
        "x_data": np.ones(2),
        "x_indices": np.array([0, 1]),
        "x_indptr": np.array([0, 1, 1, 2]),
        "x_shape": np.array([3, 2]),
        "y": np.array([0, 1, 1]),
        **{f"{part}_masks": np.eye(3, dtype=bool)[i][None] for i, part in enumerate(PARTS)},
    }
    path = tmp_path / "bad.npz"
    np.savez(path, **arrays)  # pyright: ignore
    assert read_npz(path).n_features == 2
    np.savez(path, **{k: v for k, v in (arrays | changes).items() if v is not None})  # pyright: ignore
    with pytest.raises(DataFileError, match=match) as caught:
        read_npz(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("dtype", [np.float16, np.longdouble, np.int8, bool])
def test_npz_takes_features_of_any_number_type(tmp_path, dtype):
    x = np.eye(2).astype(dtype)
    dense_path, sparse_path = tmp_path / "dense.npz", tmp_path / "sparse.npz"
    np.savez(dense_path, edges=np.array([[0, 1]]), x=x)
    parts = {"x_data": np.ones(2, dtype), "x_indices": np.arange(2), "x_indptr": np.arange(3)}
    np.savez(sparse_path, edges=np.array([[0, 1]]), x_shape=np.array([2, 2]), **parts)
    for path in (dense_path, sparse_path):
        graph = read_npz(path)
        np.testing.assert_array_equal(dense(graph), np.eye(2, dtype=np.float32))
        assert dense(graph).dtype == np.float32


def test_write_npz_refuses_names_that_cannot_be_written(tmp_path):
    graph = Graph.from_edges([[0, 1]], vertex_names=["a", "\ud800"])
    with pytest.raises(GraphError, match="valid text"):
        write_npz(graph, tmp_path / "graph.npz")
    assert not list(tmp_path.iterdir())


def test_write_npz_leaves_nothing_when_it_fails(tmp_path, monkeypatch):
    graph = Graph.from_edges([[0, 1]])
    path = tmp_path / "graph.npz"
    write_npz(graph, path)
    before = path.read_bytes()

    def fail(stream, **_):
        stream.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(DataFileError, match="No space left"):
        write_npz(graph.replace(name="other"), path)
    assert [p.name for p in tmp_path.iterdir()] == ["graph.npz"]
    assert path.read_bytes() == before
    with pytest.raises(DataFileError, match="folder that exists"):
        write_npz(graph, tmp_path / "nowhere" / "graph.npz")
    with pytest.raises(GraphError, match="all strings or all numbers"):
        write_npz(graph.replace(vertex_names=["a", 1]), path)


def test_edge_list_numbers_names_and_reads_weights(tmp_path):
    path = tmp_path / "any.txt"
    path.write_text("# a comment\n\nb, a, 0.5\nc;b;2\n")
    graph = read_edge_list(path)
    assert graph.vertex_names == ("a", "b", "c")
    np.testing.assert_array_equal(graph.edges, [[0, 1], [1, 2]])
    np.testing.assert_array_equal(graph.edge_weights, [0.5, 2])
    path.write_text("10 2\n2\t700000000000\n")
    graph = read_edge_list(path)
    assert graph.vertex_names == (2, 10, 700000000000)


@pytest.mark.parametrize(
    ("text", "line", "match"),
    [("1 2\n1\n", 2, "2 fields"), ("1 2 x\n", 1, "number"), ("1 2 3 4\n", 1, "2 or 3")],
)
def test_edge_list_names_the_line_that_is_wrong(tmp_path, text, line, match):
    path = tmp_path / "bad.edges"
    path.write_text(text)
    with pytest.raises(DataFileError, match=match) as caught:
        read_edge_list(path)
    assert caught.value.line == line


def test_matrix_market_names_what_reads_it(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match=r"Graph\.from_scipy\(scipy\.io\.mmread\(path\)\)"):
        read_graph(tmp_path / "g.mtx")


GRAPHML = """<?xml version="1.0" encoding="utf-8"?>{doctype}
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="k" for="node" attr.name="club" attr.type="string"/>
<key id="a" for="node" attr.name="age" attr.type="int"/>
<key id="w" for="edge" attr.name="weight" attr.type="double"/>
<key id="t" for="node" attr.name="title" attr.type="string"/>
<graph edgedefault="directed">
<node id="n0"><data key="k">{text}</data><data key="a">3</data><data key="t">x</data></node>
<node id="n1"><data key="a">4</data></node>
<edge source="n1" target="n0"><data key="w">2.5</data></edge>
</graph></graphml>"""


def test_graphml_attributes_become_labels_and_features(tmp_path):
    path = tmp_path / "any.graphml"
    path.write_text(GRAPHML.format(doctype="", text="red"))
    graph = read_networkx(path, label="club")
    assert graph.vertex_names == ("n0", "n1")
    assert graph.classes.tolist() == ["red"]
    assert graph.labels.tolist() == [0, -1]  # pyright: ignore
    assert graph.feature_names == ("age",)
    np.testing.assert_array_equal(graph.features, [[3], [4]])
    np.testing.assert_array_equal(graph.edge_weights, [2.5])
    assert "Vertex attribute 'title' left out: not a number everywhere." in graph.notes


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_graphml_with_entities_is_refused(tmp_path, encoding):
    laughs = '<!DOCTYPE graphml [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    text = GRAPHML.format(doctype=laughs, text="&b;").replace("utf-8", encoding)
    path = tmp_path / "bomb.graphml"
    path.write_bytes(text.encode(encoding))
    with pytest.raises(DataFileError, match="DOCTYPE" if encoding == "utf-8" else "UTF-8"):
        read_networkx(path)


def test_gml_with_lone_surrogates_is_refused(tmp_path):
    path = tmp_path / "g.gml"
    path.write_text('graph [ node [ id 0 label "a&#55296;" ] node [ id 1 label "b" ] ]')
    with pytest.raises(DataFileError, match="valid text"):
        read_networkx(path)


def test_read_graph_chooses_by_suffix(tmp_path):
    graph = Graph.from_edges([[0, 1], [1, 2]])
    write_npz(graph, tmp_path / "a.npz")
    (tmp_path / "a.edges").write_text("0 1\n1 2\n")
    for suffix in ("npz", "edges"):
        got = read_graph(tmp_path / f"a.{suffix}")
        np.testing.assert_array_equal(got.edges, graph.edges)
    with pytest.raises(ConfigError, match=r"did you mean '\.npz'"):
        read_graph(Path("a.npy"))


def test_path_that_leads_nowhere_is_said_to() -> None:
    with pytest.raises(DataFileError, match="no such file or graph store"):
        read_graph("nowhere")


def test_arrays_that_no_graph_file_has_are_named(tmp_path: Path) -> None:
    edges = np.array([[0, 1], [1, 2]])
    np.savez(tmp_path / "g.npz", edges=edges, label=np.array([0, 1, 0]), feature=np.eye(3))
    (note,) = read_npz(tmp_path / "g.npz").notes
    assert note.startswith("2 arrays are ignored")
    assert note.endswith("'feature', 'label'.")
    write_npz(read_npz(tmp_path / "g.npz").replace(notes=()), tmp_path / "g.npz")
    assert read_npz(tmp_path / "g.npz").notes == ()


N = 6
RING = sp.csr_array(np.roll(np.eye(N), 1, axis=1) + np.roll(np.eye(N), -1, axis=1))


def out_of_range(matrix: sp.csr_array) -> None:
    matrix.indices[3] = 10**6


def negative(matrix: sp.csr_array) -> None:
    matrix.indices[3] = -5


def falling(matrix: sp.csr_array) -> None:
    matrix.indptr[2] = 100


def not_from_zero(matrix: sp.csr_array) -> None:
    matrix.indptr[0] = 1


def too_long(matrix: sp.csr_array) -> None:
    matrix.indptr[-1] = 10**8


def few_indices(matrix: sp.csr_array) -> None:
    matrix.indices = matrix.indices[:-3]


def few_values(matrix: sp.csr_array) -> None:
    matrix.data = matrix.data[:-3]


def few_rows(matrix: sp.csr_array) -> None:
    matrix.indptr = matrix.indptr[:-2]


def broken_numbers(matrix: sp.csr_array) -> None:
    matrix.indices = matrix.indices.astype(float)


DAMAGES: list[Callable[[sp.csr_array], None]] = [
    out_of_range, negative, falling, not_from_zero, too_long, few_indices, few_values, few_rows,
    broken_numbers,
]  # fmt: skip
damages = pytest.mark.parametrize("damage", DAMAGES)
compressed = pytest.mark.parametrize("form", ["csr", "csc", "bsr"])


def damaged(damage: Callable[[sp.csr_array], None], form: str = "csr") -> sp.csr_array:
    matrix = RING.copy().asformat(form)
    damage(matrix)
    return matrix


@damages
@compressed
def test_damaged_matrix_makes_no_graph_and_no_features(damage, form: str) -> None:
    matrix = damaged(damage, form)
    with pytest.raises(GraphError, match="valid scipy sparse matrix"):
        Graph.from_scipy(matrix)
    with pytest.raises(GraphError, match="valid scipy sparse matrix"):
        Graph.from_edges([[0, 1]], n_vertices=N, features=matrix)


@damages
@compressed
def test_estimator_refuses_damaged_matrices(damage, form: str) -> None:
    matrix, labels = damaged(damage, form), [0, 1] * (N // 2)
    with pytest.raises(GraphError, match="valid scipy sparse matrix"):
        SGFClassifier().fit(matrix, labels, graph=[[0, 1]])
    with pytest.raises(GraphError, match="valid scipy sparse matrix"):
        SGFClassifier().fit(np.eye(N), labels, graph=matrix)


@pytest.mark.parametrize(("row", "column"), [(N, 0), (0, N), (-1, 0), (0, -1), (2**40, 0)])
def test_damaged_coordinates_are_refused(row: int, column: int) -> None:
    matrix = sp.coo_array(RING)
    matrix.coords = tuple(index.astype(np.int64) for index in matrix.coords)
    matrix.coords[0][0], matrix.coords[1][0] = row, column
    with pytest.raises(GraphError, match=rf"must lie in 0\.\.{N - 1}"):
        Graph.from_scipy(matrix)


def test_damaged_lists_are_refused() -> None:
    matrix = sp.lil_array(RING)
    matrix.rows[0][0] = 10**9
    with pytest.raises(GraphError, match="must lie in"):
        Graph.from_scipy(matrix)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "lil", "dok", "dia"])
def test_sound_matrix_passes_in_every_form_and_is_left_as_it_was(form: str) -> None:
    matrix = RING.asformat(form)
    check_sparse(matrix, "a matrix")
    np.testing.assert_array_equal(matrix.toarray(), RING.toarray())
    assert Graph.from_scipy(matrix).n_edges == N
    check_sparse(sp.csr_array((0, 3)).asformat(form), "a matrix")


def test_room_after_the_last_entry_is_refused_until_it_is_pruned() -> None:
    """scipy allows it, and reads it."""
    roomy = RING.copy()
    roomy.indices = np.append(roomy.indices, [10**6, -1]).astype(roomy.indices.dtype)
    roomy.data = np.append(roomy.data, [np.nan, np.nan])
    with pytest.raises(GraphError, match=r"\.prune\(\)"):
        Graph.from_scipy(roomy)
    roomy.prune()
    assert Graph.from_scipy(roomy).n_edges == N


def test_what_is_not_sparse_passes() -> None:
    check_sparse([[1, 2]], "a list")
    check_sparse(None, "nothing")
