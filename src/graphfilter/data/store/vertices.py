"""The table of vertices, understood column by column as a table in memory is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphfilter.data.store.arrays import StoredArray, write_array
from graphfilter.data.store.engine import open_engine
from graphfilter.data.store.names import write_text
from graphfilter.errors import DataFileError
from graphfilter.graph.labels import UNLABELLED
from graphfilter.graph.tables.build import asked_features, read_attributes, suggest_labels
from graphfilter.graph.tables.cells import as_ids
from graphfilter.graph.tables.columns import Columns, is_index
from graphfilter.graph.tables.edges import EdgeRoles, read_edge_blocks
from graphfilter.graph.tables.encoding import TableEncoder
from graphfilter.graph.tables.frames import FrameTable
from graphfilter.graph.tables.roles import (
    choose_edge_roles,
    guess_vertex_roles,
    settle_vertex_roles,
)
from graphfilter.graph.tables.source import TableSource, at_row, place_of_row, reading_table
from graphfilter.storage import atomic_file

if TYPE_CHECKING:
    import pyarrow as pa

# The column of a table of vertices that is made of the edges.
ID = "id"
_CELLS_AT_ONCE = 1 << 21
Report = Callable[[str, int, int], None]


class ColumnsOnDisk:
    """A Parquet file that is used as an Arrow table is, but read a few columns at a time."""

    def __init__(self, path: Path, source: TableSource, names: list[str] | None = None) -> None:
        from pyarrow import parquet

        self._path, self._source = path, source
        with reading_table(source):
            self._file: Any = parquet.ParquetFile(path)
            self.num_rows: int = self._file.metadata.num_rows
        # Columns that share a name cannot be told apart.
        every = [name for name, n in Counter(source.names).items() if n == 1]
        self.column_names = every if names is None else names
        self._held: Any = None

    @property
    def at_once(self) -> int:
        """How many columns are held in memory together."""
        return max(1, _CELLS_AT_ONCE // max(1, self.num_rows))

    def column(self, name: str) -> pa.ChunkedArray:
        if self._held is None or name not in self._held.column_names:
            first = self.column_names.index(name) // self.at_once * self.at_once
            names = self.column_names[first : first + self.at_once]
            self._held = None
            with reading_table(self._source):
                # The user's own file is read through its reader, which checks it.
                own = self._path == Path(self._source)
                self._held = self._source.read(names) if own else self._file.read(columns=names)
        return self._held.column(name)

    def __getitem__(self, name: str) -> pa.ChunkedArray:
        return self.column(name)

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
    names = [name for name, n in Counter(source.names).items() if n == 1]
    done, writer = 0, None
    with atomic_file(path) as temporary:
        for batch in source.read_batches(names, True):
            writer = writer or parquet.ParquetWriter(temporary, batch.schema, compression="lz4")
            writer.write_batch(batch)
            done += len(batch)
            report("reading vertices", done, max(done, n_rows))
        if writer is None:
            raise DataFileError(source, "a table of vertices must have at least one row; got none.")
        writer.close()
    return path


def list_ends(
    edges: TableSource, columns: Columns, path: Path, memory: int, report: Report, n_rows: int
) -> None:
    """Write the different ids that edges name, sorted as text, as a table of vertices."""
    import pyarrow as pa
    from pyarrow import parquet

    with reading_table(edges):
        sample = edges.peek()
    names = sample.column_names[:2]
    words = [chunk for name in names for chunk in as_ids(sample[name]).chunks]
    seen = pa.chunked_array(words, type=pa.string()).combine_chunks()
    nothing = FrameTable({ID: []}, "the vertices")
    roles, _ = choose_edge_roles(edges, nothing, seen, columns, {})
    schema = pa.schema([(ID, pa.string())])
    done = 0
    with (
        atomic_file(path) as temporary,
        parquet.ParquetWriter(temporary, schema, compression="lz4") as writer,
        open_engine(path.parent, memory) as engine,
    ):
        engine.add_stream("edges", *stream_edges(edges, roles, [0]))
        query = f"SELECT DISTINCT unnest([source, target]) AS {ID} FROM edges ORDER BY {ID}"
        for batch in engine.query(query):
            if not done and len(batch) and not batch.column(0)[0].as_py():
                raise DataFileError(edges, "an end of an edge is empty. Fill it in.")
            writer.write_batch(pa.record_batch([batch.column(0).cast(pa.string())], schema=schema))
            done += len(batch)
            report("listing vertices", done, max(done, n_rows))


def stream_edges(
    edges: TableSource, roles: EdgeRoles, count: list[int]
) -> tuple[Any, Iterator[Any]]:
    """Return the edges as batches of ids and a weight; ``count`` says how many rows went by."""
    import pyarrow as pa

    kinds = {
        "source": pa.string(), "target": pa.string(), "weight": pa.float32(), "row": pa.int64()
    }  # fmt: skip
    schema = pa.schema(list(kinds.items()))

    def batches() -> Iterator[Any]:
        for block in read_edge_blocks(edges, roles):
            n = len(block.ends[0])
            weights = np.ones(n, np.float32) if block.weights is None else block.weights
            rows = np.arange(block.row, block.row + n)
            arrays = [*block.ends, pa.array(weights), pa.array(rows)]
            count[0] += n
            yield pa.record_batch(arrays, schema=schema)

    return schema, batches()


def understand_vertices(
    table: ColumnsOnDisk,
    vertices: TableSource,
    edges: TableSource,
    columns: Columns,
    encoder: TableEncoder | None,
    folder: Path,
    scratch: Path,
    memory: int,
    notes: list[str],
) -> tuple[VertexFacts, TableEncoder]:
    """Settle roles, ids, labels and encoding; write ids, labels and split to ``folder``.

    The same functions decide as for a table in memory, in the same order, and say so in ``notes``.
    """
    notes += [*vertices.found, *edges.found]
    remembered = {} if encoder is None else dict(encoder.roles)
    asked = asked_features(vertices, columns, encoder)
    not_free = asked.union(columns.drop)
    told, guesses = guess_vertex_roles(vertices, columns, remembered, not_free)
    roles, said = settle_vertex_roles(vertices, table, edges, columns, told, guesses, not_free)
    notes += said
    if not columns.features and encoder is None:
        taken = {*roles.values(), *columns.drop}
        asked |= {name for name in table.column_names if name not in taken and not is_index(name)}
    with reading_table(vertices):
        ids = as_ids(table.column(roles["id"]))
    _check_ids(ids, vertices, scratch, memory)
    edge_roles, said = choose_edge_roles(
        edges, vertices, _seen_in(ids, edges), columns, remembered
    )  # fmt: skip
    notes += said
    arrays = write_text(folder, ids)
    unlabelled = columns.unlabelled or UNLABELLED
    cells: Any = table
    found = read_attributes(cells, vertices, roles, unlabelled, notes, check=encoder is None)
    if "labels" in found:
        arrays["labels"] = write_array(folder / "labels.bin", found["labels"])
    splits = found.get("splits", ())
    for part in ("train", "val", "test"):
        if splits:
            arrays[f"split_{part}"] = write_array(
                folder / f"split_{part}.bin", getattr(splits[0], part)
            )
    if encoder is None:
        encoder = _fit(table, vertices, columns, asked)
        notes += encoder.notes
        notes += [] if "label" in roles else suggest_labels(encoder, vertices)
    sizes = [[len(s.train), len(s.val), len(s.test)] for s in splits]
    classes = found["classes"].tolist() if "classes" in found else []
    facts = VertexFacts(
        len(ids), roles, edge_roles, arrays, classes, sizes, encoder.to_dict(), notes
    )
    return facts, encoder


def _fit(
    table: ColumnsOnDisk, vertices: TableSource, columns: Columns, asked: Collection[str]
) -> TableEncoder:
    features: Any = table.select([name for name in table.column_names if name in asked])
    return TableEncoder.fit(
        features, vertices, columns.categorical, columns.features, kinds=dict(columns.kinds),
        decimal=vertices.decimal, hint=vertices.decimal_hint,
    )  # fmt: skip


def _check_ids(ids: Any, source: TableSource, scratch: Path, memory: int) -> None:
    """Check that every vertex has an id of its own, with a hash table that may be on disk."""
    import pyarrow as pa

    if not len(ids):
        raise DataFileError(source, "a table of vertices must have at least one row; got none.")
    if (row := ids.index("").as_py()) >= 0:
        raise at_row(source, row, "the vertex id is empty. Give every vertex an id of its own.")
    with open_engine(scratch, memory) as engine:
        engine.add("ids", pa.table({"name": ids, "number": _row_numbers(ids)}))
        repeated = engine.row(
            "SELECT min(number), first FROM ids JOIN (SELECT name, min(number) AS first FROM ids "
            "GROUP BY name HAVING count(*) > 1) USING (name) WHERE number > first "
            "GROUP BY first ORDER BY 1 LIMIT 1"
        )
    if repeated is not None:
        row, first = repeated
        word, number = place_of_row(source, first)
        problem = f"{ids[row].as_py()!r} is also on {word} {number}"
        raise at_row(source, row, f"vertex id {problem}. Keep one, or name another column by --id.")


def _row_numbers(ids: Any) -> Any:
    import pyarrow as pa

    starts = [0]
    for chunk in ids.chunks:
        starts.append(starts[-1] + len(chunk))
    numbers = [pa.array(np.arange(a, b)) for a, b in pairwise(starts)]
    return pa.chunked_array(numbers, type=pa.int64())


def _seen_in(ids: Any, edges: TableSource) -> pa.Array:
    """Return the ids that the beginning of the edges names: as good as all to guess columns by."""
    import pyarrow as pa
    import pyarrow.compute as pc

    with reading_table(edges):
        sample = edges.peek()
    words = [pa.array(edges.names[:2], pa.string())]
    for column in sample.columns:
        if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
            continue
        words += as_ids(column).chunks
    seen = pa.chunked_array(words, type=pa.string()).combine_chunks()
    mask = pc.call_function("is_in", [ids], pc.SetLookupOptions(value_set=seen))
    return ids.filter(mask).combine_chunks()
