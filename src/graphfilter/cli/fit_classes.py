"""graphfilter fit of one class per vertex: the run, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from graphfilter.cli.progress import training_bar
from graphfilter.cli.screen import end_stopped, say, show_table, tell
from graphfilter.cli.stopping import command_line, stoppable, what_is_kept
from graphfilter.cli.together import ending_lost, note_division, on_first, say_communicated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfilter.cli.target_options import TargetOptions
    from graphfilter.estimators.base import VertexClassifier
    from graphfilter.graph import Graph
    from graphfilter.run_folder import FitSummary, Source
    from graphfilter.runtime.processes import Group


def fit_to_classes(
    given: TargetOptions,
    found: Source,
    classifier: VertexClassifier,
    out: Path,
    *,
    seed: int,
    dry_run: bool,
    resume: bool,
    overwrite: bool,
    baselines: bool,
    group: Group | None = None,
) -> None:
    """Fit a classifier and show its scores; of a dry run, show what that would take."""
    from graphfilter.run_folder import (
        baselines_fit,
        check_folder,
        checkpoints,
        fit_folder,
        plan_dry_run,
        plan_fit,
        take_part,
    )
    from graphfilter.runtime.devices import pick_device

    quiet = given.quiet
    plan = plan_fit(found, seed, given.split_rule())
    costs = plan_dry_run(plan, classifier)
    if dry_run:
        from graphfilter.cli.dry_run import show_dry_run

        if group is None or group.is_first:
            show_dry_run(costs, plan, classifier, quiet=quiet)
        return
    if pick_device(classifier.device) == "cpu":
        costs.check()
        if baselines and not baselines_fit(plan):
            baselines, note = False, "plain models to compare with do not fit in memory: left out."
            plan = replace(plan, notes=(*plan.notes, note))
    on_first(group, lambda: check_folder(out, overwrite=overwrite, resume=resume))
    tell(plan.notes[len(found.graph.notes) :], quiet=quiet)
    tell(note_division(group, classifier), quiet=quiet)
    if resume and not checkpoints(out):
        tell([f"there is no checkpoint in {out}: starting at the beginning."], quiet=quiet)
    titles = _stages(plan.graph, classifier, given.repeats)
    try:
        with (
            ending_lost(out), training_bar(show=not quiet, titles=titles) as bar,
            stoppable(bar) as report,
        ):  # fmt: skip
            if group is not None and not group.is_first:
                take_part(
                    plan, classifier, out, seed=seed, resume=resume, baselines=baselines,
                    on_epoch=report, asked=given.asked(),
                )  # fmt: skip
                return
            summary = fit_folder(
                plan, classifier, out, seed=seed, resume=resume, overwrite=overwrite,
                on_epoch=report, baselines=baselines, on_baseline=report,
                command=command_line(), asked=given.asked(),
            )  # fmt: skip
    except KeyboardInterrupt as stop:
        raise typer.Exit(end_stopped(stop, what_is_kept(out))) from None
    tell(summary.notes, quiet=quiet)
    _show(summary)


def _stages(graph: Graph, classifier: VertexClassifier, repeats: int) -> list[str]:
    """Return the titles of all that is trained, in turn."""
    from graphfilter.estimators import SGFClassifier
    from graphfilter.report.conclusion import BASELINES
    from graphfilter.run_folder import has_channels
    from graphfilter.systems import get_system
    from graphfilter.wording import count

    titles = ["training"]
    if has_channels(graph) and isinstance(classifier, SGFClassifier):
        titles.append("training with directions and kinds")
    if repeats > 1:
        titles.append(f"repeating on {count(repeats - 1, 'other split')}")
    return titles + [f"comparing: {get_system(name).title}" for name in BASELINES]


def _value(scores: Mapping[str, float], name: str) -> str:
    """Return a score as it is shown; of calibration with what chance alone would show."""
    chance = scores.get("calibration_by_chance") if name == "calibration_error" else None
    beside = "" if chance is None else f" (by chance {chance:.3f})"
    return f"{scores[name]:.3f}{beside}" if name in scores else ""


def _show(summary: FitSummary) -> None:
    from graphfilter.report.spread import view_spread
    from graphfilter.wording import count

    metrics = summary.metrics
    titles = {"train": "train", "val": "validation", "test": "test"}
    every = metrics["scores"].values()
    shown = {
        "macro_f1": "macro F1",
        "log_loss": "log loss",
        "calibration_error": "calibration error",
    }
    if any("roc_auc" in scores for scores in every):
        shown = {"roc_auc": "ROC AUC"} | shown
    rows = [
        [
            titles[part],
            f"{scores['n_vertices']:,}",
            f"{scores['accuracy']:.1%}",
            *(_value(scores, name) for name in shown),
        ]
        for part, scores in metrics["scores"].items()
    ]
    say(summary.headline)
    show_table(
        ["part", "vertices", "accuracy", *shown.values()],
        rows,
        title=f"{summary.graph.name}: {_described(summary)}",
    )
    assert summary.graph.labels is not None  # it was fitted on them
    n_unlabelled = int((summary.graph.labels < 0).sum())
    if n_unlabelled:
        say(f"{count(n_unlabelled, 'unlabelled vertex', 'unlabelled vertices')} predicted.")
    if "repeats" in metrics:
        say(view_spread(metrics["repeats"]).sentence)
    say_communicated(metrics)
    if "decision" in metrics:
        _show_decision(metrics["decision"])
    files = ["metrics.json"]
    files += ["filter.png"] if summary.classifier.filters_ else []
    files += ["channels.png"] if "channels" in metrics else []
    kept = "" if summary.classifier.system_.keeps_graph else " and the model"
    say(
        f"Written to {summary.folder}: report.html (open it in a browser), predictions.csv, "
        f"{', '.join(files)}{kept}."
    )


def _show_decision(found: dict[str, Any]) -> None:
    """Print what the chosen threshold gives, of the last part there is."""
    from graphfilter.wording import count

    if found["metric"] == "default":
        return
    part, scores = list(found["scores"].items())[-1]
    extreme = "lowest" if found["metric"] == "cost" else "best"
    chosen = "as given"
    if found["metric"] != "given":
        chosen = f"{extreme} {found['metric']} on the validation vertices"
    say(
        f"{found['positive']} is answered from a probability of {found['threshold']:.3g} "
        f"({chosen}): {scores['found']} of {scores['found'] + scores['missed']} {part} vertices "
        f"found, {count(scores['false_alarms'], 'false alarm')}, mean cost {scores['cost']:.3g}."
    )


def _described(summary: FitSummary) -> str:
    graph, metrics = summary.graph, summary.metrics
    frequency = metrics["label_frequency_mean"]
    shown = "unknown" if frequency is None else f"{frequency:.2f}"
    trained = f"{max(metrics['epochs'])} epochs"
    if members := metrics.get("members"):
        trained = f"{len(members)} models"
    return (
        f"{graph.n_vertices:,} vertices, {graph.n_edges:,} edges, {graph.n_classes} classes, "
        f"label frequency {shown}; {trained} in {metrics['seconds']:.1f} s"
    )
