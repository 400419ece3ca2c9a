"""Options of fit that change the answer, not the training."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphfilter.cli.sources import FitOptions

if TYPE_CHECKING:
    from graphfilter.run_folder import Asked

TWO_CLASSES = "Two classes: when to answer the one you look for"


@dataclass(frozen=True)
class AnswerOptions(FitOptions):
    """Name a graph, its columns, and what is wanted of the answer."""

    threshold: Annotated[
        str,
        typer.Option(
            help="Probability that is enough, or what to choose it by on the validation "
            "vertices: f1, accuracy, balanced_accuracy, mcc or cost. Otherwise the more probable "
            "class is answered. Kept with the model and used by predict.",
            metavar="NUMBER|METRIC",
            rich_help_panel=TWO_CLASSES,
        ),
    ] = ""
    cost: Annotated[
        list[str] | None,
        typer.Option(
            help="Of an error, as true:predicted=cost: fraud:ok=10 says that taking fraud for ok "
            "costs ten times a false alarm. The threshold with the lowest cost is chosen.",
            metavar="TRUE:PREDICTED=COST",
            rich_help_panel=TWO_CLASSES,
        ),
    ] = None
    positive: Annotated[
        str,
        typer.Option(
            help="The class you look for; otherwise the first that --cost names, or the rarer one.",
            metavar="CLASS",
            rich_help_panel=TWO_CLASSES,
        ),
    ] = ""

    embeddings: Annotated[
        Path | None,
        typer.Option(
            help="Write the filtered hidden layer of every vertex to this .parquet or .csv file: "
            "numbers for clustering, search or another model.",
            metavar="FILE",
        ),
    ] = None

    repeats: Annotated[
        int,
        typer.Option(
            help="Train on this many splits, side by side: the report and metrics.json say how "
            "much the scores vary. The model of the first split is kept.",
            min=1,
        ),
    ] = 1

    def words(self) -> tuple[str, ...]:
        graph_only = {f.name: getattr(self, f.name) for f in fields(FitOptions)}
        return FitOptions(**graph_only).words()

    def asked(self) -> Asked:
        """Return what is wanted of the answer."""
        from graphfilter.run_folder import Asked

        return Asked(
            self.threshold, tuple(self.cost or ()), self.positive, self.embeddings, self.repeats
        )
