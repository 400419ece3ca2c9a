"""Features on disk: encoded a column at a time, then put together a block of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.errors import DataFileError
from graphfilter.graph import index_type
from graphfilter.runtime import blocks
from graphfilter.store.arrays import StoredArray, map_array, write_array, writing_array
from graphfilter.store.vertices import ColumnsOnDisk, Report
from graphfilter.tables import EncodedColumn, TableEncoder, TableSource, encode_column

_CELLS_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class _Encoded:
    """The features of some columns of the table, in CSR form on disk."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]
    width: int

    def rows(self, start: int, stop: int) -> sp.csr_array:
        first, last = int(self.indptr[start]), int(self.indptr[stop])
        indptr = self.indptr[start : stop + 1] - first
        own = (self.values[first:last], self.indices[first:last], indptr)
        return sp.csr_array(own, shape=(stop - start, self.width))


def encode_features(
    table: ColumnsOnDisk,
    encoder: TableEncoder,
    vertices: TableSource,
    folder: Path,
    scratch: Path,
    report: Report,
) -> tuple[dict[str, StoredArray], list[str]]:
    """Write the features as :meth:`TableEncoder.encode` would make them; return also its notes."""
    columns: list[_Encoded] = []
    notes: list[str] = []
    kinds = table.column(encoder.vertex_kind) if encoder.vertex_kind else None
    for first in range(0, len(encoder.columns), table.at_once):
        report("encoding columns", first, len(encoder.columns))
        together = []
        for how in encoder.columns[first : first + table.at_once]:
            matrix, note = _encode(table, how, vertices, kinds)
            together.append(matrix)
            notes += [note] if note else []
        table.release()
        columns.append(_keep(_join(together), scratch / f"columns{first}"))
    if not columns:
        return {}, notes
    n_cells = table.num_rows * sum(column.width for column in columns)
    n_values = sum(len(column.values) for column in columns)
    # The rule by which a table in memory is kept dense.
    write = _write_dense if 4 * n_values >= n_cells else _write_sparse
    return write(folder, columns, table.num_rows, report), notes


def _encode(
    table: ColumnsOnDisk, how: EncodedColumn, vertices: TableSource, kinds: Any
) -> tuple[sp.csc_array, str]:
    (index, data, counts), note = encode_column(table.column(how.name), how, vertices, kinds)
    if not np.isfinite(data).all():
        problem = f"column {how.name!r} must hold finite numbers; one is infinite"
        raise DataFileError(vertices, f"{problem}. Fix it, or leave it out: `drop={(how.name,)}`.")
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return sp.csc_array((data, index, indptr), shape=(table.num_rows, len(counts))), note


def _join(columns: list[sp.csc_array]) -> sp.csr_array:
    """Put columns side by side; they are given up as they are taken, for their memory."""
    joined = columns.pop() if len(columns) == 1 else sp.hstack(columns, format="csc")
    columns.clear()
    return sp.csr_array(joined.tocsr())


def _keep(matrix: sp.csr_array, path: Path) -> _Encoded:
    parts = {"indptr": np.int64, "indices": np.int32, "data": np.float32}
    mapped: list[Any] = []
    for part, kind in parts.items():
        file = path.with_name(f"{path.name}_{part}.bin")
        mapped.append(map_array(path.parent, write_array(file, getattr(matrix, part), kind)))
    return _Encoded(*mapped, width=matrix.shape[1])


def _blocks(columns: list[_Encoded], n_rows: int, report: Report) -> Iterator[sp.csr_array]:
    """Put the columns side by side, a block of rows at a time."""
    for at in blocks(n_rows, _CELLS_AT_ONCE // sum(column.width for column in columns)):
        parts = [column.rows(at.start, at.stop) for column in columns]
        yield sp.csr_array(sp.hstack(parts, format="csr"))
        report("writing features", at.stop, n_rows)


def _write_dense(
    folder: Path, columns: list[_Encoded], n_rows: int, report: Report
) -> dict[str, StoredArray]:
    width = sum(column.width for column in columns)
    with writing_array(folder / "features.bin", np.float32, (width,)) as writer:
        for block in _blocks(columns, n_rows, report):
            writer.append(block.toarray())
    return {"features": writer.result}


def _write_sparse(
    folder: Path, columns: list[_Encoded], n_rows: int, report: Report
) -> dict[str, StoredArray]:
    n_values = sum(len(column.values) for column in columns)
    width = sum(column.width for column in columns)
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
        for block in _blocks(columns, n_rows, report):
            indptr.append(values.n_rows + block.indptr[1:].astype(np.int64))
            indices.append(block.indices)
            values.append(block.data)
    written = {"indptr": indptr, "indices": indices, "values": values}
    return {f"features_{part}": writer.result for part, writer in written.items()}
