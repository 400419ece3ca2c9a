"""What is known of the vertices, checked and converted to the form a Graph keeps it in."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.errors import GraphError
from graphfilter.graph.edges import as_array, check_real
from graphfilter.graph.sparse_checks import check_sparse
from graphfilter.runtime import memory_of_process
from graphfilter.splits import Split
from graphfilter.storage import VERTEX_BYTES
from graphfilter.tables import Features, encode_labels
from graphfilter.wording import count

# An edge list without n_vertices that would make more vertices than this, and more than so many
# per edge, is taken to hold identifiers instead of numbers.
MOST_VERTICES = 1 << 22
MOST_VERTICES_PER_EDGE = 100


def count_vertices(pairs: NDArray[Any], n: Any, features: Any, labels: Any) -> int:
    """Return the number of vertices: as given, else by feature rows or labels, else by edges."""
    needed = int(pairs.max()) + 1 if len(pairs) else 0
    if n is None and features is not None:
        n = _length("features", features)
    if n is None and labels is not None:
        n = _length("labels", labels)
    if n is None:
        n = needed
        # Identifiers taken for numbers would ask for memory by the terabyte.
        if n > MOST_VERTICES and n > MOST_VERTICES_PER_EDGE * len(pairs):
            raise GraphError(
                f"{count(len(pairs), 'edge')} would make {n:,} vertices. Number the vertices "
                "from 0 first, or pass n_vertices if this is intended."
            )
    try:
        n = operator.index(n)
    except TypeError:
        raise GraphError(f"n_vertices must be a whole number; got {n!r}.") from None
    if n < 1:
        raise GraphError("a graph must have at least one vertex; got none.")
    if n > (most := memory_of_process() // VERTEX_BYTES):
        raise GraphError(
            f"n_vertices must be at most {most:,}, for which there is memory; got {repr(n)[:30]}."
        )
    if n < needed:
        raise GraphError(
            f"an edge names vertex {needed - 1}, but there are only {n} vertices (0..{n - 1})."
        )
    return n


def check_changes(changes: dict[str, Any], n: int, old: Any) -> dict[str, Any]:
    """Check and convert new attributes of the graph ``old`` of n vertices.

    Feature names that no longer fit the features are dropped.
    """
    checked = {key: value for key, value in changes.items() if key in ("name", "notes")}
    features = old.features
    if "features" in changes:
        features = checked["features"] = as_features(changes["features"], n)
    if "labels" in changes:
        codes, classes = None, np.empty(0, dtype=np.int64)
        if changes["labels"] is not None:
            codes, classes = encode_labels(changes["labels"])
            check_length("labels", len(codes), n)
        checked["labels"], checked["classes"] = codes, classes
    for key, expected in (
        ("vertex_names", n),
        ("feature_names", 0 if features is None else features.shape[1]),
    ):
        names = changes.get(key, getattr(old, key))
        if key in changes and names is not None:
            names = as_sequence(key, names)
            check_length(key, len(names), expected)
        elif key == "feature_names" and names is not None and len(names) != expected:
            names = None
        checked[key] = names
    if "splits" in changes:
        checked["splits"] = as_sequence("splits", changes["splits"])
        for split in checked["splits"]:
            if not isinstance(split, Split):
                raise GraphError(f"splits must hold Splits; got a {type(split).__name__}.")
            split.check(n)
    if unknown := set(changes) - set(checked):
        raise TypeError(f"a Graph has no attribute {sorted(unknown)[0]!r} to set")
    return checked


def as_features(features: Any, n: int) -> Features | None:
    """Return features as float32, dense or in CSR form; they must be finite."""
    if features is None:
        return None
    check_sparse(features, "the features")
    if not sp.issparse(features):
        features = as_array(features, "features")
    check_real(features, "features")
    if sp.issparse(features) and features.dtype == np.float16:
        # scipy has no products or sums of half precision.
        features = features.astype(np.float32)
    try:
        with np.errstate(over="ignore"):
            matrix = features.astype(np.float32)
    except OverflowError:
        # A whole number that no float holds.
        matrix = np.full(features.shape, np.inf, dtype=np.float32)
    except (TypeError, ValueError):
        raise GraphError("features must be numbers; encode text columns first.") from None
    values = matrix
    if sp.issparse(matrix):
        matrix = sp.csr_array(matrix)
        matrix.sum_duplicates()
        values = matrix.data
    if matrix.ndim != 2:
        raise GraphError(f"features must be a table (n, d); got shape {matrix.shape}.")
    check_length("features", matrix.shape[0], n)
    if not np.isfinite(values).all():
        raise GraphError(
            "features must be finite in float32; got NaN, infinity or a larger number. Fill or "
            "drop those first."
        )
    return matrix


def as_sequence(what: str, values: Any) -> tuple[Any, ...]:
    try:
        return tuple(values)
    except TypeError:
        raise GraphError(f"{what} must be a list; got {values!r}.") from None


def check_length(what: str, got: int, expected: int) -> None:
    if got != expected:
        raise GraphError(f"{what} must have {expected} entries; got {got}.")


def _length(what: str, values: Any) -> int:
    try:
        return values.shape[0] if hasattr(values, "shape") else len(values)
    except (TypeError, IndexError):
        raise GraphError(f"{what} must have one entry per vertex; got {values!r}.") from None
