"""A store as a graph: nothing is read until it is used."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.errors import DataFileError, GraphFilterError, ModelFileError
from graphfilter.graph import EdgeKinds, Graph
from graphfilter.splits import Split
from graphfilter.storage import read_checked_json, write_checked_json
from graphfilter.store.arrays import map_array, mapped_file, verify_array
from graphfilter.store.checks import VALUES, check_structure, check_values
from graphfilter.store.header import HEADER_FILE, REBUILD, Header, read_header
from graphfilter.store.names import BYTES, OFFSETS, StoredNames

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
