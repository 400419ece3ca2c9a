"""Tables of our numbers beside the paper's: how they are compared, written and drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from graphfilter.report.pictures import draw_png
from graphfilter.runs.comparing import FEWEST_RUNS, SIGNIFICANCE, welch_t_test
from graphfilter.util.pictures import COLOURS, MARKERS
from graphfilter_research.bench.record import Record
from graphfilter_research.bench.tables import CUT
from graphfilter_research.paper.published import N_RUNS, Accuracy
from graphfilter_research.tables import Block as TableBlock, Cell, Legend, Numbers, Row, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Printed of the Geom-GCN splits: the authors' code takes those where a class has one vertex.
FIXED = ("cornell_geomgcn", "texas")
NOISE = (
    "≈ the difference is within noise: Welch's t-test on means and deviations of both, "
    f"two-sided, p > {SIGNIFICANCE:g}; ▲ we are above, ▼ below; not tested below {FEWEST_RUNS} "
    "runs, nor Texas and Cornell but on the Geom-GCN splits, which the printed values are of. "
    "Where the paper prints no deviation its value is taken as exact."
)


@dataclass(frozen=True)
class ComparedAccuracy:
    """A mean accuracy in % over runs, and what the paper prints in its place.

    Attributes
    ----------
    mean, deviation : float
        The deviation is that of the population, like numpy's ``std`` and the paper's.
    n, n_failed : int
    n_cut : int
        Runs that the limit of epochs ended.
    scaling : str
        Of the features, where it was chosen; empty where a table has one for all.
    published : Accuracy or None
        None where the paper prints none.
    same_splits : bool
        Whether ours are of the rule of splitting that the published ones are of.
    """

    mean: float
    deviation: float
    n: int
    n_failed: int = 0
    published: Accuracy | None = None
    n_cut: int = 0
    scaling: str = ""
    same_splits: bool = True

    @property
    def difference(self) -> float | None:
        """Ours less theirs, in percentage points."""
        return None if self.published is None or not self.n else self.mean - self.published.mean

    @cached_property
    def p_value(self) -> float | None:
        """The p-value of Welch's t-test on the means and deviations of both.

        The runs of both are drawn from the same graph in the same way, so that they are
        independent given the graph, and no correction for overlapping splits is due. None where
        there is nothing to compare, too few runs to tell the noise from, or other splits.
        """
        if self.published is None or self.difference is None or self.n < FEWEST_RUNS:
            return None
        if not self.same_splits:
            return None
        theirs = self.published.deviation or 0.0
        if not self.deviation and not theirs:
            # Printed with two digits.
            return 1.0 if abs(self.difference) < 0.005 else 0.0
        return welch_t_test(self.mean, self.deviation, self.n, self.published.mean, theirs, N_RUNS)

    @property
    def mark(self) -> str:
        """≈ within noise, ▲ above, ▼ below; nothing where it cannot be said."""
        if self.p_value is None or self.difference is None:
            return ""
        if self.p_value > SIGNIFICANCE:
            return "≈"
        return "▲" if self.difference > 0 else "▼"

    def __str__(self) -> str:
        if not self.n:
            return f"{self.n_failed} failed" if self.n_failed else ""
        notes = [self.scaling] if self.scaling else []
        notes += [f"{self.n_failed} failed"] if self.n_failed else []
        notes += [f"{self.n_cut} cut"] if self.n_cut else []
        text = f" ({', '.join(notes)})" if notes else ""
        return f"{self.mean:.2f} ± {self.deviation:.2f}{text}"


def compare_accuracy(
    records: Iterable[Record], published: Accuracy | None = None, *, metric: str = "accuracy"
) -> ComparedAccuracy:
    """Compare the runs of one system on one dataset with the published accuracy.

    ``metric`` is another score in place of the accuracy, for which nothing is published.
    """
    last = {record.asked: record for record in sorted(records, key=lambda r: r.ok)}
    good = [r for r in last.values() if r.ok and "test" in r.scores]
    scores = np.array([100 * r.scores["test"][metric] for r in good])
    mean, deviation = (scores.mean(), scores.std()) if len(scores) else (math.nan, math.nan)
    n_failed = len(last) - len(good)
    n_cut = sum(record.cut for record in good)
    same = not any(r.dataset in FIXED and r.split_rule != "fixed" for r in good)
    return ComparedAccuracy(
        float(mean), float(deviation), len(scores), n_failed, published, n_cut, same_splits=same
    )


def compare_runs(
    records: Sequence[Record],
    dataset: str,
    model: str,
    published: Accuracy | None = None,
    **protocol: str,
) -> ComparedAccuracy:
    """Make one cell of a table; ``protocol`` is as in :func:`select`."""
    return compare_accuracy(select(records, dataset, model, **protocol), published)


def compare_chosen(
    records: Sequence[Record],
    dataset: str,
    model: str,
    published: Accuracy | None = None,
    *,
    scalings: Mapping[str, str],
    split_rule: str = "stratified",
) -> ComparedAccuracy:
    """Make a cell of the scaling with the best mean validation accuracy; no test score chooses.

    ``scalings`` maps what is recorded to what is said of it in the cell.
    """

    def validated(runs: Sequence[Record]) -> float:
        scores = [r.scores["val"]["accuracy"] for r in runs if r.ok and "val" in r.scores]
        return float(np.mean(scores)) if scores else -math.inf

    found = {
        title: select(records, dataset, model, scaling=scaling, split_rule=split_rule)
        for scaling, title in scalings.items()
    }
    chosen = max(found, key=lambda title: validated(found[title]))
    return replace(compare_accuracy(found[chosen], published), scaling=chosen)


def select(
    records: Sequence[Record],
    dataset: str,
    model: str,
    *,
    scaling: str = "row",
    split_rule: str = "stratified",
) -> list[Record]:
    """Return the runs of one cell of a table."""
    return [
        r
        for r in records
        if r.model == model
        and r.dataset == dataset
        and r.scaling == scaling
        and r.split_rule == split_rule
    ]


Shown = ComparedAccuracy | Accuracy | str
"""Our value with the published one, the published one alone, or any text."""
Block = TableBlock[Shown]

VERDICTS = {"≈": "within noise", "▲": "above", "▼": "below", "": ""}
CSV_HEADS = (
    "block", "row", "column", "mean", "deviation", "runs", "failed", "published",
    "published_deviation", "difference", "p_value", "verdict", "cut", "scaling",
)  # fmt: skip


@dataclass(frozen=True)
class Rendered:
    """What a target shows: blocks of a table, a figure, and what to say about them."""

    title: str
    blocks: tuple[Block, ...] = ()
    figure: Figure | None = None
    notes: tuple[str, ...] = field(default_factory=tuple)

    @cached_property
    def picture(self) -> bytes:
        """The figure as a PNG file, drawn once; empty without one."""
        return b"" if self.figure is None else draw_png(self.figure)


def make_table(rendered: Rendered) -> Table:
    """Return the table of what a target shows, the best of each column marked."""
    lines = [line for block in rendered.blocks for line in _numbers(block)]
    legend = Legend(text=f"In brackets ours less the paper's. {NOISE}", markdown=NOISE)
    return Table(
        rendered.title,
        tuple(_with_cells(block) for block in rendered.blocks),
        (*rendered.notes, *_cut_note(rendered)),
        legend if _has_published(rendered) else Legend(),
        Numbers(CSV_HEADS, tuple(lines)),
    )


def _with_cells(block: Block) -> TableBlock[Cell]:
    best = _best(block)
    rows = [
        Row(
            row.label,
            tuple(_cell(cell, (i, j) in best) for j, cell in enumerate(row.cells)),
            row.latex,
        )
        for i, row in enumerate(block.rows)
    ]
    return TableBlock(
        block.heading, block.columns, tuple(rows), block.first_column, block.verbatim_columns
    )


def _cell(shown: Shown, is_best: bool) -> Cell:
    cell = Cell(str(shown), "best" if is_best else "")
    if not isinstance(shown, ComparedAccuracy) or shown.published is None:
        return cell
    apart = "" if shown.difference is None else f"{shown.difference:+.2f} {shown.mark}".rstrip()
    return replace(cell, published=str(shown.published), difference=apart)


def _best(block: Block) -> set[tuple[int, int]]:
    """Find the best mean of each column where there is something to be better than."""
    found = set()
    for j in range(len(block.columns)):
        cells = [(row.cells[j], i) for i, row in enumerate(block.rows)]
        means = {i: c.mean for c, i in cells if isinstance(c, ComparedAccuracy) and c.n}
        if len(means) > 1 and block.first_column == "Methods":
            found.add((max(means, key=means.__getitem__), j))
    return found


def _cut_note(rendered: Rendered) -> list[str]:
    """Return what *cut* means, where a cell says it."""
    cells = [c for block in rendered.blocks for row in block.rows for c in row.cells]
    return [CUT] if any(isinstance(cell, ComparedAccuracy) and cell.n_cut for cell in cells) else []


def _has_published(rendered: Rendered) -> bool:
    cells = [c for block in rendered.blocks for row in block.rows for c in row.cells]
    return any(isinstance(cell, ComparedAccuracy) and cell.published is not None for cell in cells)


def _numbers(block: Block) -> Iterator[tuple[Any, ...]]:
    """List one line per cell, numbers in full but for p; what was printed was not measured."""
    for row in block.rows:
        for column, cell in zip(block.columns, row.cells, strict=True):
            where = (block.heading, row.label, column)
            if isinstance(cell, str):
                yield (*where, cell, *[""] * 10)
            elif isinstance(cell, Accuracy):
                yield (*where, *[""] * 4, cell.mean, cell.deviation, *[""] * 5)
            else:
                numbers = (cell.mean, cell.deviation) if cell.n else ("", "")
                printed = cell.published
                yield (
                    *where, *numbers, cell.n, cell.n_failed, printed and printed.mean,
                    printed and printed.deviation, cell.difference, _rounded(cell.p_value),
                    VERDICTS[cell.mark], cell.n_cut, cell.scaling,
                )  # fmt: skip


def _rounded(p: float | None) -> float | None:
    """Return a p-value without the last digits, which depend on the version of scipy."""
    return None if p is None else float(f"{p:.6g}")


def draw_line(
    axes: Axes,
    shares: Sequence[float],
    cells: Sequence[ComparedAccuracy],
    place: int,
    label: str,
    *,
    bold: bool,
    dashed: bool,
) -> None:
    """Draw what was run by share, in %, with its deviations; colour and marker go by ``place``."""
    found = [(100 * share, cell) for share, cell in zip(shares, cells, strict=True) if cell.n]
    x, good = [at for at, _ in found], [cell for _, cell in found]
    colour = COLOURS[place % len(COLOURS)]
    axes.plot(
        x,
        [cell.mean for cell in good],
        color=colour,
        marker=MARKERS[place % len(MARKERS)],
        markersize=4.5,
        markerfacecolor="white" if dashed else colour,
        linestyle="--" if dashed else "-",
        linewidth=2.4 if bold else 1.4,
        zorder=10 - place,
        label=label,
    )
    low = [max(cell.mean - cell.deviation, 0.0) for cell in good]
    high = [min(cell.mean + cell.deviation, 100.0) for cell in good]
    axes.fill_between(x, low, high, color=colour, alpha=0.1, linewidth=0)
