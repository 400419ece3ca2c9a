r"""One layer of the filter, out = a P x + b out, beside the memory's limit and other products.

    python benchmarks/layer.py --device cuda    2.4 million vertices, 124 million entries
    python benchmarks/layer.py                  on the CPU: a fiftieth of that
    python benchmarks/layer.py --small

P is the augmented normalised adjacency of a random graph: with equal degrees, with power-law ones,
and with communities of 500 vertices that have nine of ten neighbours inside. x has 64 columns. The
gather limit is the time to move what must be moved if no row of x is ever found in a cache: the
neighbours' rows once each, the columns and offsets of the graph, and ``out`` read and written; at
the bandwidth that a copy reaches on the same device.

The peers keep P as most do, a value an entry: torch's CSR product (cuSPARSE on a GPU) followed by
a sum, or adding to ``out`` itself; and PyTorch Geometric's way with an edge index: a row gathered
for every entry, scaled, and added to its vertex. Errors are against float64 from the same stored
x, the largest over a sample of rows and the largest rows, over the largest value.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from graphs import Degrees, RandomGraph, make_graph
from harness import (
    Record,
    copy_bandwidth,
    main,
    markdown,
    option_parser,
    show_ratio,
    show_seconds,
    stage,
    three_digits,
    time_calls,
)
from peers import PlainProduct
from pictures import draw_bars, make_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The size of ogbn-products; a CPU takes a fiftieth of it.
SIZES = {"cuda": (2_449_029, 123_718_280), "cpu": (48_980, 2_474_364), "small": (5_000, 100_000)}
N_COLUMNS = 64
SCALE, KEEP = 0.5, 0.5
DEGREES: tuple[Degrees, ...] = ("uniform", "power-law", "communities")
STORAGE = {"float32": torch.float32, "bfloat16": torch.bfloat16}
PEERS = {
    "csr_then_sum": "torch CSR, then a sum",
    "csr_in_place": "torch CSR, in place",
    "gather_scatter": "gather–scatter",
}

# What is wanted on a GPU, as a row of the table.
GOALS = ["goal", "", "", "≤ 1.3×", "≥ 2×", "", "≥ 25×", "", ""]

# The makers' figures, bytes a second.
NOMINAL_BANDWIDTH = {"H200": 4.8e12, "H100": 3.35e12, "A100": 2.039e12}

Call = Callable[[], object]


class Layer:
    """A graph and columns in one storage type, and the calls that are timed on them."""

    def __init__(self, graph: RandomGraph, dtype: torch.dtype) -> None:
        self.graph = graph
        device = graph.columns.device
        generator = torch.Generator(device).manual_seed(1)
        draw = [
            torch.randn(graph.n, N_COLUMNS, generator=generator, device=device) for _ in range(2)
        ]
        self.x, self.before = (each.to(dtype) for each in draw)
        self.out = torch.empty_like(self.x)
        self.rows = sample_rows(graph, generator)
        self.exact = exact_rows(graph, self.x, self.before, self.rows)

    def measure(self, call: Call, seconds: float) -> Record:
        """Return the error of a call on ``out``, and its time."""
        self.out.copy_(self.before)
        call()
        error = (self.out[self.rows].double() - self.exact).abs().max() / self.exact.abs().max()
        timing = time_calls(call, self.x.device, seconds=seconds)
        return {"error": error.item(), **timing.to_json()}

    def ours(self) -> Call:
        operator = self.graph.operator(self.x.dtype)
        return lambda: operator.multiply(self.x, out=self.out, scale=SCALE, keep=KEEP)

    def bytes_to_move(self) -> int:
        """Return what must be moved if no row is ever found in a cache."""
        n_entries = self.graph.n_entries + self.graph.n
        return n_entries * self.x[0].nbytes + self.graph.n_bytes + 2 * self.out.nbytes


def sample_rows(graph: RandomGraph, generator: torch.Generator) -> Tensor:
    """Return a few thousand rows, those with the most entries among them."""
    device = graph.columns.device
    largest = graph.offsets.diff().topk(min(50, graph.n)).indices
    drawn = torch.randint(graph.n, (5000,), generator=generator, device=device)
    return torch.cat([largest, drawn]).unique()


def exact_rows(graph: RandomGraph, x: Tensor, before: Tensor, rows: Tensor) -> Tensor:
    """Return these rows of the layer's result, in float64."""
    degrees = graph.offsets.diff()
    scale = (degrees + 1).double().rsqrt()
    counts = degrees[rows]
    owner = torch.arange(len(rows), device=rows.device).repeat_interleave(counts)
    first = (graph.offsets[rows] - counts.cumsum(0) + counts)[owner]
    neighbours = graph.columns[first + torch.arange(len(owner), device=rows.device)].long()

    def scaled(at: Tensor) -> Tensor:
        return scale[at, None] * x[at].double()

    total = scaled(rows).index_add_(0, owner, scaled(neighbours))
    return SCALE * scale[rows, None] * total + KEEP * before[rows].double()


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Measure every layer on both kinds of graph, in the storage types the device is good at."""
    n, n_entries = SIZES["small" if options.small else device.type]
    seconds = 0.1 if options.small else 1.0
    storage = STORAGE if device.type == "cuda" else {"float32": torch.float32}
    with stage("bandwidth of a copy"):
        bandwidth = copy_bandwidth(device, 2**32 if device.type == "cuda" else 2**28)
    rows = []
    for degrees in DEGREES:
        with stage(f"{degrees}: making the graph"):
            graph = make_graph(n, n_entries, degrees, device=device)
        for name, dtype in storage.items():
            rows.append({"degrees": degrees, "storage": name, **measure(graph, dtype, seconds)})
    return {
        "n_vertices": n,
        "n_entries": n_entries,
        "n_columns": N_COLUMNS,
        "copy_bandwidth": bandwidth,
        "nominal_bandwidth": nominal_bandwidth(device),
        "rows": rows,
    }


def measure(graph: RandomGraph, dtype: torch.dtype, seconds: float) -> Record:
    """Measure ours and the peers on one graph in one storage type."""
    layer = Layer(graph, dtype)
    measured: Record = {"bytes": layer.bytes_to_move()}
    with stage(f"  {dtype}: ours"):
        measured["ours"] = layer.measure(layer.ours(), seconds)
    plain = PlainProduct(graph, dtype)
    for name, title in PEERS.items():
        make = getattr(plain, name)
        with stage(f"  {dtype}: {title}"):
            try:
                call = make(layer.x, layer.out, SCALE, KEEP)
                measured[name] = layer.measure(call, seconds)
            except torch.OutOfMemoryError:
                measured[name] = None
    return measured


def nominal_bandwidth(device: torch.device) -> float | None:
    """Return the maker's figure, where the device is one we know it of."""
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    return next((value for chip, value in NOMINAL_BANDWIDTH.items() if chip in name), None)


def limit(record: Record, row: Record, which: str = "copy_bandwidth") -> float | None:
    """Return the gather limit of a row in seconds, at the measured or the nominal bandwidth."""
    return row["bytes"] / record[which] if record[which] else None


def table(record: Record) -> str:
    """Show a row for every graph and storage type; peers as multiples of our time."""
    head = ["degrees, storage", "gather limit", "graphfilter", "ours / limit"]
    head += [f"{title} / ours" for title in PEERS.values()] + ["our error", "CSR's error"]
    rows = []
    for row in record["rows"]:
        ours, floor = row["ours"], limit(record, row)
        assert floor is not None
        nominal = limit(record, row, "nominal_bandwidth")
        told = "" if nominal is None else f" (nominal {three_digits(1e3 * nominal)})"
        cells = [f"{row['degrees']}, {row['storage']}", f"{three_digits(1e3 * floor)} ms{told}"]
        cells += [show_seconds(ours), f"**{show_ratio(ours['median'] / floor)}**"]
        for name in PEERS:
            peer = row[name]
            lost = peer is None
            cells.append("out of memory" if lost else show_ratio(peer["median"] / ours["median"]))
        csr = row["csr_then_sum"]
        cells += [f"{ours['error']:.1e}", "" if csr is None else f"{csr['error']:.1e}"]
        rows.append(cells)
    if record["device"] == "cuda":
        rows.append(GOALS)
    return "\n\n".join(
        [
            f"{record['n_vertices']:,} vertices, {record['n_entries']:,} entries and the diagonal, "
            f"{record['n_columns']} columns; a copy moves "
            f"{three_digits(record['copy_bandwidth'] / 1e9)} GB/s.",
            markdown(head, rows),
        ]
    )


def draw(record: Record) -> Figure:
    """Draw every method's time as bars, with the gather limit as a line."""
    rows = record["rows"]
    figure, (axes,) = make_figure(10, 4)
    series = {
        title: [row[name] and 1e3 * row[name]["median"] for row in rows]
        for name, title in {"ours": "graphfilter", **PEERS}.items()
    }
    floors = [1e3 * row["bytes"] / record["copy_bandwidth"] for row in rows]
    groups = [f"{row['degrees']}\n{row['storage']}" for row in rows]
    draw_bars(
        axes, groups, series, unit="milliseconds a layer", floor=floors, floor_label="gather limit"
    )
    axes.set_title(
        f"out = a P x + b out: {record['n_vertices']:,} vertices, {record['n_entries']:,} entries, "
        f"{record['n_columns']} columns"
    )
    return figure


if __name__ == "__main__":
    main("layer", option_parser(__doc__), run, table)
