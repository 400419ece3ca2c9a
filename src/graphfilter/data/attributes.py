"""What users give, checked and converted to the form a Graph keeps it in.

Edges between names are numbered, so that everything else counts vertices from 0. scipy builds a
sparse matrix from any three arrays and believes them: a wrong index is read or written outside of
memory by its next conversion or product. So every matrix of a user is checked before that.

PyTorch Geometric's ``HeteroData``, with several kinds of vertices, is the parts of one graph.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

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
# Beyond this, float32 rounds by more than a twentieth.
LARGE = 2**20


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
    pairs = named_pairs(edges)
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
    try:
        numbers = [[number[u], number[v]] for u, v in pairs]
    except KeyError as missing:
        name = missing.args[0]
        hint = did_you_mean(str(name), map(str, vertex_names))
        raise GraphError(
            f"an edge names {name!r}, which must be one of vertex_names{hint}"
        ) from None
    return np.array(numbers, dtype=np.int64), vertex_names


def named_pairs(edges: Any) -> list[tuple[Any, Any]] | None:
    """Return pairs that hold a name; None for pairs of numbers and for anything else."""
    if hasattr(edges, "__array__") or hasattr(edges, "detach"):
        array: NDArray[Any] = np.asarray(on_host(edges))
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


def as_pairs(edges: ArrayLike) -> NDArray[Any]:
    """Check an edge array and turn it to shape (m, 2)."""
    pairs = as_array(edges, "edges")
    if pairs.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if pairs.ndim == 2 and pairs.shape[1] != 2 and pairs.shape[0] == 2:
        pairs = pairs.T
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise GraphError(
            f"edges must have shape (m, 2) or (2, m); got {pairs.shape}. An adjacency matrix goes "
            "in as a scipy sparse one: scipy.sparse.csr_array(matrix)."
        )
    whole = pairs.dtype.kind in "iu"
    if not whole and not (pairs.dtype.kind == "f" and np.equal(pairs, np.floor(pairs)).all()):
        raise GraphError(
            f"edges must be whole vertex numbers; got {pairs.dtype}. To use names, number them "
            "first, or read the files with graphfilter.data.read_tables."
        )
    if pairs.min() < 0:
        raise GraphError(f"vertex numbers must not be negative; got {pairs.min():.0f}.")
    if pairs.max() > np.iinfo(np.int64).max // 2:
        raise GraphError(
            f"vertex numbers must run from 0 to the number of vertices; got {pairs.max():g}. "
            "Number the vertices first, or read the files with graphfilter.data.read_tables."
        )
    return pairs if whole else pairs.astype(np.int64)


def check_weights(weights: ArrayLike, n_edges: int) -> NDArray[np.float32]:
    """Check edge weights: one each, finite, not negative."""
    values = as_array(weights, "weights")
    if values.shape != (n_edges,):
        raise GraphError(f"weights must be one number per edge ({n_edges}); got {values.shape}.")
    values = as_float32(
        values, "weights", f"got {values.dtype}.", "Fill those in, or leave their edges out."
    )
    if (values < 0).any():
        raise GraphError(
            f"weights must not be negative; got {values.min():g}. Use absolute values, and "
            "give the sign as the edge type (kinds=...)."
        )
    return values


def as_float32(values: Any, what: str, if_words: str, if_infinite: str) -> Any:
    """Return an array, or a sparse matrix as CSR, in float32; raise unless it holds all numbers."""
    try:
        with np.errstate(over="ignore"):
            values = values.astype(np.float32)
    except OverflowError:  # A whole number that no float holds.
        values = np.array([np.inf])
    except (TypeError, ValueError):
        raise GraphError(f"{what} must be numbers; {if_words}") from None
    if sp.issparse(values):
        values = sp.csr_array(values)
    if not np.isfinite(values.data if sp.issparse(values) else values).all():
        raise GraphError(
            f"{what} must be finite in float32; got NaN, infinity or a larger number. {if_infinite}"
        )
    return values


def narrowed(features: Any) -> Features:
    """Return features in float32, or in float64 where dense ones would lose digits.

    Of large numbers alone more digits are kept: a row is the same with any others beside it.
    """
    small = as_float32(
        features, "features", "encode text columns first.", "Fill or drop those first."
    )
    most = max(small.max(initial=0), -small.min(initial=0)) if isinstance(small, np.ndarray) else 0
    if most <= LARGE or features.dtype == np.float32:
        return small
    exact = np.asarray(features, dtype=np.float64)
    lost = (np.abs(small) > LARGE) & (small != exact)
    return np.where(lost, exact, small) if lost.any() else small


def on_host(values: Any) -> Any:
    """Turn a torch tensor, wherever it lies, into a numpy array; leave anything else alone."""
    try:
        return values.detach().cpu().numpy() if hasattr(values, "detach") else values
    except TypeError:
        raise GraphError(
            f"a tensor must be dense and of a type that numpy has; got {values.layout} of "
            f"{values.dtype}. Pass tensor.to_dense().float()."
        ) from None


def as_array(values: Any, what: str) -> NDArray[Any]:
    """Return values as a numpy array; masked ones, which it would show, are refused."""
    if n := int(np.ma.count_masked(values)) if isinstance(values, np.ma.MaskedArray) else 0:
        raise GraphError(f"{what} must have a value in every cell; {n:,} are masked. Fill them in.")
    values = on_host(values)
    try:
        array = np.asarray(values)
    except ValueError:
        raise GraphError(f"{what} must be a table; got rows of unequal length.") from None
    check_real(array, what)
    return array


def check_real(values: Any, what: str) -> None:
    """Raise where values are of a type that numpy converts, and should not, to numbers."""
    kind: Any = getattr(values, "dtype", None)
    if getattr(kind, "kind", "O") in "cmMV":
        text = "Complex data not supported" if kind.kind == "c" else f"got {kind}"
        raise GraphError(
            f"{what} must be real numbers; {text}. Convert them first, such as dates to days."
        )


def count_vertices(pairs: NDArray[Any], n: Any, features: Any, labels: Any) -> int:
    """Return the number of vertices: as given, else by feature rows or labels, else by edges."""
    needed = int(pairs.max()) + 1 if len(pairs) else 0
    for what, values in (("features", features), ("labels", labels)):
        if n is None and values is not None:
            try:
                n = values.shape[0] if hasattr(values, "shape") else len(values)
            except (TypeError, IndexError):
                raise GraphError(
                    f"{what} must have one entry per vertex; got {values!r}."
                ) from None
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
    if n > MOST_VERTICES and n > (most := memory_of_process() // VERTEX_BYTES):
        raise GraphError(
            f"n_vertices must be at most {most:,}, for which there is memory; got {repr(n)[:30]}."
        )
    if n < needed:
        raise GraphError(
            f"an edge names vertex {needed - 1}, but there are only {n} vertices (0..{n - 1})."
        )
    return n


def check_changes(changes: dict[str, Any], n: int, old: Any = None) -> dict[str, Any]:
    """Check and convert attributes of a graph of n vertices, new ones or those of ``old``.

    Feature names that no longer fit the features are dropped.
    """
    checked = {key: value for key, value in changes.items() if key in ("name", "notes")}
    features = getattr(old, "features", None)
    if "features" in changes:
        features = checked["features"] = as_features(changes["features"], n)
    if "vertex_names" in changes:
        names = changes["vertex_names"]
        checked["vertex_names"] = None if names is None else as_sequence("vertex_names", names, n)
    n_features = 0 if features is None else features.shape[1]
    names = changes.get("feature_names", getattr(old, "feature_names", None))
    if "feature_names" in changes and names is not None:
        names = as_sequence("feature_names", names, n_features)
    fit = names is not None and len(names) == n_features
    checked["feature_names"] = names if fit else None
    if "splits" in changes:
        checked["splits"] = as_sequence("splits", changes["splits"])
        for split in checked["splits"]:
            if not isinstance(split, Split):
                raise GraphError(f"splits must hold Splits; got a {type(split).__name__}.")
            split.check(n)
    if "labels" in changes:
        codes, classes = None, np.empty(0, dtype=np.int64)
        if changes["labels"] is not None:
            codes, classes = encode_labels(changes["labels"])
            check_length("labels", len(codes), n)
        checked |= {"labels": codes, "classes": classes}
    if unknown := set(changes) - set(checked):
        raise TypeError(f"a Graph has no attribute {sorted(unknown)[0]!r} to set")
    return checked


def as_features(features: Any, n: int) -> Features | None:
    """Return features as :func:`narrowed` numbers, dense or in CSR form; they must be finite."""
    if features is None:
        return None
    check_sparse(features, "the features")
    if sp.issparse(features):
        check_real(features, "features")
    else:
        features = as_array(features, "features")
    matrix = narrowed(features)
    if sp.issparse(matrix):
        matrix.sum_duplicates()
    if matrix.ndim != 2:
        raise GraphError(f"features must be a table (n, d); got shape {matrix.shape}.")
    check_length("features", matrix.shape[0], n)
    return matrix


def as_sequence(what: str, values: Any, length: int | None = None) -> tuple[Any, ...]:
    """Return a list as a tuple, of this length if one is given; raise for anything else."""
    try:
        sequence = tuple(values)
    except TypeError:
        raise GraphError(f"{what} must be a list; got {values!r}.") from None
    if length is not None:
        check_length(what, len(sequence), length)
    return sequence


def check_length(what: str, got: int, expected: int) -> None:
    if got != expected:
        raise GraphError(f"{what} must have {expected} entries; got {got}.")


def check_sparse(matrix: Any, what: str) -> None:
    """Raise unless the structure of a scipy sparse matrix lies within its shape.

    ``what`` names the matrix in the message. Anything that is not sparse passes. One pass over
    the indices; nothing is copied or changed.
    """
    if not sp.issparse(matrix):
        return
    if len(matrix.shape) != 2:
        raise GraphError(f"{what} must be a table of rows and columns; got shape {matrix.shape}.")
    if problem := _damage(matrix):
        raise GraphError(
            f"{what} must be a valid scipy sparse matrix; {problem}. Build it again from its "
            "entries, or remove unused space with .prune()."
        )


def _damage(matrix: Any) -> str:
    """Return what is wrong with the structure of a sparse matrix; nothing where it is sound."""
    if matrix.format not in ("coo", "lil", "csr", "csc", "bsr"):
        return ""
    sizes, entries = matrix.shape, len(matrix.data)
    if matrix.format == "coo":
        parts = [(index, entries, n) for index, n in zip(matrix.coords, sizes, strict=True)]
    elif matrix.format == "lil":
        # Lists of Python numbers, which its conversion to CSR copies without a look at them.
        rows = zip(matrix.rows, matrix.data, strict=True)
        parts = [(np.asarray(row, dtype=np.int64), len(x), sizes[1]) for row, x in rows]
    else:
        if matrix.format == "bsr":
            block = matrix.data.shape[1:]
            if len(block) != 2 or 0 in block or sizes[0] % block[0] or sizes[1] % block[1]:
                return f"it has blocks of shape {block} in a matrix {sizes}"
            sizes = sizes[0] // block[0], sizes[1] // block[1]
        n_rows, n_columns = reversed(sizes) if matrix.format == "csc" else sizes
        indptr = matrix.indptr
        if indptr.shape != (n_rows + 1,) or indptr.dtype.kind not in "iu":
            return f"its indptr has shape {indptr.shape}, not ({n_rows + 1},)"
        # Not by differences: those of damaged numbers may overflow.
        if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
            return "its indptr does not rise from 0"
        # Room after the last entry is allowed by scipy, but read by its conversions.
        if not indptr[-1] == len(matrix.indices) == entries:
            got = f"{len(matrix.indices)} indices and {entries} values"
            return f"its indptr ends at {indptr[-1]}, with {got}"
        parts = [(matrix.indices, entries, n_columns)]
    for index, length, size in parts:
        if index.shape != (length,) or index.dtype.kind not in "iu":
            return f"it has {index.size} indices for {length} values"
        if length and (index.min() < 0 or index.max() >= size):
            return f"its indices must lie in 0..{size - 1}; got {index.min()}..{index.max()}"
    return ""


def is_hetero(data: Any) -> bool:
    """Return whether this has several kinds of vertices and of edges, as ``HeteroData`` has."""
    return hasattr(data, "node_types") and hasattr(data, "edge_types")


def pyg_splits(data: Any, own: NDArray[Any]) -> list[Split]:
    """Return the splits that masks of vertices with these numbers say; one per column."""
    masks = [on_host(getattr(data, f"{part}_mask", None)) for part in ("train", "val", "test")]
    if any(mask is None for mask in masks):
        return []
    columns = zip(*(mask.reshape(len(mask), -1).T for mask in masks), strict=True)
    return [Split(*(own[mask] for mask in split), rule="fixed") for split in columns]


def hetero_parts(data: Any) -> dict[str, Any]:
    """Return the parts of a graph of all kinds of vertices, one kind after the other.

    Each kind has columns of its own, and one that says so; a vertex is called ``paper:3``. Edges
    have the type of their relation; reverse ones (``rev_…``) are left out where those that they
    reverse are there. Labels and masks are those of the one kind that has them.
    """
    kinds = list(data.node_types)
    sizes = [int(data[kind].num_nodes) for kind in kinds]
    starts = dict(zip(kinds, np.cumsum([0, *sizes]).tolist(), strict=False))
    n, pairs, names, weights = sum(sizes), list[Any](), list[str](), list[Any]()
    relations = [tuple(each) for each in data.edge_types]
    for source, relation, target in relations:
        if (target, relation.removeprefix("rev_"), source) in relations and "rev_" in relation:
            continue
        store = data[source, relation, target]
        shift = np.array([[starts[source]], [starts[target]]])
        ends = as_array(store.edge_index, "edge_index") + shift
        alike = sum(each[1] == relation for each in relations) > 1
        name = f"{source} {relation} {target}" if alike else relation
        pairs.append(ends.T)
        names += [name] * ends.shape[1]
        given = on_host(getattr(store, "edge_weight", None))
        weights.append(np.ones(ends.shape[1]) if given is None else given)
    if not pairs:
        raise GraphError("the HeteroData must have edges; it has no type of edges.")
    known = (on_host(getattr(data[kind], "x", None)) for kind in kinds)
    columns = [
        np.column_stack([np.ones(size), *([] if x is None else [x])])
        for x, size in zip(known, sizes, strict=True)
    ]
    labelled = [kind for kind in kinds if getattr(data[kind], "y", None) is not None]
    if len(labelled) > 1:
        raise GraphError(
            f"labels must be of one kind of vertex; {' and '.join(labelled)} have some. Remove one."
        )
    labels: NDArray[Any] | None = None
    splits = list[Split]()
    for kind in labelled:
        own = starts[kind] + np.arange(sizes[kinds.index(kind)])
        y = on_host(data[kind].y)
        if y.ndim == 1 and y.dtype.kind in "iu":
            labels = np.full(n, -1, dtype=np.int64)
            labels[own] = y
        splits = pyg_splits(data[kind], own)
    return {
        "edges": np.concatenate(pairs),
        "n_vertices": n,
        "kinds": names,
        "weights": None if all((w == 1).all() for w in weights) else np.concatenate(weights),
        "features": sp.csr_array(sp.block_diag(columns, format="csr", dtype=np.float32)),
        "feature_names": [
            f"{kind}: {j - 1}" if j else f"kind={kind}"
            for kind, x in zip(kinds, columns, strict=True)
            for j in range(x.shape[1])
        ],
        "labels": labels,
        "splits": splits,
        "vertex_names": [
            f"{kind}:{i}" for kind, size in zip(kinds, sizes, strict=True) for i in range(size)
        ],
    }
