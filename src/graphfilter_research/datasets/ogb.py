"""Datasets of the Open Graph Benchmark, from the raw files of their distribution.

A dataset's folder has ``raw/`` with ``edge.csv.gz``, ``node-feat.csv.gz``, ``node-label.csv.gz``
and ``num-node-list.csv.gz`` (of ogbn-papers100M, ``data.npz`` and ``node-label.npz``), and below
``split/`` a folder with ``train.csv.gz``, ``valid.csv.gz`` and ``test.csv.gz``. They are tables and
arrays of numbers, read piece by piece; what the package ogb keeps beside them is not opened.

From the raw files of an OGB dataset to a store, in the stages of any build.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import zipfile
from collections.abc import Iterator
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.store import (
    FORMAT,
    Header,
    StoredArray,
    check_folder,
    write_array,
    write_header,
    writing_array,
)
from graphfilter.large.build import (
    EdgeFacts,
    FeatureFacts,
    Kept,
    PairFacts,
    building,
    sort_pairs,
    write_pairs,
)
from graphfilter.large.vertices import Report, VertexFacts, check_engine
from graphfilter.tables.labels import encode_labels
from graphfilter.util.errors import DataFileError, GraphError
from graphfilter.util.files import (
    PARSE_ERRORS,
    open_archive,
    open_member,
    read_array_header,
    reading,
)
from graphfilter.version import __version__

REMEDY = "Unpack the dataset again as the Open Graph Benchmark distributes it."
_ROWS = 1 << 18
_TABLES = {"feat": "node-feat.csv.gz", "edge": "edge.csv.gz", "label": "node-label.csv.gz"}
_PARTS = {"train": "train", "val": "valid", "test": "test"}


def is_ogb(folder: Path) -> bool:
    """Return whether a folder is laid out as a vertex dataset of OGB."""
    return any((folder / "raw" / name).is_file() for name in ("edge.csv.gz", "data.npz"))


class OgbFolder:
    """The raw files of one dataset."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._raw = folder, folder / "raw"
        self._packed = self._raw / "data.npz"
        self._is_npz = self._packed.is_file()
        self.n_vertices = self._count()

    @property
    def files(self) -> list[Path]:
        """The files that a store is made of."""
        return sorted(p for p in (*self._raw.iterdir(), *self._split_folder().iterdir()))

    def write_features(self, folder: Path, report: Report) -> dict[str, StoredArray]:
        """Write the features as they are, in float32."""
        blocks = self._blocks("node_feat", "feat")
        first = next(blocks, None)
        if first is None:
            return {}
        with writing_array(folder / "features.bin", np.float32, first.shape[1:]) as writer:
            for block in chain([first], blocks):
                if not np.isfinite(block).all():
                    raise DataFileError(self._raw, "features must be finite numbers; one is not.")
                writer.append(block)
                report("writing features", writer.n_rows, self.n_vertices)
        self._check_rows("features", writer.n_rows)
        return {"features": writer.result}

    def write_labels(self, folder: Path) -> tuple[dict[str, StoredArray], list[int]]:
        """Write labels and the public split; return also the classes."""
        found = np.concatenate([b.astype(np.float64) for b in self._blocks("node_label", "label")])
        if found.ndim == 2 and found.shape[1] != 1:
            raise DataFileError(self._raw, f"labels must be one per vertex; got {found.shape[1]}.")
        self._check_rows("labels", len(found))
        codes, classes = encode_labels(found.ravel())
        if (classes != np.floor(classes)).any():
            raise DataFileError(self._raw, f"labels must be whole numbers; they are not. {REMEDY}")
        arrays = {"labels": write_array(folder / "labels.bin", codes)}
        for part, name in _PARTS.items():
            index = np.sort(self._read_split(name))
            arrays[f"split_{part}"] = write_array(folder / f"split_{part}.bin", index)
        return arrays, classes.astype(np.int64).tolist()

    def write_edges(self, scratch: Path, report: Report) -> PairFacts:
        """Write every edge as one number, as those of tables are."""
        n = self.n_vertices

        def checked() -> Iterator[NDArray[np.int64]]:
            for block in self._edge_blocks():
                if block.size and (block.min() < 0 or block.max() >= n):
                    problem = f"ends of edges must lie in 0..{n - 1}; got {block.min()}.."
                    raise DataFileError(self._raw, f"{problem}{block.max()}. {REMEDY}")
                yield block

        return write_pairs(checked(), scratch, report)

    def _edge_blocks(self) -> Iterator[NDArray[np.int64]]:
        if not self._is_npz:
            yield from (b.astype(np.int64) for b in _read_csv(self._raw / _TABLES["edge"], "int64"))
            return
        with open_archive(self._packed, REMEDY) as archive:
            yield from _both_rows(archive, "edge_index")

    def _blocks(self, key: str, table: str) -> Iterator[NDArray[Any]]:
        """Read rows of numbers, from a table or from an archive."""
        packed = self._packed if key == "node_feat" else self._raw / "node-label.npz"
        if self._is_npz:
            with open_archive(packed, REMEDY) as archive:
                yield from _rows(archive, key)
            return
        path = self._raw / _TABLES[table]
        if path.is_file() or table == "label":
            yield from _read_csv(path, "float32" if table == "feat" else "float64")

    def _count(self) -> int:
        if self._is_npz:
            with open_archive(self._packed, REMEDY) as archive:
                shape, _, _ = _header(archive, "node_feat")
                return int(shape[0])
        with reading(self._raw, REMEDY, PARSE_ERRORS):
            counts = [int(n) for block in self._numbers("num-node-list.csv.gz") for n in block]
        if len(counts) != 1 or counts[0] < 1:
            raise DataFileError(self._raw, f"must be of one graph; got {len(counts)}. {REMEDY}")
        return counts[0]

    def _numbers(self, name: str) -> Iterator[NDArray[Any]]:
        yield from (block.ravel() for block in _read_csv(self._raw / name, "int64"))

    def _split_folder(self) -> Path:
        split = self.folder / "split"
        found = sorted(p for p in split.iterdir() if p.is_dir()) if split.is_dir() else []
        if len(found) != 1:
            raise DataFileError(split, f"must hold one split; got {len(found)}. {REMEDY}")
        return found[0]

    def _read_split(self, part: str) -> NDArray[np.int64]:
        path = self._split_folder() / f"{part}.csv.gz"
        index = np.concatenate([b.ravel() for b in _read_csv(path, "int64")] or [np.empty(0, "i8")])
        if index.size and (index.min() < 0 or index.max() >= self.n_vertices):
            raise DataFileError(path, f"must hold vertices in 0..{self.n_vertices - 1}. {REMEDY}")
        return index

    def _check_rows(self, what: str, got: int) -> None:
        if got != self.n_vertices:
            problem = f"{what} must have {self.n_vertices:,} rows; got {got:,}"
            raise DataFileError(self._raw, f"{problem}. {REMEDY}")


def _read_csv(path: Path, kind: str) -> Iterator[NDArray[Any]]:
    """Read a table of numbers without a header, block by block."""
    import pyarrow as pa
    from pyarrow import csv

    arrow = pa.type_for_alias(kind)
    with reading(path, REMEDY, (pa.ArrowException, *PARSE_ERRORS)):
        with gzip.open(path) as stream:
            n_columns = stream.readline(1 << 20).count(b",") + 1
        names = [f"f{i}" for i in range(n_columns)]
        options: dict[str, Any] = {
            "read_options": csv.ReadOptions(column_names=names, use_threads=False),
            "convert_options": csv.ConvertOptions(column_types=dict.fromkeys(names, arrow)),
        }
        with csv.open_csv(path, **options) as reader:
            for batch in reader:
                yield np.stack([np.asarray(column) for column in batch.columns], axis=1)


def _header(archive: zipfile.ZipFile, key: str) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Return shape, type and where the numbers begin, of an array in C order."""
    if f"{key}.npy" not in archive.namelist():
        raise GraphError(f"must hold {key!r}; it does not. {REMEDY}")
    with open_member(archive, key) as member:
        shape, by_columns, dtype = read_array_header(member)
        if by_columns or dtype.hasobject or dtype.kind not in "iuf" or len(shape) != 2:
            raise GraphError(f"{key!r} must be a table of numbers; got {dtype} of {shape}.")
        if archive.getinfo(f"{key}.npy").file_size != member.tell() + _n_bytes(shape, dtype):
            raise GraphError(f"{key!r} must be as long as its shape {shape} says; it is not.")
        return shape, dtype, member.tell()


def _n_bytes(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    return math.prod(shape) * dtype.itemsize


def _rows(archive: zipfile.ZipFile, key: str) -> Iterator[NDArray[Any]]:
    """Yield the rows of a table in an archive, block by block."""
    shape, dtype, start = _header(archive, key)
    with open_member(archive, key) as member:
        member.seek(start)
        for first in range(0, shape[0], _ROWS):
            n = min(_ROWS, shape[0] - first)
            content = member.read(n * shape[1] * dtype.itemsize)
            yield np.frombuffer(content, dtype=dtype).reshape(n, shape[1])


def _both_rows(archive: zipfile.ZipFile, key: str) -> Iterator[NDArray[np.int64]]:
    """Yield the two rows of a table side by side, as pairs, block by block."""
    shape, dtype, start = _header(archive, key)
    if shape[0] != 2 or dtype.kind not in "iu":
        raise GraphError(f"{key!r} must be two rows of whole numbers; got {dtype} of {shape}.")
    with open_member(archive, key) as sources, open_member(archive, key) as targets:
        sources.seek(start)
        targets.seek(start + shape[1] * dtype.itemsize)
        for first in range(0, shape[1], _ROWS):
            n_bytes = min(_ROWS, shape[1] - first) * dtype.itemsize
            ends = [np.frombuffer(stream.read(n_bytes), dtype) for stream in (sources, targets)]
            yield np.stack(ends, axis=1).astype(np.int64)


def build_ogb_store(
    source: str | PathLike[str],
    path: str | PathLike[str],
    *,
    memory: int = 4 << 30,
    overwrite: bool = False,
    report: Report | None = None,
) -> Header:
    """Build a graph store from the folder of an OGB dataset, such as ``dataset/ogbn_arxiv``.

    Citations are taken in both directions, as its leaderboards do; the split is the public one.
    Only tables and arrays of numbers are read. A build that was stopped goes on after its last
    finished stage.
    """
    check_engine()
    report = report or (lambda what, done, total: None)
    folder, raw = check_folder(Path(path), overwrite), OgbFolder(Path(source))
    with building(folder, overwrite) as scratch:
        kept = Kept(scratch, _hash_asked(raw))
        features = kept.once("features", FeatureFacts, lambda: FeatureFacts(
            raw.write_features(folder, report)
        ))  # fmt: skip
        facts = kept.once("vertices", VertexFacts, lambda: _label_facts(raw, folder))
        pairs = kept.once("pairs", PairFacts, lambda: raw.write_edges(scratch, report))
        edges = kept.once("edges", EdgeFacts, lambda: sort_pairs(
            pairs, raw.n_vertices, scratch, folder, directed=False, memory=memory, report=report,
        ))  # fmt: skip
        stored = features.arrays.get("features")
        header = Header(
            FORMAT, __version__, Path(source).resolve().name.replace("_", "-"), raw.n_vertices,
            edges.n_entries, {**edges.arrays, **facts.arrays, **features.arrays},
            0 if stored is None else stored.shape[1], classes=[*map(int, facts.classes)],
            classes_type="int64", split_rules=["public"], split_sizes=facts.split_sizes,
            notes=edges.notes,
        )  # fmt: skip
        write_header(folder, header)
    return header


def _label_facts(raw: OgbFolder, folder: Path) -> VertexFacts:
    arrays, classes = raw.write_labels(folder)
    sizes = [arrays[f"split_{part}"].shape[0] for part in ("train", "val", "test")]
    names = [str(name) for name in classes]
    return VertexFacts(raw.n_vertices, arrays=arrays, classes=names, split_sizes=[sizes])


def _hash_asked(raw: OgbFolder) -> str:
    files = [[str(f.resolve()), f.stat().st_size, f.stat().st_mtime_ns] for f in raw.files]
    return hashlib.sha256(json.dumps([FORMAT, __version__, files]).encode()).hexdigest()
