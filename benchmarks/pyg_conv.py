"""One layer of graphfilter.pyg beside the same layer written with PyTorch Geometric.

    python benchmarks/pyg_conv.py                  on the CPU
    python benchmarks/pyg_conv.py --device cuda    on a GPU
    python benchmarks/pyg_conv.py --small          Cora only

A step is forward and backward of a stacked filter, K = 16, 64 columns, float32, called with an
edge index as PyTorch Geometric's layers are: ``conv(x, edge_index)``. Ours keeps its operator
(``cached=True``) or prepares it in every call; preparing is timed by itself too. On a GPU it is
also captured in a CUDA graph (``torch.cuda.make_graphed_callables``), which launches the K products
at once: alone on a small graph, launching them takes longer than they do. The peer gathers
and scatters through ``MessagePassing``, its edges normalised beforehand, or multiplies with a CSR
adjacency; autograd goes through its steps. On a GPU the peak of memory above the level before a
step is counted too; on a CPU ``memory.py`` measures the same step. All gradients are compared.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from epoch import read_graph
from graphfilter.models.pyg import edges_to_csr, graph_edges
from graphfilter.operators import Operator
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
    "graphed": "graphfilter, CUDA graph",
    "cached": "graphfilter, cached",
    "fresh": "graphfilter, prepared in every call",
    "pyg": "PyG, gather–scatter",
    "pyg_csr": "PyG, CSR adjacency",
}

Layer = Callable[[Tensor], Tensor]


class Held(nn.Module):
    """A layer that holds its operator, as a module that is captured must."""

    def __init__(self, conv: StackedFilterConv, operator: Operator) -> None:
        super().__init__()
        self.conv, self.operator = conv, operator

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x, self.operator)


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
        if method == "graphed":
            held = Held(conv, prepare_operator(edges, num_nodes=self.n))
            graphed: Any = torch.cuda.make_graphed_callables(held, (self.x,))
            return graphed
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


def methods_on(device: str) -> dict[str, str]:
    return {name: title for name, title in METHODS.items() if device == "cuda" or name != "graphed"}


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Measure a step of every kind on every dataset."""
    names = options.datasets.split(",") if options.datasets else DATASETS
    seconds = 0.3 if options.small else 3.0
    rows = []
    for name in names[:1] if options.small else names:
        case = Case(name, device)
        expected = case.gradients("pyg")
        row: Record = {"dataset": name}
        for method, title in methods_on(device.type).items():
            with stage(f"{name}: {title}") as tick:
                for got, one in zip(case.gradients(method), expected, strict=True):
                    torch.testing.assert_close(
                        got, one, rtol=1e-3, atol=1e-4 * float(one.abs().max())
                    )
                step = case.step(method)
                row[method] = time_calls(step, device, seconds=seconds, tick=tick).to_json()
                if device.type == "cuda" and method != "graphed":
                    # A graph holds its memory from its capture on.
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
    methods = methods_on(record["device"])
    first, *_ = methods
    times, peaks = [], []
    for row in record["layers"]:
        cells = [show_seconds(row[method]) for method in methods]
        ours = row[first]["median"]
        ratios = [show_ratio(row[method]["median"] / ours) for method in ("pyg", "pyg_csr")]
        bold = [f"**{ratio}**" for ratio in ratios]
        times.append([row["dataset"], *cells, *bold, show_seconds(row["prepare"])])
        if "cached_bytes" in row:
            used = {method: row[f"{method}_bytes"] for method in methods if method != "graphed"}
            ratios = [show_ratio(used[method] / used["cached"]) for method in ("pyg", "pyg_csr")]
            cells = [f"{peak / MIB:,.1f} MiB" for peak in used.values()]
            peaks.append([row["dataset"], *cells, *ratios])
    ratios = ["gather–scatter / first", "CSR / first"]
    tables = [markdown(["a step", *methods.values(), *ratios, "preparing"], times)]
    if peaks:
        titles = [title for method, title in methods.items() if method != "graphed"]
        tables.append(markdown(["peak memory of a step", *titles, *ratios], peaks))
    return "\n\n".join(tables)


def draw(record: Record) -> Figure:
    """Draw the steps beside each other."""
    figure, (axes,) = make_figure(9, 3.6)
    rows = record["layers"]
    series = {
        title: [1e3 * row[method]["median"] for row in rows]
        for method, title in methods_on(record["device"]).items()
    }
    draw_bars(axes, [row["dataset"] for row in rows], series, unit="milliseconds a step")
    axes.set_title("A layer forward and backward, K = 16, 64 columns")
    return figure


if __name__ == "__main__":
    parser = option_parser(__doc__)
    parser.add_argument("--datasets", help="names with commas between them")
    main("pyg_conv", parser, run, table)
