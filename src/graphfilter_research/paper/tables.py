"""Tables of our numbers next to the paper's: their content, and how it is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from graphfilter.report.pictures import draw_png
from graphfilter.report.tables import Block as TableBlock, Cell, Legend, Numbers, Row, Table
from graphfilter_research.bench.tables import CUT
from graphfilter_research.paper.comparison import NOISE, ComparedAccuracy
from graphfilter_research.paper.published_accuracy import Accuracy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
