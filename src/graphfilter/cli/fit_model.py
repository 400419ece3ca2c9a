"""RunOptions and TrainingOptions: where the run of fit goes, how it trains, and the estimator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfilter.cli.options import ANSWER, PAPER, TRAINING, Device, Seed, option_field
from graphfilter.util.errors import ConfigError

if TYPE_CHECKING:
    from graphfilter.estimators.vertex import VertexEstimator

DEFAULT, SGF = "committee", "sgf"

# Options of the paper's filter and its parameters.
_OF_SGF = {
    "layers": "n_layers",
    "hidden": "hidden_size",
    "dropout": "dropout",
    "operator": "operator",
    "init": "filter_init",
}


@dataclass(frozen=True)
class RunOptions:
    """Say where the run goes, and whether there is one already."""

    out: Path | None = option_field(
        None, "Folder for the report, the predictions and the model.", "FOLDER"
    )
    dry_run: bool = option_field(
        False, "Print the memory and time that the fit would take; train nothing."
    )
    resume: bool = option_field(False, "Resume an interrupted run.")
    overwrite: bool = option_field(False, "Replace the run in the folder.")


@dataclass(frozen=True)
class TrainingOptions:
    """Name a model, and say how it is trained."""

    model: str | None = option_field(
        None,
        "Model: committee (up to ten models, weighted on validation vertices), committee-low "
        "(its three cheapest), committee-high (wider, more seeds), sgf (the paper's filter) or "
        "any of graphfilter bench models, also in another setting: gcnii@n_layers=8.",
        "NAME",
        TRAINING,
        show_default="committee",
    )
    members: int = option_field(1, "Networks to average.", "N", PAPER, min=1)
    layers: int = option_field(16, "Depth of the filter.", "N", PAPER, min=1)
    hidden: int = option_field(64, "Width of the hidden layer.", "N", PAPER, min=1)
    operator: str = option_field(
        "auto",
        "Operator: auto, augmented_adjacency, adjacency, laplacian or channels. auto is "
        "augmented_adjacency; where edges have directions or types, validation vertices choose "
        "between it and channels.",
        "NAME",
        PAPER,
    )
    init: str = option_field(
        "0.5", "Initial α and β: a number, or uniform (drawn from -1 to 1).", "VALUE", PAPER
    )
    dropout: float | None = option_field(
        None, "Dropout rate. Default: 0.7, or 0.2 with --number or --multilabel.", "RATE", PAPER
    )
    balanced: bool = option_field(False, "Give rare classes more weight.", panel=TRAINING)
    epochs: int | None = option_field(
        None, "Maximum number of epochs. Default: 1500.", "N", TRAINING, min=1
    )
    seconds: float | None = option_field(
        None,
        "Time limit for the committee, without baselines. With --resume and 0: finish an "
        "interrupted fit with what it has trained.",
        "SECONDS",
        TRAINING,
        min=0,
    )
    patience: int | None = option_field(
        None,
        "Epochs without a better validation score before training stops. Default: 40 to "
        "120 for the committee, by the number of labels; 200 for sgf.",
        "N",
        TRAINING,
        min=1,
    )
    monitor: str | None = option_field(
        None,
        "Validation score that chooses the best epoch: accuracy, loss, balanced_accuracy "
        "or macro_f1; for two classes also roc_auc and average_precision. Default: accuracy; "
        "average_precision where one of two classes is rare, or --cost or --positive names it. "
        "Numbers: r2 (default) or loss. Several labels: micro_f1 (default), macro_f1, "
        "average_precision or loss.",
        "NAME",
        TRAINING,
    )
    scaling: str = option_field(
        "auto", "Feature scaling: auto, none, row or standardise.", "NAME", TRAINING
    )
    scale: str | None = option_field(
        None,
        "Scale on which --number is learned: identity, log (of 1 + y), rank, or auto, "
        "which validation vertices choose; one per number, separated by commas. Default: auto "
        "for the committee, identity for others.",
        "NAME",
        TRAINING,
    )
    baselines: bool = option_field(
        True,
        "Train an MLP and fixed low-pass filters too, to report whether the graph helps.",
        panel=ANSWER,
    )
    start_from: Path | None = option_field(
        None,
        "Start from the weights of this run, in a fraction of the epochs, when the graph "
        "has grown. Model and columns are those of the run; its vertices keep their parts.",
        "RUN",
        TRAINING,
    )
    seed: Seed = 0
    device: Device = "auto"

    @property
    def chosen(self) -> str:
        return DEFAULT if self.model is None else self.model

    def check(self, words: set[str], *, of_values: bool) -> None:
        """Raise where options were given that do not belong together.

        Parameters
        ----------
        words : set of str
            The options that were given.
        of_values : bool
            Whether numbers or several labels per vertex are learned, not one class.
        """
        if of_values and self.balanced:
            raise ConfigError("--balanced is for one class per vertex; leave it out.")
        model = self.chosen
        if self.seconds is not None and model not in _efforts():
            raise ConfigError("--seconds applies to a committee only; give --epochs instead.")
        if model == SGF:
            return
        if "--members" in words and model.partition("@")[0] in _efforts():
            raise ConfigError("a committee has its own members; leave --members out.")
        for name in sorted(name for name in _OF_SGF if f"--{name}" in words):
            if model == DEFAULT:
                raise ConfigError(f"--{name} applies to the paper's filter only; add --model sgf.")
            raise ConfigError(
                f"--{name} applies to --model sgf only; for another write the setting after its "
                f"name: --model {model}@{_OF_SGF[name]}=... where it has one."
            )

    def estimator(self, *, numbers: bool) -> VertexEstimator:
        """Return the estimator that learns numbers, or else classes or labels.

        Parameters that are None are its own.
        """
        from graphfilter.estimators.graph import GraphClassifier
        from graphfilter.estimators.graph_regressor import GraphRegressor
        from graphfilter.estimators.regressor import SGFRegressor
        from graphfilter.estimators.sgf import SGFClassifier
        from graphfilter.estimators.system import SystemClassifier, SystemRegressor

        given: dict[str, Any] = {
            "max_epochs": self.epochs,
            "patience": self.patience,
            "monitor": self.monitor,
            "feature_scaling": self.scaling,
            "device": self.device,
            "random_state": self.seed,
        }
        if not numbers:
            given["class_weight"] = "balanced" if self.balanced else None
        elif self.scale is not None:
            names = [name.strip() for name in self.scale.split(",")]
            given["scale"] = names[0] if len(names) == 1 else names
        model = self.chosen
        kind: Any
        if model == SGF:
            kind = SGFRegressor if numbers else SGFClassifier
            given |= {name: getattr(self, word) for word, name in _OF_SGF.items()}
            given |= {"filter_init": _number_or_name(self.init), "n_members": self.members}
        elif model in _efforts():
            kind = GraphRegressor if numbers else GraphClassifier
            given |= {"effort": _efforts()[model], "seconds": self.seconds}
        else:
            kind = SystemRegressor if numbers else SystemClassifier
            given |= {"model": model, "n_members": self.members}
        return kind(**{name: value for name, value in given.items() if value is not None})


def restarted(old: VertexEstimator, made: VertexEstimator, words: set[str]) -> VertexEstimator:
    """Return the estimator of an earlier run, to be fitted again, with the options given now."""
    from graphfilter.runs.folder import OPTIONS

    before, own = old.get_params(deep=False), made.get_params(deep=False)
    other = any(own.get(name) != before.get(name) for name in ("model", "effort"))
    if "--model" in words and (other or type(made) is not type(old)):
        raise ConfigError(
            f"--model must be that of the run to start from, a {type(old).__name__} of "
            f"{old.system_.title}. Leave it out, or fit without --start-from."
        )
    given = {name for name, word in OPTIONS.items() if word in words} | {"random_state", "device"}
    given |= {"class_weight"} if "--balanced" in words else set()
    changed = {name: own[name] for name in given if name in own}
    if "seconds" in before:
        changed["seconds"] = own.get("seconds")
    return type(old)(**{**before, **changed})


def _efforts() -> dict[str, str]:
    from graphfilter.estimators.graph import EFFORTS

    return {name: effort for effort, name in EFFORTS.items()}


def _number_or_name(text: str) -> float | str:
    """Read a number where there is one; the estimator checks the name."""
    try:
        return float(text)
    except ValueError:
        return text
