"""Memory of ``graphfilter predict`` on a large graph store.

    python benchmarks/predicting.py            a million vertices, 40 classes
    python benchmarks/predicting.py --small    two thousand

Random edges, three per vertex, 16 features. SGF and the hop network are fitted to a small graph of
the same columns, in a few epochs: more would not change the memory. The peak is the resident memory
of the whole command, mapped pages of the store included. The goal is 1 GiB. Linux only.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

from harness import Record, apart, main, markdown, option_parser, stage
from store_build import MIB, make_ids

MODELS = {"sgf": "SGF", "hop-mlp": "hop network"}
N_FITTED, N_FEATURES, N_CLASSES, EDGES_PER_VERTEX = 2000, 16, 40, 3
GOAL_BYTES = 1 << 30


def make_tables(folder: Path, n: int) -> None:
    """Write random edges, and vertices whose features tell their class."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    labels = rng.integers(0, N_CLASSES, n)
    x = rng.normal(size=(N_CLASSES, N_FEATURES))[labels] + rng.normal(size=(n, N_FEATURES))
    columns = {f"x{j}": x[:, j].astype(np.float32) for j in range(N_FEATURES)}
    names = [f"c{label}" for label in labels]
    own = {"id": make_ids(np.arange(n)), **columns, "kind": names}
    parquet.write_table(pa.table(own), folder / "vertices.parquet")
    source, target = rng.integers(0, n, (2, EDGES_PER_VERTEX * n))
    ends = {"source": make_ids(source), "target": make_ids(target)}
    parquet.write_table(pa.table(ends), folder / "edges.parquet")


# Linux counts what the parent holds as the child's own until the child runs its program, so that a
# small process starts the command and tells its peak.
WATCH = """
import resource, subprocess, sys
words = [sys.executable, "-m", "graphfilter", *sys.argv[1:]]
quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
code = subprocess.run(words, **quiet).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


def command(*words: object) -> int:
    """Run graphfilter in a process of its own; return its peak in bytes."""
    watch = [sys.executable, "-c", WATCH, *map(str, words)]
    done = subprocess.run(watch, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"graphfilter {words[0]} ended with {done.returncode}")
    return 1024 * int(done.stdout)


def tables_in(folder: Path, n: int) -> tuple[Path, Path]:
    """Make a folder with a table of edges and one of vertices."""
    folder.mkdir()
    apart(make_tables, folder, n)
    return folder / "edges.parquet", folder / "vertices.parquet"


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Fit on the small tables, build a store of the large ones, and predict it."""
    n, rows = 2000 if options.small else 1_000_000, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        few, many = tables_in(folder / "few", N_FITTED), tables_in(folder / "many", n)
        for model in MODELS:
            with stage(f"{model} on {n:,} vertices") as tick:
                fitted = folder / model
                command(
                    "fit", "--edges", few[0], "--vertices", few[1], "--label", "kind", "--model",
                    model, "--epochs", 5, "--no-baselines", "--quiet", "--out", fitted,
                )  # fmt: skip
                tick()
                store = folder / "store"
                command("store", *many, "--out", store, "--like", fitted, "--overwrite")
                tick()
                out = folder / "predicted.parquet"
                peak = command(
                    "predict", fitted, "--graph", store, "--out", out, "--overwrite", "--quiet"
                )
                tick()
            rows.append({"model": model, "peak_bytes": peak})
    sizes = {"n_vertices": n, "n_edges": EDGES_PER_VERTEX * n, "n_classes": N_CLASSES}
    return {**sizes, "n_features": N_FEATURES, "rows": rows}


def table(record: Record) -> str:
    """Show the peaks beside the goal."""
    head = f"{record['n_vertices']:,} vertices, {record['n_classes']} classes"
    rows = [
        [
            MODELS[row["model"]],
            f"{row['peak_bytes'] / MIB:,.0f} MiB",
            f"{GOAL_BYTES / MIB:,.0f} MiB",
        ]
        for row in record["rows"]
    ]
    return markdown([head, "peak memory", "goal"], rows)


if __name__ == "__main__":
    main("predicting", option_parser(__doc__), run, table)
