"""A table of ours beside the paper's as text, Markdown, CSV and, in the paper's form, LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from graphfilter.paper.published_accuracy import Accuracy
from graphfilter.paper.versus import NOISE, Versus

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LATEX_SIGNS = {"±": r"$\pm$", "%": r"\%", "_": r"\_", "#": r"\#", "λ": r"$\lambda$", "&": r"\&"}


Cell = Versus | Accuracy | str
"""Ours beside the published, the published alone, or any text."""


@dataclass(frozen=True)
class Row:
    """A line of a table; ``label`` is plain text and ``latex`` how the paper sets it."""

    label: str
    cells: tuple[Cell, ...]
    latex: str = ""


@dataclass(frozen=True)
class Block:
    """Rows under one heading, which says how they were run."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    first_column: str = "Methods"


@dataclass(frozen=True)
class Rendered:
    """What a target shows: tables, a figure, and what to say about them."""

    title: str
    blocks: tuple[Block, ...] = ()
    figure: Figure | None = None
    notes: tuple[str, ...] = field(default_factory=tuple)


def text_rows(block: Block) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows for whoever prints them; the difference stands in brackets."""

    def show(cell: Cell) -> str:
        if not isinstance(cell, Versus) or cell.difference is None:
            return str(cell)
        return f"{cell} ({f'{cell.difference:+.2f} {cell.mark}'.rstrip()})"

    return (
        [block.first_column, *block.columns],
        [[row.label, *map(show, row.cells)] for row in block.rows],
    )


def to_markdown(rendered: Rendered) -> str:
    """Return Markdown: the best of a column in bold; the paper's value and the difference below."""
    lines = [f"# {rendered.title}", ""]
    for block in rendered.blocks:
        best = _best(block)
        lines += [f"**{block.heading}**", "", _pipes([block.first_column, *block.columns])]
        lines.append(_pipes([":--", *("--:" for _ in block.columns)]))
        for i, row in enumerate(block.rows):
            cells = [_markdown(cell, (i, j) in best) for j, cell in enumerate(row.cells)]
            lines.append(_pipes([re.sub(r"([\\|*_`<])", r"\\\1", row.label), *cells]))
        lines.append("")
    notes = [*rendered.notes, *([NOISE] if _has_published(rendered) else [])]
    return "\n".join(lines + [f"{note}\n" for note in notes])


def to_latex(rendered: Rendered) -> str:
    """Return our numbers in the paper's own form: a tabular (booktabs), a block after another."""
    first = rendered.blocks[0]
    lines = [
        f"% {rendered.title}",
        rf"\begin{{tabular}}{{l{'r' * len(first.columns)}}}",
    ]
    columns = None
    for block in rendered.blocks:
        n = len(block.columns) + 1
        if block.columns != columns:
            columns = block.columns
            lines += [r"\toprule", " & ".join(map(_latex, ["", *columns])) + r" \\"]
        lines += [r"\toprule", rf"\multicolumn{{{n}}}{{l}}{{{_latex(block.heading)}}} \\"]
        lines.append(r"\midrule")
        best = _best(block)
        for i, row in enumerate(block.rows):
            cells = [
                rf"\textbf{{{_latex(str(cell))}}}" if (i, j) in best else _latex(str(cell))
                for j, cell in enumerate(row.cells)
            ]
            lines.append(" & ".join([row.latex or _latex(row.label), *cells]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def to_csv(rendered: Rendered) -> str:
    """Return one line a cell, every number in full."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(
        ["block", "row", "column", "mean", "deviation", "runs", "failed", "published",
         "published_deviation", "difference", "p_value", "verdict"]
    )  # fmt: skip
    words = {"≈": "within noise", "▲": "above", "▼": "below", "": ""}
    for block in rendered.blocks:
        for row in block.rows:
            for column, cell in zip(block.columns, row.cells, strict=True):
                where = [block.heading, row.label, column]
                if isinstance(cell, str):
                    writer.writerow([*where, cell, *[""] * 8])
                    continue
                if isinstance(cell, Accuracy):
                    writer.writerow([*where, *[""] * 4, cell.mean, cell.deviation, *[""] * 3])
                    continue
                numbers = [cell.mean, cell.deviation] if cell.n else ["", ""]
                printed = cell.published
                writer.writerow(
                    [*where, *numbers, cell.n, cell.n_failed,
                     printed and printed.mean, printed and printed.deviation, cell.difference,
                     cell.p_value, words[cell.mark]]
                )  # fmt: skip
    return stream.getvalue()


def _markdown(cell: Cell, best: bool) -> str:
    text = f"**{cell}**" if best else str(cell)
    if not isinstance(cell, Versus) or cell.published is None:
        return text
    text += f"<br>paper {cell.published}"
    return text if cell.difference is None else f"{text}<br>{cell.difference:+.2f} {cell.mark}"


def _best(block: Block) -> set[tuple[int, int]]:
    """Find the best mean of each column where there is something to be better than."""
    found = set()
    for j in range(len(block.columns)):
        cells = [(row.cells[j], i) for i, row in enumerate(block.rows)]
        means = {i: c.mean for c, i in cells if isinstance(c, Versus) and c.n}
        if len(means) > 1 and block.first_column == "Methods":
            found.add((max(means, key=means.__getitem__), j))
    return found


def _has_published(rendered: Rendered) -> bool:
    cells = [c for block in rendered.blocks for row in block.rows for c in row.cells]
    return any(isinstance(cell, Versus) and cell.published is not None for cell in cells)


def _pipes(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _latex(text: str) -> str:
    return "".join(LATEX_SIGNS.get(character, character) for character in text)
