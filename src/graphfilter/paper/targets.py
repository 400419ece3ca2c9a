"""What can be reproduced: each target runs, leaves records, and is drawn from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from graphfilter.errors import DataFileError
from graphfilter.paper import (
    accuracy_tables,
    appendix_search,
    figure2,
    figure3,
    filter_dynamics,
    measured,
    table4,
    table5,
)
from graphfilter.paper.forms import Rendered
from graphfilter.paper.matrix import OnStep, Options
from graphfilter.paper.records import remedy
from graphfilter.paper.versus import Versus
from graphfilter.storage import find_lines


@dataclass(frozen=True)
class Target:
    """A table or figure of the paper.

    Attributes
    ----------
    collect : callable
        Runs what is not on record in a folder, appends it there, and returns notes on what was
        left out. Stopped and called again it goes on.
    render : callable
        Builds the table or figure from a folder's records, without training.
    has_quick : bool
        Whether --quick leaves records of its own.
    """

    name: str
    summary: str
    collect: Callable[[Path, Options, OnStep | None], list[str]]
    render: Callable[[Path, Options], Rendered]
    has_quick: bool = True

    def records(self, options: Options) -> str:
        """Return the name of the target's record file, without its suffix."""
        return f"{self.name}-quick" if options.quick and self.has_quick else self.name

    def is_on_record(self, folder: Path, options: Options) -> bool:
        """Say whether a folder holds the target's records; an empty file holds none."""
        path = self._path(folder, options)
        return path.is_file() and path.stat().st_size > 0

    def checked(self) -> Target:
        """Return the target with a ``render`` that raises where there is nothing to show."""

        def render(folder: Path, options: Options) -> Rendered:
            rendered = self.render(folder, options)
            if _is_empty(rendered):
                makes = remedy(folder, self.records(options))
                problem = f"holds no records of {self.name}; {makes}"
                raise DataFileError(self._path(folder, options), problem)
            return rendered

        return replace(self, render=render)

    def _path(self, folder: Path, options: Options) -> Path:
        name = self.records(options)
        return find_lines(folder, name) or folder / f"{name}.json"


def _is_empty(rendered: Rendered) -> bool:
    """Say whether nothing was measured: what the paper prints beside it does not count."""
    cells = [cell for block in rendered.blocks for row in block.rows for cell in row.cells]
    if not cells:
        return rendered.figure is None
    runs = [cell for cell in cells if isinstance(cell, Versus)]
    if runs:
        return not any(cell.n or cell.n_failed for cell in runs)
    return not all(isinstance(cell, str) for cell in cells)


# Measured in seconds from the datasets alone: there are no runs to keep.
MEASURED = {
    target.name: target.checked()
    for target in (
        Target(
            measured.TABLE1,
            "datasets and their frequencies (Table 1)",
            measured.collect_table1,
            measured.render_table1,
            has_quick=False,
        ),
        Target(
            measured.FREQUENCY,
            "label frequency estimated from few labels (Figures 6, 7)",
            measured.collect_frequency,
            measured.render_frequency,
        ),
    )
}

TARGETS = {
    target.name: target.checked()
    for target in (
        Target(
            "table2",
            "accuracy on low-frequency data (Table 2)",
            accuracy_tables.TABLE2.collect,
            accuracy_tables.TABLE2.render,
        ),
        Target(
            "table3",
            "accuracy on middle- and high-frequency data (Table 3)",
            accuracy_tables.TABLE3.collect,
            accuracy_tables.TABLE3.render,
        ),
        Target(
            figure2.NAME,
            "filters learned from Ã and from L (Figure 2)",
            figure2.collect,
            figure2.render,
        ),
        Target(
            figure3.NAME,
            "accuracy when edges are swapped at random (Figure 3)",
            figure3.collect,
            figure3.render,
        ),
        Target(
            "fig-dynamics",
            "α and β while training, from 0.5 (Figure 4)",
            filter_dynamics.FIXED.collect,
            filter_dynamics.FIXED.render,
        ),
        Target(
            table4.NAME,
            "vertical and horizontal stacking (Table 4)",
            table4.collect,
            table4.render,
        ),
        Target(
            table5.NAME,
            "α and β started at random (Table 5)",
            table5.collect,
            table5.render,
        ),
        Target(
            "fig-random-dynamics",
            "α and β while training, from a random start (Figure 8)",
            filter_dynamics.RANDOM.collect,
            filter_dynamics.RANDOM.render,
        ),
        Target(
            appendix_search.NAME,
            "the search of hyper-parameters (appendix B.2)",
            appendix_search.collect,
            appendix_search.render,
        ),
    )
}
