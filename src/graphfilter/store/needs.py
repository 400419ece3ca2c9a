"""What building a store will take, from the sizes of its files and their first rows."""

from __future__ import annotations

import gzip
import shutil
from dataclasses import dataclass
from pathlib import Path

from graphfilter.errors import DataFileError
from graphfilter.tables import TableSource, reading_table
from graphfilter.wording import say_bytes

_HEAD_BYTES = 1 << 20
# Per edge, and more with a weight: its number; both directions of it while they are sorted, as
# DuckDB spills them (22 bytes were measured for a billion edges); its two entries.
_PAIR_BYTES, _SORT_BYTES, _ENTRY_BYTES = (8, 12), (24, 36), (8, 16)
# Per vertex: where its row and its id begin, and its label.
_VERTEX_BYTES = 24
# Per vertex, the largest column with what is made of it, and the number of neighbours.
_COLUMN_BYTES = 52


@dataclass(frozen=True)
class BuildNeeds:
    """An estimate of what a build takes.

    Attributes
    ----------
    n_edges, n_vertices : int
        Rows of the two tables.
    store_bytes, scratch_bytes : int
        On disk: what stays, and what is needed meanwhile besides.
    free_bytes : int
        On the disk that the store is built on.
    memory_bytes : int
        The least that a build should be given.
    """

    n_edges: int
    n_vertices: int
    store_bytes: int
    scratch_bytes: int
    free_bytes: int
    memory_bytes: int

    def sentences(self, memory: int) -> list[str]:
        """Say what will be needed; ``memory`` is what the build may take."""
        sizes = f"About {self.n_edges:,} edges"
        if self.n_vertices:
            sizes += f" and {self.n_vertices:,} vertices"
        lines = [
            f"{sizes}: the store takes about {say_bytes(self.store_bytes)} of disk, and "
            f"{say_bytes(self.scratch_bytes)} more while it is built; "
            f"{say_bytes(self.free_bytes)} are free.",
            f"The build takes up to {say_bytes(memory)} of memory.",
        ]
        if memory < self.memory_bytes:
            lines[1] += f" {say_bytes(self.memory_bytes)} would be safer for one column at a time."
        return lines

    def check(self, folder: Path) -> None:
        """Raise where the disk is too small."""
        needed = self.store_bytes + self.scratch_bytes
        if needed > self.free_bytes:
            raise DataFileError(
                folder,
                f"building needs about {say_bytes(needed)} of disk, of which "
                f"{say_bytes(self.store_bytes)} remain; {say_bytes(self.free_bytes)} are free. "
                "Free some space, or give a folder on another disk.",
            )


def estimate_build(edges: TableSource, vertices: TableSource | None, folder: Path) -> BuildNeeds:
    """Estimate what a build takes; reads the beginning of each table."""
    n_edges, _ = _count_rows(edges)
    n_vertices, row_bytes = (n_edges // 10, 16) if vertices is None else _count_rows(vertices)
    table_bytes = n_vertices * row_bytes
    # Another column than the two ends may be a weight.
    weighted = len(edges.names) > 2
    structure = _ENTRY_BYTES[weighted] * n_edges + _VERTEX_BYTES * n_vertices
    where = next(p for p in (folder, *folder.resolve().parents) if p.exists())
    return BuildNeeds(
        n_edges,
        n_vertices,
        structure + table_bytes,
        (_PAIR_BYTES[weighted] + _SORT_BYTES[weighted]) * n_edges + 3 * table_bytes,
        shutil.disk_usage(where).free,
        (1 << 29) + _COLUMN_BYTES * n_vertices,
    )


def _count_rows(table: TableSource) -> tuple[int, int]:
    """Estimate the rows of a file, and the bytes of each as text."""
    path = Path(table)
    if path.suffix.lower() == ".parquet":
        from pyarrow import parquet

        with reading_table(path):
            found = parquet.read_metadata(path)
        return found.num_rows, 8 * max(1, found.num_columns)
    with path.open("rb") as file:
        packed = path.suffix.lower() == ".gz"
        stream = gzip.GzipFile(fileobj=file) if packed else file
        head = stream.read(_HEAD_BYTES)
        # How far the file itself was read, which is less where it is packed.
        read = file.tell() if packed else len(head)
    n_lines = max(1, head.count(b"\n"))
    return path.stat().st_size * n_lines // max(1, read), len(head) // n_lines
