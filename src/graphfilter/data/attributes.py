"""What users give beside the edges, checked and converted to the form a Graph keeps it in.

Edges between names are numbered, so that everything else counts vertices from 0. scipy builds a
sparse matrix from any three arrays and believes them: a wrong index is read or written outside of
memory by its next conversion or product. So every matrix of a user is checked before that.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data.edges import as_array, check_real, on_host
from graphfilter.splits import Split
from graphfilter.tables.columns import Features
from graphfilter.tables.labels import encode_labels
from graphfilter.util.errors import GraphError, did_you_mean
from graphfilter.util.files import VERTEX_BYTES
from graphfilter.util.machine import memory_of_process
from graphfilter.util.words import count

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


def holds_names(edges: Any) -> bool:
    """Return whether these are pairs of names, not of numbers or anything else."""
    return _as_named_pairs(edges) is not None


def number_names(
    edges: Any, vertex_names: Sequence[Any] | None, *, others_known: bool
) -> tuple[Any, Sequence[Any] | None]:
    """Turn pairs of names into pairs of numbers; leave numbers alone.

    Parameters
    ----------
    edges : array-like
    vertex_names : sequence or None
        The vertices in order. Without them, they are the names in the edges, sorted.
    others_known : bool
        Whether features, labels or a number of vertices are given, which say nothing of names.

    Returns
    -------
    pairs, vertex_names

    Examples
    --------
    >>> number_names([("b", "a"), ("c", "a")], None, others_known=False)
    (array([[1, 0],
           [2, 0]]), ['a', 'b', 'c'])
    """
    pairs = _as_named_pairs(edges)
    if pairs is None:
        return edges, vertex_names
    if vertex_names is None:
        if others_known:
            raise GraphError(
                "edges between names must come with vertex_names, the name of each row of the "
                "features or labels; got none. An estimator takes them from the index of X, a "
                "pandas DataFrame."
            )
        vertex_names = sorted(dict.fromkeys(name for pair in pairs for name in pair), key=str)
    number = {name: i for i, name in enumerate(vertex_names)}
    missing = next((name for pair in pairs for name in pair if name not in number), None)
    if missing is not None:
        hint = did_you_mean(str(missing), map(str, vertex_names))
        raise GraphError(f"an edge names {missing!r}, which must be one of vertex_names{hint}")
    return np.array([[number[u], number[v]] for u, v in pairs], dtype=np.int64), vertex_names


def _as_named_pairs(edges: Any) -> list[tuple[Any, Any]] | None:
    """Return pairs that hold a name; None for anything else."""
    array: NDArray[Any] | None = None
    if hasattr(edges, "__array__") or hasattr(edges, "detach"):
        array = np.asarray(on_host(edges))
        if array.dtype.kind not in "UOT":
            return None
        edges = array.T if array.ndim == 2 and array.shape[1] != 2 == array.shape[0] else array
        edges = edges.tolist()
    if not isinstance(edges, Sequence) or isinstance(edges, str):
        return None
    pairs = [tuple(pair) for pair in edges if isinstance(pair, Sequence) and len(pair) == 2]
    if len(pairs) < len(edges) or not any(isinstance(end, str) for pair in pairs for end in pair):
        return None
    return pairs  # pyright: ignore[reportReturnType]


def check_sparse(matrix: Any, what: str) -> None:
    """Raise unless the structure of a scipy sparse matrix lies within its shape.

    ``what`` names the matrix in the message. Anything that is not sparse passes. One pass over
    the indices; nothing is copied or changed.
    """
    if not sp.issparse(matrix):
        return
    if len(matrix.shape) != 2:
        raise GraphError(f"{what} must be a table of rows and columns; got shape {matrix.shape}.")
    if matrix.format in ("csr", "csc", "bsr"):
        _check_compressed(matrix, what)
    elif matrix.format == "coo":
        entries = len(matrix.data)
        for index, size in zip(matrix.coords, matrix.shape, strict=True):
            _check_index(index, entries, size, what)
    elif matrix.format == "lil":
        # Lists of Python numbers, which its conversion to CSR copies without a look at them.
        for row, values in zip(matrix.rows, matrix.data, strict=True):
            _check_index(np.asarray(row, dtype=np.int64), len(values), matrix.shape[1], what)


def _check_compressed(matrix: Any, what: str) -> None:
    sizes = matrix.shape
    if matrix.format == "bsr":
        block = matrix.data.shape[1:]
        if len(block) != 2 or 0 in block or sizes[0] % block[0] or sizes[1] % block[1]:
            raise _damaged(what, f"it has blocks of shape {block} in a matrix {sizes}")
        sizes = sizes[0] // block[0], sizes[1] // block[1]
    n_rows, n_columns = reversed(sizes) if matrix.format == "csc" else sizes
    indptr = matrix.indptr
    if indptr.ndim != 1 or len(indptr) != n_rows + 1 or indptr.dtype.kind not in "iu":
        raise _damaged(what, f"its indptr has shape {indptr.shape}, not ({n_rows + 1},)")
    entries = int(indptr[-1])
    # Not by differences: those of damaged numbers may overflow.
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise _damaged(what, "its indptr does not rise from 0")
    # Room after the last entry is allowed by scipy, but read by its conversions.
    if not entries == len(matrix.indices) == len(matrix.data):
        raise _damaged(
            what,
            f"its indptr ends at {entries}, with {len(matrix.indices)} indices and "
            f"{len(matrix.data)} values",
        )
    _check_index(matrix.indices, entries, n_columns, what)


def _check_index(index: NDArray[Any], length: int, size: int, what: str) -> None:
    if index.shape != (length,) or index.dtype.kind not in "iu":
        raise _damaged(what, f"it has {index.size} indices for {length} values")
    if length and (index.min() < 0 or index.max() >= size):
        raise _damaged(
            what, f"its indices must lie in 0..{size - 1}; got {index.min()}..{index.max()}"
        )


def _damaged(what: str, problem: str) -> GraphError:
    return GraphError(
        f"{what} must be a valid scipy sparse matrix; {problem}. Build it again from its "
        "entries, or remove unused space with .prune()."
    )
