"""Options of fit: what to predict, and what is wanted of the answer; not how it is trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from graphfilter.cli.options import ANSWER, SPLIT, TWO_CLASSES, ExcelSafe, listed, option_field
from graphfilter.cli.predicted_options import PredictedOptions
from graphfilter.util.errors import ConfigError

if TYPE_CHECKING:
    from graphfilter.runs.plan import FitRequest, SplitBy
    from graphfilter.tables.roles import Columns

# Options that are about classes: they have no meaning for numbers and labels.
_OF_CLASSES = ("label", "unlabelled", "threshold", "cost", "positive", "embeddings")


@dataclass(frozen=True)
class TargetOptions(PredictedOptions):
    """Name a graph, its columns, what to predict, and what is wanted of the answer."""

    threshold: str = option_field(
        "",
        "Threshold: a probability, or the score that chooses it on validation vertices: "
        "f1, accuracy, balanced_accuracy, mcc or cost. Default: the more probable class. Saved "
        "with the model and used by predict.",
        "NUMBER|METRIC",
        TWO_CLASSES,
    )
    cost: list[str] | None = option_field(
        None,
        "Cost of an error. fraud:ok=10: predicting ok for fraud costs ten times a false "
        "alarm. The threshold with the lowest cost is chosen.",
        "TRUE:PREDICTED=COST",
        TWO_CLASSES,
    )
    positive: str = option_field(
        "",
        "Positive class. Default: the first that --cost names, or the rarer one.",
        "CLASS",
        TWO_CLASSES,
    )

    coverage: float | None = option_field(
        None,
        "Coverage of prediction sets, such as 0.9: predictions.csv then has a set of "
        "classes for each vertex, or an interval for its number, that holds the truth for this "
        "share of vertices; calibrated on validation vertices.",
        "SHARE",
        ANSWER,
    )
    keep_graph: bool | None = option_field(
        None,
        "Save the graph with the run, for predict --with run. Default: up to 64 MiB.",
        panel=ANSWER,
        name="--keep-graph/--no-keep-graph",
    )
    forget_ids: bool = option_field(
        False,
        "Do not save the hashed vertex ids in the model: predict then recognises no "
        "vertex, and is less accurate on a graph that has grown.",
    )
    embeddings: Path | None = option_field(
        None,
        "Write embeddings, the filtered hidden layer of every vertex, to this .parquet "
        "or .csv file.",
        "FILE",
        ANSWER,
    )

    excel_safe: ExcelSafe = False

    repeats: int = option_field(
        1,
        "Number of splits to train on, side by side: the report and metrics.json show "
        "how the scores vary. The model of the first split is saved.",
        "N",
        SPLIT,
        min=1,
    )

    title: str = option_field("", "Title of the report. Default: the table's name.", "TEXT", ANSWER)
    split_by: str | None = option_field(
        None,
        "Split by date or number: train on the earliest 60 %, validate on the next 20 %, "
        "test on the latest. For a model that will predict the future. Not a feature.",
        "COLUMN",
        SPLIT,
    )
    group: str | None = option_field(
        None,
        "Split by group (household, plant, patient): no group is in two parts. For a "
        "model that will predict new groups. Not a feature.",
        "COLUMN",
        SPLIT,
    )

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

    def columns(self, like: Columns | None = None) -> Columns:
        """Leave the column to divide by out of the features, unless it is named among them."""
        chosen = super().columns(like)
        divides = [n for n in (self.split_by, self.group) if n and n not in chosen.features]
        return replace(chosen, drop=(*chosen.drop, *(n for n in divides if n not in chosen.drop)))

    def split_rule(self) -> SplitBy:
        """Read the column to divide by, where there is one."""
        from graphfilter.runs.plan import STRATIFIED, SplitBy
        from graphfilter.tables.labels import read_groups, read_times

        named = [n for n in ("split_by", "group", "split") if getattr(self, n) is not None]
        if len(named) > 1:
            words = " and ".join(f"--{name.replace('_', '-')}" for name in named)
            raise ConfigError(f"{words} each divide the vertices; give one of them.")
        if self.split_by is None and self.group is None:
            return STRATIFIED
        if self.vertices is None:
            word = "--split-by" if self.split_by else "--group"
            raise ConfigError(f"{word} names a column of a table (--vertices); there is none.")
        if self.split_by is not None:
            times = read_times(self.vertex_table, self.split_by)
            return SplitBy(self.split_by, times=times)
        assert self.group is not None
        return SplitBy(self.group, groups=read_groups(self.vertex_table, self.group))

    def asked(self) -> FitRequest:
        """Return what is wanted of the answer."""
        from graphfilter.runs.plan import FitRequest

        return FitRequest(
            self.threshold, tuple(self.cost or ()), self.positive, self.embeddings, self.repeats,
            self.title, self.coverage, self.keep_graph, self.excel_safe, self.forget_ids,
        )  # fmt: skip
