"""What fit can be told beside its graph: what to predict, how it trains, and where the run goes."""

# Annotations are evaluated here: typer reads them.
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfilter.cli.app import (
    ANSWER,
    FEW_ANSWERS,
    FEW_TRAINING,
    PAPER,
    TRAINING,
    Device,
    ExcelSafe,
    Seed,
    option_field,
)
from graphfilter.cli.sources import PredictedOptions, model_of

if TYPE_CHECKING:
    from graphfilter.estimators.vertex import VertexEstimator
    from graphfilter.runs.plan import FitRequest, SplitBy
    from graphfilter.tables.roles import Columns

DEFAULT, SGF = "committee", "sgf"
COMMITTEES = (DEFAULT, "committee-low", "committee-high")
# Options of the paper's filter, and the parameters that they set.
OF_SGF = {
    "layers": "n_layers", "hidden": "hidden_size", "dropout": "dropout", "operator": "operator",
    "init": "filter_init",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TargetOptions(PredictedOptions):
    """Say what to predict, which vertices train, and what is wanted of the answer.

    Attributes
    ----------
    threshold : NUMBER|METRIC
        Threshold: a probability, or the score that chooses it on validation vertices: f1, accuracy,
        balanced_accuracy, mcc or cost. Default: the more probable class. Saved with the model and
        used by predict.
    cost : TRUE:PREDICTED=COST
        Cost of an error. fraud:ok=10: predicting ok for fraud costs ten times a false alarm. The
        threshold with the lowest cost is chosen.
    positive : CLASS
        Positive class. Default: the first that --cost names, or the rarer one.
    coverage : SHARE
        Coverage of prediction sets, such as 0.9: predictions.csv then has a set of classes for each
        vertex, or an interval for its number, that holds the truth for this share of vertices;
        calibrated on validation vertices.
    keep_graph
        Save the graph with the run, for predict --with run. Default: up to 64 MiB.
    forget_ids
        Do not save the hashed vertex ids in the model: predict then recognises no vertex, and is
        less accurate on a graph that has grown.
    title : TEXT
        Title of the report. Default: the table's name.
    noun : WORD[,PLURAL]
        What a row of the table of vertices is, for the report: account, or Kunde,Kunden. Default:
        found from the name of the column of ids.
    """

    threshold: str = option_field("", ANSWER)
    cost: list[str] | None = option_field(None, ANSWER)
    positive: str = option_field("", FEW_ANSWERS)
    coverage: float | None = option_field(None, ANSWER)
    keep_graph: bool | None = option_field(None, FEW_ANSWERS, name="--keep-graph/--no-keep-graph")
    forget_ids: bool = option_field(False, FEW_ANSWERS)
    excel_safe: ExcelSafe = False
    title: str = option_field("", FEW_ANSWERS)
    noun: str = option_field("", ANSWER)

    def divided(self) -> tuple[str, str]:
        """Return the column to divide by time or group, and which of the two; or nothing."""
        column, _, how = (self.split or "").rpartition("=")
        return (column, how) if column and how in ("time", "group") else ("", "")

    def columns(self, like: "Columns | None" = None) -> "Columns":
        """Leave the column to divide by out of the features, unless it is named among them."""
        columns, (name, _) = super().columns(like), self.divided()
        if not name:
            return columns
        left = () if name in columns.features or name in columns.drop else (name,)
        return replace(columns, split=None, drop=(*columns.drop, *left))

    def split_rule(self) -> "SplitBy":
        """Read the column to divide by, where there is one."""
        from graphfilter.runs.plan import STRATIFIED, SplitBy
        from graphfilter.tables.labels import read_groups, read_times

        name, how = self.divided()
        if not name:
            return STRATIFIED
        if how == "time":
            return SplitBy(name, times=read_times(self.vertex_table, name))
        return SplitBy(name, groups=read_groups(self.vertex_table, name))

    def request(self) -> "FitRequest":
        """Return what is wanted of the answer."""
        from graphfilter.runs.plan import FitRequest

        return FitRequest(
            self.threshold, tuple(self.cost or ()), self.positive,
            self.title, self.coverage, self.keep_graph, self.excel_safe, self.forget_ids,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TrainingOptions:
    """Name a model, say how it is trained, and where the run goes.

    Attributes
    ----------
    model : NAME
        Model: committee (up to ten models, weighted on validation vertices), committee-low (its
        three cheapest), committee-high (wider, more seeds), sgf (the paper's filter), any of
        graphfilter bench models, also in another setting: gcnii@n_layers=8, or a filter or torch
        module of your own, as package.module:name.
    members : N
        Networks to average.
    layers : N
        Depth of the filter.
    hidden : N
        Width of the hidden layer.
    operator : NAME
        Operator: auto, augmented_adjacency, adjacency, laplacian or channels. auto is
        augmented_adjacency; where edges have directions or types, validation vertices choose
        between it and channels.
    init : VALUE
        Initial α and β: a number, or uniform (drawn from -1 to 1).
    dropout : RATE
        Dropout rate. Default: 0.7, or 0.2 with --number or --multilabel.
    balanced
        Give rare classes more weight.
    epochs : N
        Maximum number of epochs. Default: 1500.
    seconds : SECONDS
        Time limit for the committee; baselines may take as long again, or 10 s. With --resume and
        0: finish an interrupted fit with what it has trained.
    patience : N
        Epochs without a better validation score before training stops. Default: 40 to 120 for the
        committee, by the number of labels; 200 for sgf.
    monitor : NAME
        Validation score that chooses the best epoch: accuracy, loss, balanced_accuracy or macro_f1;
        for two classes also roc_auc and average_precision. Default: accuracy; average_precision
        where one of two classes is rare, or --cost or --positive names it. Numbers: r2 (default) or
        loss. Several labels: micro_f1 (default), macro_f1, average_precision or loss.
    feature_scaling : NAME
        Feature scaling: auto, none, row or standardise.
    number_scale : NAME
        Scale on which --number is learned: identity, log (of 1 + y), rank, or auto, which
        validation vertices choose; one per number, separated by commas. Default: auto for the
        committee, identity for others.
    baselines
        Train an MLP and fixed low-pass filters too, to report whether the graph helps.
    out : FOLDER
        Folder for the report, the predictions and the model.
    dry_run
        Print the memory and disk that the fit would take; train nothing.
    resume
        Resume an interrupted run.
    overwrite
        Replace the run in the folder.
    """

    model: str | None = option_field(None, TRAINING, show_default="committee")
    members: int = option_field(1, PAPER, min=1)
    layers: int = option_field(16, PAPER, min=1)
    hidden: int = option_field(64, PAPER, min=1)
    operator: str = option_field("auto", PAPER)
    init: str = option_field("0.5", PAPER)
    dropout: float | None = option_field(None, PAPER)
    balanced: bool = option_field(False, FEW_TRAINING)
    epochs: int | None = option_field(None, TRAINING, min=1)
    seconds: float | None = option_field(None, TRAINING, min=0)
    patience: int | None = option_field(None, FEW_TRAINING, min=1)
    monitor: str | None = option_field(None, FEW_TRAINING)
    feature_scaling: str = option_field("auto", FEW_TRAINING)
    number_scale: str | None = option_field(None, FEW_TRAINING)
    baselines: bool = option_field(True, FEW_TRAINING)
    seed: Seed = 0
    device: Device = "auto"
    out: Path | None = None
    dry_run: bool = False
    resume: bool = False
    overwrite: bool = False

    def estimator(self, *, numbers: bool) -> "VertexEstimator":
        """Return the estimator that learns numbers, or else classes or labels.

        Parameters that are None are its own.
        """
        from graphfilter.estimators.graph import (
            EFFORTS,
            GraphClassifier,
            GraphRegressor,
            SGFClassifier,
            SGFRegressor,
            SystemClassifier,
            SystemRegressor,
        )

        values: dict[str, Any] = {
            "max_epochs": self.epochs,
            "patience": self.patience,
            "monitor": self.monitor,
            "feature_scaling": self.feature_scaling,
            "device": self.device,
            "random_state": self.seed,
        }
        if not numbers:
            values["class_weight"] = "balanced" if self.balanced else None
        elif self.number_scale is not None:
            names = [name.strip() for name in self.number_scale.split(",")]
            values["scale"] = names[0] if len(names) == 1 else names
        model = self.model or DEFAULT
        kind: Any
        if model == SGF:
            kind = SGFRegressor if numbers else SGFClassifier
            values |= {name: getattr(self, word) for word, name in OF_SGF.items()}
            values |= {"filter_init": _number_or_name(self.init), "n_members": self.members}
        elif model in COMMITTEES:
            kind = GraphRegressor if numbers else GraphClassifier
            effort = next(effort for effort, name in EFFORTS.items() if name == model)
            values |= {"effort": effort, "seconds": self.seconds}
        else:
            kind = SystemRegressor if numbers else SystemClassifier
            values |= {"model": model_of(model), "n_members": self.members}
        return kind(**{name: value for name, value in values.items() if value is not None})


def _number_or_name(text: str) -> float | str:
    """Read a number where there is one; the estimator checks the name."""
    try:
        return float(text)
    except ValueError:
        return text
