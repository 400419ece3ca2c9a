"""A table, and its one set of writers: plain text, Markdown, CSV and LaTeX; the scores of runs.

Those who make tables, of benchmarks or beside a paper's numbers, define what a number means; this
file defines how each form writes it.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from graphfilter.runs.fit import PARTS
from graphfilter.runs.loading import METRICS_FILE
from graphfilter.training.scores import LABEL_METRICS, METRICS, NUMBER_METRICS
from graphfilter.util.errors import ModelFileError
from graphfilter.util.records import matches, read_json

C_co = TypeVar("C_co", covariant=True)

MARKDOWN_MARKS = {"best": "**{}**", "tied": "_{}_", "": "{}"}
LATEX_MARKS = {"best": r"\textbf{%s}", "tied": r"\underline{%s}", "": "%s"}
LATEX_CHARACTERS = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "λ": r"$\lambda$",
    **{c: f"\\{c}" for c in "&%$#_{}"},
}


@dataclass(frozen=True)
class Cell:
    """A value as it is shown.

    Attributes
    ----------
    text : str
    mark : {'best', 'tied', ''}
        Bold for the best of its column; italics, or a line below, for what is not worse.
    sign : str
        What plain text shows of the mark.
    note : str
        After the value and outside its mark.
    published, difference : str
        What a paper prints in its place, and how far the value is from it. LaTeX shows neither.
    """

    text: str
    mark: Literal["best", "tied", ""] = ""
    sign: str = ""
    note: str = ""
    published: str = ""
    difference: str = ""


@dataclass(frozen=True)
class Row(Generic[C_co]):
    """One line of a table; ``latex`` is its label where LaTeX sets it differently."""

    label: str
    cells: tuple[C_co, ...]
    latex: str = ""


@dataclass(frozen=True)
class Block(Generic[C_co]):
    """Rows under one heading; a table's only block may do without one.

    ``verbatim_columns`` keeps Markdown from escaping the names of the columns.
    """

    heading: str
    columns: tuple[str, ...]
    rows: tuple[Row[C_co], ...]
    first_column: str = "Methods"
    verbatim_columns: bool = False


@dataclass(frozen=True)
class Legend:
    """What the marks mean, in the form that shows them; empty where a form says nothing."""

    text: str = ""
    markdown: str = ""
    latex: str = ""


@dataclass(frozen=True)
class Numbers:
    """Every number in full: one line per cell, under these heads."""

    heads: tuple[str, ...] = ()
    lines: tuple[tuple[Any, ...], ...] = ()


@dataclass(frozen=True)
class Table:
    """Blocks of rows under one title, with notes below."""

    title: str
    blocks: tuple[Block[Cell], ...]
    notes: tuple[str, ...] = ()
    legend: Legend = Legend()
    numbers: Numbers = Numbers()


def text_rows(block: Block[Cell]) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows, for whoever prints them."""
    rows = [[row.label, *map(_text, row.cells)] for row in block.rows]
    return [block.first_column, *block.columns], rows


def to_markdown(table: Table) -> str:
    """Return a document of headed blocks; of a table without headings, the table alone."""
    title = _escape_markdown(table.title)
    lines = [f"# {title}", ""] if any(block.heading for block in table.blocks) else []
    for block in table.blocks:
        heading = _escape_markdown(block.heading) or title
        columns = block.columns if block.verbatim_columns else map(_escape_markdown, block.columns)
        lines += [f"**{heading}**", "", _pipes([_escape_markdown(block.first_column), *columns])]
        lines.append(_pipes([":--", *("--:" for _ in block.columns)]))
        for row in block.rows:
            lines.append(_pipes([_escape_markdown(row.label), *map(_markdown, row.cells)]))
        lines.append("")
    notes = [*table.notes, table.legend.markdown]
    return "\n".join(lines + [f"{note}\n" for note in notes if note])


def to_latex(table: Table) -> str:
    """Return one tabular (package booktabs), one block after the other."""
    lines = [f"% {text}" for text in (table.title, table.legend.latex) if text]
    lines.append(rf"\begin{{tabular}}{{l{'r' * len(table.blocks[0].columns)}}}")
    columns = None
    for block in table.blocks:
        if block.columns != columns:
            columns = block.columns
            first = "" if block.heading else block.first_column
            lines += [r"\toprule", _ampersands(map(_escape_latex, [first, *columns]))]
        if block.heading:
            n = len(block.columns) + 1
            heading = rf"\multicolumn{{{n}}}{{l}}{{{_escape_latex(block.heading)}}} \\"
            lines += [r"\toprule", heading]
        lines.append(r"\midrule")
        for row in block.rows:
            label = row.latex or _escape_latex(row.label)
            lines.append(_ampersands([label, *map(_latex, row.cells)]))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def to_csv(tables: Sequence[Table]) -> str:
    """Return the numbers of tables that share their heads, every one in full."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(tables[0].numbers.heads)
    for table in tables:
        writer.writerows(table.numbers.lines)
    return stream.getvalue()


def _text(cell: Cell) -> str:
    value = f"{cell.text} {cell.sign}" if cell.text and cell.sign else cell.text
    difference = f"({cell.difference.rstrip()})" if cell.difference else ""
    return " ".join(part for part in (value, cell.note, difference) if part).strip(" ")


def _markdown(cell: Cell) -> str:
    shown = _with_note(cell, MARKDOWN_MARKS[cell.mark].format(cell.text))
    if not cell.published:
        return shown
    below = f"<br>{cell.difference}" if cell.difference else ""
    return f"{shown}<br>paper {cell.published}{below}"


def _latex(cell: Cell) -> str:
    return _with_note(cell, LATEX_MARKS[cell.mark] % _escape_latex(cell.text))


def _with_note(cell: Cell, marked: str) -> str:
    return " ".join(part for part in (marked if cell.text else "", cell.note) if part)


def _pipes(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _ampersands(cells: Iterable[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _escape_markdown(text: str) -> str:
    return re.sub(r"([\\|*_`<])", r"\\\1", text)


def _escape_latex(text: str) -> str:
    return "".join(LATEX_CHARACTERS.get(character, character) for character in text)


# Scores that are useful beside another one only.
NOT_SHOWN = ("calibration_by_chance",)
_METRICS = {**NUMBER_METRICS, **LABEL_METRICS, **METRICS}
SCORE_HEADS = ("run", "part", "metric", "value")


def make_score_table(folders: Sequence[Path]) -> Table:
    """Return the scores that ``fit`` left in ``metrics.json``, of one run or of several."""
    scores = {str(folder): _read_scores(folder) for folder in folders}
    names = [folder.name or str(folder) for folder in map(Path, scores)]
    blocks = [
        _score_block(name if len(scores) > 1 else "", of_run)
        for name, of_run in zip(names, scores.values(), strict=True)
    ]
    lines = [
        (name, part, metric, value)
        for name, of_run in zip(names, scores.values(), strict=True)
        for part, values in of_run.items()
        for metric, value in values.items()
    ]
    title = "Scores of runs" if len(scores) > 1 else f"Scores of {names[0]}"
    return Table(title, tuple(blocks), numbers=Numbers(SCORE_HEADS, tuple(lines)))


def _read_scores(folder: Path) -> dict[str, dict[str, Any]]:
    path = folder / METRICS_FILE
    content = read_json(path)
    scores = content.get("scores") if isinstance(content, dict) else None
    if not scores or not matches(scores, dict[str, dict[str, float | None]]):
        raise ModelFileError(f"{path}: must hold the scores of a run; fit again.")
    return scores


def _score_block(heading: str, scores: dict[str, dict[str, Any]]) -> Block[Cell]:
    every = (name for values in scores.values() for name in values)
    metrics = [name for name in dict.fromkeys(every) if name not in NOT_SHOWN]
    rows = [
        Row(PARTS.get(part, part), tuple(Cell(_score(name, values.get(name))) for name in metrics))
        for part, values in scores.items()
    ]
    return Block(heading, tuple(map(_score_head, metrics)), tuple(rows), first_column="part")


def _score_head(name: str) -> str:
    if (metric := _METRICS.get(name)) is not None:
        return f"{metric.name} in %" if metric.share else metric.name
    return {"n_vertices": "vertices"}.get(name, name)


def _score(name: str, value: float | None) -> str:
    if value is None or not math.isfinite(value):
        return ""
    if name == "n_vertices":
        return f"{value:,.0f}"
    if name in _METRICS and _METRICS[name].share:
        return f"{100 * value:.2f}"
    return f"{value:.3f}" if name in METRICS else f"{value:.4g}"
