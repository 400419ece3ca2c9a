"""graphfilter fit: learn from the labelled vertices of a graph, label the rest, show the answer."""

import ast
import os

# Annotations of fields are evaluated here: typer reads them.
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from graphfilter.cli import app, screen
from graphfilter.cli.sources import GraphOptions, PredictedOptions, model_of, rare, split_commas
from graphfilter.util.errors import ConfigError
from graphfilter.util.words import number, say_bytes

if TYPE_CHECKING:
    from graphfilter.estimators.vertex import VertexEstimator
    from graphfilter.runs.folder import FitSummary
    from graphfilter.runs.plan import DryRun, FitRequest, Plan, SplitBy
    from graphfilter.tables.roles import Columns
    from graphfilter.training.scores import Metric

DEFAULT, SGF = "committee", "sgf"
COMMITTEES = (DEFAULT, "committee-low", "committee-high")
# Options that are about classes: they have no meaning for numbers and labels.
_OF_CLASSES = (
    "label", "same_label", "label_anyway", "threshold", "cost", "positive",
)  # fmt: skip
TITLES = {"train": "train", "val": "validation", "test": "test"}
# Parts of the memory that a fit takes.


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
    coverage : SHARE
        Coverage of prediction sets, such as 0.9: predictions.csv then has a set of classes for each
        vertex, or an interval for its number, that holds the truth for this share of vertices;
        calibrated on validation vertices.
    noun : WORD[,PLURAL]
        What a row of the table of vertices is, for the report: account, or Kunde,Kunden. Default:
        found from the name of the column of ids.
    """

    threshold: str = app.option_field("", app.ANSWER)
    cost: list[str] | None = app.option_field(None, app.ANSWER)
    positive: str = rare("")
    coverage: float | None = app.option_field(None, app.ANSWER)
    keep_graph: bool | None = rare(None)
    forget_ids: bool = rare(False)
    excel_safe: bool = rare(False)
    title: str = rare("")
    noun: str = app.option_field("", app.ANSWER)

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
class TrainingOptions(GraphOptions):
    """Name a model, say how it is trained, and where the run goes.

    Attributes
    ----------
    model : NAME
        Model: committee (up to ten models, weighted on validation vertices), committee-low (its
        three cheapest), committee-high (wider, more seeds), sgf (the paper's filter), any of
        graphfilter bench models, also in another setting: gcnii@n_layers=8, or a filter or torch
        module of your own, as package.module:name.
    settings : NAME=VALUE
        Rarely needed; repeat for others. Of tables: delimiter=tab, encoding=cp1252, decimal=, say
        how they are written; merge=max how rows of the same edge are merged (sum, mean, max, last);
        clean_ids strips blanks from ids; drop_duplicates counts equal rows once; label_anyway takes
        any column for a label; vertex_kind=COLUMN names vertex types; no_link joins nobody. Of the
        model, as Python names it: patience=50, monitor=roc_auc, class_weight=balanced, scale=log
        (of --number: identity, log, rank or auto), feature_scaling=row, device=cuda; of sgf also
        n_members=5, n_layers, hidden_size, dropout, operator and filter_init. Of the run: title,
        positive=CLASS (else the first that --cost names, or the rarer one), keep_graph=yes or no
        (else up to 64 MiB, for predict --with run), forget_ids (predict then recognises no vertex),
        excel_safe (an apostrophe before what Excel would run).
    epochs : N
        Maximum number of epochs. Default: 1500.
    seconds : SECONDS
        Time limit for the committee; baselines may take as long again, or 10 s. With --resume and
        0: finish an interrupted fit with what it has trained.
    baselines
        Train fixed models too, with and without the graph, to report whether it helps.
    out : FOLDER
        Folder for the report, the predictions and the model.
    dry_run
        Print the memory and disk that the fit would take; train nothing.
    resume
        Resume an interrupted run.
    overwrite
        Replace the run in the folder.
    """

    model: str | None = app.option_field(None, app.TRAINING, show_default="committee")
    epochs: int | None = app.option_field(None, app.TRAINING, min=1)
    seconds: float | None = app.option_field(None, app.TRAINING, min=0)
    baselines: bool = app.option_field(True, app.FEW_TRAINING)
    seed: app.Seed = 0
    out: Path | None = None
    dry_run: bool = False
    resume: bool = False
    overwrite: bool = False

    def take(self, name: str, value: str | None) -> None:
        if value is None:
            raise ConfigError(f"--set must be NAME=VALUE, such as patience=50; got {name!r}.")
        self.others[name] = value

    def estimator(self, *, numbers: bool) -> "VertexEstimator":
        """Return the estimator that learns numbers, or else classes or labels.

        Parameters that are None are its own.
        """
        from graphfilter.estimators import graph as made

        values: dict[str, Any] = {"max_epochs": self.epochs, "random_state": self.seed}
        model = self.model or DEFAULT
        kind: Any
        if model == SGF:
            kind = made.SGFRegressor if numbers else made.SGFClassifier
        elif model in COMMITTEES:
            kind = made.GraphRegressor if numbers else made.GraphClassifier
            effort = next(effort for effort, name in made.EFFORTS.items() if name == model)
            values |= {"effort": effort, "seconds": self.seconds}
        else:
            kind = made.SystemRegressor if numbers else made.SystemClassifier
            values |= {"model": model_of(model)}
        elsewhere = {"graph", "verbose", "costs", "positive", *values}
        known = sorted(kind().get_params(deep=False).keys() - elsewhere)
        for name, value in self.others.items():
            if name not in known:
                raise ConfigError(
                    f"--model {model} has no setting {name!r}; it has {', '.join(known)}. Others "
                    "are of --model sgf, or stand after a model's name: gcn@n_layers=4."
                )
            values[name] = _read(value)
        return kind(**{name: value for name, value in values.items() if value is not None})


def _read(text: str) -> Any:
    """Return what a value says: a number, words separated by commas, or a word."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return list(split_commas(text)) if "," in text else text


@dataclass(frozen=True, kw_only=True)
class Fit(TrainingOptions, TargetOptions):
    """Learn from the labelled vertices of a graph, label the others, show the filter.

    The table of vertices has one row per vertex: an id, features, and a label where it is known.
    The table of edges has one row per edge: two ids and, optionally, a weight. The type of each
    column (numbers, dates, categories, text) is detected, and missing values are filled in. A
    column named split may hold train, val or test; otherwise the labelled vertices are split
    60/20/20 at random.

    Example:  graphfilter fit --edges edges.csv --vertices vertices.csv --label kind --out run

    Example:  graphfilter fit --vertices houses.csv --number price --near lat,long --out run
    """

    first: ClassVar[str] = "vertices edges label number out dataset"

    def __call__(self) -> None:
        """Check, read, plan; then train and show, or of a dry run say what that would take."""
        self._check_options()
        if (n := os.environ.get("WORLD_SIZE", "1")) != "1":
            raise ConfigError(
                f"a fit must be one process; got {n}, by WORLD_SIZE. Run it without torchrun: what "
                "0.2 divided is one training now."
            )
        out = self.out
        if out is None and not self.dry_run:
            raise ConfigError("fit needs a folder for the results: --out FOLDER.")
        if out is not None and not self.dry_run:
            from graphfilter.runs.loading import check_folder

            # Before anything is read, which may take minutes.
            check_folder(out, overwrite=self.overwrite, resume=self.resume)
        source = replace(self.read(), words=self.words(TargetOptions), noun=self.noun)
        from graphfilter.runs.plan import plan_dry_run, plan_fit

        estimator = self.estimator(numbers=bool(self.number))
        target = self.read_target() if self.number or self.multilabel else None
        rule, request = self.split_rule(), self.request()
        plan = plan_fit(source, self.seed, rule, target)
        costs = plan_dry_run(plan, estimator)
        if self.dry_run:
            _show_dry_run(costs, plan)
            return
        plan, baselines = costs.within_memory(plan, baselines=self.baselines)
        run_fit(plan, estimator, self, request, baselines=baselines)

    def _check_options(self) -> None:
        """Raise where some options exclude each other."""
        word = self.values_word
        if self.number and self.multilabel:
            raise ConfigError("--number and --multilabel each name what to predict: choose one.")
        if word and self.vertices is None:
            raise ConfigError(f"{word} names columns of a table (--vertices); there is none.")
        if self.multilabel and len(split_commas(self.multilabel)) < 2:
            raise ConfigError("--multilabel must name two columns or more; one goes to --label.")
        for name in (*_OF_CLASSES, *(["unlabelled"] if self.multilabel else [])) if word else ():
            if getattr(self, name):
                raise ConfigError(
                    f"{screen.word_of(name)} is for one class per vertex; leave it out with {word}."
                )
        model = self.model or DEFAULT
        if self.seconds is not None and model not in COMMITTEES:
            raise ConfigError("--seconds applies to a committee only; give --epochs instead.")
        if self.others:  # Before anything is read.
            self.estimator(numbers=bool(self.number))


def run_fit(
    plan: "Plan", estimator: "VertexEstimator", how: Fit, request: "FitRequest", *, baselines: bool
) -> None:
    """Fit an estimator and show its scores."""
    from graphfilter.estimators.graph import AUTO, AdaptiveEstimator, has_channels
    from graphfilter.report.page import draw_run
    from graphfilter.runs.folder import fit_folder
    from graphfilter.runs.loading import checkpoints
    from graphfilter.systems import get_system
    from graphfilter.training import Callback

    quiet, out = how.quiet, how.out
    assert out is not None
    notes = [*plan.notes[len(plan.source.graph.notes) :]]
    if how.resume and not checkpoints(out):
        notes.append(f"there is no checkpoint in {out}: starting from the beginning.")
    screen.tell(notes, quiet=quiet)
    # All that is trained, in turn.
    titles = ["training"]
    adaptive = isinstance(estimator, AdaptiveEstimator) and estimator.operator == AUTO
    if adaptive and has_channels(plan.graph):
        titles.append("training with directions and edge types")
    titles += [f"comparing: {get_system(name).title}" for name in plan.baselines]
    try:
        with screen.training_bar(show=not quiet, titles=titles, seconds=how.seconds) as report:
            summary = fit_folder(
                plan, estimator, out, overwrite=how.overwrite, baselines=baselines,
                callback=Callback(report, resume=how.resume), request=request, draw=draw_run,
            )  # fmt: skip
    except KeyboardInterrupt as stop:
        raise typer.Exit(screen.end_stopped(stop, screen.what_is_kept(out))) from None
    except Exception as error:
        if checkpoints(out):
            error.add_note(screen.what_is_kept(out))
        raise
    screen.tell(summary.fit.notes[len(plan.notes) :], quiet=quiet)
    _show(summary, quiet=quiet)


def _show(summary: "FitSummary", *, quiet: bool) -> None:
    """Print the conclusion, the table of scores, what each answer rests on, and the files."""
    from graphfilter.report.page import describe_size

    fit, metrics, comparison = summary.fit, summary.metrics, summary.conclusion.comparison
    there = [key for scores in fit.scores.values() for key in scores]
    shown = {key: metric for key, metric in fit.task.metrics.items() if key in there}
    rows = [
        [
            TITLES[part],
            f"{scores['n_vertices']:,}",
            *(_value(metric, scores, key) for key, metric in shown.items()),
        ]
        for part, scores in fit.scores.items()
    ]
    graph, noun = fit.plan.graph, fit.plan.noun
    members = metrics.get("members")
    trained = f"{len(members)} models" if members else f"{max(metrics['epochs'])} epochs"
    size = describe_size(graph, noun, fit)
    title = f"{graph.name}: {size}; {trained} in {metrics['seconds']:.1f} s"
    for line in summary.conclusion.lines:
        screen.say(line)
    screen.show_table(
        ["part", noun.many, *(metric.name for metric in shown.values())], rows, title=title
    )
    board = metrics["leaderboard"]
    parts = [part for part in ("val", "test", "train") if part in board[0]]
    rows = [
        [
            noun.put(row["title"]), *(row[f"{part}_shown"] for part in parts),
            f"{row['seconds']:.1f}", f"{row['share']:.0%}" if row["share"] else "–",
        ]
        for row in board
    ]  # fmt: skip
    heads = ["model", *(TITLES[part] for part in parts), "seconds", "share"]
    screen.show_table(heads, rows, title=f"leaderboard, by {comparison.yardstick.name}")
    if fit.estimator.target_scales_ and len(fit.names) > 1:
        screen.say(f"Scores in the table are means over the {len(fit.names)} numbers.")
    if n_unknown := int((~fit.plan.is_labelled).sum()):
        screen.say(f"{noun.count(n_unknown)} without a label predicted.")
    if (decision := metrics.get("decision")) and decision["metric"] != "default":
        # Of the last part there is.
        part = list(decision["scores"])[-1]
        for line in decision["said"][part]:
            screen.say(line)
        if decision["metric"] == "cost":
            _show_budgets(decision["budgets"][part], f"the {part} {noun.many}")
    for name, scale in zip(fit.names, fit.estimator.target_scales_, strict=False):
        screen.say(f"{name}: {scale.words}.")
    if fit.calibration is not None:
        screen.say(noun.put(" ".join(fit.calibration.sentences())))
    drawn = ("filter.png", "channels.png")
    files = ["metrics.json", *(name for name in drawn if (summary.folder / name).exists())]
    model = "" if fit.estimator.system_.keeps_graph else " and the model"
    screen.say(
        f"Written to {summary.folder}: report.html (open it in a browser), predictions.csv, "
        f"{', '.join(files)}{model}."
    )
    screen.tell(summary.notes, quiet=quiet)


def _show_budgets(budgets: Sequence[Mapping[str, Any]], whose: str) -> None:
    """Print what it finds and costs to look into the first of the list."""
    columns = ("n_vertices", "found", "false_alarms")
    rows = [[*(f"{row[name]:,}" for name in columns), number(row["cost"])] for row in budgets[1:]]
    heads = ["looked into: the first", "found", "in vain", "cost in all"]
    screen.show_table(heads, rows, title=f"by how many are looked into, of {whose}")


def _value(metric: "Metric", scores: Mapping[str, float], key: str) -> str:
    """Return a score as it is shown; of calibration with what chance alone would show."""
    if key not in scores:
        return ""
    if key in ("accuracy", "balanced_accuracy"):
        return f"{scores[key]:.1%}"
    chance = scores.get("calibration_by_chance") if key == "calibration_error" else None
    beside = "" if chance is None else f" (by chance {chance:.3f})"
    return f"{scores[key]:.3f}{beside}" if metric.share else number(scores[key])


def _show_dry_run(costs: "DryRun", plan: "Plan") -> None:
    """Print sizes, memory by part, disk, and whether it fits."""
    graph, cost = plan.graph, costs.cost
    of = f", most of it for one of its members ({cost.largest})" if cost.largest else ""
    screen.say(
        f"{graph.name}: {graph.n_vertices:,} vertices, {graph.n_edges:,} edges, "
        f"{graph.n_features:,} features. The fit takes about {say_bytes(cost.peak)} of memory at "
        f"its peak{of}."
    )
    screen.say(f"Disk: about {say_bytes(costs.disk)} for the run folder.")
    if cost.kept:
        hop_size = say_bytes(cost.kept)
        screen.say(
            f"The store keeps {hop_size} of hops, and needs twice as much while they are computed."
        )
    fits = "It fits" if costs.fits else "It does not fit"
    screen.say(f"{fits}: there are {say_bytes(costs.available)} of memory.")
