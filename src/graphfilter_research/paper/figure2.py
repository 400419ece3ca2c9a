"""Figure 2: the filters that were learned from both starts on three frequency ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from graphfilter.filters import StackedFilter
from graphfilter.util.pictures import COLOURS, FAINT, FREQUENCY_AXIS, GREY, unframe
from graphfilter.util.records import matches
from graphfilter_research.bench.pair import Pair
from graphfilter_research.bench.record import Record
from graphfilter_research.paper.collect import Options, pairs_of
from graphfilter_research.paper.published import DATASET_TITLES, TABLE_5
from graphfilter_research.paper.tables import (
    Block,
    Rendered,
    Row,
    compare_accuracy,
    compare_runs,
    select,
)
from graphfilter_research.paper.target import RunTable, titles_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROWS = {"sgf": "from Ã", "sgf-laplacian": "from L"}


def pairs(datasets: Sequence[str], options: Options) -> list[Pair]:
    return pairs_of(datasets, ROWS, options)


def show(records: Sequence[Record], datasets: Sequence[str]) -> Rendered:
    """Draw the figure from the filters on record."""
    # The paper prints the accuracy of one of the two starts, in Table 5.
    printed = {"sgf": TABLE_5["sgf"]}
    rows = [
        Row(
            f"SGF {title}",
            tuple(
                compare_runs(records, d, system, printed.get(system, {}).get(d)) for d in datasets
            ),
        )
        for system, title in ROWS.items()
    ]
    block = Block("Test accuracy over the runs drawn", titles_of(datasets), tuple(rows))
    title = "Figure 2: filters before training and learned, from Ã and from L"
    return Rendered(title, (block,), draw(records, datasets) if datasets else None)


def draw(records: Sequence[Record], datasets: Sequence[str]) -> Figure:
    """Draw a panel for each start (row) and dataset (column)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(0.8 + 3.6 * len(datasets), 5.8), layout="constrained")
    panels = figure.subplots(2, len(datasets), sharex=True, squeeze=False)
    for row, (system, title) in zip(panels, ROWS.items(), strict=True):
        for axes, dataset in zip(row, datasets, strict=True):
            _draw_panel(axes, [r for r in select(records, dataset, system) if _has_filter(r)])
        row[0].set_ylabel(f"response f, {title}")
    for axes, dataset in zip(panels[0], datasets, strict=True):
        axes.set_title(DATASET_TITLES.get(dataset, dataset))
    figure.supxlabel(FREQUENCY_AXIS, fontsize="medium")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    return figure


def responses(record: Record, frequency: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the run's response at the start and learned, at graph frequencies in [0, 2]."""
    lam = frequency if record.config["operator"] == "laplacian" else 1 - frequency
    learned = StackedFilter(len(record.filter["alpha"]))
    start = learned.response(lam)
    with torch.no_grad():
        learned.alpha.copy_(torch.tensor(record.filter["alpha"]))
        learned.beta.copy_(torch.tensor(record.filter["beta"]))
    return start, learned.response(lam)


def _has_filter(record: Record) -> bool:
    """Return whether a run left a filter that can be drawn; one that diverged did not."""
    alpha, beta = (record.filter.get(name, []) for name in ("alpha", "beta"))
    if not (record.ok and matches(alpha, list[float]) and matches(beta, list[float])):
        return False
    return 0 < len(alpha) == len(beta) and "operator" in record.config


def _draw_panel(axes: Axes, records: Sequence[Record]) -> None:
    frequency = np.linspace(0, 2, 401)
    axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
    pairs = [responses(record, frequency) for record in records]
    for i, (start, learned) in enumerate(pairs):
        if i == 0:
            axes.plot(frequency, start, color=GREY, linestyle="--", label="before training")
        label = "learned, one run" if i == 0 else None
        axes.plot(frequency, learned, color=COLOURS[0], alpha=0.3, linewidth=1, label=label)
    if pairs:
        mean = np.mean([learned for _, learned in pairs], axis=0)
        axes.plot(frequency, mean, color=COLOURS[0], linewidth=2.2, label="learned, mean")
        accuracy = compare_accuracy(records).mean
        corner: dict[str, Any] = {"transform": axes.transAxes, "ha": "right", "va": "top"}
        behind = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 2}
        axes.text(0.97, 0.96, f"{accuracy:.1f} %", bbox=behind, **corner)
        # The start may reach far beyond what was learned: it must not set the scale.
        low, high = min(0.0, mean.min()), max(0.0, mean.max())
        seen = [*(np.quantile([p[1] for p in pairs], q) for q in (0.01, 0.99)), low, high]
        room = 0.12 * (max(seen) - min(seen)) or 1.0
        axes.set_ylim(min(seen) - room, max(seen) + 2 * room)
    axes.set_xlim(0, 2)
    unframe(axes)


TARGET = RunTable(
    name="fig-filters",
    summary="filters learned from Ã and from L (Figure 2)",
    datasets=("cora", "wisconsin", "bipartite"),
    quick=("wisconsin", "bipartite"),
    pairs=pairs,
    show=show,
)
