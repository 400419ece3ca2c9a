"""What is known of edges beside their weight: of which types they are, and when they came to be.

Both lie beside the graph of all edges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data.attributes import as_sequence
from graphfilter.data.edges import align_arcs, build_csr
from graphfilter.tables.dates import parse_moment
from graphfilter.util.errors import GraphError
from graphfilter.util.words import count

# Each kind has a filter and an operator of its own; more than this is a column of other content.
MOST_KINDS = 16


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
        indptr: NDArray[Any],
        indices: NDArray[Any],
        merge: str = "larger",
    ) -> Self:
        """Divide the edges of a graph by their type.

        Parameters
        ----------
        kinds : sequence (m,)
            Anything that prints; missing values are a type of their own, 'none'.
        pairs, weights, indptr, indices, merge
            The edges, and the adjacency that was made of all of them.
        """
        names, codes = _encode(kinds, len(pairs))
        n = len(indptr) - 1
        matrices = []
        for code in range(len(names)):
            own = codes == code
            part = build_csr(pairs[own], None if weights is None else weights[own], n, merge=merge)
            data = np.ones(len(part[1]), dtype=np.float32) if part[2] is None else part[2]
            matrices.append(sp.csr_array((data, part[1], part[0]), shape=(n, n)))
        return cls.from_matrices(names, matrices, indptr, indices)

    @classmethod
    def from_matrices(
        cls,
        names: tuple[str, ...],
        matrices: Sequence[sp.csr_array],
        indptr: NDArray[Any],
        indices: NDArray[Any],
    ) -> Self:
        """Take the symmetric adjacency of each type; all lie within that of the graph."""
        values = np.zeros((len(names), len(indices)), dtype=np.float32)
        for row, matrix in zip(values, matrices, strict=True):
            entries = matrix.tocoo()
            pairs = np.stack([entries.row, entries.col], axis=1)
            row[:] = align_arcs(pairs, entries.data.astype(np.float32), indptr, indices)
        return cls(names, values)

    def adjacency(self, kind: int, indptr: NDArray[Any], indices: NDArray[Any]) -> sp.csr_array:
        """Return the weighted adjacency (n, n) of one type, given that of the graph."""
        data = self.values[kind].astype(np.float64)
        n = len(indptr) - 1
        matrix = sp.csr_array((data, indices.copy(), indptr.copy()), shape=(n, n))
        matrix.eliminate_zeros()
        return matrix


def _encode(kinds: Any, n_edges: int) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    given = as_sequence("kinds", kinds.tolist() if hasattr(kinds, "tolist") else kinds)
    if len(given) != n_edges:
        raise GraphError(f"kinds must have one edge type per edge ({n_edges}); got {len(given)}.")
    try:
        distinct = {value: _name(value) for value in set(given)}
    except TypeError:
        raise GraphError("kinds must be words or numbers, one per edge; got lists.") from None
    names = tuple(sorted(set(distinct.values())))
    if len(names) > MOST_KINDS:
        raise GraphError(
            f"edges must have at most {MOST_KINDS} types; got {count(len(names), 'type')}, such as "
            f"{', '.join(map(repr, names[:3]))}. Name another column, or merge rare types."
        )
    number = {value: names.index(name) for value, name in distinct.items()}
    return names, np.fromiter((number[value] for value in given), np.int64, len(given))


def _name(value: Any) -> str:
    missing = value is None or value != value or (isinstance(value, str) and not value.strip())
    return "none" if missing else str(value).strip()


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
        given = np.asarray(times)
        are_dates = given.dtype.kind == "M"
        if given.shape != (len(pairs),) or given.dtype.kind not in "Mfiu":
            raise GraphError(
                f"times must be one number or datetime64 per edge ({len(pairs)}); got shape "
                f"{given.shape} of {given.dtype}."
            )
        values = given.astype(np.float64)
        if are_dates:
            whole = given.astype("datetime64[us]")
            values = np.where(np.isnat(whole), np.nan, whole.astype(np.int64) / 1e6)
        own = None if kinds is None else np.asarray(kinds, dtype=object)
        return cls(pairs, weights, own, values, are_dates, merge)

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
        known = self.times < self.moment
        pairs = self.pairs[known]
        weights = None if self.weights is None else self.weights[known]
        indptr, indices, data, _ = build_csr(
            pairs, weights, n, directed=directed, merge=self.merge
        )  # fmt: skip
        links: dict[str, Any] = {"indptr": indptr, "indices": indices, "weights": data}
        links["arcs"] = links["kinds"] = links["history"] = None
        if directed:
            links["arcs"] = align_arcs(pairs, weights, indptr, indices, self.merge)
        if self.kinds is not None:
            links["kinds"] = EdgeKinds.from_edges(
                self.kinds[known], pairs, weights, indptr, indices, self.merge
            )
        return links

    def renumbered(self, new_number: NDArray[Any]) -> EdgeHistory:
        """Return the history of fewer vertices; those that are gone have the new number -1."""
        pairs = new_number[self.pairs]
        kept = (pairs >= 0).all(axis=1)
        return replace(
            self,
            pairs=pairs[kept],
            weights=None if self.weights is None else self.weights[kept],
            kinds=None if self.kinds is None else self.kinds[kept],
            times=self.times[kept],
        )
