"""Stores of OGB's datasets, from files of the same layout as those of its distribution."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphfilter as gf
from graphfilter.util.errors import DataFileError
from graphfilter_research.datasets import ogb
from graphfilter_research.datasets.ogb import build_ogb_store, is_ogb

pytest.importorskip("duckdb", reason="stores are built by duckdb: pip install graphfilter[scale]")

N = 30
RNG = np.random.default_rng(0)
EDGES = RNG.integers(0, N, (100, 2))
FEATURES = RNG.standard_normal((N, 4)).astype(np.float32)
LABELS = RNG.integers(0, 3, N)
SPLIT = {"train": np.arange(10), "valid": np.arange(10, 15), "test": np.arange(15, 25)}


def write_csv(path: Path, rows: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as stream:
        np.savetxt(stream, rows, fmt="%s", delimiter=",")


def make_csv(folder: Path) -> Path:
    """Lay files out as ogbn-arxiv's and ogbn-products' are."""
    raw = folder / "raw"
    write_csv(raw / "edge.csv.gz", EDGES)
    write_csv(raw / "node-feat.csv.gz", FEATURES)
    write_csv(raw / "node-label.csv.gz", LABELS)
    write_csv(raw / "num-node-list.csv.gz", [N])
    write_csv(raw / "num-edge-list.csv.gz", [len(EDGES)])
    for part, index in SPLIT.items():
        write_csv(folder / "split" / "time" / f"{part}.csv.gz", index)
    return folder


def make_npz(folder: Path, *, compressed: bool) -> Path:
    """Lay files out as ogbn-papers100M's are; labels of other papers are missing."""
    make_csv(folder)
    for name in ("edge", "node-feat", "node-label", "num-node-list"):
        (folder / "raw" / f"{name}.csv.gz").unlink()
    save = np.savez_compressed if compressed else np.savez
    parts = {"edge_index": EDGES.T.copy(), "node_feat": FEATURES, "node_year": LABELS[:, None]}
    save(folder / "raw" / "data.npz", **parts)
    labels = LABELS.astype(np.float32)[:, None]
    labels[25:] = np.nan
    np.savez(folder / "raw" / "node-label.npz", node_label=labels)
    return folder


def in_memory(labels: Any) -> gf.Graph:
    split = gf.Split(SPLIT["train"], SPLIT["valid"], SPLIT["test"], rule="public")
    return gf.Graph.from_edges(EDGES, N, features=FEATURES, labels=labels, splits=[split])


def check_same(opened: gf.Graph, graph: gf.Graph) -> None:
    assert opened.checksum() == graph.checksum()
    assert opened.classes.tolist() == graph.classes.tolist()
    assert opened.notes == graph.notes
    assert [split.rule for split in opened.splits] == ["public"]
    assert opened.vertex_names is None


def test_store_of_the_csv_layout_is_the_graph(tmp_path, monkeypatch):
    monkeypatch.setattr(ogb, "_ROWS", 7)
    folder = make_csv(tmp_path / "ogbn_arxiv")
    # What the package ogb leaves beside them is not opened.
    (folder / "processed").mkdir()
    (folder / "processed" / "data_processed").write_bytes(pickle.dumps({}))
    assert is_ogb(folder)
    build_ogb_store(folder, tmp_path / "store")
    opened = gf.open_store(tmp_path / "store")
    assert opened.name == "ogbn-arxiv"
    check_same(opened, in_memory(LABELS))


@pytest.mark.parametrize("compressed", [False, True])
def test_store_of_the_npz_layout_is_the_graph(tmp_path, monkeypatch, compressed):
    monkeypatch.setattr(ogb, "_ROWS", 7)
    folder = make_npz(tmp_path / "ogbn_papers100M", compressed=compressed)
    build_ogb_store(folder, tmp_path / "store")
    expected = in_memory([*LABELS[:25].tolist(), *[-1] * 5])
    check_same(gf.open_store(tmp_path / "store"), expected)


def test_dataset_of_ogb_is_loaded_from_its_store(tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHFILTER_CACHE", str(tmp_path))
    monkeypatch.delenv("GRAPHFILTER_DATA", raising=False)
    build_ogb_store(make_csv(tmp_path / "raw" / "products"), tmp_path / "ogbn-products")
    assert gf.load_dataset("ogbn-products").name == "ogbn-products"


def test_header_of_an_array_that_no_tokenizer_reads_is_refused(tmp_path, monkeypatch):
    def fail(stream):
        raise SystemError("returned a result with an exception set")

    folder = make_npz(tmp_path / "ogbn_papers100M", compressed=False)
    monkeypatch.setattr(np.lib.format, "read_array_header_1_0", fail)
    with pytest.raises(DataFileError, match=r"the header of an array is damaged\. [A-Z]"):
        build_ogb_store(folder, tmp_path / "store")


def test_pickles_in_place_of_arrays_are_refused(tmp_path):
    folder = make_npz(tmp_path / "ogbn_papers100M", compressed=False)
    np.savez(folder / "raw" / "data.npz", edge_index=EDGES.T, node_feat=np.array([[{}]]))
    with pytest.raises(DataFileError, match="must be a table of numbers"):
        build_ogb_store(folder, tmp_path / "store")


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("raw/edge.csv.gz", [[0, N]], "ends of edges must lie in 0..29"),
        ("raw/edge.csv.gz", [["a", "b"]], "edge.csv.gz: cannot be read"),
        ("raw/node-feat.csv.gz", FEATURES[:5], "features must have 30 rows; got 5"),
        ("raw/node-feat.csv.gz", np.full((N, 2), np.inf), "must be finite"),
        ("raw/node-label.csv.gz", LABELS + 0.5, "whole numbers"),
        ("raw/num-node-list.csv.gz", [3, 4], "must be of one graph"),
        ("split/time/valid.csv.gz", [N], "must hold vertices in 0..29"),
    ],
)
def test_files_that_do_not_fit_are_named(tmp_path, file, content, said):
    folder = make_csv(tmp_path / "ogbn_arxiv")
    write_csv(folder / file, content)
    with pytest.raises(DataFileError, match=said):
        build_ogb_store(folder, tmp_path / "store")
    with pytest.raises(DataFileError):
        gf.open_store(tmp_path / "store")


def test_missing_files_are_named(tmp_path):
    folder = make_csv(tmp_path / "ogbn_arxiv")
    (folder / "split" / "time" / "test.csv.gz").unlink()
    with pytest.raises(DataFileError, match=r"test\.csv\.gz"):
        build_ogb_store(folder, tmp_path / "store")
