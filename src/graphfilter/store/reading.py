"""A store as a graph: nothing is read until it is used."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.errors import DataFileError, GraphFilterError
from graphfilter.graph import EdgeKinds, Graph
from graphfilter.splits import Split
from graphfilter.store.arrays import map_array, verify_array
from graphfilter.store.checks import check_structure, check_values
from graphfilter.store.header import REBUILD, Header, read_header
from graphfilter.store.names import BYTES, OFFSETS, StoredNames

# Stores up to this size are compared with their checksums when they are opened: a second or two.
VERIFIED_BYTES = 2 << 30


def open_store(path: str | PathLike[str], *, verify: bool | None = None) -> Graph:
    """Open a graph store: its arrays are mapped, read-only, and shared with other processes.

    Every number that others are found by is checked to lie in range, ids to be text, and features
    to be finite, in one pass over the files that takes little memory.

    Parameters
    ----------
    path : path
        The folder that ``graphfilter store`` or :func:`write_store` made.
    verify : bool, optional
        Compare every file with its checksum, which reads all of it once more. By default this is
        done for stores of at most 2 GiB. False leaves features unread until they are used.

    Examples
    --------
    >>> import tempfile, graphfilter as gf
    >>> folder = tempfile.mkdtemp()
    >>> gf.data.write_store(gf.data.make_karate(), f"{folder}/karate")
    >>> gf.open_store(f"{folder}/karate")
    Graph('karate', 34 vertices, 78 edges, 34 features, 2 classes)
    """
    folder = Path(path)
    header = read_header(folder)
    arrays = {role: map_array(folder, stored) for role, stored in header.arrays.items()}
    if verify or (verify is None and header.n_bytes <= VERIFIED_BYTES):
        for stored in header.arrays.values():
            verify_array(folder, stored)
    try:
        check_structure(header, arrays)
        if verify is not False:
            check_values(arrays)
        return _graph(header, arrays)
    except DataFileError:
        raise
    except (
        GraphFilterError, KeyError, ValueError, TypeError, IndexError, OverflowError
    ) as error:  # fmt: skip
        raise DataFileError(folder, f"its parts do not fit together ({error}). {REBUILD}") from None


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
