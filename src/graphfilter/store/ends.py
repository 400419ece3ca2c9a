"""Vertices without a table of their own: the different ids that edges name."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfilter.errors import DataFileError
from graphfilter.storage import atomic_file, make_folder
from graphfilter.store.engine import ROWS_AT_ONCE, open_engine
from graphfilter.store.ids import IdIndex
from graphfilter.store.names import map_names, write_text
from graphfilter.store.vertices import Report
from graphfilter.tables import (
    Columns,
    EdgeRoles,
    FrameTable,
    TableSource,
    choose_edge_roles,
    read_edge_blocks,
    reading_table,
)

if TYPE_CHECKING:
    import pyarrow as pa

ID = "id"


def list_ends(
    edges: TableSource, columns: Columns, path: Path, memory: int, report: Report, n_rows: int
) -> None:
    """Write the different ids that edges name, sorted as text, as a table of vertices."""
    import pyarrow as pa
    from pyarrow import parquet

    folder = path.parent / "ends"
    found = _FoundIds(folder)
    seen = done = 0
    for block in read_edge_blocks(edges, _choose_roles(edges, columns)):
        found.add(block.ends)
        seen += len(block.ends[0])
        report("listing vertices", seen, max(seen, n_rows))
    schema = pa.schema([(ID, pa.string())])
    with (
        atomic_file(path) as temporary,
        parquet.ParquetWriter(temporary, schema, compression="lz4") as writer,
        open_engine(path.parent, memory) as engine,
    ):
        engine.add_stream("ids", found.schema, found.batches())
        for batch in engine.query(f"FROM ids ORDER BY {ID}"):
            if not done and len(batch) and not batch.column(0)[0].as_py():
                raise DataFileError(edges, "an end of an edge is empty. Fill it in.")
            writer.write_batch(pa.record_batch([batch.column(0).cast(pa.string())], schema=schema))
            done += len(batch)
            report("sorting vertices", done, len(found))
    shutil.rmtree(folder, ignore_errors=True)


def _choose_roles(edges: TableSource, columns: Columns) -> EdgeRoles:
    import pyarrow as pa

    with reading_table(edges):
        sample = edges.peek()
    words = [
        chunk for name in sample.column_names[:2] for chunk in edges.as_ids(sample[name]).chunks
    ]
    seen = pa.chunked_array(words, type=pa.string()).combine_chunks()
    nothing = FrameTable({ID: []}, "the vertices")
    return choose_edge_roles(edges, nothing, seen, columns, {})[0]


class _FoundIds:
    """Different ids, in lists on disk, each at least twice as long as the next.

    What is new is a list at first; it is merged with the one before it once it is half as long, so
    that an id is written a few times however many there are, and looked for in a few lists.
    """

    def __init__(self, folder: Path) -> None:
        # What a killed process left there is of no use to anybody.
        shutil.rmtree(folder, ignore_errors=True)
        self._folder, self._n_written = folder, 0
        self._lists: list[IdIndex] = []
        self._folders: list[Path] = []

    def __len__(self) -> int:
        return sum(map(len, self._lists))

    def add(self, ends: tuple[Any, Any]) -> None:
        """Add ids of the sources and targets of edges, Arrow arrays, where they are new."""
        import pyarrow as pa

        with ThreadPoolExecutor(2) as pool:
            new = pa.chunked_array([*pool.map(self._leave_new, ends)], type=pa.string()).unique()
        if len(new):
            self._append(new)

    @property
    def schema(self) -> pa.Schema:
        import pyarrow as pa

        return pa.schema([(ID, pa.large_string())])

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all ids."""
        import pyarrow as pa

        for known in self._lists:
            table = pa.table([known.names.as_arrow()], schema=self.schema)
            yield from table.to_batches(ROWS_AT_ONCE)

    def _leave_new(self, text: Any) -> Any:
        import pyarrow as pa

        for known in self._lists:
            text = text.filter(pa.array(known.find(text) < 0))
        return text

    def _append(self, new: Any) -> None:
        import pyarrow as pa

        parts, n = [new.cast(pa.large_string())], len(new)
        while self._lists and len(self._lists[-1]) < 2 * n:
            parts.append(self._lists.pop().names.as_arrow())
            n += len(parts[-1])
        self._n_written += 1
        folder = self._folder / str(self._n_written)
        make_folder(folder)
        names = map_names(folder, write_text(folder, pa.chunked_array(parts)))
        for merged in self._folders[len(self._lists) :]:
            shutil.rmtree(merged, ignore_errors=True)
        self._folders[len(self._lists) :] = [folder]
        self._lists.append(IdIndex(names))
