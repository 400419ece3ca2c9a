"""From tables of any size to a store, in stages: one that is done is not done again.

The table of edges becomes a symmetric adjacency on disk: ids numbered, merged and sorted. Where
there is no table of vertices, these are the different ids that edges name. What a build takes of
disk is estimated from the sizes of its files and their first rows.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphfilter.data import store as stores
from graphfilter.data.attributes import check_weights
from graphfilter.data.edges import check_merge, index_type, reduce_repeats, say_cleaned, starts_of
from graphfilter.data.graph import say_arcs
from graphfilter.large.vertices import (
    LEAST_MEMORY,
    ROWS_AT_ONCE,
    ColumnsOnDisk,
    IdIndex,
    Report,
    VertexFacts,
    check_engine,
    encode_features,
    query_batches,
    spill_table,
    understand_vertices,
)
from graphfilter.tables.build import check_ends, note_rows, read_edge_blocks, telling
from graphfilter.tables.encoder import TableEncoder
from graphfilter.tables.formats import frame_table, open_table
from graphfilter.tables.opening import check_not_same
from graphfilter.tables.parquet_files import ParquetTable
from graphfilter.tables.roles import Columns, EdgeRoles, choose_edge_roles, choose_merge
from graphfilter.tables.source import TableSource, reading_table
from graphfilter.tables.text_files import TextOptions
from graphfilter.util.errors import ConfigError, DataFileError, ModelFileError
from graphfilter.util.files import atomic_file, make_folder
from graphfilter.util.machine import blocks
from graphfilter.util.records import convert, read_checked_json, write_checked_json
from graphfilter.util.words import say_bytes
from graphfilter.version import __version__

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
    arrays: dict[str, stores.StoredArray] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class EdgeFacts:
    """The adjacency on disk, and what was cleaned."""

    n_entries: int = 0
    arrays: dict[str, stores.StoredArray] = field(default_factory=dict)
    n_arcs: int = 0
    notes: list[str] = field(default_factory=list)


def number_ends(
    edges: TableSource,
    roles: EdgeRoles,
    vertices: TableSource,
    names: stores.StoredNames,
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
        keys = stack.enter_context(stores.writing_array(scratch / "pairs.bin", np.int64))
        rows = weights = None
        if keep_rows:
            rows = stack.enter_context(stores.writing_array(scratch / "rows.bin", np.int64))
        if roles.weight is not None:
            weights = stack.enter_context(stores.writing_array(scratch / "weights.bin", np.float32))
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
    with stores.writing_array(scratch / "pairs.bin", np.int64) as keys:
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
            role: stack.enter_context(stores.writing_array(folder / f"{role}.bin", kind))
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
    with stores.writing_array(folder / "indptr.bin", index_type(n_entries)) as indptr:
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


def _halve(folder: Path, weights: stores.StoredArray) -> stores.StoredArray:
    """Halve the weights of edges that were all listed twice, once in each direction."""
    mapped = stores.map_array(folder, weights)
    with stores.writing_array(folder / weights.file, np.float32) as writer:
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


# Per edge, and more with a weight: its number; both directions of it while they are sorted, as
# DuckDB spills them (22 bytes were measured for a billion edges); its two entries.
_PAIR_BYTES, _SORT_BYTES, _ENTRY_BYTES = (8, 12), (24, 36), (8, 16)
# Per vertex: where its row and its id begin, and its label.
_VERTEX_BYTES = 24


def check_disk(edges: TableSource, vertices: TableSource | None, folder: Path) -> tuple[int, int]:
    """Return about how many edges and vertices tables have; raise where the disk is too small."""
    n_edges, _ = edges.count_rows()
    n_vertices, row_bytes = (n_edges // 10, 16) if vertices is None else vertices.count_rows()
    table_bytes = n_vertices * row_bytes
    # Another column than the two ends may be a weight.
    weighted = len(edges.names) > 2
    store = _ENTRY_BYTES[weighted] * n_edges + _VERTEX_BYTES * n_vertices + table_bytes
    needed = store + (_PAIR_BYTES[weighted] + _SORT_BYTES[weighted]) * n_edges + 3 * table_bytes
    where = next(p for p in (folder, *folder.resolve().parents) if p.exists())
    if needed > (free := shutil.disk_usage(where).free):
        raise DataFileError(
            folder,
            f"building needs about {say_bytes(needed)} of disk, of which {say_bytes(store)} "
            f"remain; {say_bytes(free)} are free. Free some space, or give a folder on another "
            "disk.",
        )
    return n_edges, n_vertices


ASKED_FILE = "asked.json"
T = TypeVar("T", VertexFacts, "FeatureFacts", PairFacts, EdgeFacts)


@dataclass(frozen=True)
class FeatureFacts:
    """The features on disk."""

    arrays: dict[str, stores.StoredArray] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def build_store(
    edges: str | PathLike[str],
    vertices: str | PathLike[str] | None,
    path: str | PathLike[str],
    *,
    columns: Columns | None = None,
    allow_missing: bool = False,
    encoder: TableEncoder | None = None,
    text: TextOptions | None = None,
    memory: int = 4 << 30,
    overwrite: bool = False,
    report: Report | None = None,
) -> stores.Header:
    """Build a graph store from a table of edges and a table of vertices of any size.

    The graph is the one that :func:`~graphfilter.data.read_tables` would make. Vertices are
    numbered in the order of their table. Memory is needed for one column of it at a time, for 8 to
    12 bytes per id, and for DuckDB, which sorts on disk.

    A build that was stopped goes on after its last finished stage when it is asked for again.

    Parameters
    ----------
    edges : path
        .csv, .tsv, .txt (each also .gz, in UTF-8) or .parquet.
    vertices : path or None
        None makes vertices of the ids that the edges name, sorted as text.
    path : path
        The folder for the store.
    columns, allow_missing, encoder, text
        As :func:`~graphfilter.data.read_tables` takes them; edge types are not supported.
    memory : int
        Bytes that the build may take.
    overwrite : bool
        Replace the store in the folder.
    report : callable, optional
        Called with what is done, how far it is and how far it will go.

    Examples
    --------
    >>> import graphfilter as gf
    >>> columns = gf.data.Columns(label="kind")
    >>> made = gf.build_store(  # doctest: +SKIP
    ...     "edges.csv", "vertices.csv", "kinds", columns=columns, memory=4 << 30
    ... )
    >>> graph = gf.open_store("kinds")  # doctest: +SKIP
    """
    check_engine()
    columns, report = columns or Columns(), report or (lambda what, done, total: None)
    _check_request(columns, memory)
    if columns.near or (encoder is not None and (encoder.rows or encoder.links or encoder.near)):
        raise ConfigError(
            "a store sums up no columns of edges and joins no vertices; the model was fitted with "
            "such features. Fit one without them: drop=..., no_link=True."
        )
    folder = stores.check_folder(Path(path), overwrite)
    check_not_same(edges, vertices, columns)
    edge_table, vertex_table = open_tables(edges, vertices, text)
    tables = (
        edge_table.cleaning(columns.clean_ids),
        (None if vertex_table is None else vertex_table.cleaning(columns.clean_ids)),
    )
    n_edges, n_vertices = check_disk(*tables, folder)
    notes: list[str] = []
    with building(folder, overwrite) as scratch, telling(notes):
        kept = Kept(scratch, _hash_request(tables, columns, allow_missing, encoder))
        edge_table, source = tables
        spilled = scratch / "vertices.parquet"
        if source is not None:
            on_disk = spill_table(source, spilled, report, n_vertices)
        else:
            if not spilled.is_file():
                list_ends(edge_table, columns, spilled, memory, report, n_edges)
            source, on_disk = ParquetTable(spilled, TextOptions()), spilled
        table = ColumnsOnDisk(on_disk, source)
        facts = kept.once("vertices", VertexFacts, lambda: understand_vertices(
            table, source, edge_table, columns, encoder, folder, notes, report,
        ))  # fmt: skip
        encodes = TableEncoder.from_dict(facts.encoder)
        features = kept.once("features", FeatureFacts, lambda: FeatureFacts(*encode_features(
            table, encodes, source, folder, scratch, report,
        )))  # fmt: skip
        pairs = kept.once("pairs", PairFacts, lambda: number_ends(
            edge_table, facts.edge_roles, source, stores.map_names(folder, facts.arrays),
            facts.roles["id"], scratch, allow_missing=allow_missing, report=report,
            n_rows=n_edges, keep_rows=columns.merge == "last",
        ))  # fmt: skip
        adjacency = kept.once("edges", EdgeFacts, lambda: sort_pairs(
            pairs, facts.n_vertices, scratch, folder, directed=columns.directed, memory=memory,
            report=report, merge=choose_merge(columns, facts.edge_roles.weight),
        ))  # fmt: skip
        said = [*facts.notes, *(features.notes if encoder is not None else ()), *pairs.notes]
        if columns.directed:
            said.append(say_arcs(adjacency.n_arcs, adjacency.n_entries // 2))
        names = list(encodes.feature_names) if encodes.columns else None
        header = stores.Header(
            stores.FORMAT, __version__, (tables[1] or edge_table).name.split(".")[0],
            facts.n_vertices, adjacency.n_entries,
            {**adjacency.arrays, **facts.arrays, **features.arrays}, len(names or ()), names,
            classes=list(facts.classes),
            classes_type="object" if "label" in facts.roles else "int64",
            split_rules=["given"] * len(facts.split_sizes), split_sizes=facts.split_sizes,
            notes=[*said, *adjacency.notes], encoder=encodes.to_dict(), columns=asdict(columns),
        )  # fmt: skip
        stores.write_header(folder, header)
    return header


@contextmanager
def building(folder: Path, overwrite: bool) -> Generator[Path]:
    """Yield a folder for what is needed meanwhile; it goes when the block ends without an error."""
    with stores.replacing(folder, overwrite):
        scratch = folder / stores.BUILD_FOLDER
        make_folder(scratch)
        yield scratch
        shutil.rmtree(scratch, ignore_errors=True)


def open_tables(
    edges: str | PathLike[str], vertices: str | PathLike[str] | None, text: TextOptions | None
) -> tuple[TableSource, TableSource | None]:
    """Open the tables of a build; each must be one that can be read piece by piece."""
    tables = [open_table(path, text) for path in (edges, vertices) if path is not None]
    for table in tables:
        if not table.in_pieces:
            raise DataFileError(
                table,
                "must be Parquet, or text in UTF-8, to be read piece by piece; it is not. Convert "
                "it, or fit without a store.",
            )
    return tables[0], tables[1] if len(tables) > 1 else None


class Kept:
    """The stages of a build that are done, a file each; those of another build are removed.

    ``request`` is a hash of what was asked for, and of which files.
    """

    def __init__(self, scratch: Path, request: str) -> None:
        self._scratch = scratch
        with suppress(ModelFileError):
            if read_checked_json(scratch / ASKED_FILE) == {"asked": request}:
                return
        for left in scratch.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        write_checked_json(scratch / ASKED_FILE, {"asked": request})

    def once(self, stage: str, kind: type[T], make: Callable[[], T]) -> T:
        """Return what a stage gives; it is made unless that was done before."""
        file = self._scratch / f"{stage}.json"
        with suppress(ModelFileError, TypeError):
            return convert(kind, read_checked_json(file))
        facts = make()
        write_checked_json(file, asdict(facts))
        return facts


def _check_request(columns: Columns, memory: int) -> None:
    if columns.edge_kind is not None:
        raise ConfigError(
            "a store built from tables does not keep edge types; leave out `edge_kind`, or read "
            "the graph in memory and write it with write_store."
        )
    if columns.edge_time is not None:
        raise ConfigError(
            "a store does not keep the times of edges; leave out `edge_time`. To train on "
            "earlier edges, build a store of those, and one of all to predict (docs/scale.md)."
        )
    if memory < LEAST_MEMORY:
        least = say_bytes(LEAST_MEMORY)
        raise ConfigError(
            f"building a store needs at least {least} of memory; got {say_bytes(memory)}."
        )


def _hash_request(
    tables: tuple[TableSource, TableSource | None],
    columns: Columns,
    allow_missing: bool,
    encoder: TableEncoder | None,
) -> str:
    """Return a hash of what the build depends on: files by their size and time of change."""
    files = [[*t.fingerprint(), *t.notes] for t in tables if t is not None]
    content = [
        stores.FORMAT, __version__, files, asdict(columns), allow_missing,
        None if encoder is None else encoder.to_dict(),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
