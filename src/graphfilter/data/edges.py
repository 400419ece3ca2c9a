"""From pairs of vertices, as users have them, to a clean symmetric adjacency in CSR form.

Repeated edges become one; which way the edges go is kept beside the adjacency, as arcs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from graphfilter.util.errors import GraphError, check_name
from graphfilter.util.words import count


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
    if pairs.dtype.kind == "f" and np.equal(pairs, np.floor(pairs)).all():
        _check_largest(pairs.max())
        pairs = pairs.astype(np.int64)
    if pairs.dtype.kind not in "iu":
        raise GraphError(
            f"edges must be whole vertex numbers; got {pairs.dtype}. To use names, number them "
            "first, or read the files with graphfilter.data.read_tables."
        )
    if pairs.min() < 0:
        raise GraphError(f"vertex numbers must not be negative; got {pairs.min()}.")
    _check_largest(pairs.max())
    return pairs


def check_weights(weights: ArrayLike, n_edges: int) -> NDArray[np.float32]:
    """Check edge weights: one each, finite, not negative."""
    values = as_array(weights, "weights")
    if values.shape != (n_edges,):
        raise GraphError(f"weights must be one number per edge ({n_edges}); got {values.shape}.")
    try:
        with np.errstate(over="ignore"):
            values = values.astype(np.float32)
    except OverflowError:
        values = np.array([np.inf])
    except (TypeError, ValueError):
        raise GraphError(f"weights must be numbers; got {values.dtype}.") from None
    if not np.isfinite(values).all():
        raise GraphError(
            "weights must be finite in float32; got NaN, infinity or a larger number. Fill those "
            "in, or leave their edges out."
        )
    if (values < 0).any():
        raise GraphError(
            f"weights must not be negative; got {values.min():g}. Use absolute values, and "
            "give the sign as the edge type (kinds=...)."
        )
    return values


def build_csr(
    pairs: NDArray[Any],
    weights: NDArray[np.float32] | None,
    n: int,
    *,
    directed: bool = False,
    merge: str = "larger",
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float32] | None, list[str]]:
    """Make a symmetric CSR without loops or repeats.

    Where the edges are ``directed``, the two directions of one edge are two arcs: neither is a
    repeat, and neither weight is lost (:mod:`graphfilter.data.edges` keeps both). ``merge`` says
    what repeats weigh together: see :mod:`graphfilter.data.edges`.

    Returns
    -------
    indptr, indices, weights, notes
        Indices are int32 where they fit; ``notes`` says in sentences what was cleaned.
    """
    small = index_type(n)
    u, v = pairs[:, 0].astype(small), pairs[:, 1].astype(small)
    u, v, weights, dropped = _drop_loops_and_zeros(u, v, weights)
    if weights is None or merge == "larger":
        data = np.ones(len(u), dtype=bool) if weights is None else weights.astype(np.float64)
        one_way = sp.coo_array((data, (u, v)), shape=(n, n)).tocsr()
        reverse = one_way.T.tocsr()
        both = (one_way + reverse if weights is None else one_way.maximum(reverse)).tocsr()
        n_unequal = 0 if weights is None or directed else _count_unequal(one_way, reverse)
        n_one_way = one_way.nnz
    else:
        both, n_one_way, n_unequal = merge_edges(u, v, weights, n, merge)
    both.sort_indices()
    notes = Cleaned(
        *dropped, len(u), n_one_way, both.nnz, n_unequal,
        int(np.count_nonzero(np.diff(both.indptr) == 0)),
    ).notes(directed=directed, merge=None if weights is None else merge)  # fmt: skip
    data = None if weights is None else check_weights(both.data, both.nnz)
    return both.indptr.astype(index_type(both.nnz)), both.indices.astype(small), data, notes


@dataclass(frozen=True)
class Cleaned:
    """What was counted while edges became a symmetric adjacency.

    Attributes
    ----------
    n_loops, n_zero : int
        Edges that were dropped: self loops, and others of weight 0.
    n_kept, n_one_way, n_both : int
        Edges left, different ones among them, and entries of the adjacency.
    n_unequal : int
        Edges that had another weight in each direction.
    n_isolated : int
        Vertices without an edge.
    """

    n_loops: int = 0
    n_zero: int = 0
    n_kept: int = 0
    n_one_way: int = 0
    n_both: int = 0
    n_unequal: int = 0
    n_isolated: int = 0

    def notes(self, *, directed: bool, merge: str | None) -> list[str]:
        """Say in sentences what was cleaned; ``merge`` is None where edges have no weights."""
        n_reciprocal = 2 * self.n_one_way - self.n_both
        own = merge in (None, "larger")
        # A symmetric matrix lists every edge twice by convention: that is no repeat worth a note.
        symmetric = n_reciprocal == self.n_one_way and (own or not self.n_unequal)
        listed_twice = 0 if directed or symmetric else n_reciprocal // 2
        how = "" if merge is None else f": {SAID[merge]}"
        n_repeats = self.n_kept - self.n_one_way + listed_twice
        isolated = count(self.n_isolated, "isolated vertex", "isolated vertices")
        unequal = f"{count(self.n_unequal, 'edge')} had a different weight in each direction"
        counts = {
            f"{count(self.n_loops, 'self loop')} dropped.": self.n_loops,
            f"{count(self.n_zero, 'edge')} of weight 0 dropped.": self.n_zero,
            f"{count(n_repeats, 'repeated edge')} merged{how}.": n_repeats,
            f"{unequal}: the larger was kept.": self.n_unequal if own else 0,
            f"{isolated} kept.": self.n_isolated,
        }
        return [note for note, n in counts.items() if n]


def index_type(largest: int) -> type[np.int32] | type[np.int64]:
    """Choose the narrower index type that holds this number.

    >>> index_type(2**31 - 1).__name__, index_type(2**31).__name__
    ('int32', 'int64')
    """
    return np.int32 if largest <= np.iinfo(np.int32).max else np.int64


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
    try:
        array = np.asarray(on_host(values))
    except GraphError:
        raise
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


def _check_largest(number: Any) -> None:
    if number > np.iinfo(np.int64).max // 2:
        raise GraphError(
            f"vertex numbers must run from 0 to the number of vertices; got {number:g}. Number "
            "the vertices first, or read the files with graphfilter.data.read_tables."
        )


def _drop_loops_and_zeros(
    u: NDArray[Any], v: NDArray[Any], weights: NDArray[np.float32] | None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float32] | None, tuple[int, int]]:
    drop = u == v
    n_loops, n_zero = int(np.count_nonzero(drop)), 0
    if weights is not None:
        zero = (weights == 0) & ~drop
        n_zero = int(np.count_nonzero(zero))
        drop |= zero
    if drop.any():
        u, v = u[~drop], v[~drop]
        weights = None if weights is None else weights[~drop]
    return u, v, weights, (n_loops, n_zero)


def _count_unequal(one_way: sp.csr_array, reverse: sp.csr_array) -> int:
    """Count the edges that were given in both directions with different weights."""
    in_both = one_way.astype(bool).multiply(reverse.astype(bool))
    return int(abs(one_way - reverse).multiply(in_both).astype(bool).sum()) // 2


# What the rows of one edge weigh together, whichever way they go. Of "larger", those of one
# direction add up, and the larger of the two directions holds.
MERGES = ("larger", "sum", "mean", "max", "last")
SAID = {
    "larger": "those of one direction were added up",
    "sum": "their weights were added up (to change this: `merge`)",
    "mean": "the mean of their weights was taken (to change this: `merge`)",
    "max": "the largest of their weights was kept (to change this: `merge`)",
    "last": "the weight of the last was kept (to change this: `merge`)",
}


def check_merge(merge: str, *, weighted: bool) -> str:
    """Raise unless repeats can be merged like this."""
    check_name("merge", merge, MERGES)
    if not weighted and merge not in ("larger", "sum"):
        raise GraphError(
            f"merge={merge!r} is about weights of edges; there are none. Name their column with "
            "`weight`, or count repeats with `merge='sum'`."
        )
    return merge


def merge_edges(
    u: NDArray[Any], v: NDArray[Any], weights: NDArray[Any], n: int, merge: str
) -> tuple[sp.csr_array, int, int]:
    """Return the symmetric adjacency in float64, and two counts.

    A table that lists every edge in both directions, with equal sums, lists it twice by
    convention: those are not added up.

    Returns
    -------
    adjacency : csr_array (n, n)
    n_one_way : int
        Different pairs of a source and a target.
    n_unequal : int
        Edges that weigh differently in the two directions.

    Examples
    --------
    >>> u, v = np.array([0, 1, 0]), np.array([1, 0, 1])
    >>> for merge in ("sum", "mean", "max", "last"):
    ...     print(merge, merge_edges(u, v, np.array([1.0, 6.0, 2.0]), 2, merge)[0][0, 1])
    sum 9.0
    mean 3.0
    max 6.0
    last 2.0
    """
    low, high = np.minimum(u, v).astype(np.int64), np.maximum(u, v)
    key = (low * n + high) * 2 + (u > v)
    order = np.argsort(key, kind="stable")
    key, values = key[order], weights[order].astype(np.float64)
    first = _starts(key)
    counts = np.diff(np.append(first, len(key)))
    rows = order[first + counts - 1] if len(first) else order
    one_way = reduce_repeats(values, first, counts, merge)
    pair = key[first] >> 1
    edge = _starts(pair)
    n_ways = np.diff(np.append(edge, len(pair)))
    both = edge[n_ways == 2]
    n_unequal = int(np.count_nonzero(one_way[both] != one_way[both + 1]))
    if merge == "last":
        later = edge + (n_ways == 2) * (rows[edge + n_ways - 1] > rows[edge])
        merged = one_way[later]
    elif merge == "mean":
        total = np.add.reduceat(one_way * counts, edge) if len(edge) else one_way
        merged = total / np.add.reduceat(counts, edge) if len(edge) else total
    else:
        merged = reduce_repeats(one_way, edge, n_ways, merge)
    if merge == "sum" and len(both) == len(edge) and not n_unequal:
        merged = merged / 2
    ends = np.stack(np.divmod(pair[edge], n))
    place = np.concatenate([ends, ends[::-1]], axis=1)
    adjacency = sp.coo_array((np.tile(merged, 2), (place[0], place[1])), shape=(n, n)).tocsr()
    return adjacency, len(one_way), n_unequal


def reduce_repeats(
    values: NDArray[Any], first: NDArray[Any], counts: NDArray[Any], merge: str
) -> NDArray[np.float64]:
    """Merge values that stand side by side, those of one edge from each ``first`` on."""
    if not len(first):
        return np.zeros(0)
    if merge == "last":
        return values[first + counts - 1]
    if merge == "max":
        return np.maximum.reduceat(values, first)
    total = np.add.reduceat(values, first)
    return total / counts if merge == "mean" else total


def _starts(sorted_keys: NDArray[Any]) -> NDArray[np.int64]:
    """Return where each different key begins."""
    if not len(sorted_keys):
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(np.concatenate([[True], sorted_keys[1:] != sorted_keys[:-1]]))


def align_arcs(
    pairs: NDArray[Any],
    weights: NDArray[np.float32] | None,
    indptr: NDArray[Any],
    indices: NDArray[Any],
    merge: str = "larger",
) -> NDArray[np.float32]:
    """Return the weight of the arc (row → column) for every entry of a symmetric CSR, 0 for none.

    Parameters
    ----------
    pairs, weights, merge : arrays (m, 2), (m,) or None, and str
        As :func:`~graphfilter.data.edges.build_csr` took them to make the CSR.
    """
    n = len(indptr) - 1
    keep = pairs[:, 0] != pairs[:, 1]
    if weights is not None:
        keep &= weights > 0
    values = np.ones(len(pairs)) if weights is None else weights.astype(np.float64)
    ends = pairs[keep].astype(np.int64)
    # One number per arc: those of the CSR are sorted, as its rows are.
    rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(indptr))
    place = np.searchsorted(rows * n + indices, ends[:, 0] * n + ends[:, 1])
    sums = np.bincount(place, weights=values[keep], minlength=len(indices))
    if weights is None:
        sums = sums > 0
    elif merge == "mean":
        sums = sums / np.maximum(np.bincount(place, minlength=len(indices)), 1)
    elif merge == "max":
        np.maximum.at(sums := np.zeros(len(indices)), place, values[keep])
    elif merge == "last":
        sums[place] = values[keep]
    return sums.astype(np.float32)[: len(indices)]
