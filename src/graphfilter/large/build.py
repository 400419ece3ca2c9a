"""From tables of any size to a store, in stages: one that is done is not done again.

What a build takes of disk is estimated from the sizes of its files and their first rows.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import TypeVar

from graphfilter.data.graph import say_arcs
from graphfilter.data.store import (
    BUILD_FOLDER,
    FORMAT,
    Header,
    StoredArray,
    check_folder,
    map_names,
    replacing,
    write_header,
)
from graphfilter.large.edges import EdgeFacts, PairFacts, list_ends, number_ends, sort_pairs
from graphfilter.large.ids import LEAST_MEMORY, check_engine
from graphfilter.large.vertices import (
    ColumnsOnDisk,
    Report,
    VertexFacts,
    encode_features,
    spill_table,
    understand_vertices,
)
from graphfilter.tables.build import telling
from graphfilter.tables.encoder import TableEncoder
from graphfilter.tables.formats import open_table
from graphfilter.tables.opening import check_not_same
from graphfilter.tables.parquet_files import ParquetTable
from graphfilter.tables.roles import Columns, choose_merge
from graphfilter.tables.source import TableSource, reading_table
from graphfilter.tables.text_files import TextOptions
from graphfilter.util.errors import ConfigError, DataFileError, ModelFileError
from graphfilter.util.files import make_folder
from graphfilter.util.records import convert, read_checked_json, write_checked_json
from graphfilter.util.words import say_bytes
from graphfilter.version import __version__

_HEAD_BYTES = 1 << 20
# Per edge, and more with a weight: its number; both directions of it while they are sorted, as
# DuckDB spills them (22 bytes were measured for a billion edges); its two entries.
_PAIR_BYTES, _SORT_BYTES, _ENTRY_BYTES = (8, 12), (24, 36), (8, 16)
# Per vertex: where its row and its id begin, and its label.
_VERTEX_BYTES = 24


def check_disk(edges: TableSource, vertices: TableSource | None, folder: Path) -> tuple[int, int]:
    """Return about how many edges and vertices tables have; raise where the disk is too small."""
    n_edges, _ = _count_rows(edges)
    n_vertices, row_bytes = (n_edges // 10, 16) if vertices is None else _count_rows(vertices)
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


def _count_rows(table: TableSource) -> tuple[int, int]:
    """Estimate the rows of a file, and the bytes of each as text."""
    path = Path(table)
    if path.suffix.lower() == ".parquet":
        from pyarrow import parquet

        with reading_table(path):
            metadata = parquet.read_metadata(path)
        return metadata.num_rows, 8 * max(1, metadata.num_columns)
    with path.open("rb") as file:
        packed = path.suffix.lower() == ".gz"
        stream = gzip.GzipFile(fileobj=file) if packed else file
        head = stream.read(_HEAD_BYTES)
        # How far the file itself was read, which is less where it is packed.
        read = file.tell() if packed else len(head)
    n_lines = max(1, head.count(b"\n"))
    return path.stat().st_size * n_lines // max(1, read), len(head) // n_lines


ASKED_FILE = "asked.json"
T = TypeVar("T", VertexFacts, "FeatureFacts", PairFacts, EdgeFacts)


@dataclass(frozen=True)
class FeatureFacts:
    """The features on disk."""

    arrays: dict[str, StoredArray] = field(default_factory=dict)
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
) -> Header:
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
    if encoder is not None and (encoder.rows or encoder.links):
        raise ConfigError(
            "a store sums up no columns of edges and joins no vertices; the model was fitted with "
            "such features. Fit one without them: drop=..., no_link=True."
        )
    folder = check_folder(Path(path), overwrite)
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
            edge_table, facts.edge_roles, source, map_names(folder, facts.arrays),
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
        header = Header(
            FORMAT, __version__, (tables[1] or edge_table).name.split(".")[0], facts.n_vertices,
            adjacency.n_entries, {**adjacency.arrays, **facts.arrays, **features.arrays},
            len(names or ()), names, classes=list(facts.classes),
            classes_type="object" if "label" in facts.roles else "int64",
            split_rules=["given"] * len(facts.split_sizes), split_sizes=facts.split_sizes,
            notes=[*said, *adjacency.notes], encoder=encodes.to_dict(), columns=asdict(columns),
        )  # fmt: skip
        write_header(folder, header)
    return header


@contextmanager
def building(folder: Path, overwrite: bool) -> Generator[Path]:
    """Yield a folder for what is needed meanwhile; it goes when the block ends without an error."""
    with replacing(folder, overwrite):
        scratch = folder / BUILD_FOLDER
        make_folder(scratch)
        yield scratch
        shutil.rmtree(scratch, ignore_errors=True)


def open_tables(
    edges: str | PathLike[str], vertices: str | PathLike[str] | None, text: TextOptions | None
) -> tuple[TableSource, TableSource | None]:
    """Open the tables of a build; each must be one that can be read piece by piece."""
    tables = [open_table(Path(path), text) for path in (edges, vertices) if path is not None]
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
    files = []
    for table in tables:
        if table is not None:
            status = Path(table).stat()
            files.append(
                [str(Path(table).resolve()), status.st_size, status.st_mtime_ns, *table.notes]
            )
    content = [
        FORMAT, __version__, files, asdict(columns), allow_missing,
        None if encoder is None else encoder.to_dict(),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()
