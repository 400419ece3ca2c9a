"""Peak memory of one forward and backward pass of the stacked filter, as K grows.

    python benchmarks/memory.py                  200,000 vertices, 4,000,000 entries
    python benchmarks/memory.py --device cuda    2.4 million vertices, 124 million entries
    python benchmarks/memory.py --small           20,000 vertices,   400,000 entries

64 columns, float32. Ours (the gradient in closed form, nothing stored but the input) beside
autograd through the recurrence H_l = alpha_l P H_{l-1} + beta_l H_0, once with the very same
products and once with PyTorch Geometric's gather and scatter. All gradients are compared.

Counted is what a step takes above the level before it. On a GPU torch's allocator knows it. On a
CPU every measurement is a process of its own, because a process's peak never falls; it first
fills memory up to its earlier peak, so that every further byte counts. Linux only: it reads /proc.
"""

from __future__ import annotations

import argparse
import os
import resource
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from graphfilter.filters import StackedFilter
from graphfilter.util.errors import ConfigError
from graphs import RandomGraph, make_graph
from harness import Record, apart, main, markdown, option_parser, show_ratio, stage
from peers import PlainProduct, propagation
from pictures import draw_bars, make_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = {"cuda": (2_449_029, 123_718_280), "cpu": (200_000, 4_000_000), "small": (20_000, 400_000)}
N_COLUMNS = 64
# Gather and scatter takes minutes at K = 64, and shows no more there.
DEGREES = {"ours": (4, 16, 64), "autograd": (4, 16, 64), "pyg": (16,)}
PEERS = {"autograd": "autograd, same products", "pyg": "PyG"}
TITLES = {"ours": "graphfilter", **PEERS}
GOAL = {16: "≥ 8×"}
MIB = 2**20

Products = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Measurement:
    """The peak of a step above the level before it, and its gradients."""

    method: str
    degree: int
    peak_bytes: int
    grad_alpha: list[float]
    grad_x_norm: float


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Measure every method at its degrees, and compare their gradients."""
    n, n_entries = SIZES["small" if options.small else device.type]
    if device.type == "cpu" and not Path("/proc/self/statm").exists():
        raise ConfigError("on a CPU this benchmark reads /proc; run it on Linux.")
    peaks = []
    for degree in DEGREES["ours"]:
        ours = measure_on(device, "ours", degree, n, n_entries)
        row: Record = {"K": degree, "ours": ours.peak_bytes}
        for method in [m for m in PEERS if degree in DEGREES[m]]:
            try:
                peer = measure_on(device, method, degree, n, n_entries)
            except torch.OutOfMemoryError:
                row[method] = None
                continue
            check_same_gradients(ours, peer)
            row[method] = peer.peak_bytes
        peaks.append(row)
    return {
        "n_vertices": n,
        "n_entries": n_entries,
        "n_columns": N_COLUMNS,
        "buffer_bytes": 4 * n * N_COLUMNS,
        "peak_bytes": peaks,
    }


def measure_on(
    device: torch.device, method: str, degree: int, n: int, n_entries: int
) -> Measurement:
    """Measure one method: here on a GPU, in a process of its own on a CPU."""
    with stage(f"K = {degree}, {TITLES[method]}"):
        if device.type == "cuda":
            return measure(method, degree, make_graph(n, n_entries, device=device))
        # Buffers come straight from the kernel and go straight back, so that no freed memory is
        # reused unseen. A process reads this when it starts.
        os.environ["MALLOC_MMAP_THRESHOLD_"] = "65536"
        return apart(measure_made, method, degree, n, n_entries)


def measure_made(method: str, degree: int, n: int, n_entries: int) -> Measurement:
    """Measure on a graph made here: what a fresh process runs."""
    return measure(method, degree, make_graph(n, n_entries))


def measure(method: str, degree: int, graph: RandomGraph) -> Measurement:
    """Measure one step of one method."""
    device = graph.columns.device
    stacked = StackedFilter(n_layers=degree, init=0.5).to(device)
    generator = torch.Generator(device).manual_seed(0)
    x, target = torch.randn(2, graph.n, N_COLUMNS, generator=generator, device=device)
    x.requires_grad_()
    step = make_step(method, stacked, graph)
    # A step on one column first: what is made or loaded once is there before the counting.
    step(x.detach()[:, :1].clone().requires_grad_(), target[:, :1])
    stacked.zero_grad()
    used = peak_of(lambda: step(x, target), device)
    assert stacked.alpha.grad is not None
    assert x.grad is not None
    return Measurement(
        method, degree, used, stacked.alpha.grad.tolist(), x.grad.double().norm().item()
    )


def make_step(
    method: str, stacked: StackedFilter, graph: RandomGraph
) -> Callable[[Tensor, Tensor], None]:
    """Return a call (x, target): the filter forward, and backward from the loss <y, target>."""
    if method == "ours":
        operator = graph.operator()
        return lambda x, target: stacked(operator, x).backward(target)
    product = graph.operator().__matmul__ if method == "autograd" else gather_scatter(graph)

    def step(x: Tensor, target: Tensor) -> None:
        y = x
        for alpha, beta in zip(stacked.alpha, stacked.beta, strict=True):
            y = alpha * product(y) + beta * x
        y.backward(target)

    return step


def gather_scatter(graph: RandomGraph) -> Products:
    """Return PyTorch Geometric's product with the same operator."""
    plain = PlainProduct(graph, torch.float32)
    layer = propagation()
    edges = torch.stack([plain.columns.long(), plain.rows])
    return lambda x: layer(x, edges, plain.values)


def peak_of(call: Callable[[], None], device: torch.device) -> int:
    """Return how far a call raises the peak of memory in use."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        call()
        return torch.cuda.max_memory_allocated(device) - before
    ballast = fill_to_the_peak()
    before = process_peak()
    call()
    used = process_peak() - before
    del ballast
    return used


def fill_to_the_peak() -> np.ndarray:
    """Take as much memory as the process once had, so that the next byte raises the peak."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    missing = max(0, process_peak() - pages * resource.getpagesize())
    return np.ones(missing, dtype=np.uint8)


def process_peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def check_same_gradients(ours: Measurement, other: Measurement) -> None:
    """Stop where two methods differ by more than rounding."""
    largest = max(map(abs, ours.grad_alpha))
    np.testing.assert_allclose(ours.grad_alpha, other.grad_alpha, rtol=1e-3, atol=1e-4 * largest)
    np.testing.assert_allclose(ours.grad_x_norm, other.grad_x_norm, rtol=1e-5)


def table(record: Record) -> str:
    """Show a row for every K: MiB, buffers of n × 64, and how much more the peers take."""
    buffer = record["buffer_bytes"]
    head = ["K", "graphfilter", "buffers"]
    for title in PEERS.values():
        head += [title, "buffers", "/ ours"]
    rows = []
    for row in record["peak_bytes"]:
        ours = row["ours"]
        cells = [str(row["K"]), f"{ours / MIB:,.0f} MiB", f"{ours / buffer:.1f}"]
        for peer in PEERS:
            peak = row.get(peer)
            if peak is None:
                cells += ["out of memory" if peer in row else "", "", ""]
            else:
                cells += [f"{peak / MIB:,.0f} MiB", f"{peak / buffer:.1f}", show_ratio(peak / ours)]
        rows.append([*cells, GOAL.get(row["K"], "")])
    head.append("goal")
    return "\n\n".join(
        [
            f"{record['n_vertices']:,} vertices, {record['n_entries']:,} entries, "
            f"{record['n_columns']} columns, float32; one buffer of n × {record['n_columns']} is "
            f"{buffer / MIB:,.0f} MiB.",
            markdown(head, rows),
        ]
    )


def draw(record: Record) -> Figure:
    """Draw the peaks over K, with one buffer as the floor."""
    figure, (axes,) = make_figure(8, 3.6)
    rows = record["peak_bytes"]
    series = {
        title: [row[method] / MIB if row.get(method) else None for row in rows]
        for method, title in TITLES.items()
    }
    draw_bars(
        axes,
        [f"K = {row['K']}" for row in rows],
        series,
        unit="MiB",
        floor=[record["buffer_bytes"] / MIB] * len(rows),
        floor_label="one buffer",
    )
    axes.set_title("Peak memory of a step, above graph, input and gradient at the output")
    return figure


if __name__ == "__main__":
    main("memory", option_parser(__doc__), run, table)
