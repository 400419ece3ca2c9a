"""Options of fit that say what to predict: classes, a number, or any of several labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from graphfilter.cli.answer_options import AnswerOptions
from graphfilter.cli.sources import COLUMNS, listed
from graphfilter.errors import ConfigError

if TYPE_CHECKING:
    from graphfilter.data import Columns
    from graphfilter.estimators import Target

# Options that are about classes: they have no meaning for numbers and labels.
_OF_CLASSES = ("label", "unlabelled", "threshold", "cost", "positive", "embeddings")


@dataclass(frozen=True)
class TargetOptions(AnswerOptions):
    """Name a graph, its columns, what to predict, and what is wanted of the answer."""

    number: Annotated[
        str,
        typer.Option(
            help="Predict this column of numbers instead of a label; empty cells are unknown.",
            metavar="COLUMN",
            rich_help_panel=COLUMNS,
        ),
    ] = ""
    multilabel: Annotated[
        str,
        typer.Option(
            help="Predict these columns of yes and no, separated by commas: a vertex may have any "
            "of the labels. Rows with all of them empty are unknown.",
            metavar="COLUMN,COLUMN",
            rich_help_panel=COLUMNS,
        ),
    ] = ""

    @property
    def of_values(self) -> bool:
        """Whether numbers or labels are predicted, not classes."""
        return bool(self.number or self.multilabel)

    def columns(self, like: Columns | None = None) -> Columns:
        """Leave out of the features what is to be predicted."""
        chosen = super().columns(like)
        targets = [self.number] if self.number else list(listed(self.multilabel))
        for name in targets:
            if name in chosen.features:
                raise ConfigError(f"{name!r} is to be predicted: leave it out of --features.")
        return replace(chosen, drop=(*chosen.drop, *(n for n in targets if n not in chosen.drop)))

    def check_target(self) -> None:
        """Raise where options do not go together; before anything is read."""
        if not self.of_values:
            return
        word = "--number" if self.number else "--multilabel"
        if self.number and self.multilabel:
            raise ConfigError("--number and --multilabel each say what to predict: choose one.")
        if self.vertices is None:
            raise ConfigError(f"{word} names columns of a table (--vertices); there is none.")
        if self.multilabel and len(listed(self.multilabel)) < 2:
            raise ConfigError("--multilabel must name two columns or more; one goes to --label.")
        given = [name for name in _OF_CLASSES if getattr(self, name)]
        given += ["repeats"] if self.repeats > 1 else []
        if given:
            raise ConfigError(
                f"--{given[0]} is for one class per vertex; leave it out with {word}."
            )

    def read_target(self) -> Target:
        """Read what is to be predicted, one row per vertex."""
        from graphfilter.data import TextOptions
        from graphfilter.estimators import named_target
        from graphfilter.tables import read_label_columns, read_number_column
        from graphfilter.training import MULTILABEL, REGRESSION

        assert self.vertices is not None
        text = TextOptions(self.delimiter, self.encoding, self.decimal)
        if self.number:
            values = read_number_column(self.vertices, self.number, text)
            return named_target(REGRESSION, values[:, None], [self.number])
        names = listed(self.multilabel)
        return named_target(MULTILABEL, read_label_columns(self.vertices, names, text), names)
