"""Datasets by name: where they are found, how they are fetched, and what is checked."""

from __future__ import annotations

import hashlib
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from graphfilter.data import datasets as registry, write_npz
from graphfilter.data.graph import Graph
from graphfilter.util.errors import ConfigError, DataFileError
from graphfilter_research.datasets import catalogue, readers
from graphfilter_research.datasets.catalogue import Dataset, RemoteFile
from graphfilter_research.datasets.registry import add_directions

ON_DISK = [e for e in catalogue.DATASETS.values() if e.file is not None and e.base is None]
DIRECTED = [e for e in catalogue.DATASETS.values() if e.base is not None]


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache and a place for temporary files of the test's own; gives the cache."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("GRAPHFILTER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GRAPHFILTER_DATA", raising=False)
    monkeypatch.setenv("NO_PROXY", "*")
    return tmp_path / "cache"


def assert_nothing_left(cache: Path) -> None:
    assert [p for p in cache.rglob("*") if p.is_file()] == []
    assert list(Path(tempfile.gettempdir()).iterdir()) == []


class Server:
    """Serves a table of contents; a content of None breaks off after half of what it promised."""

    def __init__(self) -> None:
        self.files: dict[str, bytes | None] = {}
        files = self.files

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path not in files:
                    self.send_error(404)
                    return
                content = files[self.path]
                self.send_response(200)
                self.send_header("Content-Length", str(len(content) if content else 2000))
                self.end_headers()
                self.wfile.write(content if content is not None else b"x" * 1000)

            def log_message(self, format: str, *args: object) -> None:
                """Stay quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.server.shutdown()
    server.server.server_close()


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    """A small dataset in the format of heterophilous-graphs."""
    masks = np.eye(3, dtype=bool)[:, None]
    path = tmp_path / "original.npz"
    np.savez(
        path,
        node_features=np.eye(3),
        node_labels=np.array([0, 1, 1]),
        edges=np.array([[0, 1], [1, 2]]),
        train_masks=masks[0],
        val_masks=masks[1],
        test_masks=masks[2],
    )
    return path.read_bytes()


@pytest.fixture
def tiny(server: Server, content: bytes, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """The catalogue's entry for that dataset."""
    server.files["/tiny.npz"] = content
    digest = hashlib.sha256(content).hexdigest()
    entry = Dataset(
        name="tiny",
        summary="",
        source="",
        version="",
        licence="",
        reader="heterophilous",
        counts=(3, 2, 3, 2),
        originals=(RemoteFile(f"{server.url}/tiny.npz", "tiny.npz", digest),),
        file="tiny.npz",
    )
    monkeypatch.setitem(catalogue.DATASETS, "tiny", entry)
    return entry


@pytest.mark.parametrize("entry", ON_DISK, ids=lambda e: e.name)
def test_load_dataset_reads_every_file_with_its_counts(data_folder, places, entry):
    graph = registry.load_dataset(entry.name, folder=data_folder)
    got = (graph.n_vertices, graph.n_edges, graph.n_features, graph.n_classes)
    assert got == entry.counts
    assert graph.name == entry.name
    assert not places.exists()
    if "public" in entry.splits:
        assert [split.rule for split in graph.splits] == ["fixed"] * 10 + ["public"]


@pytest.mark.parametrize("entry", DIRECTED, ids=lambda e: e.name)
def test_directed_dataset_is_its_base_with_directions(data_folder, entry):
    if not (data_folder / entry.file).is_file():
        pytest.skip(f"{entry.file} is not at hand")
    graph = registry.load_dataset(entry.name, folder=data_folder)
    base = registry.load_dataset(entry.base, folder=data_folder)
    assert graph.name == entry.name
    assert graph.directed
    assert not base.directed
    assert replace(graph, arcs=None).checksum() == base.checksum()
    links = graph.out_links()
    assert (links.maximum(links.T) != base.adjacency).nnz == 0
    assert base.n_edges < links.nnz < 2 * base.n_edges


def test_directions_of_another_graph_are_refused(data_folder, tmp_path):
    (tmp_path / "out1_graph_edges.txt").write_text("node_id\tnode_id\n0\t1\n")
    texas = registry.load_dataset("texas", folder=data_folder)
    with pytest.raises(DataFileError, match="1 edges must be the 279 of texas"):
        add_directions(texas, tmp_path / "out1_graph_edges.txt")
    wrong = data_folder / "raw" / "gnn-benchmark" / "cora.npz"
    with pytest.raises(DataFileError, match="vertices must be those of texas"):
        add_directions(texas, wrong)


def test_directions_are_matched_by_features_where_the_order_differs(data_folder):
    graph = registry.load_dataset("cora_directed", folder=data_folder)
    source = readers.read_gnn_benchmark(data_folder / "raw/gnn-benchmark/cora.npz", directed=True)
    # How often one class cites another is one whatever the numbers of vertices and classes.
    tables = []
    for g in (graph, source):
        links = g.out_links().tocoo()
        assert g.labels is not None
        pairs = np.stack([g.labels[links.row], g.labels[links.col]])
        tables.append(np.sort(np.unique(pairs, axis=1, return_counts=True)[1]))
    assert np.array_equal(*tables)


def test_catalogue_counts_equal_the_table_that_comes_with_the_data(data_folder):
    counts = {}
    for line in (data_folder / "README.md").read_text().splitlines():
        cells = [cell.strip(" `") for cell in line.split("|")[1:-1]]
        if len(cells) == 10 and cells[1].isdigit():
            counts[cells[0]] = tuple(int(cells[i]) for i in (1, 2, 3, 5))
    assert len(counts) >= 17
    for file, expected in counts.items():
        [entry] = [e for e in ON_DISK if e.file == f"{file}.npz" and not e.largest_component]
        assert entry.counts == expected, entry.name


@pytest.mark.parametrize("name", ["digits", "karate", "csbm", "bipartite"])
def test_load_dataset_makes_embedded_graphs_without_files(places, name):
    graph = registry.load_dataset(name)
    assert graph.name == name
    assert graph.n_classes >= 2
    assert registry.locate(name) is None
    assert not places.exists()


@pytest.mark.parametrize("name", ["ogbn-arxiv", "ogbn-products", "ogbn-papers100M"])
def test_load_dataset_says_how_to_build_a_store_of_ogb(places, name):
    with pytest.raises(ConfigError, match=rf"unpack.*\.zip.*graphfilter store FOLDER .*{name}"):
        registry.load_dataset(name)


def test_describe_knows_aliases_and_suggests_the_nearest_name():
    assert registry.describe("amazon_photo").name == "photo"
    with pytest.raises(ConfigError, match="did you mean 'cora'"):
        registry.load_dataset("coar")
    assert registry.dataset_names() == sorted([*catalogue.DATASETS, *registry.MADE])


def test_catalogue_names_and_aliases_are_unique():
    aliases = [a for e in catalogue.DATASETS.values() for a in e.aliases]
    assert len(set(aliases)) == len(aliases)
    assert not set(aliases) & set(catalogue.DATASETS)
    assert all(entry.name == name for name, entry in catalogue.DATASETS.items())


def test_catalogue_checksums_equal_those_of_the_genuine_files(data_folder):
    raw = {path.name: path for path in (data_folder / "raw").rglob("*") if path.is_file()}
    raw |= {f"{p.parent.name}/{p.name}": p for p in (data_folder / "raw").rglob("*.*")}
    files = {f.path: f.sha256 for e in ON_DISK for f in e.originals if f.sha256}
    assert len(files) >= 30
    for path, expected in files.items():
        assert hashlib.sha256(raw[path].read_bytes()).hexdigest() == expected, path


def test_locate_looks_in_folder_then_data_then_cache(tmp_path, places, monkeypatch, tiny):
    folders = [tmp_path / name for name in ("given", "data")] + [places]
    monkeypatch.setenv("GRAPHFILTER_DATA", str(folders[1]))
    assert registry.locate("tiny", folder=folders[0]) is None
    for folder in reversed(folders):
        folder.mkdir()
        (folder / "tiny.npz").write_bytes(b"")
        assert registry.locate("tiny", folder=folders[0]) == folder / "tiny.npz"


def test_download_builds_once_and_reports_progress(server, places, tiny, content):
    seen: list[tuple[str, int, int]] = []
    graph = registry.load_dataset("tiny", progress=lambda *numbers: seen.append(numbers))
    np.testing.assert_array_equal(graph.edges, [[0, 1], [1, 2]])
    assert seen[-1] == ("tiny.npz", len(content), len(content))
    assert [p.name for p in places.iterdir()] == ["tiny.npz"]
    server.files.clear()
    again = registry.load_dataset("tiny")
    np.testing.assert_array_equal(again.indices, graph.indices)
    assert list(Path(tempfile.gettempdir()).iterdir()) == []


def test_download_prints_nothing(tiny, capfd):
    registry.load_dataset("tiny")
    assert capfd.readouterr() == ("", "")


def test_download_with_the_wrong_checksum_is_refused(server, places, tiny, content):
    server.files["/tiny.npz"] = content + b"\0"
    with pytest.raises(DataFileError, match="not the expected file"):
        registry.load_dataset("tiny")
    assert_nothing_left(places)


def test_download_broken_halfway_leaves_nothing(server, places, tiny, monkeypatch):
    unknown = replace(tiny, originals=(replace(tiny.originals[0], sha256=None),))
    monkeypatch.setitem(catalogue.DATASETS, "tiny", unknown)
    server.files["/tiny.npz"] = None
    with pytest.raises(DataFileError, match="cannot be downloaded"):
        registry.load_dataset("tiny")
    assert_nothing_left(places)


def test_download_of_a_missing_file_says_what_to_put_where(server, places, tiny):
    server.files.clear()
    with pytest.raises(DataFileError, match="404") as caught:
        registry.load_dataset("tiny")
    assert str(places / "tiny.npz") in str(caught.value)
    assert "GRAPHFILTER_DATA" in str(caught.value)
    assert_nothing_left(places)


def test_download_without_a_network_says_what_to_put_where(places, tiny, monkeypatch):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/tiny.npz"
        offline = replace(tiny, originals=(replace(tiny.originals[0], url=url),))
        monkeypatch.setitem(catalogue.DATASETS, "tiny", offline)
        with pytest.raises(DataFileError, match="cannot be downloaded") as caught:
            registry.load_dataset("tiny")
    assert str(places / "tiny.npz") in str(caught.value)
    assert_nothing_left(places)


def test_download_with_other_counts_is_not_kept(places, tiny, monkeypatch):
    monkeypatch.setitem(catalogue.DATASETS, "tiny", replace(tiny, counts=(3, 9, 3, 2)))
    with pytest.raises(DataFileError, match=r"\(3, 9, 3, 2\); got \(3, 2, 3, 2\)"):
        registry.load_dataset("tiny")
    assert_nothing_left(places)


def test_download_into_a_cache_that_cannot_be_made_says_so(tmp_path, tiny, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GRAPHFILTER_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(DataFileError, match="Set GRAPHFILTER_CACHE"):
        registry.load_dataset("tiny")


def test_load_dataset_refuses_a_file_with_another_checksum(tmp_path):
    write_npz(Graph.from_edges([[0, 1]]), tmp_path / "cora.npz")
    with pytest.raises(DataFileError, match="not the cora that is known") as caught:
        registry.load_dataset("cora", folder=tmp_path)
    assert "read_npz" in str(caught.value)


def test_load_dataset_checks_the_counts_of_a_cached_file(places):
    places.mkdir()
    write_npz(Graph.from_edges([[0, 1]]), places / "cora.npz")
    with pytest.raises(DataFileError, match="Delete it and load"):
        registry.load_dataset("cora")


def serve_originals(server: Server, entry: Dataset, data_folder: Path) -> Dataset:
    """Serve the genuine files; splits that are not at hand are made from the converted file."""
    raw = {p.name: p for p in (data_folder / "raw").rglob("*") if p.is_file()}
    raw |= {f"{p.parent.name}/{p.name}": p for p in (data_folder / "raw").rglob("*.*")}
    originals = []
    for file in entry.originals:
        if file.path in raw:
            server.files[f"/{file.path}"] = raw[file.path].read_bytes()
        else:
            i = int(Path(file.path).stem[-1])
            with np.load(data_folder / str(entry.file)) as arrays:
                parts = {f"{p}_mask": arrays[f"{p}_masks"][i] for p in ("train", "val", "test")}
            target = Path(tempfile.gettempdir()).parent / "split.npz"
            np.savez(target, **parts)  # pyright: ignore
            server.files[f"/{file.path}"] = target.read_bytes()
        originals.append(replace(file, url=f"{server.url}/{file.path}"))
    return replace(entry, originals=tuple(originals))


@pytest.mark.parametrize(
    "name",
    [
        "cora",
        "citeseer",
        "wisconsin",
        "texas",
        "cornell_geomgcn",
        "chameleon_filtered",
        "bipartite_sparse",
        "photo",
        "photo_lcc",
    ],
)
def test_dataset_built_from_originals_equals_the_converted_one(
    data_folder, server, monkeypatch, name
):
    entry = serve_originals(server, catalogue.DATASETS[name], data_folder)
    monkeypatch.setitem(catalogue.DATASETS, name, entry)
    built = registry.load_dataset(name)
    twin = registry.load_dataset(name, folder=data_folder)
    np.testing.assert_array_equal(built.edges, twin.edges)
    np.testing.assert_array_equal(built.labels, twin.labels)
    assert sp.issparse(built.features)
    assert sp.issparse(twin.features)
    assert abs(built.features - twin.features).nnz == 0  # pyright: ignore
    expected = [split for split in twin.splits if split.rule != "sgf"]
    assert len(built.splits) == len(expected)
    for a, b in zip(built.splits, expected, strict=True):
        assert a.rule == b.rule
        for part in ("train", "val", "test"):
            np.testing.assert_array_equal(getattr(a, part), getattr(b, part))


def test_converted_file_copied_to_a_data_folder_is_found(data_folder, tmp_path, monkeypatch):
    shutil.copy(data_folder / "texas.npz", tmp_path / "texas.npz")
    monkeypatch.setenv("GRAPHFILTER_DATA", str(tmp_path))
    assert registry.locate("texas") == tmp_path / "texas.npz"
    assert len(registry.load_dataset("texas").splits) == 10
