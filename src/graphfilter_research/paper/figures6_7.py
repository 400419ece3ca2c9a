"""Figures 6 and 7: label frequency estimated from few labels, by their share (appendix A.2)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from graphfilter.data.datasets import load_dataset
from graphfilter.data.graph import Graph
from graphfilter.spectral import estimate_label_frequency, frequency_range, label_frequency
from graphfilter.util.errors import ConfigError, GraphError
from graphfilter.util.files import atomic_file
from graphfilter.util.pictures import COLOURS, MARKERS, unframe
from graphfilter.util.records import convert
from graphfilter_research.bench.matrix import OnProgress
from graphfilter_research.paper.collect import Options, at_hand, read_lines_of, report
from graphfilter_research.paper.tables import Rendered
from graphfilter_research.paper.target import MeasuredTarget

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME = "fig-frequency"
DATASETS = (
    "cora", "citeseer", "pubmed", "photo_lcc", "computers_lcc",
    "wisconsin", "cornell", "texas", "chameleon", "squirrel", "actor", "bipartite",
)  # fmt: skip
ENCODING = (
    "Classes are encoded as ±½ on every dataset; Table 1 prints the frequencies of one-hot classes "
    "for Wisconsin, Cornell, Texas and Chameleon, which are higher."
)
RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

_GROUPS = {
    "low": "low: r(Y) below 0.6",
    "middle": "middle: r(Y) 0.6 to 1.3",
    "high": "high: r(Y) above 1.3",
}
_ROWS = {
    "unbiased": "Unbiased estimate\n(Proposition 3, corrected)",
    "induced": "As printed\n(induced Laplacian, Proposition 3)",
    "naive": "Naive estimate\n(Rayleigh quotient of the sample)",
}


@dataclass(frozen=True)
class FrequencyRecord:
    """One estimate, averaged over classes, from one sample of vertices."""

    dataset: str
    ratio: float
    sample: int
    method: str
    estimate: float
    truth: float

    @classmethod
    def from_json(cls, line: str | bytes) -> Self:
        """Read one line; ValueError or TypeError if it is not such a record."""
        record = convert(cls, json.loads(line))
        if record.method not in _ROWS or not np.isfinite(record.truth):
            raise ValueError("an estimate must be of a known method, and of a known truth")
        return record


def frequency_estimates(
    graph: Graph,
    ratios: Sequence[float] = RATIOS,
    n_samples: int = 10,
    seed: int = 0,
    encoding: str = "signed",
) -> list[FrequencyRecord]:
    """Estimate the label frequency from samples of each size: unbiased, as printed, and naive.

    As in the paper, each vertex is in a sample with probability ``ratio``, independently, and ten
    samples are drawn per ratio. All estimates see the same samples.

    Parameters
    ----------
    graph : Graph
        With every label known: the truth is drawn with the estimates.
    ratios : sequence of float
        Each in 0..1, above 0.
    n_samples : int
    seed : int
    encoding : {"signed", "onehot"}
    """
    if any(not 0 < ratio <= 1 for ratio in ratios):
        raise ConfigError(f"training ratios must lie above 0 and up to 1; got {tuple(ratios)}.")
    truth = float(np.nanmean(label_frequency(graph, encoding)))
    n_unlabelled = np.count_nonzero(np.asarray(graph.labels) < 0)
    if n_unlabelled:
        raise GraphError(
            f"every vertex must have a label to know the true frequency; {n_unlabelled} have none. "
            "Take graph.subgraph(graph.labels >= 0)."
        )
    rng = np.random.default_rng(seed)
    records = []
    for ratio in ratios:
        for sample in range(n_samples):
            index = np.flatnonzero(rng.random(graph.n_vertices) < ratio)
            for method in _ROWS:
                estimate = estimate_label_frequency(graph, index, method, encoding).mean
                records.append(FrequencyRecord(graph.name, ratio, sample, method, estimate, truth))
    return records


def draw(records: Sequence[FrequencyRecord]) -> Figure:
    """Draw box plots of the estimates by training ratio, one column per frequency group.

    The upper row shows the unbiased estimate, the middle one that of Proposition 3 as printed,
    the lower the naive one; a dashed line in the colour of each dataset marks its true frequency.

    Parameters
    ----------
    records : sequence of FrequencyRecord
        Of one or more datasets.
    """
    from matplotlib.figure import Figure

    if not records:
        raise ConfigError("a figure needs at least one record; got none.")
    groups = {name: _datasets(records, name) for name in _GROUPS}
    groups = {name: datasets for name, datasets in groups.items() if datasets}
    shown = [method for method in _ROWS if any(r.method == method for r in records)]
    figure = Figure(figsize=(1.0 + 5.2 * len(groups), 3.8 * len(shown)), layout="constrained")
    # Each row has its own scale: as printed, estimates leave the range of frequencies.
    axes = figure.subplots(len(shown), len(groups), sharex=True, squeeze=False)
    for column, (group, datasets) in enumerate(groups.items()):
        for row, method in enumerate(shown):
            ax = axes[row, column]
            _draw_panel(ax, [r for r in records if r.method == method], datasets)
            if column == 0:
                ax.set_ylabel(_ROWS[method])
        axes[0, column].set_title(_GROUPS[group])
        axes[-1, column].set_xlabel("share of vertices whose labels are known")
        axes[0, column].legend(
            handles=_legend(datasets, records), loc="best", frameon=False, fontsize=9
        )
    return figure


def _datasets(records: Sequence[FrequencyRecord], group: str) -> list[str]:
    """List the datasets of a group, in the order given."""
    members = [r.dataset for r in records if frequency_range(r.truth) == group]
    return list(dict.fromkeys(members))


def _draw_panel(ax: Axes, records: list[FrequencyRecord], datasets: list[str]) -> None:
    ratios = sorted({r.ratio for r in records})
    width = 0.88 / max(len(datasets), 2)
    for i, dataset in enumerate(datasets):
        mine = [r for r in records if r.dataset == dataset]
        if not mine:
            continue
        offset = (i - (len(datasets) - 1) / 2) * width
        boxes = [[r.estimate for r in mine if r.ratio == ratio] for ratio in ratios]
        colour = COLOURS[i % len(COLOURS)]
        line: dict[str, Any] = {"color": colour, "linewidth": 1.1}
        ax.boxplot(
            [[x for x in box if np.isfinite(x)] for box in boxes],
            positions=np.arange(len(ratios)) + offset,
            widths=0.75 * width,
            manage_ticks=False,
            patch_artist=True,
            boxprops={"facecolor": colour + "59", "edgecolor": colour},
            medianprops=line | {"linewidth": 1.8},
            whiskerprops=line,
            capprops=line,
            flierprops={"marker": ".", "markersize": 3, "markeredgecolor": colour},
        )
        ax.axhline(mine[0].truth, color=colour, linestyle=(0, (4, 2)), linewidth=0.9, zorder=1)
        ax.plot(len(ratios) - 0.35, mine[0].truth, MARKERS[i % len(MARKERS)], color=colour, ms=6)
    ax.set_xticks(range(len(ratios)), [f"{ratio:g}" for ratio in ratios])
    ax.set_xlim(-0.6, len(ratios) - 0.2)
    for i in range(0, len(ratios), 2):
        ax.axvspan(i - 0.5, i + 0.5, color="0.95", zorder=0)
    ax.grid(axis="y", color="0.88")
    ax.set_axisbelow(True)
    unframe(ax)


def _legend(datasets: list[str], records: Sequence[FrequencyRecord]) -> list[Any]:
    from matplotlib.lines import Line2D

    truth = {r.dataset: r.truth for r in records}
    return [
        Line2D(
            [],
            [],
            color=COLOURS[i % len(COLOURS)],
            marker=MARKERS[i % len(MARKERS)],
            linestyle=(0, (4, 2)),
            label=f"{name}, truth {truth[name]:.2f}",
        )
        for i, name in enumerate(datasets)
    ]


def collect(folder: Path, options: Options, on_progress: OnProgress | None) -> list[str]:
    """Sample the datasets that are available; return notes on those left out."""
    names, notes = at_hand(DATASETS)
    records: list[FrequencyRecord] = []
    for i, name in enumerate(names):
        report(on_progress, i, len(names), f"sampling {name}")
        graph = load_dataset(name).replace(name=name)
        known = graph if graph.labels is None else graph.subgraph(graph.labels >= 0)
        records += frequency_estimates(known, n_samples=3 if options.quick else 10, seed=0)
    with atomic_file(folder / f"{options.file_name(NAME)}.jsonl") as temporary:
        temporary.write_text("".join(json.dumps(asdict(r)) + "\n" for r in records))
    return notes


def build(folder: Path, options: Options) -> Rendered:
    """Draw the estimates on record."""
    name = options.file_name(NAME)
    records = read_lines_of(folder, name, FrequencyRecord.from_json, "an estimate of frequency")
    title = "Figures 6 and 7: label frequency estimated from few labels"
    return Rendered(title, figure=draw(records) if records else None, notes=(ENCODING,))


TARGET = MeasuredTarget(
    name=NAME,
    summary="label frequency estimated from few labels (Figures 6, 7)",
    measure=collect,
    show=build,
)
