"""How the time of an epoch grows: with the entries of the graph and with K, over three decades.

    python benchmarks/growth.py                  to 10 million entries, to K = 1000
    python benchmarks/growth.py --device cuda    to 300 million entries, to K = 1000
    python benchmarks/growth.py --small

An epoch is one training step and one evaluation of a FilterNetwork with dropout 0.7, through
graphfilter.training.train, on power-law random graphs. Fitted are a power of the size (a slope of
1 is linear; what an epoch costs whatever its size lowers it) and a line with a fixed part, with
the largest relative distance of a measurement from that line.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from graphfilter.filters import StackedFilter
from graphfilter.models import FilterNetwork
from graphfilter.splits import Split
from graphfilter.training import TrainConfig, train
from graphs import make_graph
from harness import (
    Record,
    Timing,
    main,
    markdown,
    option_parser,
    show_seconds,
    stage,
    three_digits,
    time_epochs,
)
from pictures import draw_growth, fit_line, fit_power, make_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_FEATURES, N_CLASSES = 16, 4
LAYERS = (1, 3, 10, 30, 100, 300, 1000)
LABELS = {"entries": "entries of the adjacency", "layers": "K, layers of the filter"}


@dataclass(frozen=True)
class Plan:
    """What is measured on a device."""

    entries: tuple[int, ...]
    layers: tuple[int, ...]
    entries_for_layers: int
    layers_for_entries: int
    hidden: int
    mean_degree: int
    seconds: float


PLANS = {
    "cpu": Plan(
        entries=(*(10**k * f for k in range(4, 7) for f in (1, 3)), 10**7),
        layers=LAYERS,
        entries_for_layers=10**5,
        layers_for_entries=4,
        hidden=32,
        mean_degree=20,
        seconds=2.0,
    ),
    "cuda": Plan(
        entries=(3 * 10**5, *(10**k * f for k in range(6, 9) for f in (1, 3))),
        layers=LAYERS,
        entries_for_layers=10**6,
        layers_for_entries=16,
        hidden=64,
        mean_degree=50,
        seconds=1.0,
    ),
    "small": Plan((10**4, 10**5), (1, 10), 10**4, 4, 16, 20, 0.2),
}


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Measure epochs over entries and over K."""
    plan = PLANS["small" if options.small else device.type]
    points: dict[str, list[Record]] = {"entries": [], "layers": []}
    for n_entries in plan.entries:
        timing = measure(plan, n_entries, plan.layers_for_entries, device)
        points["entries"].append({"size": n_entries, "epoch": timing.to_json()})
    for n_layers in plan.layers:
        timing = measure(plan, plan.entries_for_layers, n_layers, device)
        points["layers"].append({"size": n_layers, "epoch": timing.to_json()})
    return {"plan": asdict(plan), "points": points}


def measure(plan: Plan, n_entries: int, n_layers: int, device: torch.device) -> Timing:
    """Time an epoch on a graph of this many entries with this many layers."""
    n = n_entries // plan.mean_degree
    with stage(f"{n_entries:,} entries, K = {n_layers}") as tick:
        operator = make_graph(n, n_entries, "power-law", device=device).operator()
        generator = torch.Generator(device).manual_seed(0)
        x = torch.randn(n, N_FEATURES, generator=generator, device=device)
        labels = x[:, :N_CLASSES].argmax(1)
        vertices = np.arange(n)
        split = Split(vertices[: n // 2], vertices[n // 2 :], vertices[:0])

        def train_for(n_epochs: int) -> None:
            stacked = StackedFilter(n_layers)
            network = FilterNetwork(N_FEATURES, N_CLASSES, stacked, hidden_size=plan.hidden)
            config = TrainConfig(max_epochs=n_epochs, patience=n_epochs)
            train([network.to(device)], operator, x, labels, [split], config, seeds=[0])

        return time_epochs(train_for, device, seconds=plan.seconds, repeats=3, tick=tick)


def table(record: Record) -> str:
    """Show the ends of both series and their fitted slopes."""
    rows = []
    for name, points in record["points"].items():
        sizes, seconds = series(points)
        slope, _ = fit_power(sizes, seconds)
        fixed, rate, deviation = fit_line(sizes, seconds)
        first, last = points[0], points[-1]
        rows.append(
            [
                LABELS[name],
                f"{first['size']:,} to {last['size']:,}",
                show_seconds(first["epoch"]),
                show_seconds(last["epoch"]),
                f"**{slope:.2f}**",
                f"{1e3 * fixed:.2g} ms + {three_digits(1e9 * rate)} ns each",
                f"{deviation:.0%}",
            ]
        )
    plan = record["plan"]
    about = (
        f"{plan['hidden']} hidden columns, {plan['mean_degree']} entries a vertex; "
        f"K = {plan['layers_for_entries']} where the entries grow, "
        f"{plan['entries_for_layers']:,} entries where K grows."
    )
    head = [
        "grows",
        "from … to",
        "epoch at the start",
        "at the end",
        "slope",
        "as a line",
        "off by",
    ]
    return f"{about}\n\n{markdown(head, rows)}"


def series(points: list[Record]) -> tuple[list[float], list[float]]:
    """Return sizes and median seconds."""
    return [p["size"] for p in points], [p["epoch"]["median"] for p in points]


def draw(record: Record) -> Figure:
    """Draw both series on log axes with their fitted slopes."""
    figure, axes = make_figure(9, 3.6, n_axes=2)
    for i, (name, points) in enumerate(record["points"].items()):
        sizes, seconds = series(points)
        draw_growth(axes[i], sizes, seconds, label="measured", xlabel=LABELS[name], index=i)
    return figure


if __name__ == "__main__":
    main("growth", option_parser(__doc__), run, table)
