"""A store as a graph: nothing is read until it is used."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.errors import DataFileError, GraphFilterError
from graphfilter.graph import Graph
from graphfilter.graph.edge_kinds import EdgeKinds
from graphfilter.splits import Split
from graphfilter.store.arrays import map_array, verify_array
from graphfilter.store.header import REBUILD, Header, read_header
from graphfilter.store.names import BYTES, OFFSETS, StoredNames

# Stores up to this size are compared with their checksums when they are opened: a second or two.
VERIFIED_BYTES = 2 << 30
_PIECE = 1 << 24


def open_store(path: str | PathLike[str], *, verify: bool | None = None) -> Graph:
    """Open a graph store: its arrays are mapped, read-only, and shared with other processes.

    Every number that others are found by is checked to lie in range, which reads the structure
    once; features are not read before they are used.

    Parameters
    ----------
    path : path
        The folder that ``graphfilter store`` or :func:`write_store` made.
    verify : bool, optional
        Compare every file with its checksum, which reads all of it. By default this is done for
        stores of at most 2 GiB.

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
        _check_structure(header, arrays)
        return _graph(header, arrays)
    except DataFileError:
        raise
    except (GraphFilterError, KeyError, ValueError, TypeError, IndexError) as error:
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


def _check_structure(header: Header, arrays: dict[str, NDArray[Any]]) -> None:
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
    if header.classes_type != "object" and np.dtype(header.classes_type).kind not in "biuf":
        raise ValueError(f"classes must not be of {header.classes_type}")
    if n < 1 or len({*header.kinds}) != len(header.kinds):
        raise ValueError("there must be a vertex, and kinds of edges with names of their own")
    _check_rises(arrays["indptr"], m, "indptr")
    _check_range(arrays["indices"], 0, n, "indices")
    if "features_indptr" in arrays:
        parts = arrays["features_indices"], arrays["features_values"]
        if parts[0].shape != parts[1].shape or parts[0].ndim != 1:
            raise ValueError("sparse features must have one value per index")
        _check_rises(arrays["features_indptr"], len(parts[0]), "features_indptr")
        _check_range(parts[0], 0, d, "features_indices")
    if "labels" in arrays:
        _check_range(arrays["labels"], -1, len(header.classes), "labels")
    if OFFSETS in arrays:
        _check_rises(arrays[OFFSETS], arrays[BYTES].size, OFFSETS)


def _check_rises(offsets: NDArray[Any], last: int, role: str) -> None:
    if offsets[0] != 0 or offsets[-1] != last or (offsets[1:] < offsets[:-1]).any():
        raise ValueError(f"{role} must rise from 0 to {last}")


def _check_range(values: NDArray[Any], least: int, end: int, role: str) -> None:
    for start in range(0, len(values), _PIECE):
        piece = values[start : start + _PIECE]
        if piece.min() < least or piece.max() >= end:
            raise ValueError(f"{role} must lie in {least}..{end - 1}")
