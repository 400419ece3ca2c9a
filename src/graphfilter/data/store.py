"""Graph stores: a graph as a folder of plain arrays, mapped into memory when it is opened.

Each array is a file of numbers; the header, ``store.json``, says what they are and is written last.
Ids are text in one file, where each begins in another. Whatever decides on a place in memory is
checked piece by piece when a store is opened; nothing else is read until it is used.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data.edges import EdgeKinds
from graphfilter.data.graph import Graph, OpenedStore
from graphfilter.splits import Split
from graphfilter.tables.encoder import TableEncoder
from graphfilter.tables.roles import Columns
from graphfilter.util.arrow import pa
from graphfilter.util.errors import (
    ConfigError,
    DataFileError,
    GraphError,
    GraphFilterError,
    ModelFileError,
)
from graphfilter.util.files import LOCK_FILE, atomic_file, check_text, files_in, locked, make_folder
from graphfilter.util.machine import blocks
from graphfilter.util.records import convert, read_checked_json, sha256_of, write_checked_json
from graphfilter.version import __version__

__all__ = ["open_store", "write_store"]

TYPES = ("<i4", "<i8", "<f4", "<f8", "|u1")
HEADER_FILE, BUILD_FOLDER = "store.json", "building"
# Version of the folder's layout: a change counts up, and earlier ones are still read.
FORMAT = 1
REBUILD = "Build it again with graphfilter store."
_DAMAGED = "Restore it from a copy, or build the store again."
# The arrays of measured values, which decide on no place in memory.
VALUES = ("weights", "arcs", "kinds", "features", "features_values")
OFFSETS, BYTES = "names_offsets", "names_bytes"
PARTS = ("train", "val", "test")
# Stores up to this size are compared with their checksums when they are opened: a second or two.
VERIFIED_BYTES = 2 << 30
# Smaller hops are made in less time than they are read and checked.
KEPT_FROM_BYTES = 1 << 25
# What is looked at together: bytes that are written, numbers that are checked, ids.
_PIECE_BYTES, _PIECE, _AT_ONCE = 16 << 20, 1 << 22, 1 << 16


@dataclass(frozen=True)
class StoredArray:
    """One file of numbers in C order, little-endian, without a header of its own."""

    file: str = ""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    sha256: str = ""

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


class ArrayWriter:
    """Appends blocks of rows to a file; ``result`` describes it when all are written."""

    def __init__(self, name: str, stream: Any, dtype: Any, row: tuple[int, ...]) -> None:
        self._name, self._dtype, self._row = name, np.dtype(dtype).newbyteorder("<"), row
        self._stream, self._digest = stream, hashlib.sha256()
        self.n_rows = 0

    def append(self, block: NDArray[Any]) -> None:
        """Write rows, converted to the type of the file."""
        rows = np.ascontiguousarray(block, dtype=self._dtype)
        assert rows.shape[1:] == self._row
        content = rows.reshape(-1).view(np.uint8).data
        self._stream.write(content)
        self._digest.update(content)
        self.n_rows += len(rows)

    @property
    def result(self) -> StoredArray:
        shape = (self.n_rows, *self._row)
        return StoredArray(self._name, self._dtype.str, shape, self._digest.hexdigest())


@contextmanager
def writing_array(path: Path, dtype: Any, row: tuple[int, ...] = ()) -> Generator[ArrayWriter]:
    """Yield a writer; the file is there, whole, when the block ends."""
    with atomic_file(path) as temporary, temporary.open("wb") as stream:
        yield ArrayWriter(path.name, stream, dtype, row)


def write_array(path: Path, array: NDArray[Any], dtype: Any = None) -> StoredArray:
    """Write a whole array, a piece at a time: one that is mapped is never all in memory."""
    with writing_array(path, dtype or array.dtype, array.shape[1:]) as writer:
        bytes_per_row = max(1, array.nbytes // max(1, len(array)))
        for rows in blocks(len(array), _PIECE_BYTES // bytes_per_row):
            writer.append(array[rows])
    return writer.result


def map_array(folder: Path, stored: StoredArray) -> NDArray[Any]:
    """Map a file into memory, read-only; what the header says of it must be true of the file."""
    path = folder / stored.file
    if Path(stored.file).name != stored.file or stored.dtype not in TYPES:
        raise DataFileError(folder, f"its header names an array that cannot be: {stored.file!r}.")
    if len(stored.shape) not in (1, 2) or min(stored.shape) < 0:
        raise DataFileError(path, f"must have a shape of one or two sizes; got {stored.shape}.")
    try:
        with path.open("rb") as file:
            n_bytes = os.fstat(file.fileno()).st_size
            if n_bytes != stored.n_bytes:
                problem = f"must have {stored.n_bytes:,} bytes, as the header says"
                raise DataFileError(path, f"{problem}; got {n_bytes:,}. {_DAMAGED}")
            if not n_bytes:
                return np.empty(stored.shape, dtype=stored.dtype)
            mapped = np.memmap(file, dtype=stored.dtype, mode="r", shape=stored.shape)
    except OSError as error:
        raise DataFileError(path, f"cannot be read: {error.strerror}. {_DAMAGED}") from None
    # Behind a view: what is made of it is then an array like any other.
    return mapped.view(np.ndarray)


def store_of(graph: Graph) -> Path | None:
    """Return the store that a graph's edges are mapped from, unless it was replaced since."""
    with suppress(DataFileError):
        if graph.opened and read_header(graph.opened.folder).arrays == graph.opened.stored:
            return graph.opened.folder
    return None


def verify_array(folder: Path, stored: StoredArray) -> None:
    """Compare the file with its checksum."""
    if sha256_of(folder / stored.file) != stored.sha256:
        problem = "must be as it was written; its checksum says that it was changed"
        raise DataFileError(folder / stored.file, f"{problem}. {_DAMAGED}")


@dataclass(frozen=True)
class Header:
    """What a store holds.

    Attributes
    ----------
    format : int
        Of the layout; see ``FORMAT``.
    made_by : str
        The version of graphfilter that wrote it.
    name : str
    n_vertices, n_entries : int
        Each edge is two entries.
    arrays : dict of StoredArray
        By their role: indptr, indices, weights, arcs, kinds, features (or features_indptr,
        features_indices, features_values of n_features columns), labels, names_offsets,
        names_bytes, split_train, split_val, split_test.
    names_are_json : bool
        Whether ids are other than text, and each is kept as JSON.
    classes, classes_type : list, str
        The names of the classes, and numpy's type of them.
    split_rules, split_sizes : list
        Of each fixed split, the rule and the sizes of its parts.
    encoder, columns : dict or None
        How the table of vertices became features, and which columns were named.
    """

    format: int = 0
    made_by: str = ""
    name: str = "graph"
    n_vertices: int = 0
    n_entries: int = 0
    arrays: dict[str, StoredArray] = field(default_factory=dict)
    n_features: int = 0
    feature_names: list[str] | None = None
    names_are_json: bool = False
    classes: list[bool | int | float | str] = field(default_factory=list)
    classes_type: str = "int64"
    kinds: list[str] = field(default_factory=list)
    split_rules: list[str] = field(default_factory=list)
    split_sizes: list[list[int]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    encoder: dict[str, Any] | None = None
    columns: dict[str, Any] | None = None

    @property
    def n_bytes(self) -> int:
        return sum(array.n_bytes for array in self.arrays.values())


def is_store(path: str | PathLike[str]) -> bool:
    """Return whether a path is a store, finished or not."""
    return any((Path(path) / name).exists() for name in (HEADER_FILE, BUILD_FOLDER))


def write_header(folder: Path, header: Header) -> None:
    """Write the header, which makes a folder of arrays a store."""
    write_checked_json(folder / HEADER_FILE, asdict(header))


def read_header(path: str | PathLike[str]) -> Header:
    """Read and check the header of a store; its arrays are not looked at."""
    folder = Path(path)
    file = folder / HEADER_FILE
    if not file.is_file():
        if (folder / BUILD_FOLDER).is_dir():
            raise DataFileError(
                folder,
                "is an unfinished store; run the same graphfilter store command again to finish "
                "it.",
            )
        what = "there is no such folder" if not folder.exists() else f"it has no {HEADER_FILE}"
        raise DataFileError(folder, f"must be a graph store; {what}. {REBUILD}")
    try:
        content = read_checked_json(file)
        # Before anything else: another layout may have other fields.
        layout = content.get("format")
        if layout != FORMAT:
            problem, remedy = f"this one says {layout!r}", REBUILD
            if isinstance(layout, int) and layout > FORMAT:
                problem = f"this one is of format {layout}, of {content.get('made_by')}"
                remedy = "Install that version."
            reads = f"graphfilter {__version__} reads stores of format {FORMAT}"
            raise DataFileError(folder, f"{reads}; {problem}. {remedy}")
        return convert(Header, content)
    except ModelFileError as error:
        problem = str(error).removeprefix(f"{file}: ").partition(" Restore")[0]
        raise DataFileError(file, f"{problem.rstrip('.')}. {REBUILD}") from None
    except TypeError as error:
        raise DataFileError(file, f"must describe a graph store ({error}). {REBUILD}") from None


def check_folder(folder: Path, overwrite: bool) -> Path:
    """Return the folder for a store; raise where another file, folder or store is in the way."""
    present = files_in(folder, HEADER_FILE, "*.bin")
    if (folder / HEADER_FILE).exists():
        if not overwrite:
            raise ConfigError(f"{folder}: holds a store; pass `overwrite=True` to replace it.")
    elif not is_store(folder) and present:
        raise ConfigError(f"{folder}: exists and is not empty; give another folder.")
    return folder


@contextmanager
def replacing(folder: Path, overwrite: bool) -> Generator[None]:
    """Hold a folder for writing a store to it: one process at a time, and no store until the end.

    A graph that another process has opened there stays as it is: files are replaced, not changed.
    """
    make_folder(folder)
    busy = f"{folder}: another process is building it; wait for it, or give another folder."
    with locked(folder / LOCK_FILE, busy):
        # Another process may have built it since it was looked at.
        check_folder(folder, overwrite)
        (folder / HEADER_FILE).unlink(missing_ok=True)
        yield


class StoredNames(Sequence[Any]):
    """Ids that stay on disk: each is made a Python object when it is asked for.

    Equal to a tuple of the same ids.

    Parameters
    ----------
    offsets : int64 array (n + 1,)
    content : uint8 array
        UTF-8, in Arrow's layout: id i lies from ``offsets[i]`` to ``offsets[i + 1]``.
    are_json : bool
        Whether each is JSON of a number or text, not text itself.
    """

    def __init__(
        self, offsets: NDArray[np.int64], content: NDArray[np.uint8], *, are_json: bool = False
    ) -> None:
        self._are_json = are_json
        parts = [None, pa.py_buffer(offsets), pa.py_buffer(content)]
        self._text = pa.LargeStringArray.from_buffers(len(offsets) - 1, *parts[1:])

    def __len__(self) -> int:
        return len(self._text)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Any, ...]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        return self._block(range(len(self))[index], 1)[0]

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(self), _AT_ONCE):
            yield from self._block(start, _AT_ONCE)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return f"<{len(self):,} ids on disk>"

    def _block(self, start: int, n: int) -> list[Any]:
        words = self._text.slice(start, n).to_pylist()
        return [json.loads(word) for word in words] if self._are_json else words

    def check(self) -> None:
        """Raise a ValueError unless every id is text, or JSON of text or a number."""
        for start in range(0, len(self), _AT_ONCE):
            try:
                self._text.slice(start, _AT_ONCE).validate(full=True)
                block = self._block(start, _AT_ONCE) if self._are_json else []
            except (ValueError, RecursionError):  # Arrow's errors are ValueErrors.
                raise ValueError("ids must be readable") from None
            if not all(isinstance(name, str | int | float) for name in block):
                raise ValueError("ids must be text or numbers")
            check_text(block, "ids")

    def as_arrow(self) -> Any:
        """Return the text as Arrow sees it, without a copy."""
        return self._text


def map_names(folder: Path, arrays: dict[str, StoredArray]) -> StoredNames:
    """Map ids that are text into memory."""
    return StoredNames(*(map_array(folder, arrays[role]) for role in (OFFSETS, BYTES)))


def write_text(folder: Path, chunks: Iterable[Any]) -> dict[str, StoredArray]:
    """Write a column of text, Arrow arrays of strings, as ids."""
    with (
        writing_array(folder / f"{OFFSETS}.bin", "<i8") as offsets,
        writing_array(folder / f"{BYTES}.bin", "|u1") as content,
    ):
        last = 0
        offsets.append(np.zeros(1, dtype=np.int64))
        for chunk in chunks:
            for start in range(0, len(chunk), 16 * _AT_ONCE):
                # Sliced offsets begin where the slice does: a copy begins at 0.
                block = pa.concat_arrays(
                    [chunk.slice(start, 16 * _AT_ONCE).cast(pa.large_string())]
                )
                _, places, data = block.buffers()
                at = np.frombuffer(places, dtype=np.int64)[block.offset :][: len(block) + 1]
                offsets.append(last + at[1:] - at[0])
                if data is not None:
                    content.append(np.frombuffer(data, dtype=np.uint8)[at[0] : at[-1]])
                last += int(at[-1] - at[0])
    return {OFFSETS: offsets.result, BYTES: content.result}


def _spell(name: Any, are_json: bool) -> str:
    if isinstance(name, np.generic):
        name = name.item()
    if are_json and not isinstance(name, str | int | float):
        raise GraphError(
            f"ids must be text or numbers to be stored; got {name!r}. Rename the vertices with "
            "graph.replace(vertex_names=...)."
        )
    check_text([name], "ids")
    return json.dumps(name) if are_json else str(name)


def check_structure(header: Header, arrays: dict[str, NDArray[Any]]) -> None:
    """Raise unless every array has the shape it must have, and its numbers lie in range."""
    n, m, d = header.n_vertices, header.n_entries, header.n_features
    n_classes = len(header.classes)
    shapes = {
        "indptr": (n + 1,), "indices": (m,), "weights": (m,), "arcs": (m,),
        "kinds": (len(header.kinds), m), "features": (n, d), "features_indptr": (n + 1,),
        "labels": (n,), OFFSETS: (n + 1,),
    }  # fmt: skip
    for role, shape in shapes.items():
        if role not in arrays and role not in ("indptr", "indices"):
            continue
        if role not in arrays or arrays[role].shape != shape:
            raise ValueError(f"{role} must have the shape {shape}")
        whole = role in ("indptr", "indices", "labels", "features_indptr", OFFSETS)
        if (arrays[role].dtype.kind == "i") != whole:
            raise ValueError(f"{role} must not be of {arrays[role].dtype}")
    for role, size in (("features", d), ("labels", n_classes)):
        if size and not {role, f"{role}_indptr"} & arrays.keys():
            raise ValueError(f"{role} must be there, as the header says")
    if header.classes_type != "object" and np.dtype(header.classes_type).kind not in "biuf":
        raise ValueError(f"classes must not be of {header.classes_type}")
    if n < 1 or len({*header.kinds}) != len(header.kinds):
        raise ValueError("there must be a vertex, and edge types must have different names")
    _check_rises(arrays["indptr"], m, "indptr")
    _check_range(arrays["indices"], 0, n, "indices")
    if "features_indptr" in arrays:
        columns, values = arrays["features_indices"], arrays["features_values"]
        if columns.shape != values.shape or columns.ndim != 1:
            raise ValueError("sparse features must have one value per index")
        _check_rises(arrays["features_indptr"], len(columns), "features_indptr")
        _check_range(columns, 0, d, "features_indices")
        # A column that no vertex has a value in is possible; millions of them are damage.
        if d > 1000 + 100 * len(columns):
            raise ValueError(f"{d:,} features are too many for {len(columns):,} values")
    if header.feature_names is not None and len(header.feature_names) != d:
        raise ValueError(f"{len(header.feature_names):,} names for {d:,} features")
    if len({*header.classes}) != n_classes:
        raise ValueError("each class must be named once")
    if "labels" in arrays:
        _check_range(arrays["labels"], -1, n_classes, "labels")
    if OFFSETS in arrays:
        _check_rises(arrays[OFFSETS], arrays[BYTES].size, OFFSETS)


def check_values(arrays: dict[str, NDArray[Any]]) -> None:
    """Raise unless all features and weights are finite, and weights are not negative."""
    for role in VALUES:
        if role in arrays:
            flat = arrays[role].reshape(-1)
            for piece in (flat[rows] for rows in blocks(len(flat), _PIECE)):
                if not np.isfinite(piece).all():
                    raise ValueError(f"{role} must be finite")
                if not role.startswith("features") and piece.min() < 0:
                    raise ValueError(f"{role} must not be negative")


def _check_rises(offsets: NDArray[Any], last: int, role: str) -> None:
    rises = offsets[0] == 0 and offsets[-1] == last
    for start in range(0, len(offsets), _PIECE):
        piece = offsets[start : start + _PIECE + 1]
        rises = rises and not (piece[1:] < piece[:-1]).any()
    if not rises:
        raise ValueError(f"{role} must rise from 0 to {last}")


def _check_range(values: NDArray[Any], least: int, end: int, role: str) -> None:
    for piece in (values[rows] for rows in blocks(len(values), _PIECE)):
        if piece.min() < least or piece.max() >= end:
            raise ValueError(f"{role} must lie in {least}..{end - 1}")


def open_store(path: str | PathLike[str], *, verify: bool | None = None) -> Graph:
    """Open a graph store: its arrays are mapped, read-only, and shared with other processes.

    Every number that others are found by is checked to lie in range, and ids to be text, in passes
    over the files that take little memory.

    A store may be built again while graphs that were opened from it are in use: they stay as they
    are.

    Parameters
    ----------
    path : path
        The folder that ``graphfilter store`` or :func:`write_store` made.
    verify : bool, optional
        Compare every file with its checksum, and look through all features and weights, which
        must be finite. By default this is done for stores of at most 2 GiB.

    Examples
    --------
    >>> import tempfile, graphfilter as gf
    >>> folder = tempfile.mkdtemp()
    >>> gf.data.write_store(gf.data.make_karate(), f"{folder}/karate")
    >>> gf.open_store(f"{folder}/karate")
    Graph('karate', 34 vertices, 78 edges, 34 features, 2 classes)
    """
    folder = Path(path)
    with _not_replaced(folder):
        header = read_header(folder)
        arrays = {role: map_array(folder, stored) for role, stored in header.arrays.items()}
        thoroughly = header.n_bytes <= VERIFIED_BYTES if verify is None else verify
        if thoroughly:
            for stored in header.arrays.values():
                verify_array(folder, stored)
    try:
        check_structure(header, arrays)
        names = None
        if OFFSETS in arrays:
            names = StoredNames(arrays[OFFSETS], arrays[BYTES], are_json=header.names_are_json)
            names.check()
        if thoroughly:
            check_values(arrays)
        features = arrays.get("features")
        if "features_indptr" in arrays:
            parts = [arrays[f"features_{part}"] for part in ("values", "indices", "indptr")]
            shape = (header.n_vertices, header.n_features)
            features = sp.csr_array(tuple(parts), shape=shape)
        return Graph(
            arrays["indptr"],
            arrays["indices"],
            arrays.get("weights"),
            features,
            arrays.get("labels"),
            classes=np.array(header.classes, dtype=header.classes_type),
            vertex_names=names,  # pyright: ignore[reportArgumentType]
            feature_names=None if header.feature_names is None else tuple(header.feature_names),
            splits=_splits(header, arrays),
            notes=tuple(header.notes),
            name=header.name,
            kinds=EdgeKinds(tuple(header.kinds), arrays["kinds"]) if header.kinds else None,
            opened=OpenedStore(folder, header.arrays, arrays),
            arcs=arrays.get("arcs"),
        )
    except DataFileError:
        raise
    except (
        GraphFilterError, KeyError, ValueError, TypeError, IndexError, OverflowError
    ) as error:  # fmt: skip
        raise DataFileError(folder, f"its parts do not fit together ({error}). {REBUILD}") from None


@contextmanager
def _not_replaced(folder: Path) -> Generator[None]:
    """Raise where another process has begun to replace a store since the block began.

    Its header is removed before any of its files is replaced, and written anew after the last.
    """

    def status() -> os.stat_result | None:
        with suppress(OSError):
            return (folder / HEADER_FILE).stat()
        return None

    before = status()
    try:
        yield
    finally:
        after = status()
        if before and (after is None or not os.path.samestat(before, after)):
            raise DataFileError(
                folder,
                "another process began to replace it while it was opened. Open it again when that "
                "process has finished.",
            ) from None


def _splits(header: Header, arrays: dict[str, NDArray[Any]]) -> tuple[Split, ...]:
    if not header.split_rules:
        return ()
    ends = np.cumsum(header.split_sizes, axis=0).T
    parts = [
        np.split(arrays[f"split_{part}"], at)[:-1] for part, at in zip(PARTS, ends, strict=True)
    ]
    splits = [
        Split(*each, rule=rule) for *each, rule in zip(*parts, header.split_rules, strict=True)
    ]
    for split in splits:
        split.check(header.n_vertices)
    return tuple(splits)


def write_store(
    graph: Graph,
    path: str | PathLike[str],
    *,
    encoder: TableEncoder | None = None,
    columns: Columns | None = None,
    overwrite: bool = False,
) -> None:
    """Write a graph to a folder that :func:`open_store` maps into memory.

    The header is written last: until then the folder is not a store.

    Parameters
    ----------
    encoder, columns : optional
        How its table of vertices was read, kept for prediction.
    overwrite : bool
        Replace the store that is there. Graphs that were opened from it stay as they are.

    Examples
    --------
    >>> import tempfile, graphfilter as gf
    >>> folder = tempfile.mkdtemp()
    >>> gf.data.write_store(gf.data.make_karate(), folder)
    >>> gf.open_store(folder).n_vertices
    34
    """
    folder = Path(path)
    with replacing(folder, overwrite):
        x, kinds, splits = graph.features, graph.kinds, graph.splits
        plain = ("indptr", "indices", "weights", "arcs", "labels")
        roles: dict[str, Any] = {role: getattr(graph, role) for role in plain}
        roles["kinds"] = None if kinds is None else kinds.values
        for part in PARTS if splits else ():
            roles[f"split_{part}"] = np.concatenate([getattr(split, part) for split in splits])
        if x is None or isinstance(x, np.ndarray):
            roles["features"] = x
        else:
            parts = {"indptr": x.indptr, "indices": x.indices, "values": x.data}
            roles |= {f"features_{part}": array for part, array in parts.items()}
        arrays = {
            role: write_array(folder / f"{role}.bin", array)
            for role, array in roles.items()
            if array is not None
        }
        names, are_json = graph.vertex_names, False
        if names is not None:
            are_json = not all(isinstance(name, str) for name in names)
            arrays |= write_text(
                folder,
                (
                    pa.array([_spell(name, are_json) for name in names[rows]], pa.large_string())
                    for rows in blocks(len(names), _AT_ONCE)
                ),
            )
        classes = graph.classes.tolist()
        if not all(isinstance(name, bool | int | float | str) for name in classes):
            raise GraphError("classes must be text or numbers to be stored; convert them first.")
        check_text(classes, "classes")
        check_text([*(graph.feature_names or ()), *graph.notes, graph.name], "names and notes")
        kind = graph.classes.dtype
        header = Header(
            FORMAT, __version__, graph.name, graph.n_vertices, len(graph.indices), arrays,
            graph.n_features, None if graph.feature_names is None else list(graph.feature_names),
            are_json, classes, "object" if kind.kind in "OU" else kind.str,
            [] if kinds is None else list(kinds.names), [split.rule for split in splits],
            [[len(getattr(split, part)) for part in PARTS] for split in splits],
            list(graph.notes), None if encoder is None else encoder.to_dict(),
            None if columns is None else asdict(columns),
        )  # fmt: skip
        write_header(folder, header)
