"""Options that say what to predict: classes, a number, or any of several labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from graphfilter.cli.help import TARGET
from graphfilter.cli.sources import FitOptions, listed
from graphfilter.errors import ConfigError

if TYPE_CHECKING:
    from graphfilter.data import Columns
    from graphfilter.estimators import Target


@dataclass(frozen=True)
class PredictedOptions(FitOptions):
    """Name a graph, its columns, and what to predict."""

    number: Annotated[
        str,
        typer.Option(
            help="Predict numbers instead of a label; empty cells are unknown. Several columns, "
            "separated by commas, share a model.",
            metavar="COLUMN,COLUMN",
            rich_help_panel=TARGET,
        ),
    ] = ""
    multilabel: Annotated[
        str,
        typer.Option(
            help="Predict several labels per vertex: columns of yes and no, separated by commas. "
            "Rows with all of them empty are unknown.",
            metavar="COLUMN,COLUMN",
            rich_help_panel=TARGET,
        ),
    ] = ""

    @property
    def of_values(self) -> bool:
        """Whether numbers or labels are predicted, not classes."""
        return bool(self.number or self.multilabel)

    def columns(self, like: Columns | None = None) -> Columns:
        """Leave out of the features what is to be predicted."""
        chosen = super().columns(like)
        targets = list(listed(self.number or self.multilabel))
        for name in targets:
            if name in chosen.features:
                raise ConfigError(f"{name!r} is to be predicted: leave it out of --features.")
        dropped = (*chosen.drop, *(n for n in targets if n not in chosen.drop))
        return replace(chosen, drop=dropped, predicted=tuple(targets))

    def read_target(self) -> Target:
        """Read what is to be predicted, one row per vertex."""
        import numpy as np

        from graphfilter.estimators import named_target
        from graphfilter.tables import read_label_columns, read_number_column
        from graphfilter.training import MULTILABEL, REGRESSION

        if self.number:
            numbers = listed(self.number)
            values = [read_number_column(self.vertex_table, name) for name in numbers]
            return named_target(REGRESSION, np.column_stack(values), numbers)
        names = listed(self.multilabel)
        return named_target(MULTILABEL, read_label_columns(self.vertex_table, names), names)
