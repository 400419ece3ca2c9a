"""Options of fit together: what to predict, and what is wanted of the answer."""

from __future__ import annotations

from dataclasses import dataclass

from graphfilter.cli.answer_options import AnswerOptions
from graphfilter.cli.sources import listed
from graphfilter.errors import ConfigError

# Options that are about classes: they have no meaning for numbers and labels.
_OF_CLASSES = ("label", "unlabelled", "threshold", "cost", "positive", "embeddings")


@dataclass(frozen=True)
class TargetOptions(AnswerOptions):
    """Name a graph, its columns, what to predict, and what is wanted of the answer."""

    def check_target(self) -> None:
        """Raise where options do not go together; before anything is read."""
        if not self.of_values:
            return
        word = "--number" if self.number else "--multilabel"
        if self.number and self.multilabel:
            raise ConfigError("--number and --multilabel each name what to predict: choose one.")
        if self.vertices is None:
            raise ConfigError(f"{word} names columns of a table (--vertices); there is none.")
        if self.multilabel and len(listed(self.multilabel)) < 2:
            raise ConfigError("--multilabel must name two columns or more; one goes to --label.")
        given = [name for name in _OF_CLASSES if getattr(self, name)]
        if given:
            raise ConfigError(
                f"--{given[0]} is for one class per vertex; leave it out with {word}."
            )
