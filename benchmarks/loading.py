"""Reading graphs: named datasets, and an edge CSV of ten million rows.

    python benchmarks/loading.py [--rows 10000000]

Prints seconds, and for the CSV the peak memory above what the process held before, beside the size
of the file (the goal: under four times). Named datasets are timed where they are at hand.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from graphfilter.data import load_dataset, locate, read_tables


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


def make_tables(folder: Path, n_rows: int) -> tuple[Path, Path]:
    rng = np.random.default_rng(0)
    n = max(2, n_rows // 10)
    ends = rng.integers(0, n, size=(2, n_rows))
    edges, vertices = folder / "edges.csv", folder / "vertices.csv"
    csv.write_csv(pa.table({"source": ends[0], "target": ends[1]}), edges)
    labels = rng.choice(["a", "b"], n)
    csv.write_csv(pa.table({"id": np.arange(n), "x": rng.random(n), "label": labels}), vertices)
    return edges, vertices


def time_datasets() -> None:
    for name in ("cora", "pubmed", "computers"):
        if locate(name) is None:
            print(f"{name:>10}  not at hand")
            continue
        load_dataset(name)
        started = time.perf_counter()
        load_dataset(name)
        print(f"{name:>10}  {time.perf_counter() - started:.3f} s")


def time_csv(n_rows: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # A small one first, so that imports are done; and written by this process's child, so
        # that writing does not count towards the peak.
        read_tables(*make_tables(folder, 1000))
        edges, vertices = _in_child(folder, n_rows)
        size = edges.stat().st_size / 2**20
        before = peak_mib()
        started = time.perf_counter()
        graph, _ = read_tables(edges, vertices)
        seconds = time.perf_counter() - started
        rise = peak_mib() - before
        print(f"edge CSV of {n_rows:,} rows, {size:.0f} MiB -> {graph}")
        print(f"{seconds:.1f} s, peak memory +{rise:.0f} MiB = {rise / size:.1f} x the file")


def _in_child(folder: Path, n_rows: int) -> tuple[Path, Path]:
    import multiprocessing

    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(make_tables, (folder, n_rows))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    arguments = parser.parse_args()
    time_datasets()
    time_csv(arguments.rows)
