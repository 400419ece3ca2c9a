"""A table of edges, read block by block: ids become numbers as they come.

Where an end of an edge is not among the vertices, the usual causes are named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from graphfilter.tables.cells import (
    WITHOUT_WIDTH,
    Cells,
    as_text,
    clean_ids,
    distinct,
    index_in,
    only_in,
)
from graphfilter.tables.dates import Times, parse_times
from graphfilter.tables.numbers import check_numbers, guess_decimal, parse_numbers
from graphfilter.tables.roles import EdgeRoles, is_index
from graphfilter.tables.source import TableSource, at_row, reading_table
from graphfilter.util.errors import DataFileError
from graphfilter.util.words import count

if TYPE_CHECKING:
    import pyarrow as pa

    from graphfilter.tables.source import TableSource


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
            cells = Cells(pa.chunked_array([batch.column(roles.weight)]), roles.weight, table)
            with reading_table(table):
                decimal = guess_decimal(cells, table, decimal)
                remedy = "Fix it, or name another column with `weight`."
                read = parse_numbers(cells, decimal)
                weights = check_numbers(cells, read, remedy, least=0, first_row=row)
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


def _without_fraction(name: str) -> str:
    return re.sub(r"\.0+$", "", name)


def _without_zeros(name: str) -> str:
    return _without_fraction(name.strip()).lstrip("0") or "0"


def _clean(name: str) -> str:
    return normalize("NFC", re.sub(WITHOUT_WIDTH, "", name)).strip()


# Each with what two spellings of an id that are equal under it differ by.
_CAUSES: tuple[tuple[Callable[[str], str], str], ...] = (
    (str.strip, "one of the two has blanks around its ids"),
    (_clean, "they differ in invisible ways: zero-width characters, or Unicode forms"),
    (
        _without_fraction,
        ("one of the two writes them as decimals, as pandas does where values are missing"),
    ),
    (_without_zeros, "one of the two has lost the leading zeros of its ids, as Excel does"),
    (str.casefold, "the two differ in upper and lower case"),
)


def note_near_ids(ids: pa.Array | pa.ChunkedArray, table: TableSource) -> list[str]:
    """Say how many vertices have an id that looks like another's, and how they become one.

    All ids must differ. Memory is taken for those that cleaning changes, which are few.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    changed, cleaned = [pa.array([], pa.string())], [pa.array([], pa.string())]
    for chunk in ids.chunks if isinstance(ids, pa.ChunkedArray) else [ids]:
        clean = clean_ids(chunk)
        differs = pc.call_function("not_equal", [clean, chunk])
        changed.append(chunk.filter(differs).cast(pa.string()))
        cleaned.append(clean.filter(differs).cast(pa.string()))
    before, after = pa.concat_arrays(changed), pa.concat_arrays(cleaned)
    # One that looks like an id that cleaning leaves as it is, or like another that it changes.
    plain = only_in(ids, after) if len(after) else after
    n_alike = len(before) + len(plain) - len(after.unique())
    if not n_alike:
        return []
    seen = {name: name for name in plain.to_pylist()}
    for name, key in zip(before.to_pylist(), after.to_pylist(), strict=True):
        if (other := seen.setdefault(key, name)) != name:
            example = f"{other!a} and {name!a}"
            break
    else:
        raise AssertionError
    number = count(n_alike, "id differs", "ids differ")
    return [
        f"{table.name}: {number} from another only by blanks around it, characters of no width or "
        f"its Unicode form ({example}): different vertices. `clean_ids=True` reads them as one."
    ]


def explain_missing(
    name: str,
    ids: pa.Array,
    vertices: str,
    names: Sequence[str],
    id_column: str,
    any_known: bool,
    elsewhere: str = "",
) -> str:
    """Say that a vertex is missing and the likely cause; a remedy can follow after a comma.

    Parameters
    ----------
    name : str
        The end of an edge that is missing.
    ids : array of strings
    vertices : str
        The table that the ids are of.
    names, id_column : sequence of str, str
        Its columns, and that of the ids.
    any_known : bool
        Whether other ends of edges are among the ids.
    elsewhere : str
        What else knows vertices, if anything does.
    """
    if not name:
        return "an end of the edge is empty. Fill it in"
    if name in names:
        return (
            f"vertex {name!r} is not in {vertices}, but a column has that name: its first line may "
            "be a vertex. Write names of columns above it"
        )
    known = ids.to_pylist()
    for same, cause in _CAUSES:
        key = same(name)
        if (found := next((other for other in known if same(other) == key), None)) is not None:
            option = ", pass `clean_ids=True`" if same in (str.strip, _clean) else ""
            spell = ascii if same is _clean else repr
            return (
                f"vertex {spell(name)} is not in {vertices}, but {spell(found)} is: {cause}. "
                f"Write them the same way in both{option}"
            )
    if any_known:
        nor = f", nor in {elsewhere}" if elsewhere else ""
        return f"vertex {name!r} is not in {vertices}{nor}. Add it to {vertices}"
    column = "the unnamed column" if id_column == "" else f"column {id_column!r}"
    index = is_index(id_column) or known == [str(i) for i in range(len(known))]
    what = "holds row numbers, as pandas writes them" if index else "may not be the id"
    return (
        f"vertex {name!r} is not in {vertices}, nor is any other before it: {column} {what}. "
        "Name the column of the ids with `id`"
    )
