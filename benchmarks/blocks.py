"""Training with hidden columns in blocks: peak memory and time beside all columns at once.

    python benchmarks/blocks.py            500,000 vertices,  10 million entries
    python benchmarks/blocks.py --small      2,000 vertices,  20,000 entries
    python benchmarks/blocks.py --large    2 million vertices, 200 million entries, in 4 GB

A FilterNetwork (K = 16, 64 hidden columns, 8 classes, 16 features, dropout 0.7) is trained by the
package's own loop, for two epochs, in a process of its own that is told to take no more memory than
so much (``GRAPHFILTER_MEMORY``): it chooses its blocks by that. Counted is the peak of its resident
memory, graph, Python and torch included. The graph lies on disk and is mapped, as a store's is; the
mapped pages that a process has touched count too.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from graphfilter.filters import StackedFilter
from graphfilter.models import FilterNetwork
from graphfilter.operators import Operator
from graphfilter.splits import Split
from graphfilter.training import Callback, Progress, TrainConfig, train
from graphfilter.util.machine import VARIABLE
from graphs import make_graph
from harness import Record, apart, main, markdown, option_parser, show_ratio, stage, three_digits

SIZES = {
    "cpu": (500_000, 10_000_000),
    "small": (2_000, 20_000),
    "large": (2_000_000, 200_000_000),
}
# All columns at once, and as many blocks as 64 columns make.
LIMITS = {"cpu": ("100G", "1500M", "1M"), "small": ("100G", "1M"), "large": ("4G",)}
N_FEATURES, HIDDEN, N_CLASSES = 16, 64, 8
EPOCHS = 2
# K. Memory does not depend on it.
DEGREE = 16
MIB = 2**20


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Train under every limit, and compare what is learned."""
    size = "small" if options.small else "large" if options.large else "cpu"
    n, n_entries = SIZES[size]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        with stage(f"making {n:,} vertices, {n_entries:,} entries"):
            apart(write_graph, folder, n, n_entries)
        for limit in LIMITS[size]:
            with stage(limit):
                rows.append({"limit": limit, **apart(measure, folder, limit, options.degree)})
    chosen = "" if size == "cpu" else f" --{size}"
    chosen += "" if options.degree == DEGREE else f" --degree {options.degree}"
    return {
        "command": f"python benchmarks/blocks.py{chosen}",
        "n_vertices": n,
        "n_entries": n_entries,
        "degree": options.degree,
        "rows": rows,
    }


def write_graph(folder: str, n: int, n_entries: int) -> None:
    """Write a graph's arrays."""
    graph = make_graph(n, n_entries)
    for name, tensor in (("offsets", graph.offsets), ("columns", graph.columns)):
        np.save(Path(folder) / f"{name}.npy", tensor.numpy())


def measure(folder: str, limit: str, degree: int) -> Record:
    """Train within a limit; return blocks, seconds of an epoch, the peak of memory, the loss."""
    os.environ[VARIABLE] = limit
    operator = Operator.from_csr(mapped(folder, "offsets"), mapped(folder, "columns"), check=False)
    n = operator.n
    draws = torch.Generator().manual_seed(0)
    x = torch.randn(n, N_FEATURES, generator=draws)
    labels = torch.randint(N_CLASSES, (n,), generator=draws)
    network = FilterNetwork(
        N_FEATURES, N_CLASSES, StackedFilter(degree), hidden_size=HIDDEN, generator=draws
    )
    half = np.arange(n // 2)
    split = Split(half[: n // 4], half[n // 4 :], np.arange(n // 2, n))
    started, times = time.perf_counter(), []

    def watch(progress: Progress) -> None:
        times.append(time.perf_counter())

    (result,) = train(
        [network], operator, x, labels, [split], TrainConfig(max_epochs=EPOCHS), seeds=[0],
        callback=Callback(watch),
    )  # fmt: skip
    return {
        "n_blocks": max(len(network.blocks(1, operator, x)), 1),
        # The first makes the operator, too.
        "first_seconds": times[0] - started,
        "seconds": times[-1] - times[-2],
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "loss": float(result.history["loss"][-1]),
    }


def mapped(folder: str, name: str) -> Tensor:
    """Map an array; pages are read when they are touched."""
    # Copied on write, which nobody does: torch warns of arrays that must not be written.
    return torch.from_numpy(np.load(Path(folder) / f"{name}.npy", mmap_mode="c"))


def table(record: Record) -> str:
    """Show a row for every limit."""
    head = ["told to take", "blocks", "peak memory", "of the first", "s per epoch", "of the first",
            "loss"]  # fmt: skip
    first = record["rows"][0]
    rows = [
        [
            "all it needs" if row["limit"] == "100G" else row["limit"],
            str(row["n_blocks"]),
            f"{row['peak_bytes'] / MIB:,.0f} MiB",
            show_ratio(row["peak_bytes"] / first["peak_bytes"]),
            three_digits(row["seconds"]),
            show_ratio(row["seconds"] / first["seconds"]),
            f"{row['loss']:.6f}",
        ]
        for row in record["rows"]
    ]
    about = (
        f"{record['n_vertices']:,} vertices, {record['n_entries']:,} entries, {HIDDEN} columns, "
        f"K = {record.get('degree', DEGREE)}; one column of all vertices is "
        f"{4 * record['n_vertices'] / MIB:,.1f} MiB."
    )
    return f"{about}\n\n{markdown(head, rows)}"


if __name__ == "__main__":
    parser = option_parser(__doc__)
    parser.add_argument("--large", action="store_true", help="200 million entries in 4 GB")
    parser.add_argument("--degree", type=int, default=DEGREE, metavar="K", help="16 unless given")
    main("blocks", parser, run, table)
