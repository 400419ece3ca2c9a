"""Edge types: which of them joins two vertices, and how strongly, beside the graph of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.errors import GraphError
from graphfilter.graph.attributes import as_sequence
from graphfilter.graph.edges import build_csr
from graphfilter.graph.links import align_arcs
from graphfilter.wording import count

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
