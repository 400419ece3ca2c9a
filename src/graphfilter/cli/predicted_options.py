"""Options that say what to predict: classes, a number, or any of several labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

from graphfilter.cli.column_options import FitOptions
from graphfilter.cli.options import TARGET, listed, option_field
from graphfilter.util.errors import ConfigError

if TYPE_CHECKING:
    from graphfilter.estimators.targets import Target
    from graphfilter.tables.roles import Columns
    from graphfilter.tables.source import TableSource
    from graphfilter.training import Task


@dataclass(frozen=True)
class PredictedOptions(FitOptions):
    """Name a graph, its columns, and what to predict."""

    number: str = option_field(
        "",
        "Predict numbers instead of a label; empty cells are unknown. Several columns, "
        "separated by commas, share a model.",
        "COLUMN,COLUMN",
        TARGET,
    )
    multilabel: str = option_field(
        "",
        "Predict several labels per vertex: columns of yes and no, separated by commas. "
        "Rows with all of them empty are unknown.",
        "COLUMN,COLUMN",
        TARGET,
    )

    def words(self) -> tuple[str, ...]:
        return self.given_options({f.name for f in fields(FitOptions)})

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
        from graphfilter.training import MULTILABEL, REGRESSION

        task = REGRESSION if self.number else MULTILABEL
        return read_values(self.vertex_table, task, listed(self.number or self.multilabel))


def read_values(
    table: TableSource, task: Task, names: Sequence[str], *, to_learn: bool = True
) -> Target:
    """Read columns of numbers or of labels, one row per vertex."""
    import numpy as np

    from graphfilter.estimators.targets import named_target
    from graphfilter.tables.labels import read_label_columns, read_number_column
    from graphfilter.training import REGRESSION

    if task is not REGRESSION:
        return named_target(task, read_label_columns(table, names), names)
    numbers = [read_number_column(table, name, to_learn=to_learn) for name in names]
    return named_target(task, np.column_stack(numbers), names)
