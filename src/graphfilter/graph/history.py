"""When edges came to be, and which of them training may know."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import GraphError
from graphfilter.graph.edge_kinds import EdgeKinds
from graphfilter.graph.edges import build_csr
from graphfilter.graph.links import align_arcs
from graphfilter.tables import parse_moment
from graphfilter.wording import count


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
