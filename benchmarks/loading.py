"""Reading graphs: named datasets, and an edge CSV of ten million rows.

    python benchmarks/loading.py
    python benchmarks/loading.py --small    a hundred thousand rows

Seconds, and for the CSV the peak memory above what the process held before, beside the size of
the file (the goal: under four times). Named datasets are timed where they are at hand. CPU only,
and Linux only: it reads /proc.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import torch

from graphfilter.data import load_dataset, locate, read_tables
from harness import (
    Record,
    apart,
    main,
    markdown,
    option_parser,
    show_seconds,
    stage,
    three_digits,
    time_calls,
)
from memory import peak_of

DATASETS = ("cora", "pubmed", "computers")
CPU = torch.device("cpu")
GOAL = 4
MIB = 2**20


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Time the named datasets that are at hand, and one large CSV."""
    datasets = []
    for name in DATASETS:
        if locate(name) is not None:
            with stage(f"reading {name}") as tick:
                timing = time_calls(lambda n=name: load_dataset(n), CPU, seconds=0.5, tick=tick)
            datasets.append({"dataset": name, "read": timing.to_json()})
    n_rows = 100_000 if options.small else 10_000_000
    return {"datasets": datasets, "csv": measure_csv(n_rows)}


def measure_csv(n_rows: int) -> Record:
    """Read tables that a child wrote, so that writing counts towards neither time nor peak."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # A small one first, so that imports are done.
        read_tables(*make_tables(folder, 1000))
        with stage(f"writing a CSV of {n_rows:,} rows"):
            edges, vertices = apart(make_tables, folder, n_rows)
        measured: Record = {"n_rows": n_rows, "file_bytes": edges.stat().st_size}

        def read() -> None:
            measured["n_edges"] = read_tables(edges, vertices)[0].n_edges

        with stage("reading it, for the peak of memory"):
            measured["peak_bytes"] = peak_of(read, CPU)
        with stage("reading it, for the time") as tick:
            timing = time_calls(read, CPU, seconds=0, tick=tick)
        return {**measured, "read": timing.to_json()}


def make_tables(folder: Path, n_rows: int) -> tuple[Path, Path]:
    """Write random edges and their vertices, ten edges a vertex."""
    import pyarrow as pa
    from pyarrow import csv

    rng = np.random.default_rng(0)
    n = max(2, n_rows // 10)
    ends = rng.integers(0, n, size=(2, n_rows))
    edges, vertices = folder / "edges.csv", folder / "vertices.csv"
    csv.write_csv(pa.table({"source": ends[0], "target": ends[1]}), edges)
    labels = rng.choice(["a", "b"], n)
    csv.write_csv(pa.table({"id": np.arange(n), "x": rng.random(n), "label": labels}), vertices)
    return edges, vertices


def table(record: Record) -> str:
    """Show seconds, and the peak beside the size of the file."""
    rows = [[row["dataset"], show_seconds(row["read"]), "", ""] for row in record["datasets"]]
    csv = record["csv"]
    ratio = csv["peak_bytes"] / csv["file_bytes"]
    rows.append(
        [
            f"edge CSV, {csv['n_rows']:,} rows, {three_digits(csv['file_bytes'] / MIB)} MiB",
            show_seconds(csv["read"]),
            f"{csv['peak_bytes'] / MIB:,.0f} MiB = {ratio:.2f}×",
            f"< {GOAL}×" + ("" if ratio < GOAL else ", missed"),
        ]
    )
    return markdown(["read", "time", "peak memory, of the file", "goal"], rows)


if __name__ == "__main__":
    main("loading", option_parser(__doc__), run, table)
