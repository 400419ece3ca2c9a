"""A table of edges, read block by block: ids become numbers as they come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import DataFileError
from graphfilter.tables.cells import as_text, distinct, index_in
from graphfilter.tables.checked import read_numbers
from graphfilter.tables.mismatch import explain_missing
from graphfilter.tables.numbers import guess_decimal
from graphfilter.tables.source import TableSource, at_row, reading_table
from graphfilter.tables.times import Times, parse_times
from graphfilter.wording import count

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
    time: str | None = None

    @property
    def names(self) -> list[str]:
        others = [name for name in (self.weight, self.kind, self.time) if name is not None]
        return list(dict.fromkeys([self.source, self.target, *others]))


@dataclass(frozen=True, eq=False)
class EdgeRows:
    """What a table of edges says: pairs of vertex numbers and, where asked for, more of each."""

    pairs: NDArray[np.int32]
    weights: NDArray[np.float32] | None
    kinds: NDArray[Any] | None
    times: Times | None
    notes: list[str]


@dataclass(frozen=True)
class Elsewhere:
    """Where vertices may be that edges name and the table of vertices does not list.

    Attributes
    ----------
    ids : sequence of str
        Those that are known from elsewhere.
    title : str
        What knows them; empty where there is nothing.
    remedy : str
        What else can be done about an end that nobody knows.
    """

    ids: Sequence[str] = ()
    title: str = ""
    remedy: str = "pass `allow_missing=True`"


@dataclass(frozen=True, eq=False)
class EdgeBlock:
    """Rows of a table of edges that were read together.

    Attributes
    ----------
    row : int
        The number of the first, from 0.
    ends : pair of Arrow arrays of text
        The ids of the sources and of the targets.
    weights : float32 array or None
    kinds, times : Arrow arrays or None
        The edge types are text; the times are as in the table.
    """

    row: int
    ends: tuple[Any, Any]
    weights: NDArray[np.float32] | None
    kinds: Any
    times: Any


def read_edge_blocks(table: TableSource, roles: EdgeRoles) -> Iterator[EdgeBlock]:
    """Read the edges piece by piece."""
    import pyarrow as pa

    row, decimal = 0, table.decimal
    for batch in table.read_batches(roles.names, roles.header):
        with reading_table(table):
            ends = (roles.source, roles.target)
            source, target = (table.as_ids(batch.column(name)) for name in ends)
        weights = kinds = None
        if roles.weight is not None:
            column = pa.chunked_array([batch.column(roles.weight)])
            decimal = guess_decimal(column, decimal, table.decimal_hint)
            weights = _read_weights(table, column, roles.weight, row, decimal)
        if roles.kind is not None:
            kinds = as_text(batch.column(roles.kind), trim=True)
        times = None if roles.time is None else batch.column(roles.time)
        yield EdgeBlock(row, (source, target), weights, kinds, times)
        row += len(batch)


def read_edges(
    table: TableSource,
    roles: EdgeRoles,
    vertices: TableSource,
    ids: pa.Array,
    id_column: str,
    allow_missing: bool,
    elsewhere: Elsewhere | None = None,
) -> EdgeRows:
    """Read the edges in one pass, turning ids into numbers block by block."""
    import pyarrow as pa

    pairs, weights = [np.empty((0, 2), np.int32)], [np.empty(0, np.float32)]
    kinds: list[Any] = []
    times: list[Any] = []
    row = 0
    for block in read_edge_blocks(table, roles):
        numbers = index_in(pa.chunked_array(block.ends), ids).reshape(2, -1)
        if not allow_missing:
            check_ends(
                table, roles, block, (numbers[0], numbers[1]), vertices, ids, id_column, elsewhere
            )
        known = (numbers >= 0).all(axis=0)
        pairs.append(numbers.T[known])
        if block.weights is not None:
            weights.append(block.weights[known])
        if block.kinds is not None:
            kinds.append(block.kinds.filter(pa.array(known)))
        if block.times is not None:
            times.append(block.times.filter(pa.array(known)))
        row += known.size
    # Arrow keeps freed memory for itself, which would lie on top of what building the graph takes.
    pa.default_memory_pool().release_unused()
    return EdgeRows(
        np.concatenate(pairs),
        np.concatenate(weights) if roles.weight else None,
        _join_kinds(kinds) if roles.kind else None,
        parse_times(pa.chunked_array(times), table, roles.time) if times and roles.time else None,
        note_rows(table, vertices, row, sum(map(len, pairs))),
    )


def check_ends(
    table: TableSource,
    roles: EdgeRoles,
    block: EdgeBlock,
    numbers: tuple[NDArray[Any], NDArray[Any]],
    vertices: TableSource,
    ids: pa.Array,
    id_column: str,
    elsewhere: Elsewhere | None = None,
) -> None:
    """Raise for the first edge of a block to a vertex that is not in the table of vertices."""
    known = np.stack(numbers) >= 0
    if known.all():
        return
    bad = int(known.all(axis=0).argmin())
    name = block.ends[int(known[0, bad])][bad].as_py()
    any_known = bool(block.row or known.any())
    elsewhere = elsewhere or Elsewhere()
    problem = explain_missing(
        name, ids, vertices.name, vertices.names, id_column, any_known, elsewhere.title
    )
    row = block.row + bad
    raise at_row(table, row, f"{problem}, or {elsewhere.remedy}.", header=roles.header)


def note_rows(table: TableSource, vertices: TableSource, n_rows: int, n_known: int) -> list[str]:
    """Say how many edges were left out; raise where none is left."""
    notes = [] if n_rows else [f"{table.name} lists no edge."]
    if n_dropped := n_rows - n_known:
        notes.append(f"{count(n_dropped, 'edge')} to vertices not in {vertices.name} dropped.")
    if n_rows and n_dropped == n_rows:
        raise DataFileError(
            table,
            f"at least one edge must join two vertices of {vertices.name}; none does. Check `id`, "
            "`source` and `target`.",
        )
    return notes


def _join_kinds(blocks: list[Any]) -> NDArray[Any]:
    import pyarrow as pa

    words, codes = distinct(pa.chunked_array(blocks, type=pa.string()))
    return np.array(words, dtype=object)[codes]


def _read_weights(
    table: TableSource, column: Any, name: str, row: int, decimal: str
) -> NDArray[np.float32]:
    remedy = "Fix it, or name another column with `weight`."
    with reading_table(table):
        return read_numbers(
            column, table, name, remedy, least=0, first_row=row, decimal=decimal
        )  # fmt: skip
