"""A summary as cells of text, Markdown, CSV or LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence

from graphfilter.bench.table import Cell, Summary
from graphfilter.metrics import FEWEST_RUNS, SIGNIFICANCE

TITLES = {
    "accuracy": "Test accuracy in %",
    "macro_f1": "Test macro-F1 in %",
    "log_loss": "Test log loss",
}
LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
}
MARKS = {"best": "*", "tied": "≈", "": " "}


def title(summary: Summary) -> str:
    """Say what a table shows: the metric, how many runs, of which splits and features."""
    counts = {cell.n for cell in summary.cells.values() if cell.n}
    runs = f"{min(counts, default=0)} runs" if len(counts) < 2 else "the runs in brackets"
    return (
        f"{TITLES[summary.metric]}, mean ± deviation (population) over {runs}; "
        f"splits {summary.split_rule}, features {summary.scaling}"
    )


def legend(best: str, tied: str, significance: float = SIGNIFICANCE) -> str:
    """Say what the marks mean, and by which test."""
    return (
        f"{best} best of its dataset; {tied} not significantly worse (paired t-test corrected for "
        f"overlapping splits, Nadeau & Bengio 2003, Holm-corrected p > {significance:g}; not "
        f"tested below {FEWEST_RUNS} runs)."
    )


def text_table(summary: Summary) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows, a model a row, for whoever prints them."""

    def show(cell: Cell, text: str) -> str:
        return f"{text} {MARKS[cell.mark]}"

    return ["model", *summary.datasets], _rows(summary, show, "±")


def to_markdown(summary: Summary) -> str:
    """Return a Markdown table: the best in bold, what is not significantly worse in italics."""

    def show(cell: Cell, text: str) -> str:
        around = {"best": "**", "tied": "_", "": ""}[cell.mark]
        return f"{around}{text}{around}"

    names = [_markdown(name) for name in ("model", *summary.datasets)]
    lines = [f"**{_markdown(title(summary))}**", "", _pipes(names)]
    lines.append(_pipes([":--", *("--:" for _ in summary.datasets)]))
    lines += [_pipes([_markdown(row[0]), *row[1:]]) for row in _rows(summary, show, "±")]
    return "\n".join([*lines, "", legend("**Bold**:", "_italics_:"), ""])


def to_latex(summary: Summary) -> str:
    """Return a LaTeX tabular (package booktabs): the best in bold, the not worse underlined."""

    def show(cell: Cell, text: str) -> str:
        command = {"best": r"\textbf{%s}", "tied": r"\underline{%s}", "": "%s"}[cell.mark]
        return command % text

    heads = " & ".join(_latex(name) for name in ("model", *summary.datasets))
    rows = [
        " & ".join([_latex(row[0]), *row[1:]]) + r" \\" for row in _rows(summary, show, r"$\pm$")
    ]
    notes = [title(summary), legend("Bold:", "underlined:")]
    return "\n".join(
        [
            *(f"% {note}" for note in notes),
            rf"\begin{{tabular}}{{l{'r' * len(summary.datasets)}}}",
            r"\toprule",
            rf"{heads} \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def to_csv(summaries: Sequence[Summary]) -> str:
    """Return one line a cell, every number in full."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(
        ["split_rule", "scaling", "metric", "dataset", "model", "mean", "deviation", "runs",
         "failed", "p_value", "mark"]
    )  # fmt: skip
    for summary in summaries:
        for (dataset, model), cell in summary.cells.items():
            numbers = [cell.mean, cell.deviation] if cell.n else ["", ""]
            p_value = "" if cell.p_value is None else cell.p_value
            writer.writerow(
                [summary.split_rule, summary.scaling, summary.metric, dataset, model, *numbers,
                 cell.n, cell.n_failed, p_value, cell.mark]
            )  # fmt: skip
    return stream.getvalue()


def _rows(summary: Summary, show: Callable[[Cell, str], str], sign: str) -> list[list[str]]:
    counts = {cell.n for cell in summary.cells.values() if cell.n}
    rows = []
    for model in summary.models:
        row = [model]
        for dataset in summary.datasets:
            cell = summary.cells.get((dataset, model))
            text = "" if cell is None else _numbers(cell, summary.metric, sign)
            if cell is not None and text:
                text = show(cell, text)
            notes = [] if cell is None else _notes(cell, len(counts) > 1)
            row.append(" ".join([text, *notes]).strip(" "))
        rows.append(row)
    return rows


def _numbers(cell: Cell, metric: str, sign: str) -> str:
    if not cell.n:
        return ""
    if metric == "log_loss":
        return f"{cell.mean:.3f} {sign} {cell.deviation:.3f}"
    return f"{100 * cell.mean:.2f} {sign} {100 * cell.deviation:.2f}"


def _notes(cell: Cell, counts_differ: bool) -> list[str]:
    notes = [f"{cell.n}"] if counts_differ and cell.n else []
    notes += [f"{cell.n_failed} failed"] if cell.n_failed else []
    return [f"({', '.join(notes)})"] if notes else []


def _pipes(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _markdown(text: str) -> str:
    return re.sub(r"([\\|*_`<])", r"\\\1", text)


def _latex(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in text)
