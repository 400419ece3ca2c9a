"""One layer of graphfilter.pyg beside the same layer written with PyTorch Geometric.

    python benchmarks/pyg_conv.py                  on the CPU
    python benchmarks/pyg_conv.py --device cuda    on a GPU
    python benchmarks/pyg_conv.py --small          Cora only

A step is forward and backward of a stacked filter, K = 16, 64 columns, float32, called with an
edge index as PyTorch Geometric's layers are: ``conv(x, edge_index)``. Ours keeps its operator
(``cached=True``) or prepares it in every call; preparing is timed by itself too. The peer gathers
and scatters through ``MessagePassing``, its edges normalised beforehand, or multiplies with a CSR
adjacency; autograd goes through its steps. On a GPU the peak of memory above the level before a
step is counted too; on a CPU ``memory.py`` measures the same step. All gradients are compared.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from epoch import read_graph
from graphfilter.models.pyg import edges_to_csr, graph_edges
from graphfilter.pyg import StackedFilterConv, prepare_operator
from harness import (
    Record,
    main,
    markdown,
    option_parser,
    show_ratio,
    show_seconds,
    stage,
    time_calls,
)
from memory import MIB, peak_of
from peers import normalise, propagation
from pictures import draw_bars, make_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_LAYERS, COLUMNS = 16, 64
DATASETS = ("cora", "pubmed", "computers")
METHODS = {
    "cached": "graphfilter, cached",
    "fresh": "graphfilter, prepared in every call",
    "pyg": "PyG, gather–scatter",
    "pyg_csr": "PyG, CSR adjacency",
}

Layer = Callable[[Tensor], Tensor]


class Case:
    """A dataset on a device, and the layer in every way of ``METHODS``."""

    def __init__(self, name: str, device: torch.device) -> None:
        graph = read_graph(name)
        self.device, self.n = device, graph.n_vertices
        self.edges = graph_edges(graph)[0].to(device)
        self.conv = StackedFilterConv(n_layers=N_LAYERS).to(device)
        generator = torch.Generator().manual_seed(0)
        made = torch.randn(2, self.n, COLUMNS, generator=generator).to(device)
        self.x, self.target = made[0].requires_grad_(), made[1]

    def layer(self, method: str) -> Layer:
        """Return x to y, in one of the ways."""
        conv, edges = self.conv, self.edges
        if method in ("cached", "fresh"):
            conv.cached = method == "cached"
            return lambda x: conv(x, edges)
        edges, weights = normalise(edges, self.n)
        spread = propagation()
        csr = edges_to_csr(edges, weights, self.n)

        def plain(x: Tensor) -> Tensor:
            h = x
            for alpha, beta in zip(conv.filter.alpha, conv.filter.beta, strict=True):
                h = alpha * (csr @ h if method == "pyg_csr" else spread(h, edges, weights))
                h = h + beta * x
            return h

        return plain

    def step(self, method: str) -> Callable[[], None]:
        """Return a call that goes forward and backward."""
        layer = self.layer(method)

        def call() -> None:
            self.conv.zero_grad()
            self.x.grad = None
            layer(self.x).backward(self.target)

        return call

    def gradients(self, method: str) -> list[Tensor]:
        self.step(method)()
        return [p.grad.clone() for p in (self.x, *self.conv.parameters()) if p.grad is not None]


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Measure a step of every kind on every dataset."""
    names = options.datasets.split(",") if options.datasets else DATASETS
    seconds = 0.3 if options.small else 3.0
    rows = []
    for name in names[:1] if options.small else names:
        case = Case(name, device)
        expected = case.gradients("pyg")
        row: Record = {"dataset": name}
        for method, title in METHODS.items():
            with stage(f"{name}: {title}") as tick:
                for got, one in zip(case.gradients(method), expected, strict=True):
                    torch.testing.assert_close(
                        got, one, rtol=1e-3, atol=1e-4 * float(one.abs().max())
                    )
                step = case.step(method)
                row[method] = time_calls(step, device, seconds=seconds, tick=tick).to_json()
                if device.type == "cuda":
                    row[f"{method}_bytes"] = peak_of(step, device)
        with stage(f"{name}: preparing") as tick:
            prepare = time_calls(
                lambda case=case: prepare_operator(case.edges, num_nodes=case.n),
                device, seconds=seconds / 5, tick=tick,
            )  # fmt: skip
        rows.append({**row, "prepare": prepare.to_json()})
    return {"n_layers": N_LAYERS, "n_columns": COLUMNS, "layers": rows}


def table(record: Record) -> str:
    """Show the times, and where it was counted the memory, of a step."""
    times, peaks = [], []
    for row in record["layers"]:
        ours = row["cached"]["median"]
        cells = [f"{show_seconds(row[method])}" for method in METHODS]
        ratios = [show_ratio(row[method]["median"] / ours) for method in ("pyg", "pyg_csr")]
        times.append([row["dataset"], *cells, *(f"**{ratio}**" for ratio in ratios)])
        times[-1].append(show_seconds(row["prepare"]))
        if "cached_bytes" in row:
            used = [row[f"{method}_bytes"] for method in METHODS]
            cells = [f"{peak / MIB:,.1f} MiB" for peak in used]
            peaks.append([row["dataset"], *cells, *(show_ratio(p / used[0]) for p in used[2:])])
    ratios = ["gather–scatter / ours", "CSR / ours"]
    head = ["a step", *METHODS.values(), *ratios]
    tables = [markdown([*head, "preparing"], times)]
    if peaks:
        tables.append(markdown(["peak memory of a step", *METHODS.values(), *ratios], peaks))
    return "\n\n".join(tables)


def draw(record: Record) -> Figure:
    """Draw the steps beside each other."""
    figure, (axes,) = make_figure(9, 3.6)
    rows = record["layers"]
    series = {
        title: [1e3 * row[method]["median"] for row in rows] for method, title in METHODS.items()
    }
    draw_bars(axes, [row["dataset"] for row in rows], series, unit="milliseconds a step")
    axes.set_title("A layer forward and backward, K = 16, 64 columns")
    return figure


if __name__ == "__main__":
    parser = option_parser(__doc__)
    parser.add_argument("--datasets", help="names with commas between them")
    main("pyg_conv", parser, run, table)
