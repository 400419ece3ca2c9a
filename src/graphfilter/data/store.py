"""Arrays in files: written piece by piece with a checksum, mapped into memory when read.

The header of a store: what its arrays are, and everything that is not an array.

The folder of a store: who may write to it, and what is in the way.

The ids of a store's vertices: text in one file, where each begins in another.

What the arrays of a store must be, checked piece by piece when it is opened.

A store as a graph: nothing is read until it is used.

A graph as a store.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data.edge_attributes import EdgeKinds
from graphfilter.data.graph import Graph
from graphfilter.splits import Split
from graphfilter.tables.encoder import TableEncoder
from graphfilter.tables.roles import Columns
from graphfilter.util.errors import (
    ConfigError,
    DataFileError,
    GraphError,
    GraphFilterError,
    ModelFileError,
)
from graphfilter.util.files import LOCK_FILE, atomic_file, check_text, files_in, locked, make_folder
from graphfilter.util.machine import blocks
from graphfilter.util.records import convert, read_checked_json, write_checked_json
from graphfilter.version import __version__

TYPES = ("<i4", "<i8", "<f4", "|u1")
_PIECE_BYTES = 16 << 20


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

    def __init__(self, path: Path, temporary: Path, dtype: str, row: tuple[int, ...]) -> None:
        self._name, self._dtype, self._row = path.name, np.dtype(dtype), row
        self._stream = temporary.open("wb")
        self._digest = hashlib.sha256()
        self.n_rows = 0

    def append(self, block: NDArray[Any]) -> None:
        """Write rows, converted to the type of the file."""
        rows = np.ascontiguousarray(block, dtype=self._dtype)
        assert rows.shape[1:] == self._row
        content = rows.reshape(-1).view(np.uint8).data
        self._stream.write(content)
        self._digest.update(content)
        self.n_rows += len(rows)

    def close(self) -> None:
        self._stream.close()

    @property
    def result(self) -> StoredArray:
        shape = (self.n_rows, *self._row)
        return StoredArray(self._name, self._dtype.str, shape, self._digest.hexdigest())


@contextmanager
def writing_array(path: Path, dtype: Any, row: tuple[int, ...] = ()) -> Generator[ArrayWriter]:
    """Yield a writer; the file is there, whole, when the block ends."""
    with atomic_file(path) as temporary:
        writer = ArrayWriter(path, temporary, np.dtype(dtype).newbyteorder("<").str, row)
        try:
            yield writer
        finally:
            writer.close()


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
            found = os.fstat(file.fileno())
            if found.st_size != stored.n_bytes:
                problem = f"must have {stored.n_bytes:,} bytes, as the header says"
                raise DataFileError(path, f"{problem}; got {found.st_size:,}. {_DAMAGED}")
            if not found.st_size:
                return np.empty(stored.shape, dtype=stored.dtype)
            mapped: Any = MappedFile(file, dtype=stored.dtype, mode="r", shape=stored.shape)
    except OSError as error:
        raise DataFileError(path, f"cannot be read: {error.strerror}. {_DAMAGED}") from None
    mapped.status = found
    # Behind a view: what is made of it is then an array like any other.
    return mapped.view(np.ndarray)


class MappedFile(np.memmap[Any, Any]):
    """A mapped file that knows which one it is, should another take its name."""

    status: os.stat_result | None = None

    @property
    def is_current(self) -> bool:
        """Whether the file of this name is still the one that is mapped."""
        if self.status is None or self.filename is None:
            return False
        try:
            return os.path.samestat(Path(self.filename).stat(), self.status)
        except OSError:
            return False


def mapped_file(array: Any) -> MappedFile | None:
    """Return the mapped file that an array is a view of; None where there is none."""
    while isinstance(array, np.ndarray):
        if isinstance(array, MappedFile) and array.status is not None:
            return array
        array = array.base
    return None


def verify_array(folder: Path, stored: StoredArray) -> None:
    """Compare the file with its checksum."""
    digest = hashlib.sha256()
    with (folder / stored.file).open("rb") as stream:
        while piece := stream.read(_PIECE_BYTES):
            digest.update(piece)
    if digest.hexdigest() != stored.sha256:
        problem = "must be as it was written; its checksum says that it was changed"
        raise DataFileError(folder / stored.file, f"{problem}. {_DAMAGED}")


_DAMAGED = "Restore it from a copy, or build the store again."


HEADER_FILE = "store.json"
BUILD_FOLDER = "building"
# Version of the folder's layout: a change counts up, and earlier ones are still read.
FORMAT = 1
REBUILD = "Build it again with graphfilter store."


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
        found = content.get("format")
        # Before anything else: another layout may have other fields.
        if found != FORMAT:
            raise DataFileError(folder, _other_format(found, content.get("made_by")))
        return convert(Header, content)
    except ModelFileError as error:
        problem = str(error).removeprefix(f"{file}: ").partition(" Restore")[0]
        raise DataFileError(file, f"{problem.rstrip('.')}. {REBUILD}") from None
    except TypeError as error:
        raise DataFileError(file, f"must describe a graph store ({error}). {REBUILD}") from None


def _other_format(found: Any, made_by: Any) -> str:
    known = f"graphfilter {__version__} reads stores of format {FORMAT}"
    if isinstance(found, int) and found > FORMAT:
        return f"{known}; this one is of format {found}, of {made_by}. Install that version."
    return f"{known}; this one says {found!r}. {REBUILD}"


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


OFFSETS, BYTES = "names_offsets", "names_bytes"
_AT_ONCE = 1 << 16


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
        self._offsets, self._content, self._are_json = offsets, content, are_json

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Any, ...]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        i = range(len(self))[index]
        word = bytes(self._content[self._offsets[i] : self._offsets[i + 1]]).decode()
        return json.loads(word) if self._are_json else word

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(self), _AT_ONCE):
            yield from self._block(start, start + _AT_ONCE)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return f"<{len(self):,} ids on disk>"

    def _block(self, start: int, stop: int) -> list[Any]:
        offsets = self._offsets[start : stop + 1].tolist()
        content = bytes(self._content[offsets[0] : offsets[-1]])
        first = offsets[0]
        words = [content[a - first : b - first].decode() for a, b in pairwise(offsets)]
        return [json.loads(word) for word in words] if self._are_json else words

    def check(self) -> None:
        """Raise a ValueError unless every id is text, or JSON of text or a number."""
        import pyarrow as pa

        for start in range(0, len(self), _AT_ONCE):
            try:
                self.as_arrow().slice(start, _AT_ONCE).validate(full=True)
                block = self._block(start, start + _AT_ONCE) if self._are_json else []
            except (pa.ArrowInvalid, ValueError, RecursionError):
                raise ValueError("ids must be readable") from None
            if not all(isinstance(name, str | int | float) for name in block):
                raise ValueError("ids must be text or numbers")
            check_text(block, "ids")

    def as_arrow(self) -> Any:
        """Return the text as Arrow sees it, without a copy."""
        import pyarrow as pa

        buffers = [None, pa.py_buffer(self._offsets), pa.py_buffer(self._content)]
        return pa.LargeStringArray.from_buffers(len(self), *buffers[1:])


def map_names(folder: Path, arrays: dict[str, StoredArray]) -> StoredNames:
    """Map ids that are text into memory."""
    return StoredNames(*(map_array(folder, arrays[role]) for role in (OFFSETS, BYTES)))


def write_names(folder: Path, names: Sequence[Any]) -> tuple[dict[str, StoredArray], bool]:
    """Write ids of any plain kind; return the arrays, and whether they are JSON."""
    are_json = not all(isinstance(name, str) for name in names)
    with (
        writing_array(folder / f"{OFFSETS}.bin", "<i8") as offsets,
        writing_array(folder / f"{BYTES}.bin", "|u1") as content,
    ):
        last = 0
        offsets.append(np.zeros(1, dtype=np.int64))
        for start in range(0, len(names), _AT_ONCE):
            words = [_spell(name, are_json) for name in names[start : start + _AT_ONCE]]
            ends = last + np.cumsum([len(word) for word in words])
            offsets.append(ends)
            content.append(np.frombuffer(b"".join(words), dtype=np.uint8))
            last = int(ends[-1])
    return {OFFSETS: offsets.result, BYTES: content.result}, are_json


def write_text(folder: Path, text: Any) -> dict[str, StoredArray]:
    """Write a column of text, an Arrow string array in chunks, as ids."""
    import pyarrow as pa

    with (
        writing_array(folder / f"{OFFSETS}.bin", "<i8") as offsets,
        writing_array(folder / f"{BYTES}.bin", "|u1") as content,
    ):
        last = 0
        offsets.append(np.zeros(1, dtype=np.int64))
        for chunk in text.chunks if hasattr(text, "chunks") else [text]:
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


def _spell(name: Any, are_json: bool) -> bytes:
    if isinstance(name, np.generic):
        name = name.item()
    if are_json and not isinstance(name, str | int | float):
        raise GraphError(
            f"ids must be text or numbers to be stored; got {name!r}. Rename the vertices with "
            "graph.replace(vertex_names=...)."
        )
    try:
        return (json.dumps(name) if are_json else str(name)).encode()
    except UnicodeEncodeError:
        raise GraphError(f"ids must be valid text to be stored; got {name!r}.") from None


# Numbers that are looked at together.
_PIECE = 1 << 22
# The arrays of measured values, which decide on no place in memory.
VALUES = ("weights", "arcs", "kinds", "features", "features_values")


def check_structure(header: Header, arrays: dict[str, NDArray[Any]]) -> None:
    """Raise unless every array has the shape it must have, and its numbers lie in range."""
    n, m, d = header.n_vertices, header.n_entries, header.n_features
    shapes = {"indptr": (n + 1,), "indices": (m,)}
    optional = {
        "weights": (m,), "arcs": (m,), "kinds": (len(header.kinds), m), "features": (n, d),
        "features_indptr": (n + 1,), "labels": (n,), OFFSETS: (n + 1,),
    }  # fmt: skip
    for role, shape in {**shapes, **{k: v for k, v in optional.items() if k in arrays}}.items():
        if role not in arrays or arrays[role].shape != shape:
            raise ValueError(f"{role} must have the shape {shape}")
        whole = role in ("indptr", "indices", "labels", "features_indptr", OFFSETS)
        if (arrays[role].dtype.kind == "i") != whole:
            raise ValueError(f"{role} must not be of {arrays[role].dtype}")
    for role, size in (("features", d), ("labels", len(header.classes))):
        if size and not {role, f"{role}_indptr"} & arrays.keys():
            raise ValueError(f"{role} must be there, as the header says")
    if header.classes_type != "object" and np.dtype(header.classes_type).kind not in "biuf":
        raise ValueError(f"classes must not be of {header.classes_type}")
    if n < 1 or len({*header.kinds}) != len(header.kinds):
        raise ValueError("there must be a vertex, and edge types must have different names")
    _check_rises(arrays["indptr"], m, "indptr")
    _check_range(arrays["indices"], 0, n, "indices")
    if "features_indptr" in arrays:
        parts = arrays["features_indices"], arrays["features_values"]
        if parts[0].shape != parts[1].shape or parts[0].ndim != 1:
            raise ValueError("sparse features must have one value per index")
        _check_rises(arrays["features_indptr"], len(parts[0]), "features_indptr")
        _check_range(parts[0], 0, d, "features_indices")
        # A column that no vertex has a value in is possible; millions of them are damage.
        if d > 1000 + 100 * len(parts[0]):
            raise ValueError(f"{d:,} features are too many for {len(parts[0]):,} values")
    if header.feature_names is not None and len(header.feature_names) != d:
        raise ValueError(f"{len(header.feature_names):,} names for {d:,} features")
    if len({*header.classes}) != len(header.classes):
        raise ValueError("each class must be named once")
    if "labels" in arrays:
        _check_range(arrays["labels"], -1, len(header.classes), "labels")
    if OFFSETS in arrays:
        _check_rises(arrays[OFFSETS], arrays[BYTES].size, OFFSETS)
        names = StoredNames(arrays[OFFSETS], arrays[BYTES], are_json=header.names_are_json)
        names.check()


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


# Stores up to this size are compared with their checksums when they are opened: a second or two.
VERIFIED_BYTES = 2 << 30
CHECKED_FILE = "checked.json"


def open_store(path: str | PathLike[str], *, verify: bool | None = None) -> Graph:
    """Open a graph store: its arrays are mapped, read-only, and shared with other processes.

    Every number that others are found by is checked to lie in range, ids to be text, and features
    to be finite, in passes over the files that take little memory. Of a store beyond 2 GiB,
    features and weights are looked through once: ``checked.json`` in its folder remembers the
    sizes and times of those files.

    A store may be built again while graphs that were opened from it are in use: they stay as they
    are.

    Parameters
    ----------
    path : path
        The folder that ``graphfilter store`` or :func:`write_store` made.
    verify : bool, optional
        Compare every file with its checksum, and look through all features again, whatever is
        remembered. By default this is done for stores of at most 2 GiB. False leaves features
        unread until they are used.

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
        is_large = header.n_bytes > VERIFIED_BYTES
        if verify or (verify is None and not is_large):
            for stored in header.arrays.values():
                verify_array(folder, stored)
    try:
        check_structure(header, arrays)
        if verify is not False:
            _check_values(folder, arrays, remember=is_large, again=bool(verify))
        return _graph(header, arrays)
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
    before = _status(folder / HEADER_FILE)

    def check() -> None:
        after = _status(folder / HEADER_FILE)
        if before and (after is None or not os.path.samestat(before, after)):
            problem = "another process began to replace it while it was opened"
            raise DataFileError(
                folder, (f"{problem}. Open it again when that process has finished.")
            ) from None

    try:
        yield
    except DataFileError:
        check()
        raise
    check()


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _check_values(
    folder: Path, arrays: dict[str, NDArray[Any]], *, remember: bool, again: bool
) -> None:
    """Check features and weights; where that takes long, once for each state of their files."""
    files = {
        role: [mapped.status.st_size, mapped.status.st_mtime_ns]
        for role in VALUES
        if (mapped := mapped_file(arrays.get(role))) is not None and mapped.status is not None
    }
    # What is remembered saves time and protects nothing: ranges, on which memory depends, are
    # checked whatever it says.
    with suppress(ModelFileError):
        if remember and not again and read_checked_json(folder / CHECKED_FILE) == files:
            return
    check_values(arrays)
    if remember:
        # A store that cannot be written to is looked through every time.
        with suppress(DataFileError):
            write_checked_json(folder / CHECKED_FILE, files)


def _graph(header: Header, arrays: dict[str, NDArray[Any]]) -> Graph:
    names = None
    if OFFSETS in arrays:
        names = StoredNames(arrays[OFFSETS], arrays[BYTES], are_json=header.names_are_json)
    kinds = None
    if header.kinds:
        kinds = EdgeKinds(tuple(header.kinds), arrays["kinds"])
    return Graph(
        arrays["indptr"],
        arrays["indices"],
        arrays.get("weights"),
        _features(header, arrays),
        arrays.get("labels"),
        np.array(header.classes, dtype=header.classes_type),
        names,  # pyright: ignore[reportArgumentType]
        None if header.feature_names is None else tuple(header.feature_names),
        _splits(header, arrays),
        tuple(header.notes),
        header.name,
        arrays.get("arcs"),
        kinds,
    )


def _features(header: Header, arrays: dict[str, NDArray[Any]]) -> Any:
    if "features_indptr" not in arrays:
        return arrays.get("features")
    parts = [arrays[f"features_{part}"] for part in ("values", "indices", "indptr")]
    return sp.csr_array(tuple(parts), shape=(header.n_vertices, header.n_features))


def _splits(header: Header, arrays: dict[str, NDArray[Any]]) -> tuple[Split, ...]:
    found, at = [], [0, 0, 0]
    for rule, sizes in zip(header.split_rules, header.split_sizes, strict=True):
        parts = [
            np.array(arrays[f"split_{part}"][a : a + size])
            for part, a, size in zip(("train", "val", "test"), at, sizes, strict=True)
        ]
        split = Split(*parts, rule=rule)
        split.check(header.n_vertices)
        found.append(split)
        at = [a + size for a, size in zip(at, sizes, strict=True)]
    return tuple(found)


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
        arrays = {
            role: write_array(folder / f"{role}.bin", array)
            for role, array in _arrays(graph).items()
        }
        are_json = False
        if graph.vertex_names is not None:
            names, are_json = write_names(folder, graph.vertex_names)
            arrays |= names
        write_header(folder, make_header(graph, arrays, are_json, encoder, columns))


def make_header(
    graph: Graph,
    arrays: dict[str, StoredArray],
    names_are_json: bool,
    encoder: TableEncoder | None,
    columns: Columns | None,
) -> Header:
    """Describe a graph whose arrays are written."""
    classes, classes_type = _plain_classes(graph)
    texts = [*(graph.feature_names or ()), *graph.notes, graph.name]
    check_text(texts, "names and notes")
    return Header(
        FORMAT, __version__, graph.name, graph.n_vertices, len(graph.indices), arrays,
        graph.n_features, None if graph.feature_names is None else list(graph.feature_names),
        names_are_json, classes, classes_type,
        [] if graph.kinds is None else list(graph.kinds.names),
        [split.rule for split in graph.splits],
        [[len(s.train), len(s.val), len(s.test)] for s in graph.splits],
        list(graph.notes), None if encoder is None else encoder.to_dict(),
        None if columns is None else asdict(columns),
    )  # fmt: skip


def split_arrays(graph: Graph) -> dict[str, Any]:
    """Return the parts of all splits, one after the other."""
    return {
        f"split_{part}": np.concatenate([getattr(split, part) for split in graph.splits])
        for part in ("train", "val", "test")
        if graph.splits
    }


def _arrays(graph: Graph) -> dict[str, Any]:
    arrays = {
        "indptr": graph.indptr,
        "indices": graph.indices,
        "weights": graph.weights,
        "arcs": graph.arcs,
        "labels": graph.labels,
        "kinds": None if graph.kinds is None else graph.kinds.values,
        **split_arrays(graph),
    }
    x = graph.features
    if isinstance(x, np.ndarray):
        arrays["features"] = x
    elif x is not None:
        parts = {"indptr": x.indptr, "indices": x.indices, "values": x.data}
        arrays |= {f"features_{part}": array for part, array in parts.items()}
    return {role: array for role, array in arrays.items() if array is not None}


def _plain_classes(graph: Graph) -> tuple[list[Any], str]:
    names = graph.classes.tolist()
    if not all(isinstance(name, bool | int | float | str) for name in names):
        raise GraphError("classes must be text or numbers to be stored; convert them first.")
    check_text(names, "classes")
    kind = graph.classes.dtype
    return names, "object" if kind.kind in "OU" else kind.str


STRUCTURE = ("indptr", "indices", "weights")
# Smaller hops are made in less time than they are read and checked.
KEPT_FROM_BYTES = 1 << 25


def store_of(graph: Graph) -> Path | None:
    """Return the store that a graph's edges are mapped from; None where they are not."""
    file = _file_of(graph.indices)
    if file is None or not (file.parent / HEADER_FILE).is_file():
        return None
    try:
        arrays = read_header(file.parent).arrays
    except DataFileError:
        return None  # It was changed since the graph was opened.
    for role in STRUCTURE:
        stored, own = arrays.get(role), getattr(graph, role)
        if stored is None and own is None:
            continue
        if stored is None or _file_of(own) != file.with_name(stored.file):
            return None
    return file.parent


def _file_of(array: Any) -> Path | None:
    """Return the file that an array is mapped from, while that is the one of its name."""
    mapped = mapped_file(array)
    return Path(str(mapped.filename)) if mapped is not None and mapped.is_current else None
