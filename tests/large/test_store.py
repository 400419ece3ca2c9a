"""The format of a graph store: what is written is what is mapped, and nothing else is taken."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

import graphfilter as gf
from graphfilter.data.store import BUILD_FOLDER, HEADER_FILE, read_header
from graphfilter.util.errors import ConfigError, DataFileError, GraphError
from graphfilter.util.records import read_checked_json, write_checked_json


@pytest.fixture
def graph() -> gf.Graph:
    """A graph with everything that a graph can have."""
    return gf.Graph.from_edges(
        [[0, 1], [1, 2], [2, 0], [3, 1]],
        5,
        weights=[1, 2, 0.5, 3],
        features=np.arange(10).reshape(5, 2),
        labels=["b", "a", None, "a", "b"],
        vertex_names=["Ann", "Bob", "Zoë", "", "x\ny"],
        feature_names=["age", "größe"],
        splits=[gf.Split([0], [1], [3]), gf.Split([1, 3], [0], [4], rule="public")],
        directed=True,
        kinds=["call", "mail", "call", "mail"],
        name="people",
    )


def check_equal(a: gf.Graph, b: gf.Graph) -> None:
    assert a.checksum() == b.checksum()
    for name in ("name", "notes", "feature_names", "vertex_names", "splits"):
        assert repr(getattr(a, name)) == repr(getattr(b, name)) or getattr(a, name) == getattr(
            b, name
        )
    assert a.classes.tolist() == b.classes.tolist()
    assert a.classes.dtype == b.classes.dtype
    assert [s.rule for s in a.splits] == [s.rule for s in b.splits]


def test_store_gives_the_graph_that_was_written(graph, tmp_path):
    gf.data.write_store(graph, tmp_path / "store")
    check_equal(gf.open_store(tmp_path / "store"), graph)


def test_store_is_mapped_and_not_copied(graph, tmp_path):
    gf.data.write_store(graph, tmp_path / "store")
    opened = gf.open_store(tmp_path / "store")
    for array in (opened.indptr, opened.indices, opened.weights, opened.features, opened.labels):
        assert isinstance(array, np.ndarray)
        assert isinstance(array.base, np.memmap)
        assert not array.flags.writeable


def test_stored_names_behave_like_the_tuple_they_stand_for(graph, tmp_path):
    gf.data.write_store(graph, tmp_path / "store")
    names = gf.open_store(tmp_path / "store").vertex_names
    assert names is not None
    assert names == graph.vertex_names
    assert names[-1] == "x\ny"
    assert names[1:3] == ("Bob", "Zoë")
    assert names != ("Ann",)
    assert "5 ids" in repr(names)
    with pytest.raises(IndexError):
        names[5]


some_names = st.one_of(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), min_size=1, max_size=8),
    st.lists(st.integers(-(2**60), 2**60), min_size=1, max_size=8),
    st.lists(st.one_of(st.integers(0, 9), st.text("ab"), st.booleans()), min_size=1, max_size=8),
)


@settings(max_examples=40, deadline=None)
@given(names=some_names, data=st.data())
def test_store_round_trip_holds_for_any_graph(names, data, tmp_path_factory):
    n = len(names)
    ends = st.integers(0, n - 1)
    edges = data.draw(st.lists(st.tuples(ends, ends), max_size=12))
    kind = data.draw(st.sampled_from(["none", "dense", "sparse"]))
    dense = np.arange(3 * n, dtype=np.float32).reshape(n, 3) % 4
    labels = data.draw(st.lists(st.sampled_from([0, 3, -1]), min_size=n, max_size=n))
    graph = gf.Graph.from_edges(
        np.array(edges, dtype=np.int64).reshape(-1, 2),
        n,
        features={"none": None, "dense": dense, "sparse": sp.csr_array(dense)}[kind],
        labels=data.draw(st.sampled_from([labels, None, [f"class {v}" for v in labels]])),
        weights=data.draw(st.sampled_from([None, [0.5] * len(edges)])),
        vertex_names=names,
        directed=data.draw(st.booleans()),
    )
    folder = tmp_path_factory.mktemp("store")
    gf.data.write_store(graph, folder)
    opened = gf.open_store(folder)
    check_equal(opened, graph)
    assert [type(a) for a in opened.vertex_names or ()] == [type(a) for a in names]


def test_store_refuses_names_that_are_neither_text_nor_numbers(tmp_path):
    graph = gf.Graph.from_edges([[0, 1]], vertex_names=[("a", 1), "b"])
    with pytest.raises(GraphError, match="ids must be text or numbers"):
        gf.data.write_store(graph, tmp_path / "store")
    with pytest.raises(DataFileError, match=HEADER_FILE):
        gf.open_store(tmp_path / "store")


def test_store_is_not_written_over_other_files(graph, tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(ConfigError, match="not empty"):
        gf.data.write_store(graph, tmp_path)


def test_folder_in_the_place_of_an_array_is_said_before_anything_is_written(graph, tmp_path):
    gf.data.write_store(graph, tmp_path)
    (tmp_path / "labels.bin").unlink()
    (tmp_path / "labels.bin").mkdir()
    with pytest.raises(DataFileError, match="must be a regular file"):
        gf.data.write_store(graph, tmp_path, overwrite=True)
    assert (tmp_path / "store.json").is_file()


@pytest.fixture
def folder(graph, tmp_path) -> Path:
    gf.data.write_store(graph, tmp_path / "store")
    return tmp_path / "store"


@pytest.mark.parametrize("size", [0, 3, 10_000])
def test_array_of_another_length_is_refused_before_it_is_mapped(folder, size):
    path = folder / "indices.bin"
    path.write_bytes(path.read_bytes().ljust(size, b"\0")[:size])
    with pytest.raises(DataFileError, match=r"indices.bin: must have .* bytes, as the header says"):
        gf.open_store(folder)


def test_changed_byte_is_found_by_its_checksum(folder):
    for path in sorted(folder.glob("*.bin")):
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        with pytest.raises(DataFileError, match=f"{path.name}: must be as it was written"):
            gf.open_store(folder)
        content[-1] ^= 1
        path.write_bytes(content)
    gf.open_store(folder)


@pytest.mark.parametrize(
    ("file", "kind", "value", "role"),
    [
        ("indices.bin", np.int32, 5, "indices"),
        ("indices.bin", np.int32, -1, "indices"),
        ("indptr.bin", np.int32, 2**30, "indptr"),
        ("labels.bin", np.int64, 2, "labels"),
        ("names_offsets.bin", np.int64, -7, "names_offsets"),
    ],
)
def test_number_out_of_range_is_found_where_checksums_are_not_compared(
    folder, file, kind, value, role
):
    content = np.fromfile(folder / file, dtype=kind)
    content[2] = value
    content.tofile(folder / file)
    with pytest.raises(DataFileError, match=f"{role} must"):
        gf.open_store(folder, verify=False)


def test_missing_array_is_named(folder):
    (folder / "labels.bin").unlink()
    with pytest.raises(DataFileError, match=r"labels.bin: cannot be read: No such file"):
        gf.open_store(folder)


def test_header_that_was_changed_is_refused(folder):
    text = (folder / HEADER_FILE).read_text()
    (folder / HEADER_FILE).write_text(text.replace('"people"', '"crowd"'))
    with pytest.raises(DataFileError, match=r"checksum says that it was changed\. Build it again"):
        gf.open_store(folder)
    (folder / HEADER_FILE).write_text(text[:100])
    with pytest.raises(DataFileError, match="not readable as JSON"):
        gf.open_store(folder)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"n_vertices": 4}, "must have the shape"),
        ({"n_vertices": "five"}, "must describe a graph store"),
        ({"classes": ["only"]}, "labels must lie"),
        ({"classes_type": "U1,O"}, "do not fit together"),
        ({"kinds": ["call", "call"]}, "edge types"),
        ({"split_sizes": [[9, 9, 9], [1, 1, 1]]}, "do not fit together"),
        ({"arrays": {}}, "indptr must have"),
    ],
)
def test_header_that_does_not_fit_its_arrays_is_refused(folder, change, problem):
    content = read_checked_json(folder / HEADER_FILE) | change
    write_checked_json(folder / HEADER_FILE, content)
    with pytest.raises(DataFileError, match=problem):
        gf.open_store(folder)


@pytest.mark.parametrize("role", ["features", "labels"])
def test_store_whose_header_promises_an_array_that_it_does_not_name_is_refused(folder, role):
    content = read_checked_json(folder / HEADER_FILE)
    del content["arrays"][role]
    write_checked_json(folder / HEADER_FILE, content)
    with pytest.raises(DataFileError, match=f"{role} must be there"):
        gf.open_store(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"file": "../secret.bin"},
        {"file": "/etc/passwd"},
        {"dtype": "|O"},
        {"dtype": "<U4"},
        {"shape": [-1]},
        {"shape": [2**62, 2**62]},
        {"shape": []},
    ],
)
def test_header_cannot_ask_for_other_files_or_for_objects(folder, change):
    content = read_checked_json(folder / HEADER_FILE)
    content["arrays"]["indices"] |= change
    write_checked_json(folder / HEADER_FILE, content)
    with pytest.raises(DataFileError):
        gf.open_store(folder)


@pytest.mark.parametrize(
    ("found", "said"),
    [(99, r"this one is of format 99, of 7\.1\. Install"), (0, "Build it again"), ("x", "'x'")],
)
def test_store_of_another_version_says_which(folder, found, said):
    content = read_checked_json(folder / HEADER_FILE)
    content |= {"format": found, "made_by": "7.1", "new_field": [1]}
    write_checked_json(folder / HEADER_FILE, content)
    with pytest.raises(DataFileError, match=said):
        gf.open_store(folder)


def test_fields_of_a_later_version_of_the_same_format_are_ignored(folder, graph):
    content = read_checked_json(folder / HEADER_FILE) | {"new_field": {"a": 1}}
    write_checked_json(folder / HEADER_FILE, content)
    check_equal(gf.open_store(folder), graph)


def test_other_folders_are_no_stores(tmp_path):
    with pytest.raises(DataFileError, match="no such folder"):
        gf.open_store(tmp_path / "nowhere")
    with pytest.raises(DataFileError, match=r"it has no store\.json"):
        gf.open_store(tmp_path)
    (tmp_path / BUILD_FOLDER).mkdir()
    with pytest.raises(DataFileError, match="unfinished store"):
        gf.open_store(tmp_path)
    (tmp_path / HEADER_FILE).write_text(json.dumps([1]))
    with pytest.raises(DataFileError, match="must hold a JSON object"):
        read_header(tmp_path)


def sign_again(folder: Path, file: str, content: bytes) -> None:
    """Change a file of a store and its header, as no accident would."""
    (folder / file).write_bytes(content)
    header = read_checked_json(folder / HEADER_FILE)
    for stored in header["arrays"].values():
        if stored["file"] == file:
            stored["sha256"] = hashlib.sha256(content).hexdigest()
    write_checked_json(folder / HEADER_FILE, header)


@pytest.mark.parametrize(
    ("file", "put", "problem"),
    [
        ("names_bytes.bin", b"\xff", "ids must be readable"),
        ("features.bin", np.float32(np.nan).tobytes(), "features must be finite"),
        ("features.bin", np.float32(np.inf).tobytes(), "features must be finite"),
        ("weights.bin", np.float32(np.nan).tobytes(), "weights must be finite"),
        ("weights.bin", np.float32(-1).tobytes(), "weights must not be negative"),
    ],
)
def test_values_are_checked_when_a_store_is_opened(folder, file, put, problem):
    content = (folder / file).read_bytes()
    sign_again(folder, file, put + content[len(put) :])
    with pytest.raises(DataFileError, match=problem):
        gf.open_store(folder)


@pytest.mark.parametrize("name", [b'"\\ud800"', b"[1, 2]   ", b"oh, what", b"{}      "])
def test_ids_that_are_no_json_of_text_or_numbers_are_refused(name, tmp_path):
    graph = gf.Graph.from_edges([[0, 1]], 2, vertex_names=["abcdef", 1])
    gf.data.write_store(graph, tmp_path / "store")
    sign_again(tmp_path / "store", "names_bytes.bin", name[:8].ljust(8) + b"1")
    with pytest.raises(DataFileError, match="ids must be"):
        gf.open_store(tmp_path / "store")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"n_features": 5 * 10**8}, "500,000,000 features are too many for 4 values"),
        ({"n_features": 10**400}, "do not fit together"),
        ({"feature_names": ["a"]}, "1 names for 4 features"),
        ({"classes": ["a", "a"]}, "each class must be named once"),
    ],
)
def test_header_that_asks_for_much_is_refused(change, problem, tmp_path):
    graph = gf.Graph.from_edges([[0, 1]], 4, features=sp.csr_array(np.eye(4)), labels=[0, 1, 0, 1])
    gf.data.write_store(graph, tmp_path / "store")
    header = read_checked_json(tmp_path / "store" / HEADER_FILE)
    write_checked_json(tmp_path / "store" / HEADER_FILE, header | change)
    with pytest.raises(DataFileError, match=problem):
        gf.open_store(tmp_path / "store")
