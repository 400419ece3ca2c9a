"""Tables of files of records: of a summary of runs, and of any other JSON lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from graphfilter.runs.comparing import FEWEST_RUNS, SIGNIFICANCE
from graphfilter.training.scores import METRICS
from graphfilter.util.errors import DataFileError
from graphfilter_research.bench.summary import CellSummary, Summary
from graphfilter_research.lines import read_lines
from graphfilter_research.tables import Block, Cell, Legend, Numbers, Row, Table

Line = dict[str, Any]


# What only records of a benchmark have.
BENCHMARK = {"split_rule", "config"}


def holds_benchmarks(path: Path) -> bool:
    """Return whether a file is to be read as records of ``bench``, and not line by line."""
    try:
        found, _ = read_lines(path, _object, "a JSON object")
    except DataFileError:
        return True  # What is wrong with it is said when it is read.
    return not found or any(line.keys() >= BENCHMARK for line in found)


def read_line_table(path: Path) -> Table:
    """Read a file that holds other records than those of ``bench``.

    Fields of fields are columns named ``outer.inner``; lists, such as curves, are left out and
    named below the table.
    """
    found, _ = read_lines(path, _object, "a JSON object")
    if not found:
        raise DataFileError(path, "must hold at least one record; it holds none.")
    lines = [_flat(line) for line in found]
    fields = list(dict.fromkeys(name for line in lines for name in line))
    kept = [name for name in fields if not any(isinstance(line.get(name), list) for line in lines)]
    if not kept:
        raise DataFileError(path, "must hold records with single values; it holds lists only.")
    rows = [
        Row(_text(line.get(kept[0])), tuple(Cell(_text(line.get(name))) for name in kept[1:]))
        for line in lines
    ]
    left = [name for name in fields if name not in kept]
    return Table(
        path.name,
        (Block("", tuple(kept[1:]), tuple(rows), first_column=kept[0]),),
        notes=(f"Left out, as they are lists: {', '.join(left)}.",) if left else (),
        numbers=Numbers(tuple(kept), tuple(tuple(line.get(n, "") for n in kept) for line in lines)),
    )


def _object(line: bytes) -> Line:
    content = json.loads(line)
    if not isinstance(content, dict):
        raise TypeError("not an object")
    return content


def _flat(content: Mapping[str, Any], prefix: str = "") -> Line:
    """Return nested fields under one name each: ``{"a": {"b": 1}}`` as ``{"a.b": 1}``."""
    flat: Line = {}
    for name, value in content.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def _text(value: Any) -> str:
    """Write a value as people read it: four digits of a number that is not whole."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


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
