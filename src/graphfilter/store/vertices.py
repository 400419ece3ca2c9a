"""The table of vertices, understood column by column as a table in memory is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfilter.storage import atomic_file
from graphfilter.store.arrays import StoredArray, write_array
from graphfilter.store.ids import IdIndex
from graphfilter.store.names import map_names, write_text
from graphfilter.tables import (
    UNLABELLED,
    Columns,
    EdgeRoles,
    TableEncoder,
    TableSource,
    VertexColumns,
    check_named,
    check_rows,
    choose_edge_roles,
    note_near_ids,
    only_in,
    read_attributes,
    reading_table,
    repeated_id,
    say_unused,
)

if TYPE_CHECKING:
    import pyarrow as pa

_CELLS_AT_ONCE = 1 << 21
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
    """Settle roles, ids, labels and encoding; write ids, labels and split to ``folder``.

    The same functions decide as for a table in memory, in the same order, and say so in ``notes``.
    """
    report("understanding columns", 0, 1)
    notes += [*vertices.found, *edges.found]
    own = VertexColumns(vertices, edges, columns, encoder)
    own.settle(table, notes)
    roles, remembered = own.roles, own.remembered
    with reading_table(vertices):
        ids = vertices.as_ids(table.column(roles["id"]))
    n_vertices, arrays = len(ids), _write_ids(ids, vertices, folder)
    notes += note_near_ids(ids, vertices)
    edge_roles, found_notes = choose_edge_roles(
        edges, vertices, _seen_in(ids, edges), columns, remembered
    )  # fmt: skip
    not_kept = ("edge_time", "edge_kind")
    notes += (
        found_notes
        if remembered
        else [*found_notes, *say_unused(edges, edge_roles, without=not_kept)]
    )
    # Other columns need the memory.
    del ids
    unlabelled = columns.unlabelled or UNLABELLED
    found = read_attributes(table, vertices, roles, unlabelled, notes, check=encoder is None)
    if "labels" in found:
        arrays["labels"] = write_array(folder / "labels.bin", found["labels"])
    splits = found.get("splits", ())
    for part in ("train", "val", "test"):
        if splits:
            arrays[f"split_{part}"] = write_array(
                folder / f"split_{part}.bin", getattr(splits[0], part)
            )
    table.release()
    if encoder is None:
        encoder = own.fit_encoder(table, notes)
    sizes = [[len(s.train), len(s.val), len(s.test)] for s in splits]
    classes = found["classes"].tolist() if "classes" in found else []
    return VertexFacts(
        n_vertices, roles, edge_roles, arrays, classes, sizes, encoder.to_dict(), notes
    )


def _write_ids(ids: Any, source: TableSource, folder: Path) -> dict[str, StoredArray]:
    """Write the ids, and check that every vertex has one of its own."""
    check_rows(len(ids), source)
    check_named(ids, source)
    arrays = write_text(folder, ids)
    repeated = IdIndex(map_names(folder, arrays)).first_repeated()
    if repeated is not None:
        row, first = repeated
        raise repeated_id(source, row, first, ids[row].as_py())
    return arrays


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
