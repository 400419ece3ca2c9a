"""graphfilter fit: learn from the labelled vertices of a graph, label the rest, show the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from graphfilter.cli.fit_model import RunOptions, TrainingOptions, restarted
from graphfilter.cli.fit_start import read_start
from graphfilter.cli.options import given_words, takes
from graphfilter.cli.progress import training_bar
from graphfilter.cli.screen import end_stopped, say, show_table, tell
from graphfilter.cli.stopping import report_kept_state, stoppable, what_is_kept
from graphfilter.cli.target_options import TargetOptions
from graphfilter.util.errors import ConfigError

if TYPE_CHECKING:
    from graphfilter.estimators.vertex import VertexEstimator
    from graphfilter.runs.folder import FitSummary
    from graphfilter.runs.plan import Plan
    from graphfilter.training.scores import Metric

TITLES = {"train": "train", "val": "validation", "test": "test"}


@takes(
    TargetOptions,
    TrainingOptions,
    RunOptions,
    first="edges vertices label out dataset model seconds resume",
)
def fit(
    given: TargetOptions, how: TrainingOptions, run: RunOptions, context: typer.Context
) -> None:
    """Learn from the labelled vertices of a graph, label the others, show the filter.

    The table of vertices has one row per vertex: an id, features, and a label where it is known.
    The table of edges has one row per edge: two ids and, optionally, a weight. The type of each
    column (numbers, dates, categories, text) is detected, and missing values are filled in. A
    column named split may hold train, val or test; otherwise the labelled vertices are split
    60/20/20 at random.

    Example:  graphfilter fit --edges edges.csv --vertices vertices.csv --label kind --out run
    """
    given.check_target()
    words = set(given_words(context))
    how.check(words, of_values=given.of_values)
    if how.scale is not None and not given.number:
        raise ConfigError("--scale applies to --number only; leave it out.")
    out = run.out
    if out is None and not run.dry_run:
        raise ConfigError("fit needs a folder for the results: --out FOLDER.")
    if how.start_from is not None and out is not None and how.start_from.resolve() == out.resolve():
        raise ConfigError(
            f"--out must be another folder than that of --start-from; got {out} for both. "
            "The fit could not be repeated once its run to start from is replaced."
        )
    if out is not None and not run.dry_run:
        from graphfilter.runs.layout import check_folder

        # Before anything is read, which may take minutes.
        check_folder(out, overwrite=run.overwrite, resume=run.resume)
    start = None if how.start_from is None else read_start(how.start_from, given)
    found = given.read() if start is None else start.read(given)
    from graphfilter.runs.plan import plan_fit

    estimator = how.estimator(numbers=bool(given.number))
    if start is not None:
        estimator = restarted(start.estimator, estimator, words)
    target = given.read_target() if given.of_values else None
    earlier = None if start is None else start.earlier
    plan = plan_fit(found, how.seed, given.split_rule(), target, earlier)
    baselines = how.baselines and how.seconds is None
    run_fit(plan, estimator, given, run, baselines=baselines)


def run_fit(
    plan: Plan,
    estimator: VertexEstimator,
    given: TargetOptions,
    run: RunOptions,
    *,
    baselines: bool,
) -> None:
    """Fit an estimator and show its scores; of a dry run, show what that would take."""
    from graphfilter.report.page import draw_run
    from graphfilter.runs.dry_run import baselines_fit, plan_dry_run
    from graphfilter.runs.folder import fit_folder
    from graphfilter.runs.layout import checkpoints
    from graphfilter.training import Callback
    from graphfilter.util.machine import pick_device

    quiet = given.quiet
    costs = plan_dry_run(plan, estimator)
    if run.dry_run:
        from graphfilter.cli.dry_run import show_dry_run

        show_dry_run(costs, plan, estimator, baselines=baselines, quiet=quiet)
        return
    out = run.out
    assert out is not None
    if pick_device(estimator.device) == "cpu":
        costs.check()
        if baselines and not baselines_fit(plan):
            baselines, note = False, "the baselines do not fit in memory: left out."
            plan = replace(plan, notes=(*plan.notes, note))
    notes = [*plan.notes[len(plan.source.graph.notes) :]]
    if run.resume and not checkpoints(out):
        notes.append(f"there is no checkpoint in {out}: starting from the beginning.")
    tell(notes, quiet=quiet)
    titles = _stages(plan, estimator, given.repeats)
    how: dict[str, Any] = {"baselines": baselines, "request": given.asked()}
    try:
        with (
            report_kept_state(out), training_bar(show=not quiet, titles=titles) as bar,
            stoppable(bar) as report,
        ):  # fmt: skip
            callback = Callback(report, resume=run.resume)
            summary = fit_folder(
                plan, estimator, out, overwrite=run.overwrite, callback=callback, draw=draw_run,
                **how,
            )  # fmt: skip
    except KeyboardInterrupt as stop:
        raise typer.Exit(end_stopped(stop, what_is_kept(out))) from None
    tell(summary.fit.notes[len(plan.notes) :], quiet=quiet)
    _show(summary, quiet=quiet)


def _stages(plan: Plan, estimator: VertexEstimator, repeats: int) -> list[str]:
    """Return the titles of all that is trained, in turn."""
    from graphfilter.estimators.adaptive import AUTO, AdaptiveEstimator, has_channels
    from graphfilter.runs.fit import BASELINES
    from graphfilter.systems import get_system
    from graphfilter.util.words import count

    titles = ["training"]
    adaptive = isinstance(estimator, AdaptiveEstimator) and estimator.operator == AUTO
    if adaptive and has_channels(plan.graph):
        titles.append("training with directions and edge types")
    if repeats > 1:
        titles.append(f"repeating on {count(repeats - 1, 'other split')}")
    return titles + [f"comparing: {get_system(name).title}" for name in BASELINES]


def _show(summary: FitSummary, *, quiet: bool) -> None:
    from graphfilter.runs.conclusion import describe_spread
    from graphfilter.util.words import count

    fit, metrics, found = summary.fit, summary.metrics, summary.conclusion.comparison
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
    say(f"{summary.conclusion.headline} {summary.conclusion.reason}".strip())
    heads = ["part", "vertices", *(metric.name for metric in shown.values())]
    show_table(heads, rows, title=f"{fit.graph.name}: {_described(summary)}")
    if fit.estimator.target_scales_ and len(fit.names) > 1:
        say(f"Scores in the table are means over the {len(fit.names)} numbers.")
    if n_unknown := int((~fit.plan.known).sum()):
        say(f"{count(n_unknown, 'unlabelled vertex', 'unlabelled vertices')} predicted.")
    if fit.repeats is not None:
        say(describe_spread(fit.repeats, fit.task.metrics, found.yardstick.key)["sentence"])
    if "decision" in metrics:
        _show_decision(metrics["decision"])
    for name, scale in zip(fit.names, fit.estimator.target_scales_, strict=False):
        say(f"{name}: {scale.words}.")
    if fit.promised is not None:
        say(" ".join(fit.promised.sentences()))
    files = ["metrics.json"]
    files += ["filter.png"] if fit.estimator.filters_ else []
    files += ["channels.png"] if "channels" in metrics else []
    kept = "" if fit.estimator.system_.keeps_graph else " and the model"
    say(
        f"Written to {summary.folder}: report.html (open it in a browser), predictions.csv, "
        f"{', '.join(files)}{kept}."
    )
    tell(summary.notes, quiet=quiet)


def _value(metric: Metric, scores: Mapping[str, float], key: str) -> str:
    """Return a score as it is shown; of calibration with what chance alone would show."""
    from graphfilter.util.words import number

    if key not in scores:
        return ""
    if key in ("accuracy", "balanced_accuracy"):
        return f"{scores[key]:.1%}"
    chance = scores.get("calibration_by_chance") if key == "calibration_error" else None
    beside = "" if chance is None else f" (by chance {chance:.3f})"
    return f"{scores[key]:.3f}{beside}" if metric.share else number(scores[key])


def _show_decision(found: dict[str, Any]) -> None:
    """Print what the chosen threshold gives, of the last part there is."""
    from graphfilter.util.words import count

    if found["metric"] == "default":
        return
    part, scores = list(found["scores"].items())[-1]
    extreme = "lowest" if found["metric"] == "cost" else "best"
    chosen = "as given"
    if found["metric"] != "given":
        chosen = f"{extreme} {found['metric']} on the validation vertices"
    say(
        f"{found['positive']} is predicted from a probability of {found['threshold']:.3g} "
        f"({chosen}): {scores['found']} of {scores['found'] + scores['missed']} {part} vertices "
        f"found, {count(scores['false_alarms'], 'false alarm')}, mean cost {scores['cost']:.3g}."
    )


def _described(summary: FitSummary) -> str:
    from graphfilter.training import REGRESSION

    fit, metrics = summary.fit, summary.metrics
    graph, frequency = fit.graph, metrics["label_frequency_mean"]
    shown = "unknown" if frequency is None else f"{frequency:.2f}"
    trained = f"{max(metrics['epochs'])} epochs"
    if members := metrics.get("members"):
        trained = f"{len(members)} models"
    what = f"{graph.n_classes} classes, label"
    if not fit.task.one_class:
        name = f"{len(fit.names)} labels"
        if fit.task is REGRESSION:
            name = ", ".join(fit.names[:3]) + (", ..." if len(fit.names) > 3 else "")
        what = f"predicting {name},"
    return (
        f"{graph.n_vertices:,} vertices, {graph.n_edges:,} edges, {what} frequency {shown}; "
        f"{trained} in {metrics['seconds']:.1f} s"
    )
