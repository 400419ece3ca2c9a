"""The table of edges, as a symmetric adjacency on disk: ids numbered, merged and sorted.

Vertices without a table of their own: the different ids that edges name.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.attributes import check_weights
from graphfilter.data.edges import check_merge, index_type, reduce_repeats, say_cleaned, starts_of
from graphfilter.data.store import (
    StoredArray,
    StoredNames,
    map_array,
    writing_array,
)
from graphfilter.large.ids import ROWS_AT_ONCE, IdIndex, query_batches
from graphfilter.large.vertices import Report
from graphfilter.tables.build import check_ends, note_rows, read_edge_blocks
from graphfilter.tables.formats import frame_table
from graphfilter.tables.roles import Columns, EdgeRoles, choose_edge_roles
from graphfilter.tables.source import TableSource, reading_table
from graphfilter.util.errors import DataFileError
from graphfilter.util.files import atomic_file
from graphfilter.util.machine import blocks

if TYPE_CHECKING:
    pass

# An entry (u, v) as one number that sorts as the pair does: u, then v, then whether the file lists
# it in this direction (1) or it is the mirror image of one that it lists (0).
_SHIFT, _LOW = 32, (1 << 32) - 2
# The most ids in which a similar spelling is searched.
_LOOKED_AT = 1_000_000


@dataclass(frozen=True)
class PairFacts:
    """What numbering the ends of the edges left behind."""

    n_rows: int = 0
    n_known: int = 0
    n_loops: int = 0
    n_zero: int = 0
    arrays: dict[str, StoredArray] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class EdgeFacts:
    """The adjacency on disk, and what was cleaned."""

    n_entries: int = 0
    arrays: dict[str, StoredArray] = field(default_factory=dict)
    n_arcs: int = 0
    notes: list[str] = field(default_factory=list)


def number_ends(
    edges: TableSource,
    roles: EdgeRoles,
    vertices: TableSource,
    names: StoredNames,
    id_column: str,
    scratch: Path,
    *,
    allow_missing: bool,
    report: Report,
    n_rows: int,
    keep_rows: bool = False,
) -> PairFacts:
    """Write every edge as one number (and its row and weight), in one pass over the edges."""
    seen, n_known, loops, zero = 0, 0, 0, 0
    index, looked_at = IdIndex(names), names.as_arrow().slice(0, _LOOKED_AT)
    with ExitStack() as stack:
        keys = stack.enter_context(writing_array(scratch / "pairs.bin", np.int64))
        rows = weights = None
        if keep_rows:
            rows = stack.enter_context(writing_array(scratch / "rows.bin", np.int64))
        if roles.weight is not None:
            weights = stack.enter_context(writing_array(scratch / "weights.bin", np.float32))
        # One thread for each end.
        pool = stack.enter_context(ThreadPoolExecutor(2))
        report("numbering ends", 0, n_rows)
        for block in read_edge_blocks(edges, roles):
            u, v = pool.map(index.find, block.ends)
            if not allow_missing:
                check_ends(edges, roles, block, np.stack([u, v]), vertices, looked_at, id_column)
            keep = (u >= 0) & (v >= 0)
            seen, n_known = seen + len(keep), n_known + int(np.count_nonzero(keep))
            loops += int(np.count_nonzero(keep & (u == v)))
            keep &= u != v
            if weights is not None and block.weights is not None:
                zero += int(np.count_nonzero(keep & (block.weights == 0)))
                keep &= block.weights != 0
                weights.append(block.weights[keep])
            keys.append((u[keep] << _SHIFT) | (v[keep] << 1) | 1)
            if rows is not None:
                rows.append(block.row + np.flatnonzero(keep))
            report("numbering ends", seen, max(seen, n_rows))
    # In the order in which they are sorted.
    writers = {"pairs": keys, "rows": rows, "weights": weights}
    arrays = {name: writer.result for name, writer in writers.items() if writer is not None}
    return PairFacts(seen, n_known, loops, zero, arrays, note_rows(edges, vertices, seen, n_known))


def write_pairs(blocks: Iterator[NDArray[np.int64]], scratch: Path, report: Report) -> PairFacts:
    """Write edges between numbers, pairs (m, 2), as :func:`number_ends` writes those of ids."""
    seen = loops = 0
    with writing_array(scratch / "pairs.bin", np.int64) as keys:
        for block in blocks:
            u, v = block[:, 0], block[:, 1]
            keep = u != v
            keys.append((u[keep] << _SHIFT) | (v[keep] << 1) | 1)
            seen += len(block)
            loops += len(block) - int(np.count_nonzero(keep))
            report("reading edges", seen, 0)
    return PairFacts(seen, seen, loops, 0, {"pairs": keys.result})


def sort_pairs(
    pairs: PairFacts,
    n_vertices: int,
    scratch: Path,
    folder: Path,
    *,
    directed: bool,
    memory: int,
    report: Report,
    merge: str = "larger",
) -> EdgeFacts:
    """Sort both directions of every edge, merge repeats and write the adjacency."""
    weighted = check_merge(merge, weighted="weights" in pairs.arrays) == "sum"
    weighted |= "weights" in pairs.arrays
    total = 2 * pairs.arrays["pairs"].shape[0]
    counts = np.zeros(n_vertices, dtype=np.int64)
    one_way = unequal = 0
    with ExitStack() as stack:
        writers: dict[str, Any] = {
            role: stack.enter_context(writing_array(folder / f"{role}.bin", kind))
            for role, kind, wanted in (
                ("indices", index_type(n_vertices), True),
                ("weights", np.float32, weighted),
                ("arcs", np.float32, directed),
            )
            if wanted
        }
        report("sorting", 0, total)
        both_ways = _both_ways(pairs, scratch)
        entries = query_batches("FROM batches ORDER BY ALL", *both_ways, scratch, memory)
        for block in _merged(entries, merge):
            rows = block.keys >> _SHIFT
            first = int(rows[0])
            in_block = np.bincount(rows - first)
            counts[first : first + len(in_block)] += in_block
            writers["indices"].append((block.keys & _LOW) >> 1)
            if weighted:
                writers["weights"].append(check_weights(block.together, len(block.keys)))
            if directed:
                writers["arcs"].append(block.there if weighted else block.there > 0)
            one_way += int(np.count_nonzero(block.there))
            unequal += block.n_unequal if weighted and not (directed and merge == "larger") else 0
            report("sorting", min(block.n_read, total - 1), total)
    report("sorting", total, total)
    n_entries = writers["indices"].n_rows
    with writing_array(folder / "indptr.bin", index_type(n_entries)) as indptr:
        indptr.append(np.zeros(1, dtype=np.int64))
        indptr.append(np.cumsum(counts))
    n_kept = pairs.n_known - pairs.n_loops - pairs.n_zero
    notes = say_cleaned(
        pairs.n_loops, pairs.n_zero, n_kept, one_way, n_entries, unequal // 2,
        int(np.count_nonzero(counts == 0)), directed=directed, merge=merge if weighted else None,
    )  # fmt: skip
    arrays = {role: writer.result for role, writer in writers.items()} | {"indptr": indptr.result}
    if merge == "sum" and one_way == n_entries and not unequal:
        arrays["weights"] = _halve(folder, arrays["weights"])
    return EdgeFacts(n_entries, arrays, one_way, notes)


def _halve(folder: Path, weights: StoredArray) -> StoredArray:
    """Halve the weights of edges that were all listed twice, once in each direction."""
    mapped = map_array(folder, weights)
    with writing_array(folder / weights.file, np.float32) as writer:
        for rows in blocks(len(mapped), ROWS_AT_ONCE):
            writer.append(mapped[rows] / 2)
    return writer.result


@dataclass(frozen=True, eq=False)
class _Block:
    """Different entries in order, with the weight in each direction, 0 for none, and in both."""

    keys: NDArray[np.int64]
    there: NDArray[np.float64]
    back: NDArray[np.float64]
    together: NDArray[np.float64]
    n_read: int

    @property
    def n_unequal(self) -> int:
        both = (self.there > 0) & (self.back > 0)
        return int(np.count_nonzero(both & (self.there != self.back)))


# Sorted entries: their keys, their weights so far, and how many rows have been merged into each;
# where the last row counts, its number in the table plus 1.
_Sorted = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


def _merged(batches: Iterator[Any], merge: str) -> Iterator[_Block]:
    """Merge sorted keys; an entry that may go on in the next batch waits for it."""
    kept: _Sorted = np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64)
    n_read = 0
    for batch in batches:
        if not len(batch):
            continue
        n_read += len(batch)
        pairs = zip(kept, _read_sorted(batch, merge), strict=True)
        keys, values, tally = (np.concatenate(pair) for pair in pairs)
        first = starts_of(keys)
        counts = np.diff(np.append(first, len(keys)))
        # Means are divided at the end, by the tally.
        values = reduce_repeats(values, first, counts, "sum" if merge == "mean" else merge)
        add = np.maximum if merge == "last" else np.add
        keys, tally = keys[first], add.reduceat(tally, first)
        # The last entry has one or two keys, by its directions.
        last = len(keys) - 1 - (len(keys) > 1 and keys[-2] | 1 == keys[-1])
        if last:
            yield _by_entry((keys[:last], values[:last], tally[:last]), n_read, merge)
        kept = keys[last:], values[last:], tally[last:]
    if len(kept[0]):
        yield _by_entry(kept, n_read, merge)


def _read_sorted(batch: Any, merge: str) -> _Sorted:
    columns = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
    keys, n = columns[0], len(batch)
    weighted = len(columns) > (2 if merge == "last" else 1)
    values = columns[-1].astype(np.float64) if weighted else np.ones(n)
    return keys, values, columns[1] + 1 if merge == "last" else np.ones(n, dtype=np.int64)


def _by_entry(entries: _Sorted, n_read: int, merge: str) -> _Block:
    keys, values, tally = entries
    listed = (keys & 1).astype(bool)
    entry = keys | 1
    first = starts_of(entry)
    (there, n_there), (back, n_back) = (
        (np.add.reduceat(values * way, first), np.add.reduceat(tally * way, first))
        for way in (listed, ~listed)
    )
    if merge == "mean":
        together = (there + back) / (n_there + n_back)
        there, back = there / np.maximum(n_there, 1), back / np.maximum(n_back, 1)
    elif merge == "last":
        together = np.where(n_there > n_back, there, back)
    else:
        together = there + back if merge == "sum" else np.maximum(there, back)
    return _Block(entry[first], there, back, together, n_read)


def _both_ways(pairs: PairFacts, scratch: Path) -> tuple[Any, Iterator[Any]]:
    """Return every edge and its mirror image as batches; the files are read, not mapped."""
    import pyarrow as pa

    files = [scratch / stored.file for stored in pairs.arrays.values()]
    kinds = {"pairs": pa.int64(), "rows": pa.int64(), "weights": pa.float32()}
    schema = pa.schema([(name, kinds[name]) for name in pairs.arrays])

    def batches() -> Iterator[Any]:
        with ExitStack() as stack:
            streams = [stack.enter_context(file.open("rb")) for file in files]
            while True:
                block = [
                    np.fromfile(stream, dtype=stored.dtype, count=ROWS_AT_ONCE)
                    for stream, stored in zip(streams, pairs.arrays.values(), strict=True)
                ]
                if not len(block[0]):
                    return
                keys = block[0]
                mirrored = ((keys & _LOW) << (_SHIFT - 1)) | ((keys >> _SHIFT) << 1)
                for one_way in (keys, mirrored):
                    arrays = [pa.array(column) for column in (one_way, *block[1:])]
                    yield pa.record_batch(arrays, schema=schema)

    return schema, batches()


ID = "id"


def list_ends(
    edges: TableSource, columns: Columns, path: Path, memory: int, report: Report, n_rows: int
) -> None:
    """Write the different ids that edges name, sorted as text, as a table of vertices."""
    import pyarrow as pa
    from pyarrow import parquet

    schema = pa.schema([(ID, pa.string())])

    def batches() -> Iterator[Any]:
        n_read = 0
        for block in read_edge_blocks(edges, _choose_roles(edges, columns)):
            ends = pa.chunked_array(block.ends, type=pa.string()).unique()
            yield pa.record_batch([ends], schema=schema)
            n_read += len(block.ends[0])
            report("listing vertices", n_read, max(n_read, n_rows))

    n_written = 0
    with (
        atomic_file(path) as temporary,
        parquet.ParquetWriter(temporary, schema, compression="lz4") as writer,
    ):
        query = f"SELECT DISTINCT {ID} FROM batches ORDER BY {ID}"
        for batch in query_batches(query, schema, batches(), path.parent, memory):
            if not n_written and len(batch) and not batch.column(0)[0].as_py():
                raise DataFileError(edges, "an end of an edge is empty. Fill it in.")
            writer.write_batch(pa.record_batch([batch.column(0).cast(pa.string())], schema=schema))
            n_written += len(batch)
            report("sorting vertices", n_written, n_written)


def _choose_roles(edges: TableSource, columns: Columns) -> EdgeRoles:
    import pyarrow as pa

    with reading_table(edges):
        sample = edges.peek()
    words = [
        chunk for name in sample.column_names[:2] for chunk in edges.as_ids(sample[name]).chunks
    ]
    seen = pa.chunked_array(words, type=pa.string()).combine_chunks()
    nothing = frame_table({ID: []}, "the vertices")
    return choose_edge_roles(edges, nothing, seen, columns, {})[0]
