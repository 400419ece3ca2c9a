"""A table of edges, read block by block: ids become numbers as they come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import DataFileError
from graphfilter.graph.edges import count
from graphfilter.graph.tables.cells import as_ids, as_text, distinct, index_in
from graphfilter.graph.tables.checked import read_numbers
from graphfilter.graph.tables.mismatch import explain_missing
from graphfilter.graph.tables.numbers import guess_decimal
from graphfilter.graph.tables.source import TableSource, at_row, reading_table

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class EdgeRoles:
    """Which columns of a table of edges are what, and whether its first line is a header."""

    source: str
    target: str
    weight: str | None = None
    kind: str | None = None
    header: bool = True

    @property
    def names(self) -> list[str]:
        others = [name for name in (self.weight, self.kind) if name is not None]
        return list(dict.fromkeys([self.source, self.target, *others]))


@dataclass(frozen=True, eq=False)
class EdgeRows:
    """What a table of edges says: pairs of vertex numbers and, where asked for, more of each."""

    pairs: NDArray[np.int32]
    weights: NDArray[np.float32] | None
    kinds: NDArray[Any] | None
    notes: list[str]


def read_edges(
    table: TableSource,
    roles: EdgeRoles,
    vertices: TableSource,
    ids: pa.Array,
    id_column: str,
    allow_missing: bool,
) -> EdgeRows:
    """Read the edges in one pass, turning ids into numbers block by block."""
    import pyarrow as pa

    pairs, weights = [np.empty((0, 2), np.int32)], [np.empty(0, np.float32)]
    kinds: list[Any] = []
    row, decimal = 0, table.decimal
    for batch in table.read_batches(roles.names, roles.header):
        with reading_table(table):
            ends = [as_ids(batch.column(name)) for name in (roles.source, roles.target)]
        numbers = index_in(pa.chunked_array(ends), ids).reshape(2, -1)
        known = (numbers >= 0).all(axis=0)
        if not (allow_missing or known.all()):
            bad = int(known.argmin())
            name = ends[int(numbers[0, bad] >= 0)][bad].as_py()
            any_known = bool(row or (numbers >= 0).any())
            problem = explain_missing(
                name, ids, vertices.name, vertices.names, id_column, any_known
            )
            problem = f"{problem}, or pass --allow-missing."
            raise at_row(table, row + bad, problem, header=roles.header)
        pairs.append(numbers.T[known])
        if roles.weight is not None:
            column = pa.chunked_array([batch.column(roles.weight)])
            decimal = guess_decimal(column, decimal, table.decimal_hint)
            weights.append(_read_weights(table, column, roles.weight, row, decimal)[known])
        if roles.kind is not None:
            kinds.append(as_text(batch.column(roles.kind), trim=True).filter(pa.array(known)))
        row += len(batch)
    # Arrow keeps freed memory for itself, which would lie on top of what building the graph takes.
    pa.default_memory_pool().release_unused()
    notes = [] if row else [f"{table.name} lists no edge."]
    if n_dropped := row - sum(map(len, pairs)):
        notes.append(f"{count(n_dropped, 'edge')} to vertices not in {vertices.name} dropped.")
    if row and n_dropped == row:
        raise DataFileError(
            table,
            f"no edge joins two vertices of {vertices.name}; one must. Check --id, --source and "
            "--target.",
        )
    return EdgeRows(
        np.concatenate(pairs),
        np.concatenate(weights) if roles.weight else None,
        _join_kinds(kinds) if roles.kind else None,
        notes,
    )


def _join_kinds(blocks: list[Any]) -> NDArray[Any]:
    import pyarrow as pa

    words, codes = distinct(pa.chunked_array(blocks, type=pa.string()))
    return np.array(words, dtype=object)[codes]


def _read_weights(
    table: TableSource, column: Any, name: str, row: int, decimal: str
) -> NDArray[np.float32]:
    remedy = "Fix it, or name another column with --weight."
    with reading_table(table):
        return read_numbers(
            column, table, name, remedy, least=0, first_row=row, decimal=decimal
        )  # fmt: skip
