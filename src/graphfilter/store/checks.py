"""What the arrays of a store must be, checked piece by piece when it is opened."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.runtime import blocks
from graphfilter.store.header import Header
from graphfilter.store.names import BYTES, OFFSETS, StoredNames

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
