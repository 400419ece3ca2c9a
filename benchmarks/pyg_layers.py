"""Layers of graphfilter.pyg beside the layers of PyTorch Geometric whose place they take.

    python benchmarks/pyg_layers.py --threads 1
    python benchmarks/pyg_layers.py --small    Cora only

A step is forward and backward of one layer with 64 columns in and out, float32, called with an edge
index; both keep what they prepare from the edges, where they can (``cached=True``). Ours and
theirs take turns, and a ratio is the median over turns of their time over ours in the same turn.
ChebConv has a matrix per polynomial where ours has one scalar each and one matrix in all, and
GCNConv multiplies once where the stacked filter multiplies 16 times: the layers take each other's
place in a network, they are not the same function. SGConv and APPNP are.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from epoch import read_graph
from graphfilter import pyg
from graphfilter_research.peers.pyg import graph_edges, pyg_nn
from harness import (
    Record,
    Timing,
    main,
    markdown,
    option_parser,
    seconds_of,
    show_ratio,
    show_seconds,
    stage,
)

COLUMNS = 64
DATASETS = ("cora", "pubmed", "computers")


@dataclass(frozen=True)
class Pair:
    """A layer of PyTorch Geometric, and the one of ours that takes its place."""

    theirs: str
    ours: str
    make_theirs: Callable[[Any], nn.Module]
    make_ours: Callable[[], nn.Module]


def pairs() -> list[Pair]:
    both = (COLUMNS, COLUMNS)
    return [
        Pair(
            "GCNConv", "StackedFilterConv, 16 layers",
            lambda found: found.GCNConv(*both, cached=True),
            lambda: pyg.StackedFilterConv(*both, n_layers=16, cached=True),
        ),
        Pair(
            "ChebConv, degree 16", "ChebyshevFilterConv, degree 16",
            lambda found: found.ChebConv(*both, K=17),
            lambda: pyg.ChebyshevFilterConv(*both, degree=16, cached=True),
        ),
        Pair(
            "SGConv, K = 2", "PowerFilterConv, k = 2",
            # Its own cache would keep the filtered features, and leave nothing to time.
            lambda found: found.SGConv(*both, K=2),
            lambda: pyg.PowerFilterConv(*both, k=2, cached=True),
        ),
        Pair(
            "APPNP, K = 10", "PageRankFilterConv, K = 10",
            lambda found: found.APPNP(K=10, alpha=0.1, cached=True),
            lambda: pyg.PageRankFilterConv(K=10, alpha=0.1, cached=True),
        ),
    ]  # fmt: skip


def step_of(layer: nn.Module, edges: torch.Tensor, n: int) -> Callable[[], None]:
    """Return a call that goes forward and backward."""
    generator = torch.Generator().manual_seed(0)
    made = torch.randn(2, n, COLUMNS, generator=generator)
    x, target = made[0].requires_grad_(), made[1]

    def step() -> None:
        layer.zero_grad()
        x.grad = None
        layer(x, edges).backward(target)

    return step


def measure(steps: dict[str, Callable[[], None]], device: torch.device, n_turns: int) -> Record:
    """Let the layers take turns; return their times and the ratio turn by turn."""
    for step in steps.values():
        step()
    turns = [
        {name: seconds_of(step, device) for name, step in steps.items()} for _ in range(n_turns)
    ]
    row: Record = {name: Timing.of([turn[name] for turn in turns]).to_json() for name in steps}
    row["ratio"] = Timing.of([turn["theirs"] / turn["ours"] for turn in turns]).to_json()
    return row


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Measure every pair on every dataset."""
    rows = []
    for name in DATASETS[:1] if options.small else DATASETS:
        graph = read_graph(name)
        edges = graph_edges(graph)[0].to(device)
        for pair in pairs():
            with stage(f"{name}: {pair.theirs}"):
                made = {"ours": pair.make_ours(), "theirs": pair.make_theirs(pyg_nn())}
                steps = {
                    which: step_of(layer.to(device), edges, graph.n_vertices)
                    for which, layer in made.items()
                }
                found = measure(steps, device, 3 if options.small else 11)
            rows.append({"dataset": name, "layers": [pair.theirs, pair.ours], **found})
    return {"rows": rows}


def table(record: Record) -> str:
    """Show the times and the ratios."""
    head = ["a step", "in the place of", "graphfilter", "theirs / ours", "theirs", "ours"]
    rows = [
        [
            row["dataset"], *row["layers"], f"**{show_ratio(row['ratio']['median'])}**",
            show_seconds(row["theirs"]), show_seconds(row["ours"]),
        ]
        for row in record["rows"]
    ]  # fmt: skip
    return markdown(head, rows)


if __name__ == "__main__":
    main("pyg_layers", option_parser(__doc__), run, table)
