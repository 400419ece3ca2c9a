"""What fit --dry-run says beside what a fit then takes: the peak of its process.

    python benchmarks/dry_run.py            random graphs of 200,000 vertices
    python benchmarks/dry_run.py --small    of 20,000

Each fit is a process of its own, of two epochs, on a graph store. The goal: within 20 %.
Linux only: it reads /proc.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

from graphfilter import Graph, open_store
from graphfilter.data import write_store
from graphfilter.splits import stratified
from graphfilter.systems import get_system
from graphfilter.systems.system import estimate_cost
from harness import Record, main, markdown, option_parser, stage

# Vertices, edges, features and classes of each graph, and the systems that are fitted to it.
PLANS = {
    "full": [
        (200_000, 500_000, 64, 10, ("sgf", "sgf@hidden_size=16", "appnp", "gcn")),
        (200_000, 200_000, 256, 10, ("sgf",)),
        (200_000, 200_000, 16, 100, ("sgf",)),
        (50_000, 5_000_000, 16, 5, ("sgf@hidden_size=16",)),
        (30_000, 60_000, 32, 5, ("committee-low", "committee")),
    ],
    "small": [(20_000, 100_000, 64, 10, ("sgf",))],
}
MIB = 2**20
GOAL = 0.2
# The peak of its own memory, not that of the process which started it.
FIT = """
import re, sys
from pathlib import Path
from graphfilter.cli import main
sys.argv[0] = "graphfilter"
try:
    main()
except SystemExit as stop:
    assert not stop.code
print("peak", re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
"""


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Compare the estimate with the measured peak, for every system on its graph."""
    rows = []
    for *sizes, systems in PLANS["small" if options.small else "full"]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_store(make_graph(*sizes), folder / "store")
            graph = open_store(folder / "store")
            split = stratified(np.asarray(graph.labels), seed=0)
            for system in systems:
                with stage(f"fitting {system} to {sizes[0]:,} vertices"):
                    measured = measure(folder, system)
                cost = estimate_cost(get_system(system), graph, len(split.train))
                peak = cost.peak
                print(f"{system}: {peak / MIB:,.0f} of {measured / MIB:,.0f} MiB", flush=True)
                rows.append(
                    {"system": system, "sizes": sizes, "estimated": peak, "measured": measured}
                )
    return {"fits": rows}


def make_graph(n: int, n_edges: int, n_features: int, n_classes: int) -> Graph:
    """Make a random graph whose classes are to be seen in the features; a third is labelled."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, n_features), dtype=np.float32)
    labels = (x @ rng.standard_normal((n_features, n_classes), dtype=np.float32)).argmax(axis=1)
    labels[rng.random(n) > 1 / 3] = -1
    return Graph.from_edges(rng.integers(0, n, (n_edges, 2)), n, features=x, labels=labels)


def measure(folder: Path, system: str) -> int:
    """Fit in a process of its own and return its peak."""
    words = ["fit", "--graph", folder / "store", "--out", folder / "run", "--model", system]
    words += ["--epochs", 2, "--no-baselines", "--quiet", "--overwrite"]
    command = [sys.executable, "-c", FIT, *map(str, words)]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return int(said.rpartition("peak")[2]) * 1024


def table(record: Record) -> str:
    """Show both, and how far they are apart."""
    rows = []
    for fit in record["fits"]:
        n, n_edges, n_features, n_classes = fit["sizes"]
        ratio = fit["estimated"] / fit["measured"]
        rows.append(
            [
                f"{fit['system']}: {n:,} vertices, {n_edges:,} edges, {n_features} features, "
                f"{n_classes} classes",
                f"{fit['estimated'] / MIB:,.0f} MiB",
                f"{fit['measured'] / MIB:,.0f} MiB",
                f"{ratio - 1:+.0%}",
                f"±{GOAL:.0%}",
            ]
        )
    return markdown(["fit, of 2 epochs", "estimated", "measured", "apart", "goal"], rows)


if __name__ == "__main__":
    main("dry_run", option_parser(__doc__), run, table)
