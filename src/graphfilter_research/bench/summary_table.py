"""The table of a summary: systems by datasets, the best marked and what is not worse."""

from __future__ import annotations

from graphfilter.report.tables import Block, Cell, Legend, Numbers, Row, Table
from graphfilter.training.comparing import FEWEST_RUNS, SIGNIFICANCE
from graphfilter.training.scores import METRICS
from graphfilter_research.bench.summary import CellSummary, Summary

CUT = "cut: that many runs ended at the limit of epochs, and more training might change them."
# Signs in plain text, where a blank keeps the columns aligned.
SIGNS = {"best": "*", "tied": "≈", "": " "}
CSV_HEADS = (
    "split_rule", "scaling", "metric", "dataset", "model", "mean", "deviation", "runs", "failed",
    "p_value", "mark", "cut",
)  # fmt: skip


def make_table(summary: Summary) -> Table:
    """Return the table of a summary, to be written in any form."""
    rows = [
        Row(model, tuple(_cell(summary, dataset, model) for dataset in summary.datasets))
        for model in summary.models
    ]
    text, markdown, latex = (("*", "≈"), ("**Bold**:", "_italics_:"), ("Bold:", "underlined:"))
    return Table(
        title(summary),
        (Block("", summary.datasets, tuple(rows), first_column="model"),),
        notes=(CUT,) if any(cell.n_cut for cell in summary.cells.values()) else (),
        legend=Legend(legend(*text), legend(*markdown), legend(*latex)),
        numbers=Numbers(CSV_HEADS, tuple(_numbers(summary))),
    )


def title(summary: Summary) -> str:
    """Return what a table shows: the metric, how many runs, of which splits and features."""
    runs = "the runs in brackets"
    if not summary.counts_differ:
        runs = f"{max((cell.n for cell in summary.cells.values()), default=0)} runs"
    metric = METRICS[summary.metric]
    return (
        f"Test {metric.name}{' in %' if metric.share else ''}, "
        f"mean ± deviation (population) over {runs}; "
        f"splits {summary.split_rule}, features {summary.scaling}"
    )


def legend(best: str, tied: str, significance: float = SIGNIFICANCE) -> str:
    """Return what the marks mean, and by which test."""
    return (
        f"{best} best of its dataset; {tied} not significantly worse (paired t-test corrected for "
        f"overlapping splits, Nadeau & Bengio 2003, Holm-corrected p > {significance:g}; not "
        f"tested below {FEWEST_RUNS} runs)."
    )


def mean_and_deviation(cell: CellSummary, metric: str) -> str:
    """Write mean ± deviation: shares in percent, log loss as it is."""
    scale, digits = (100, 2) if METRICS[metric].share else (1, 3)
    return f"{scale * cell.mean:.{digits}f} ± {scale * cell.deviation:.{digits}f}"


def _cell(summary: Summary, dataset: str, model: str) -> Cell:
    cell = summary.cells.get((dataset, model))
    if cell is None:
        return Cell("")
    notes = [f"{cell.n}"] if summary.counts_differ and cell.n else []
    notes += [f"{cell.n_failed} failed"] if cell.n_failed else []
    notes += [f"{cell.n_cut} cut"] if cell.n_cut else []
    return Cell(
        mean_and_deviation(cell, summary.metric) if cell.n else "",
        cell.mark,
        sign=SIGNS[cell.mark],
        note=f"({', '.join(notes)})" if notes else "",
    )


def _numbers(summary: Summary) -> list[tuple[object, ...]]:
    lines = []
    for (dataset, model), cell in summary.cells.items():
        where = (summary.split_rule, summary.scaling, summary.metric, dataset, model)
        numbers = (cell.mean, cell.deviation) if cell.n else ("", "")
        p_value = "" if cell.p_value is None else cell.p_value
        lines.append((*where, *numbers, cell.n, cell.n_failed, p_value, cell.mark, cell.n_cut))
    return lines
