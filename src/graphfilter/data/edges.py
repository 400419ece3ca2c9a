"""From pairs of vertices to a clean symmetric adjacency, and what lies beside it.

Repeated edges become one. Which way the edges go, of which types they are and when they came to be
is kept beside the graph of all edges.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data.attributes import as_sequence, check_weights
from graphfilter.tables.dates import parse_moment
from graphfilter.util.errors import GraphError, check_name
from graphfilter.util.words import count

# What the rows of one edge weigh together, whichever way they go, and how notes say it. Of
# "larger", those of one direction add up, and the larger of the two directions holds.
MERGES = {
    "larger": "those of one direction were added up",
    "sum": "their weights were added up (to change this: `merge`)",
    "mean": "the mean of their weights was taken (to change this: `merge`)",
    "max": "the largest of their weights was kept (to change this: `merge`)",
    "last": "the weight of the last was kept (to change this: `merge`)",
}
# Each kind has a filter and an operator of its own; more than this is a column of other content.
MOST_KINDS = 16


def check_merge(merge: str, *, weighted: bool) -> str:
    """Raise unless repeats can be merged like this."""
    check_name("merge", merge, MERGES)
    if not weighted and merge not in ("larger", "sum"):
        raise GraphError(
            f"merge={merge!r} is about weights of edges; there are none. Name their column with "
            "`weight`, or count repeats with `merge='sum'`."
        )
    return merge


class Links(NamedTuple):
    """A symmetric adjacency in CSR form, the arcs beside it, and what was cleaned."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    weights: NDArray[np.float32] | None
    arcs: NDArray[np.float32] | None
    notes: list[str]


def build_links(
    pairs: NDArray[Any],
    weights: NDArray[np.float32] | None,
    n: int,
    *,
    directed: bool = False,
    merge: str = "larger",
) -> Links:
    """Make a symmetric adjacency of n vertices without loops or repeats.

    Where the edges are ``directed``, the two directions of one edge are two arcs: neither is a
    repeat, and neither weight is lost. A table that lists every edge in both directions, with equal
    sums, lists it twice by convention: those are not added up.

    Returns
    -------
    Links
        Indices are int32 where they fit; the notes say in sentences what was cleaned.

    Examples
    --------
    >>> pairs, weights = np.array([[0, 1], [1, 0], [0, 1]]), np.array([1, 6, 2], dtype=np.float32)
    >>> for merge in MERGES:
    ...     print(merge, build_links(pairs, weights, 2, merge=merge).weights)
    larger [6. 6.]
    sum [9. 9.]
    mean [3. 3.]
    max [6. 6.]
    last [2. 2.]
    """
    u, v = pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
    loop = u == v
    zero = np.zeros(len(u), dtype=bool) if weights is None else (weights == 0) & ~loop
    keep = ~(loop | zero)
    u, v = u[keep], v[keep]
    # Rows of one direction of one edge stand side by side, in their order; then those of the other.
    key = (np.minimum(u, v) * n + np.maximum(u, v)) * 2 + (u > v)
    order = np.argsort(key, kind="stable")
    key = key[order]
    values = np.ones(len(key)) if weights is None else weights[keep][order].astype(np.float64)
    first = starts_of(key)
    counts = np.diff(np.append(first, len(key)))
    one_way = reduce_repeats(values, first, counts, "sum" if merge == "larger" else merge)
    pair, backwards = key[first] >> 1, key[first] & 1
    edge = starts_of(pair)
    n_ways = np.diff(np.append(edge, len(pair)))
    both = edge[n_ways == 2]
    unequal = int(np.count_nonzero(one_way[both] != one_way[both + 1]))
    if merge == "last":
        rows = order[first + counts - 1] if len(first) else order
        merged = one_way[edge + (n_ways == 2) * (rows[edge + n_ways - 1] > rows[edge])]
    elif merge == "mean" and len(edge):
        merged = np.add.reduceat(one_way * counts, edge) / np.add.reduceat(counts, edge)
    else:
        merged = reduce_repeats(one_way, edge, n_ways, "max" if merge == "larger" else merge)
    if merge == "sum" and len(both) == len(edge) and not unequal:
        merged = merged / 2

    small = index_type(n)
    low, high = (end.astype(small) for end in np.divmod(pair[edge], n))
    places = np.arange(2 * len(edge))
    ends = np.concatenate([low, high]), np.concatenate([high, low])
    entries = sp.coo_array((places, ends), shape=(n, n)).tocsr()
    entries.sort_indices()
    arcs = None
    if directed:
        ways = np.zeros((2, len(edge)), dtype=np.float32)
        ways[backwards, np.repeat(np.arange(len(edge)), n_ways)] = 1 if weights is None else one_way
        arcs = ways.reshape(-1)[entries.data]
    data = None
    if weights is not None:
        data = check_weights(np.tile(merged, 2)[entries.data], len(places))
    notes = say_cleaned(
        int(np.count_nonzero(loop)), int(np.count_nonzero(zero)), len(key), len(first),
        len(places), 0 if weights is None or (directed and merge == "larger") else unequal,
        int(np.count_nonzero(np.diff(entries.indptr) == 0)),
        directed=directed, merge=None if weights is None else merge,
    )  # fmt: skip
    indptr = entries.indptr.astype(index_type(len(places)))
    return Links(indptr, entries.indices.astype(small), data, arcs, notes)


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


def starts_of(sorted_keys: NDArray[Any]) -> NDArray[np.int64]:
    """Return where each different key begins."""
    return np.flatnonzero(np.diff(sorted_keys, prepend=-1))


def say_cleaned(
    n_loops: int,
    n_zero: int,
    n_kept: int,
    n_one_way: int,
    n_both: int,
    n_unequal: int,
    n_isolated: int,
    *,
    directed: bool,
    merge: str | None,
) -> list[str]:
    """Say in sentences what was counted while edges became a symmetric adjacency.

    Parameters
    ----------
    n_loops, n_zero : int
        Edges that were dropped: self loops, and others of weight 0.
    n_kept, n_one_way, n_both : int
        Edges left, different ones among them, and entries of the adjacency.
    n_unequal : int
        Edges that had another weight in each direction.
    n_isolated : int
        Vertices without an edge.
    merge : str or None
        None where edges have no weights.
    """
    n_reciprocal = 2 * n_one_way - n_both
    by_direction = merge in (None, "larger")
    # A symmetric matrix lists every edge twice by convention: that is no repeat worth a note.
    symmetric = n_reciprocal == n_one_way and (by_direction or not n_unequal)
    n_repeats = n_kept - n_one_way + (0 if directed or symmetric else n_reciprocal // 2)
    how = "" if merge is None else f": {MERGES[merge]}"
    unequal = "had a different weight in each direction: the larger was kept."
    counts = (
        (n_loops, "self loop", None, "dropped."),
        (n_zero, "edge", None, "of weight 0 dropped."),
        (n_repeats, "repeated edge", None, f"merged{how}."),
        (n_unequal if by_direction else 0, "edge", None, unequal),
        (n_isolated, "isolated vertex", "isolated vertices", "kept."),
    )
    return [f"{count(n, one, many)} {what}" for n, one, many, what in counts if n]


def index_type(largest: int) -> type[np.int32] | type[np.int64]:
    """Choose the narrower index type that holds this number.

    >>> index_type(2**31 - 1).__name__, index_type(2**31).__name__
    ('int32', 'int64')
    """
    return np.int32 if largest <= np.iinfo(np.int32).max else np.int64


def entry_keys(indptr: NDArray[Any], indices: NDArray[Any], n: int) -> NDArray[np.int64]:
    """Return one number per stored entry of a CSR, in order: its row times n and its column."""
    rows = np.repeat(np.arange(len(indptr) - 1, dtype=np.int64), np.diff(indptr))
    return rows * n + indices


@dataclass(frozen=True, eq=False)
class EdgeKinds:
    """The weight of every edge in every edge type.

    Attributes
    ----------
    names : tuple of str
        Sorted.
    values : float32 array (n_kinds, n_entries)
        One column per stored entry of the graph's adjacency; 0 where the type does not join the
        two vertices.
    """

    names: tuple[str, ...]
    values: NDArray[np.float32]

    def __post_init__(self) -> None:
        self.values.flags.writeable = False

    @classmethod
    def from_edges(
        cls,
        kinds: Any,
        pairs: NDArray[Any],
        weights: NDArray[np.float32] | None,
        links: Links,
        merge: str = "larger",
    ) -> Self:
        """Divide the edges of a graph by their type.

        Parameters
        ----------
        kinds : sequence (m,)
            Anything that prints; missing values are a type of their own, 'none'.
        pairs, weights, merge
            The edges.
        links : Links
            What was made of all of them.
        """
        names, codes = _encode(kinds, len(pairs))
        n = len(links.indptr) - 1
        keys = entry_keys(links.indptr, links.indices, n)
        values = np.zeros((len(names), len(keys)), dtype=np.float32)
        for code, row in enumerate(values):
            rows = codes == code
            part = build_links(
                pairs[rows], None if weights is None else weights[rows], n, merge=merge
            )
            places = np.searchsorted(keys, entry_keys(part.indptr, part.indices, n))
            row[places] = 1 if part.weights is None else part.weights
        return cls(names, values)

    def adjacency(self, kind: int, indptr: NDArray[Any], indices: NDArray[Any]) -> sp.csr_array:
        """Return the weighted adjacency (n, n) of one type, given that of the graph."""
        data = self.values[kind].astype(np.float64)
        n = len(indptr) - 1
        matrix = sp.csr_array((data, indices.copy(), indptr.copy()), shape=(n, n))
        matrix.eliminate_zeros()
        return matrix


def _encode(kinds: Any, n_edges: int) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    values = as_sequence("kinds", kinds.tolist() if hasattr(kinds, "tolist") else kinds)
    if len(values) != n_edges:
        raise GraphError(f"kinds must have one edge type per edge ({n_edges}); got {len(values)}.")

    def name(value: Any) -> str:
        missing = value is None or value != value or (isinstance(value, str) and not value.strip())
        return "none" if missing else str(value).strip()

    try:
        distinct = {value: name(value) for value in set(values)}
    except TypeError:
        raise GraphError("kinds must be words or numbers, one per edge; got lists.") from None
    names = tuple(sorted(set(distinct.values())))
    if len(names) > MOST_KINDS:
        raise GraphError(
            f"edges must have at most {MOST_KINDS} types; got {count(len(names), 'type')}, such as "
            f"{', '.join(map(repr, names[:3]))}. Name another column, or merge rare types."
        )
    number = {value: names.index(word) for value, word in distinct.items()}
    return names, np.fromiter((number[value] for value in values), np.int64, len(values))


@dataclass(frozen=True, eq=False)
class EdgeHistory:
    """The rows that a graph was made of, each with its time.

    Rows, not edges: the weight that an edge had earlier is what its rows until then weigh.

    Attributes
    ----------
    pairs, weights, kinds : arrays, the last two or None
        As :meth:`Graph.from_edges` took them.
    times : float64 array (m,)
        Seconds since 1970 where they are dates; NaN where unknown.
    are_dates : bool
    merge : str
        What the rows of one edge weigh together.
    moment : float or None
        Training knows the rows before it; None for all.
    """

    pairs: NDArray[Any]
    weights: NDArray[np.float32] | None
    kinds: NDArray[Any] | None
    times: NDArray[np.float64]
    are_dates: bool
    merge: str
    moment: float | None = None

    @classmethod
    def of(
        cls,
        pairs: NDArray[Any],
        weights: NDArray[np.float32] | None,
        kinds: Any,
        times: Any,
        merge: str,
    ) -> EdgeHistory:
        """Remember rows and their times."""
        values = np.asarray(times)
        are_dates = values.dtype.kind == "M"
        if values.shape != (len(pairs),) or values.dtype.kind not in "Mfiu":
            raise GraphError(
                f"times must be one number or datetime64 per edge ({len(pairs)}); got shape "
                f"{values.shape} of {values.dtype}."
            )
        if are_dates:
            whole = values.astype("datetime64[us]")
            values = np.where(np.isnat(whole), np.nan, whole.astype(np.int64) / 1e6)
        types = None if kinds is None else np.asarray(kinds, dtype=object)
        return cls(pairs, weights, types, values.astype(np.float64), are_dates, merge)

    def until(self, moment: Any) -> EdgeHistory:
        """Return the history with a moment that training knows the rows before."""
        if not isinstance(moment, float):
            moment = parse_moment(moment, are_dates=self.are_dates)
        if not (self.times < moment).any():
            raise GraphError(f"an edge must be before {self.say(moment)} to train on; none is.")
        return replace(self, moment=moment)

    def say(self, moment: float) -> str:
        """Return a moment in words."""
        if not self.are_dates:
            return f"{moment:g}"
        day = datetime.fromtimestamp(moment, tz=UTC)
        return f"{day:%Y-%m-%d}" if moment % 86_400 == 0 else f"{day:%Y-%m-%d %H:%M:%S}"

    def note(self) -> str:
        """Say which rows training knows."""
        assert self.moment is not None
        before = int(np.count_nonzero(self.times < self.moment))
        unknown = int(np.count_nonzero(np.isnan(self.times)))
        without = f" ({unknown:,} have no time)" if unknown else ""
        return (
            f"Training uses {before:,} of {count(len(self.times), 'row')} of edges, those "
            f"before {self.say(self.moment)}{without}; predictions use all."
        )

    def links(self, n: int, *, directed: bool) -> dict[str, Any]:
        """Return the attributes of the graph that training knows."""
        assert self.moment is not None
        past = self.rows(self.pairs, self.times < self.moment)
        links = build_links(past.pairs, past.weights, n, directed=directed, merge=self.merge)
        kinds = None
        if past.kinds is not None:
            kinds = EdgeKinds.from_edges(past.kinds, past.pairs, past.weights, links, self.merge)
        attributes = {name: value for name, value in links._asdict().items() if name != "notes"}
        return {**attributes, "kinds": kinds, "history": None}

    def rows(self, pairs: NDArray[Any], some: NDArray[np.bool_]) -> EdgeHistory:
        """Return some of the rows, with these numbers for the vertices."""
        return replace(
            self,
            pairs=pairs[some],
            weights=None if self.weights is None else self.weights[some],
            kinds=None if self.kinds is None else self.kinds[some],
            times=self.times[some],
        )
