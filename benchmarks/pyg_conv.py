"""One layer of graphfilter.pyg beside the same layer written with PyTorch Geometric.

    python benchmarks/pyg_conv.py                  on the CPU
    python benchmarks/pyg_conv.py --device cuda    on a GPU
    python benchmarks/pyg_conv.py --small          Cora only

A step is forward and backward of a stacked filter, K = 16, 64 columns, float32, called with an
edge index as PyTorch Geometric's layers are: ``conv(x, edge_index)``. Ours keeps its operator
(``cached=True``) or prepares it in every call; preparing is timed by itself too. The peer gathers
and scatters through ``MessagePassing``, its edges normalised beforehand, or multiplies with a CSR
adjacency; autograd goes through its steps. All gradients are compared.

On a GPU both are also captured in a CUDA graph (``torch.cuda.make_graphed_callables``): alone
on a small graph, launching the products from Python takes longer than they do. Ratios compare what
is called the same way. The peak of memory above the level before a step is counted there too; on a
CPU ``memory.py`` measures the same step.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from epoch import read_graph
from graphfilter.pyg import StackedFilterConv, prepare_operator
from graphfilter_research.peers.pyg import edges_to_csr, graph_edges
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
CALLED = {
    "cached": "graphfilter, cached",
    "fresh": "graphfilter, prepared in every call",
    "pyg": "PyG, gather–scatter",
    "pyg_csr": "PyG, CSR adjacency",
}
CAPTURED = {"graphed": "graphfilter, CUDA graph", "pyg_graphed": "PyG, CUDA graph"}
# What is compared: called from Python, and captured.
PAIRS = (("pyg", "cached"), ("pyg_csr", "cached"), ("pyg_graphed", "graphed"))

Layer = Callable[[Tensor], Tensor]


class Captured(nn.Module):
    """A layer as a module of x alone, with the parameters of ``conv``, as is captured."""

    def __init__(self, conv: StackedFilterConv, layer: Layer) -> None:
        super().__init__()
        self.conv, self.layer = conv, layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


class Case:
    """A dataset on a device, and the layer in every way of ``CALLED`` and ``CAPTURED``."""

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
        if method in CAPTURED:
            operator = prepare_operator(edges, num_nodes=self.n)
            layer = self.layer("pyg") if method == "pyg_graphed" else lambda x: conv(x, operator)
            graphed: Any = torch.cuda.make_graphed_callables(Captured(conv, layer), (self.x,))
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
    return {**CALLED, **CAPTURED} if device == "cuda" else CALLED


def methods_of(record: Record) -> dict[str, str]:
    """Return what was measured: records made before the peer was captured do not have that."""
    methods = methods_on(record["device"])
    return {name: title for name, title in methods.items() if name in record["layers"][0]}


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
                if device.type == "cuda" and method in CALLED:
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
    methods = methods_of(record)
    pairs = [pair for pair in PAIRS if set(pair) <= set(methods)]
    times, peaks = [], []
    for row in record["layers"]:
        cells = [show_seconds(row[method]) for method in (*methods, "prepare")]
        ratios = [show_ratio(row[peer]["median"] / row[ours]["median"]) for peer, ours in pairs]
        times.append([row["dataset"], *cells, *(f"**{ratio}**" for ratio in ratios)])
        if "cached_bytes" in row:
            used = [row[f"{method}_bytes"] for method in CALLED]
            cells = [f"{peak / MIB:,.1f} MiB" for peak in used]
            peaks.append(
                [row["dataset"], *cells, *(show_ratio(peak / used[0]) for peak in used[2:])]
            )
    ratios = ["gather–scatter / ours", "CSR / ours", "captured, PyG / ours"]
    head = ["a step", *methods.values(), "preparing", *ratios[: len(pairs)]]
    tables = [markdown(head, times)]
    if peaks:
        tables.append(markdown(["peak memory of a step", *CALLED.values(), *ratios[:2]], peaks))
    return "\n\n".join(tables)


def draw(record: Record) -> Figure:
    """Draw the steps beside each other."""
    figure, (axes,) = make_figure(9, 3.6)
    rows = record["layers"]
    series = {
        title: [1e3 * row[method]["median"] for row in rows]
        for method, title in methods_of(record).items()
    }
    draw_bars(axes, [row["dataset"] for row in rows], series, unit="milliseconds a step")
    axes.set_title("A layer forward and backward, K = 16, 64 columns")
    return figure


if __name__ == "__main__":
    parser = option_parser(__doc__)
    parser.add_argument("--datasets", help="names with commas between them")
    main("pyg_conv", parser, run, table)
