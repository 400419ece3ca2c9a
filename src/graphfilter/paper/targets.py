"""What can be reproduced: each target runs, leaves records, and is drawn from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from graphfilter.paper import (
    accuracy,
    dynamics,
    filters,
    measured,
    noise,
    random_start,
    stacking,
    tuning,
)
from graphfilter.paper.forms import Rendered
from graphfilter.paper.matrix import OnStep, Options
from graphfilter.paper.records import find_lines


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
        """Say whether a folder holds the target's records."""
        name = self.records(options)
        return find_lines(folder, name) is not None or (folder / f"{name}.json").is_file()


# Measured in seconds from the datasets alone: there are no runs to keep.
MEASURED = {
    target.name: target
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
    target.name: target
    for target in (
        Target(
            "table2",
            "accuracy on low-frequency data (Table 2)",
            accuracy.TABLE2.collect,
            accuracy.TABLE2.render,
        ),
        Target(
            "table3",
            "accuracy on middle- and high-frequency data (Table 3)",
            accuracy.TABLE3.collect,
            accuracy.TABLE3.render,
        ),
        Target(
            filters.NAME,
            "filters learned from Ã and from L (Figure 2)",
            filters.collect,
            filters.render,
        ),
        Target(
            noise.NAME,
            "accuracy when edges are swapped at random (Figure 3)",
            noise.collect,
            noise.render,
        ),
        Target(
            "fig-dynamics",
            "α and β while training, from 0.5 (Figure 4)",
            dynamics.FIXED.collect,
            dynamics.FIXED.render,
        ),
        Target(
            stacking.NAME,
            "vertical and horizontal stacking (Table 4)",
            stacking.collect,
            stacking.render,
        ),
        Target(
            random_start.NAME,
            "α and β started at random (Table 5)",
            random_start.collect,
            random_start.render,
        ),
        Target(
            "fig-random-dynamics",
            "α and β while training, from a random start (Figure 8)",
            dynamics.RANDOM.collect,
            dynamics.RANDOM.render,
        ),
        Target(
            tuning.NAME,
            "the search of hyper-parameters (appendix B.2)",
            tuning.collect,
            tuning.render,
        ),
    )
}
