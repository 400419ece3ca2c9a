"""The table of vertices, understood column by column as a table in memory is.

Features on disk: encoded a column at a time, then put together a block of rows at a time.

The numbers of ids are found in memory that does not depend on how long the ids or the tables are.
DuckDB sorts, and sees no file of the user's: tables are read by this package's own readers and
handed over as Arrow batches, so that a store holds what the graph in memory would, and no name of a
file or column is ever part of a query.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data import store
from graphfilter.data.edges import index_type
from graphfilter.tables.build import check_named, check_rows, repeated_id, understand_tables
from graphfilter.tables.cells import only_in
from graphfilter.tables.columns import EncodedColumn
from graphfilter.tables.encoder import TableEncoder, encode_column
from graphfilter.tables.parquet_files import ParquetTable
from graphfilter.tables.roles import Columns, EdgeRoles
from graphfilter.tables.source import TableSource, reading_table
from graphfilter.util.errors import DataFileError, GraphError, GraphFilterError, import_extra
from graphfilter.util.files import atomic_file
from graphfilter.util.machine import blocks

if TYPE_CHECKING:
    import pyarrow as pa


# The engine's share of a build's memory; the rest is for the pieces of tables in flight.
ENGINE_SHARE = 0.6
LEAST_MEMORY = 512 << 20
ROWS_AT_ONCE = 1 << 20
# Bytes of a text that are mixed word by word, for all texts at once; longer ones are rare, and the
# rest of each is hashed by itself.
_MIXED_BYTES = 512
_ODD = np.uint64(0x9E3779B97F4A7C15)
_OTHER_ODD = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
# Masks of the bytes of an 8-byte word that still belong to the text, by how many are left.
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], dtype=np.uint64)


def hash_text(text: Any) -> NDArray[np.uint64]:
    """Return a hash of 64 bits for each of an Arrow array of strings."""
    import pyarrow.types as is_type

    if not len(text):
        return np.empty(0, dtype=np.uint64)
    _, places, data = text.buffers()
    kind = np.int64 if is_type.is_large_string(text.type) else np.int32
    offsets = np.frombuffer(places, dtype=kind)[text.offset :][: len(text) + 1].astype(np.int64)
    offsets, first, last = offsets - offsets[0], offsets[0], offsets[-1]
    # A word may be read beyond the last text.
    content = np.zeros(last - first + 8, dtype=np.uint8)
    if data is not None:
        content[:-8] = np.frombuffer(data, dtype=np.uint8)[first:last]
    return _mix(offsets[:-1], np.diff(offsets), content)


def _mix(
    starts: NDArray[np.int64], lengths: NDArray[np.int64], content: NDArray[np.uint8]
) -> NDArray[np.uint64]:
    # Eight bytes from anywhere are one number.
    words = np.ndarray(len(content) - 7, "<u8", content.data, strides=(1,))
    state = lengths.astype(np.uint64) * _OTHER_ODD
    for k in range(0, min(int(lengths.max()), _MIXED_BYTES), 8):
        rows = np.flatnonzero(lengths > k)
        own = words[starts[rows] + k]
        own &= _MASKS[np.minimum(lengths[rows] - k, 8)]
        own ^= state[rows]
        own *= _ODD
        own ^= own >> _HALF
        state[rows] = own
    for row in np.flatnonzero(lengths > _MIXED_BYTES):
        rest = content[starts[row] + _MIXED_BYTES : starts[row] + lengths[row]]
        digest = hashlib.blake2b(rest.data, digest_size=8).digest()
        state[row] ^= np.uint64(int.from_bytes(digest, "little"))
    state *= _OTHER_ODD
    state ^= state >> _HALF
    state *= _ODD
    return state


def check_engine() -> None:
    """Raise where DuckDB is not installed."""
    import_extra("duckdb", "scale", "building a graph store")


def query_batches(
    text: str, schema: pa.Schema, batches: Iterator[pa.RecordBatch], folder: Path, memory: int
) -> Iterator[pa.RecordBatch]:
    """Yield what DuckDB makes of batches, which the query knows as ``batches``, piece by piece.

    It spills to ``folder`` beyond its share of ``memory`` bytes.
    """
    import duckdb
    import pyarrow as pa

    spill = folder / "spill"
    # What a killed process left there is of no use to anybody.
    shutil.rmtree(spill, ignore_errors=True)
    settings: dict[str, Any] = {
        "memory_limit": f"{int(memory * ENGINE_SHARE) >> 20}MiB",
        "temp_directory": str(spill),
        # Nothing is fetched, and no other file is opened.
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "preserve_insertion_order": "false",
    }
    errors: list[BaseException] = []

    def watched() -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except (GraphFilterError, KeyboardInterrupt) as error:
            errors.append(error)  # DuckDB would say it in its own words.
            raise

    connection = duckdb.connect(":memory:", config=settings)
    try:
        connection.execute("SET enable_progress_bar = false")
        # After the spill folder was set, which counts as outside.
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        connection.register("batches", pa.RecordBatchReader.from_batches(schema, watched()))
        yield from connection.sql(text).to_arrow_reader(ROWS_AT_ONCE)
    except (duckdb.Error, RuntimeError, OSError, ValueError) as error:
        if errors:
            raise errors[0] from None
        # What DuckDB says where a signal stopped it, as an error of its own or not.
        if isinstance(error, duckdb.InterruptException) or "interrupted" in str(error):
            raise KeyboardInterrupt from None
        if not isinstance(error, duckdb.Error):
            raise
        problem = " ".join(str(error).split())[:200]
        raise DataFileError(
            folder,
            f"DuckDB stopped ({problem}). Give more `memory` or free disk space, and run the same "
            "command again: finished steps are kept.",
        ) from None
    finally:
        connection.close()


MOST_VERTICES = 1 << 31
# Ids that are hashed together; what is made of them on the way stays near the processor.
_AT_ONCE = 1 << 18


class IdIndex:
    """Finds the numbers of ids, in 8 to 12 bytes of memory per id.

    Each id has a key of 64 bits: above, the first bits of its hash; below, its number. Keys are
    sorted, and a table says where those with the same first bits begin, one or two keys on
    average. A hash only proposes a number: the text of that id, which stays on disk, decides, so
    that ids with equal hashes are told apart and unknown ids are found to be so.

    Parameters
    ----------
    names : StoredNames
        The ids, by number.
    """

    def __init__(self, names: store.StoredNames, at_once: int = _AT_ONCE) -> None:
        n, self._at_once = len(names), at_once
        if n >= MOST_VERTICES:
            raise GraphError(f"a store holds at most {MOST_VERTICES - 1:,} vertices; got {n:,}.")
        self.names, self._text = names, names.as_arrow()
        self._low = np.uint64(n.bit_length())
        # The last key belongs to no id: searches end there.
        self._keys = np.full(n + 1, ~np.uint64(0))
        for rows in blocks(n, at_once):
            numbers = np.arange(rows.start, rows.stop, dtype=np.uint64)
            hashes = hash_text(self._text.slice(rows.start, len(numbers)))
            self._keys[rows] = hashes >> self._low << self._low | numbers
        self._keys.sort()
        n_bits = max(1, n.bit_length() - 1)
        self._shift = np.uint64(64 - n_bits)
        self._starts = np.empty(1 << n_bits, dtype=np.int32)
        for rows in blocks(1 << n_bits, at_once):
            first = np.arange(rows.start, rows.stop, dtype=np.uint64)
            self._starts[rows] = np.searchsorted(self._keys, first << self._shift)

    def __len__(self) -> int:
        return len(self.names)

    def find(self, text: Any) -> NDArray[np.int64]:
        """Return the number of each id of an Arrow array of strings, -1 for an unknown one."""
        hashes = hash_text(text)
        at = self._starts[(hashes >> self._shift).astype(np.int64)].astype(np.int64)
        least = hashes >> self._low << self._low
        behind = np.flatnonzero(self._keys[at] < least)
        while len(behind):
            at[behind] += 1
            behind = behind[self._keys[at[behind]] < least[behind]]
        result = np.full(len(text), -1, dtype=np.int64)
        rows = np.arange(len(text))
        while len(rows):
            # Further from its hash than any number is a key of another hash.
            numbers = self._keys[at[rows]] - least[rows]
            near = numbers < len(self)
            rows, numbers = rows[near], numbers[near].astype(np.int64)
            equal = self._are(numbers, text, rows)
            result[rows[equal]] = numbers[equal]
            rows = rows[~equal]
            at[rows] += 1
        return result

    def first_repeated(self) -> tuple[int, int] | None:
        """Return the first number whose id an earlier one has too, and that one."""
        suspects, numbers = [np.empty(0, np.uint64)], ~(~np.uint64(0) << self._low)
        for rows in blocks(len(self) - 1, self._at_once):
            keys = self._keys[rows.start : rows.stop + 1]
            same = np.flatnonzero(keys[1:] >> self._low == keys[:-1] >> self._low)
            suspects += [keys[same] & numbers, keys[same + 1] & numbers]
        seen: dict[str, int] = {}
        for number in np.unique(np.concatenate(suspects)).tolist():
            earlier = seen.setdefault(self.names[number], number)
            if earlier != number:
                return number, earlier
        return None

    def _are(
        self, numbers: NDArray[np.int64], text: Any, rows: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return whether each of these numbers has the id that stands in its row of a text."""
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted = text if len(rows) == len(text) else text.take(pa.array(rows))
        proposed = self._text.take(pa.array(numbers))
        equal = pc.call_function("equal", [wanted.cast(pa.large_string()), proposed])
        return equal.to_numpy(zero_copy_only=False)


# What is held at a time: cells of the table, and numbers that are made of them.
_CELLS_AT_ONCE, _NUMBERS_AT_ONCE = 1 << 21, 1 << 22
Report = Callable[[str, int, int], None]


class ColumnsOnDisk:
    """A Parquet file that is used as an Arrow table is, but read a few columns at a time."""

    def __init__(self, path: Path, source: TableSource, names: list[str] | None = None) -> None:
        from pyarrow import parquet

        self._path, self._source = path, source
        with reading_table(source):
            self.num_rows: int = parquet.read_metadata(path).num_rows
        self.column_names = source.usable_names if names is None else names
        self._places = {name: i for i, name in enumerate(self.column_names)}
        self._held: dict[str, pa.ChunkedArray] = {}

    @property
    def at_once(self) -> int:
        """How many columns are held in memory together."""
        return max(1, _CELLS_AT_ONCE // max(1, self.num_rows))

    def column(self, name: str) -> pa.ChunkedArray:
        from pyarrow import parquet

        if name not in self._held:
            first = self._places[name] // self.at_once * self.at_once
            names = self.column_names[first : first + self.at_once]
            self.release()
            with reading_table(self._source):
                # The user's own file is read through its reader, which checks it.
                own = self._path == Path(self._source)
                if own:
                    read = self._source.read(names)
                else:
                    with parquet.ParquetFile(self._path) as file:
                        read = file.read(columns=names)
            self._held = dict(zip(read.column_names, read.columns, strict=True))
        return self._held[name]

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        return self.column(name)

    def release(self) -> None:
        """Give up the columns that are held, and what Arrow kept of earlier ones."""
        import pyarrow as pa

        self._held = {}
        pa.default_memory_pool().release_unused()

    def select(self, names: list[str]) -> ColumnsOnDisk:
        self.release()
        return ColumnsOnDisk(self._path, self._source, names)


@dataclass(frozen=True)
class VertexFacts:
    """What the vertices' stage found out: kept on disk, so that a build can resume after it."""

    n_vertices: int = 0
    roles: dict[str, str] = field(default_factory=dict)
    edge_roles: EdgeRoles = field(default_factory=lambda: EdgeRoles("", ""))
    arrays: dict[str, store.StoredArray] = field(default_factory=dict)
    classes: list[str] = field(default_factory=list)
    split_sizes: list[list[int]] = field(default_factory=list)
    encoder: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)


def spill_table(source: TableSource, path: Path, report: Report, n_rows: int) -> Path:
    """Write a text table as Parquet, where columns can be read alone; return where it is."""
    from pyarrow import parquet

    if isinstance(source, ParquetTable):
        return Path(source)
    if path.is_file():
        return path
    names = source.usable_names
    done, writer = 0, None
    with atomic_file(path) as temporary:
        for batch in source.read_batches(names, True):
            writer = writer or parquet.ParquetWriter(temporary, batch.schema, compression="lz4")
            writer.write_batch(batch)
            done += len(batch)
            report("reading vertices", done, max(done, n_rows))
        check_rows(done, source)
        if writer is not None:
            writer.close()
    return path


def understand_vertices(
    table: ColumnsOnDisk,
    vertices: TableSource,
    edges: TableSource,
    columns: Columns,
    encoder: TableEncoder | None,
    folder: Path,
    notes: list[str],
    report: Report,
) -> VertexFacts:
    """Decide on roles, ids, labels and encoding; write ids, labels and split to ``folder``.

    The function that decides for a table in memory decides here, and says so in ``notes``.
    """
    report("understanding columns", 0, 1)
    notes += [*vertices.notes, *edges.notes]
    arrays: dict[str, store.StoredArray] = {}

    def take_ids(ids: Any) -> Any:
        """Write the ids, and check that every vertex has one of its own."""
        check_rows(len(ids), vertices)
        check_named(ids, vertices)
        arrays.update(store.write_text(folder, getattr(ids, "chunks", [ids])))
        repeated = IdIndex(store.map_names(folder, arrays)).first_repeated()
        if repeated is not None:
            row, first = repeated
            raise repeated_id(vertices, row, first, ids[row].as_py())
        return _seen_in(ids, edges)

    meaning = understand_tables(
        edges, vertices, columns, encoder, notes, lambda names: table, take_ids,
        without=("edge_time", "edge_kind"),
    )  # fmt: skip
    if meaning.labels is not None:
        arrays["labels"] = store.write_array(folder / "labels.bin", meaning.labels)
    for split in meaning.splits:
        for part in ("train", "val", "test"):
            name = f"split_{part}"
            arrays[name] = store.write_array(folder / f"{name}.bin", getattr(split, part))
    sizes = [[len(one.train), len(one.val), len(one.test)] for one in meaning.splits]
    classes = [] if meaning.classes is None else meaning.classes.tolist()
    return VertexFacts(
        table.num_rows, meaning.roles, meaning.edge_roles, arrays, classes, sizes,
        meaning.encoder.to_dict(), notes,
    )  # fmt: skip


def _seen_in(ids: Any, edges: TableSource) -> pa.Array:
    """Return the ids that the beginning of the edges names: as good as all to guess columns by."""
    import pyarrow as pa

    with reading_table(edges):
        sample = edges.peek()
    words = [pa.array(edges.names[:2], pa.string())]
    for column in sample.columns:
        if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
            continue
        words += edges.as_ids(column).chunks
    seen = pa.chunked_array(words, type=pa.string()).combine_chunks()
    return only_in(ids, seen)


def encode_features(
    table: ColumnsOnDisk,
    encoder: TableEncoder,
    vertices: TableSource,
    folder: Path,
    scratch: Path,
    report: Report,
) -> tuple[dict[str, store.StoredArray], list[str]]:
    """Write the features as :meth:`TableEncoder.encode` would make them; return also its notes."""
    columns: list[sp.csr_array] = []
    notes: list[str] = []
    kinds = encoder.types_of(table)
    for first in range(0, len(encoder.columns), table.at_once):
        report("encoding columns", first, len(encoder.columns))
        together = []
        for how in encoder.columns[first : first + table.at_once]:
            matrix, note = _encode(table, how, vertices, kinds)
            together.append(matrix)
            notes += [note] if note else []
        table.release()
        columns.append(_keep(together, scratch / f"columns{first}"))
    if not columns:
        return {}, notes
    width, n_values = (
        sum(sizes) for sizes in zip(*((c.shape[1], c.nnz) for c in columns), strict=True)
    )
    # The rule by which a table in memory is kept dense.
    write = _write_dense if 4 * n_values >= table.num_rows * width else _write_sparse
    return write(folder, _blocks(columns, width, report), width, n_values, table.num_rows), notes


def _encode(
    table: ColumnsOnDisk, how: EncodedColumn, vertices: TableSource, kinds: Any
) -> tuple[sp.csc_array, str]:
    (index, data, counts), note = encode_column(table.column(how.name), how, vertices, kinds)
    if not np.isfinite(data).all():
        problem = f"column {how.name!r} must hold finite numbers; one is infinite"
        raise DataFileError(vertices, f"{problem}. Fix it, or leave it out: `drop={(how.name,)}`.")
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return sp.csc_array((data, index, indptr), shape=(table.num_rows, len(counts))), note


def _keep(columns: list[sp.csc_array], path: Path) -> sp.csr_array:
    """Put columns side by side on disk; they are given up as they are taken, for their memory."""
    joined = columns.pop() if len(columns) == 1 else sp.hstack(columns, format="csc")
    columns.clear()
    matrix = sp.csr_array(joined.tocsr())
    parts = {"data": np.float32, "indices": np.int32, "indptr": np.int64}
    arrays = [
        store.write_array(path.with_name(f"{path.name}_{part}.bin"), getattr(matrix, part), kind)
        for part, kind in parts.items()
    ]
    mapped = tuple(store.map_array(path.parent, array) for array in arrays)
    return sp.csr_array(mapped, shape=matrix.shape)


def _blocks(columns: list[sp.csr_array], width: int, report: Report) -> Iterator[sp.csr_array]:
    """Put the columns side by side, a block of rows at a time."""
    n_rows = columns[0].shape[0]
    for rows in blocks(n_rows, _NUMBERS_AT_ONCE // width):
        yield sp.csr_array(sp.hstack([column[rows] for column in columns], format="csr"))
        report("writing features", rows.stop, n_rows)


def _write_dense(
    folder: Path, rows: Iterator[sp.csr_array], width: int, *_: int
) -> dict[str, store.StoredArray]:
    with store.writing_array(folder / "features.bin", np.float32, (width,)) as writer:
        for block in rows:
            writer.append(block.toarray())
    return {"features": writer.result}


def _write_sparse(
    folder: Path, rows: Iterator[sp.csr_array], width: int, n_values: int, n_rows: int
) -> dict[str, store.StoredArray]:
    # As scipy numbers the entries of a table in memory, so that the bits are the same.
    parts = np.zeros(0, np.float32), np.zeros(0, np.int32), np.zeros(width + 1, np.int64)
    empty = sp.csc_array(parts, shape=(n_rows, width)).tocsr()
    index = np.promote_types(empty.indices.dtype, index_type(n_values))
    with (
        store.writing_array(folder / "features_indptr.bin", index) as indptr,
        store.writing_array(folder / "features_indices.bin", index) as indices,
        store.writing_array(folder / "features_values.bin", np.float32) as values,
    ):
        indptr.append(np.zeros(1, dtype=index))
        for block in rows:
            indptr.append(values.n_rows + block.indptr[1:].astype(np.int64))
            indices.append(block.indices)
            values.append(block.data)
    written = {"indptr": indptr, "indices": indices, "values": values}
    return {f"features_{part}": writer.result for part, writer in written.items()}
