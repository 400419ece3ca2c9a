"""Peak memory of one forward and backward pass of the stacked filter, as K grows.

Ours (the gradient in closed form, nothing stored but the input) beside plain autograd through
the recurrence H_l = alpha_l P H_{l-1} + beta_l H_0 with the very same products. Every
measurement is a process of its own, because a process's peak never falls. Linux only: it reads
/proc.

    python benchmarks/memory.py            200,000 vertices, 2,000,000 edges, 64 columns
    python benchmarks/memory.py --small     20,000 vertices,   200,000 edges
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import scipy.sparse as sp
import torch
from torch import Tensor

import graphfilter
from graphfilter.filters import StackedFilter
from graphfilter.graph import Graph
from graphfilter.operators import Operator, augmented_adjacency
from graphfilter.storage import write_json

DEGREES = (4, 16, 64)
METHODS = ("ours", "autograd")
N_COLUMNS = 64
EDGES_PER_VERTEX = 10
MIB = 2**20


@dataclass(frozen=True)
class Measurement:
    """What one process reports: its peak above the level before the step, and its gradients."""

    method: str
    degree: int
    peak_bytes: int
    grad_alpha: list[float]
    grad_x_norm: float


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the peak memory of a filter.")
    parser.add_argument("--small", action="store_true", help="a tenth of the size, for a look")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the numbers as JSON")
    parser.add_argument("--one", nargs=3, metavar=("METHOD", "K", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not Path("/proc/self/statm").exists():
        parser.error("this benchmark reads /proc and must run on Linux")
    if options.one:
        method, degree, matrix = options.one
        print(json.dumps(asdict(measure(method, int(degree), sp.load_npz(matrix)))))
        return
    n = 20_000 if options.small else 200_000
    with tempfile.TemporaryDirectory() as folder:
        matrix = Path(folder) / "operator.npz"
        sp.save_npz(matrix, make_operator_matrix(n), compressed=False)
        rows = []
        print(heading(n))
        for degree in DEGREES:
            ours, autograd = (measure_apart(method, degree, matrix) for method in METHODS)
            check_same_gradients(ours, autograd)
            rows.append((ours, autograd))
            print(table_row(ours, autograd, n), flush=True)
    print("\n" + footing())
    if options.out:
        write_json(options.out, record(n, rows))


def make_operator_matrix(n: int) -> sp.csr_array:
    """Make the normalised adjacency of a random graph with ten edges a vertex."""
    rng = np.random.default_rng(0)
    wanted = EDGES_PER_VERTEX * n
    # A few more than wanted: those that repeat or close on themselves are dropped.
    pairs = rng.integers(0, n, size=(wanted + wanted // 100, 2))
    low, high = pairs.min(axis=1), pairs.max(axis=1)
    keys = np.unique((low * n + high)[low != high])
    keys = rng.permutation(keys)[:wanted]
    graph = Graph.from_edges(np.stack(np.divmod(keys, n), axis=1), n)
    if graph.n_edges != wanted:
        raise RuntimeError(f"drew {graph.n_edges} edges instead of {wanted}")
    return augmented_adjacency(graph).matrix


def measure_apart(method: str, degree: int, matrix: Path) -> Measurement:
    """Measure in a fresh process."""
    # Buffers come straight from the kernel and go straight back, so that no freed memory is
    # reused unseen.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    command = [sys.executable, __file__, "--one", method, str(degree), str(matrix)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return Measurement(**json.loads(done.stdout))


def measure(method: str, degree: int, matrix: sp.csr_array) -> Measurement:
    operator = Operator(matrix, (-1.0, 1.0), "augmented_adjacency")
    stacked = StackedFilter(n_layers=degree, init=0.5)
    x, target = torch.randn(2, operator.n, N_COLUMNS, generator=torch.Generator().manual_seed(0))
    x.requires_grad_()
    # One tiny step first: torch loads code and starts threads on first use.
    tiny = Operator(sp.csr_array(sp.eye_array(8)), (-1.0, 1.0), "adjacency")
    step(method, stacked, tiny, torch.ones(8, 1, requires_grad=True), torch.ones(8, 1))
    stacked.zero_grad()

    ballast = fill_to_the_peak()
    before = peak()
    step(method, stacked, operator, x, target)
    used = peak() - before
    del ballast
    assert stacked.alpha.grad is not None
    assert x.grad is not None
    return Measurement(
        method, degree, used, stacked.alpha.grad.tolist(), x.grad.double().norm().item()
    )


def step(
    method: str, stacked: StackedFilter, operator: Operator, x: Tensor, target: Tensor
) -> None:
    """Run the filter forward, and backward from the loss <y, target>."""
    if method == "ours":
        y = stacked(operator, x)
    else:
        y = x
        for alpha, beta in zip(stacked.alpha, stacked.beta, strict=True):
            y = alpha * (operator @ y) + beta * x
    y.backward(target)


def fill_to_the_peak() -> np.ndarray:
    """Take as much memory as the process once had, so that the next byte raises the peak."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    missing = max(0, peak() - pages * resource.getpagesize())
    return np.ones(missing, dtype=np.uint8)


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def check_same_gradients(ours: Measurement, autograd: Measurement) -> None:
    np.testing.assert_allclose(
        ours.grad_alpha, autograd.grad_alpha, rtol=1e-3, atol=1e-4 * max(map(abs, ours.grad_alpha))
    )
    np.testing.assert_allclose(ours.grad_x_norm, autograd.grad_x_norm, rtol=1e-5)


def buffer_bytes(n: int) -> int:
    return 4 * n * N_COLUMNS


def heading(n: int) -> str:
    return (
        f"{n:,} vertices, {EDGES_PER_VERTEX * n:,} edges, {N_COLUMNS} columns, float32; "
        f"one buffer of n × {N_COLUMNS} is {buffer_bytes(n) / MIB:.0f} MiB\n\n"
        "|  K | ours (MiB) | buffers | autograd (MiB) | buffers | autograd / ours |\n"
        "|---:|---:|---:|---:|---:|---:|"
    )


def table_row(ours: Measurement, autograd: Measurement, n: int) -> str:
    cells = [f"{ours.degree:2d}"]
    for one in (ours, autograd):
        cells += [f"{one.peak_bytes / MIB:,.0f}", f"{one.peak_bytes / buffer_bytes(n):.1f}"]
    cells.append(f"{autograd.peak_bytes / ours.peak_bytes:.1f}")
    return "| " + " | ".join(cells) + " |"


def versions() -> dict[str, Any]:
    return {
        "graphfilter": graphfilter.__version__,
        "torch": torch.__version__,
        "scipy": scipy.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
    }


def footing() -> str:
    return ", ".join(f"{name} {version}" for name, version in versions().items() if version)


def record(n: int, rows: list[tuple[Measurement, Measurement]]) -> dict[str, Any]:
    peaks = [{"K": a.degree, "ours": a.peak_bytes, "autograd": b.peak_bytes} for a, b in rows]
    return {
        "n_vertices": n,
        "n_edges": EDGES_PER_VERTEX * n,
        "n_columns": N_COLUMNS,
        "buffer_bytes": buffer_bytes(n),
        "peak_bytes": peaks,
        "versions": versions(),
    }


if __name__ == "__main__":
    main()
