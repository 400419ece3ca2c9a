"""Building a graph store from a table of edges with ids of text, CSV or Parquet.

    python benchmarks/store_build.py                       ten million edges
    python benchmarks/store_build.py --edges 100000000     more; 34 bytes of CSV each
    python benchmarks/store_build.py --vertices 50000000   with as many ids as a billion edges have
    python benchmarks/store_build.py --parquet             from Parquet, 7 bytes for each edge
    python benchmarks/store_build.py --small               a hundred thousand

Random edges, twenty per vertex, ids such as user-000001234. Edges per second, the peak of the
memory that the process itself took (files that it mapped can be given up at any time, and are not
counted), and disk: the store, and the most that lay beside it while it was built. Seconds and peak
are also shown by stage: those of vertices grow with them, the others with the edges. The goal: a
billion edges on two cores within an hour in 4 GB, so 278,000 edges per second. Linux only: it
reads /proc.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from graphfilter import build_store
from graphfilter.util.errors import check_bytes
from harness import Record, apart, main, markdown, option_parser, stage, three_digits

EDGES_PER_VERTEX = 20
GOAL_EDGES, GOAL_SECONDS, GOAL_BYTES = 10**9, 3600, 4 << 30
BLOCK = 1 << 20
GIB, MIB = 2**30, 2**20


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Write the tables in one process and build the store in another."""
    n_edges = 100_000 if options.small else getattr(options, "edges", 10_000_000)
    n_vertices = getattr(options, "vertices", None) or max(2, n_edges // EDGES_PER_VERTEX)
    memory = check_bytes("--memory", getattr(options, "memory", "4GB"))
    kind = "parquet" if getattr(options, "parquet", False) else "csv"
    with tempfile.TemporaryDirectory(dir=getattr(options, "folder", None)) as name:
        folder = Path(name)
        with stage(f"writing a table of {n_edges:,} edges"):
            apart(make_tables, folder, n_edges, n_vertices, kind)
        with stage("building the store"):
            measured = apart(measure, folder, memory, kind)
        sizes = {
            "table": kind,
            "table_bytes": (folder / f"edges.{kind}").stat().st_size,
            "store_bytes": sum(p.stat().st_size for p in (folder / "store").iterdir()),
        }
    chosen = " --small" if options.small else f" --edges {n_edges}"
    chosen += " --parquet" if kind == "parquet" else ""
    return {
        "command": f"python benchmarks/store_build.py{chosen}",
        "n_edges": n_edges, "n_vertices": n_vertices, "memory": memory, **sizes, **measured,
    }  # fmt: skip


def make_tables(folder: Path, n_edges: int, n: int, kind: str) -> None:
    """Write random edges and their vertices, in blocks."""
    import pyarrow as pa

    rng = np.random.default_rng(0)
    kinds = pa.schema([("source", pa.string()), ("target", pa.string())])
    with open_writer(folder / f"edges.{kind}", kinds) as writer:
        for start in range(0, n_edges, BLOCK):
            ends = rng.integers(0, n, (2, min(BLOCK, n_edges - start)))
            writer.write_batch(pa.record_batch([make_ids(end) for end in ends], schema=kinds))
    kinds = pa.schema([("id", pa.string()), ("x", pa.float32()), ("label", pa.string())])
    with open_writer(folder / f"vertices.{kind}", kinds) as writer:
        for start in range(0, n, BLOCK):
            numbers = np.arange(start, min(start + BLOCK, n))
            x = pa.array(rng.random(len(numbers), dtype=np.float32))
            labels = pa.array(rng.choice(["a", "b"], len(numbers)))
            writer.write_batch(pa.record_batch([make_ids(numbers), x, labels], schema=kinds))


def open_writer(path: Path, kinds: Any) -> Any:
    """Return what writes batches to a file, by its suffix."""
    from pyarrow import csv, parquet

    if path.suffix == ".csv":
        return csv.CSVWriter(path, kinds)
    # Ids are hardly ever repeated in a block: a dictionary of them would only be in the way.
    return parquet.ParquetWriter(path, kinds, compression="zstd", use_dictionary=False)


def make_ids(numbers: np.ndarray) -> object:
    """Name vertices user-000000000, user-000000001, ..."""
    import pyarrow as pa

    # By arithmetic: making text of a billion numbers one by one would take longer than the build.
    text = np.tile(np.frombuffer(b"user-000000000", np.uint8), (len(numbers), 1))
    text[:, 5:] += (numbers[:, None] // 10 ** np.arange(8, -1, -1) % 10).astype(np.uint8)
    offsets = np.arange(0, text.size + 1, text.shape[1], dtype=np.int32)
    buffers = pa.py_buffer(offsets), pa.py_buffer(text)
    return pa.StringArray.from_buffers(len(numbers), *buffers)


def measure(folder: Path, memory: int, kind: str) -> Record:
    """Build the store; watch memory and disk from a thread of its own."""
    watch, peaks = _Watch(folder / "store"), list[int]()
    names, times = ["opening the tables"], [time.perf_counter()]

    def report(what: str, done: int, total: int) -> None:
        if what != names[-1]:
            peaks.append(watch.take_peak())
            names.append(what)
            times.append(time.perf_counter())

    with watch:
        build_store(
            folder / f"edges.{kind}", folder / f"vertices.{kind}", folder / "store",
            memory=memory, report=report,
        )  # fmt: skip
    times.append(time.perf_counter())
    peaks.append(watch.take_peak())
    seconds = [b - a for a, b in pairwise(times)]
    return {
        "seconds": sum(seconds),
        "stages": [list(stage) for stage in zip(names, seconds, peaks, strict=True)],
        "peak_bytes": max(peaks),
        "disk_bytes": watch.disk,
    }


class _Watch(threading.Thread):
    """The most memory of its own that this process had, and the most disk that a folder took."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder, self.memory, self.disk = folder, 0, 0
        self._now = 0
        self._ended = threading.Event()

    def __enter__(self) -> None:
        self.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()

    def take_peak(self) -> int:
        """Return the most memory since this was last asked."""
        peak, self.memory = self.memory, self._now
        return peak

    def run(self) -> None:
        while not self._ended.wait(0.05):
            status = Path("/proc/self/status").read_text()
            found = re.search(r"RssAnon:\s+(\d+) kB", status)
            self._now = int(found[1]) * 1024 if found else 0
            self.memory = max(self.memory, self._now)
            self.disk = max(self.disk, folder_bytes(self.folder))


def folder_bytes(folder: Path) -> int:
    """Return what the files in a folder take; those that go meanwhile count nothing."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_blocks * 512
        except FileNotFoundError:
            continue
    return total


def table(record: Record) -> str:
    """Show speed, memory and disk beside the goal."""
    rate = record["n_edges"] / record["seconds"]
    rows = [
        ["edges", f"{record['n_edges']:,}", f"{GOAL_EDGES:,}"],
        ["vertices", f"{record['n_vertices']:,}", f"{GOAL_EDGES // EDGES_PER_VERTEX:,}"],
        ["seconds", three_digits(record["seconds"]), f"{GOAL_SECONDS:,}"],
        ["edges per second", f"{rate:,.0f}", f"{GOAL_EDGES / GOAL_SECONDS:,.0f}"],
        ["a billion edges, at this speed", f"{GOAL_EDGES / rate / 60:.0f} min", "60 min"],
        ["peak memory", f"{record['peak_bytes'] / MIB:,.0f} MiB", f"{GOAL_BYTES / MIB:,.0f} MiB"],
        [f"{record['table']} of edges", f"{record['table_bytes'] / MIB:,.0f} MiB", ""],
        ["store", f"{record['store_bytes'] / MIB:,.0f} MiB", ""],
        ["disk at most while building", f"{record['disk_bytes'] / MIB:,.0f} MiB", ""],
    ]
    for what, seconds, peak in record["stages"]:
        rows.append(
            [f"seconds: {what}", f"{three_digits(seconds)} (peak {peak / MIB:,.0f} MiB)", ""]
        )
    return markdown(["store", "measured", "goal"], rows)


def parser() -> argparse.ArgumentParser:
    options = option_parser(__doc__)
    options.add_argument("--edges", type=int, default=10_000_000)
    options.add_argument("--vertices", type=int, help="otherwise one per twenty edges")
    options.add_argument("--memory", default="4GB")
    options.add_argument("--parquet", action="store_true", help="tables of Parquet, not CSV")
    options.add_argument("--folder", help="where the tables and the store are written")
    return options


if __name__ == "__main__":
    main("store_build", parser(), run, table)
