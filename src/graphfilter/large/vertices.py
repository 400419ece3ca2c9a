"""The table of vertices, understood column by column as a table in memory is.

Features on disk: encoded a column at a time, then put together a block of rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from graphfilter.data.edges import index_type
from graphfilter.data.store import (
    StoredArray,
    map_array,
    map_names,
    write_array,
    write_text,
    writing_array,
)
from graphfilter.large.ids import IdIndex
from graphfilter.tables.build import check_named, check_rows, repeated_id, understand_tables
from graphfilter.tables.cells import only_in
from graphfilter.tables.columns import EncodedColumn
from graphfilter.tables.encoder import TableEncoder, encode_column
from graphfilter.tables.roles import Columns, EdgeRoles
from graphfilter.tables.source import TableSource, reading_table
from graphfilter.util.errors import DataFileError
from graphfilter.util.files import atomic_file
from graphfilter.util.machine import blocks

if TYPE_CHECKING:
    import pyarrow as pa

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
    arrays: dict[str, StoredArray] = field(default_factory=dict)
    classes: list[str] = field(default_factory=list)
    split_sizes: list[list[int]] = field(default_factory=list)
    encoder: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)


def spill_table(source: TableSource, path: Path, report: Report, n_rows: int) -> Path:
    """Write a text table as Parquet, where columns can be read alone; return where it is."""
    from pyarrow import parquet

    if source.name.lower().endswith(".parquet"):
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
    arrays: dict[str, StoredArray] = {}

    def take_ids(ids: Any) -> Any:
        """Write the ids, and check that every vertex has one of its own."""
        check_rows(len(ids), vertices)
        check_named(ids, vertices)
        arrays.update(write_text(folder, getattr(ids, "chunks", [ids])))
        repeated = IdIndex(map_names(folder, arrays)).first_repeated()
        if repeated is not None:
            row, first = repeated
            raise repeated_id(vertices, row, first, ids[row].as_py())
        return _seen_in(ids, edges)

    meaning = understand_tables(
        edges, vertices, columns, encoder, notes, lambda names: table, take_ids,
        without=("edge_time", "edge_kind"),
    )  # fmt: skip
    if meaning.labels is not None:
        arrays["labels"] = write_array(folder / "labels.bin", meaning.labels)
    for split in meaning.splits:
        for part in ("train", "val", "test"):
            name = f"split_{part}"
            arrays[name] = write_array(folder / f"{name}.bin", getattr(split, part))
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
) -> tuple[dict[str, StoredArray], list[str]]:
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
        write_array(path.with_name(f"{path.name}_{part}.bin"), getattr(matrix, part), kind)
        for part, kind in parts.items()
    ]
    mapped = tuple(map_array(path.parent, array) for array in arrays)
    return sp.csr_array(mapped, shape=matrix.shape)


def _blocks(columns: list[sp.csr_array], width: int, report: Report) -> Iterator[sp.csr_array]:
    """Put the columns side by side, a block of rows at a time."""
    n_rows = columns[0].shape[0]
    for rows in blocks(n_rows, _NUMBERS_AT_ONCE // width):
        yield sp.csr_array(sp.hstack([column[rows] for column in columns], format="csr"))
        report("writing features", rows.stop, n_rows)


def _write_dense(
    folder: Path, rows: Iterator[sp.csr_array], width: int, *_: int
) -> dict[str, StoredArray]:
    with writing_array(folder / "features.bin", np.float32, (width,)) as writer:
        for block in rows:
            writer.append(block.toarray())
    return {"features": writer.result}


def _write_sparse(
    folder: Path, rows: Iterator[sp.csr_array], width: int, n_values: int, n_rows: int
) -> dict[str, StoredArray]:
    # As scipy numbers the entries of a table in memory, so that the bits are the same.
    parts = np.zeros(0, np.float32), np.zeros(0, np.int32), np.zeros(width + 1, np.int64)
    empty = sp.csc_array(parts, shape=(n_rows, width)).tocsr()
    index = np.promote_types(empty.indices.dtype, index_type(n_values))
    with (
        writing_array(folder / "features_indptr.bin", index) as indptr,
        writing_array(folder / "features_indices.bin", index) as indices,
        writing_array(folder / "features_values.bin", np.float32) as values,
    ):
        indptr.append(np.zeros(1, dtype=index))
        for block in rows:
            indptr.append(values.n_rows + block.indptr[1:].astype(np.int64))
            indices.append(block.indices)
            values.append(block.data)
    written = {"indptr": indptr, "indices": indices, "values": values}
    return {f"features_{part}": writer.result for part, writer in written.items()}
