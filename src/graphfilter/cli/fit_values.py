"""graphfilter fit --number, --multilabel: what is said of numbers and of several labels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from graphfilter.cli.progress import training_bar
from graphfilter.cli.screen import end_stopped, say, show_table, tell
from graphfilter.cli.stopping import command_line, stoppable, what_is_kept
from graphfilter.cli.together import ending_lost, note_division, on_first, say_communicated
from graphfilter.errors import ConfigError

if TYPE_CHECKING:
    from graphfilter.cli.target_options import TargetOptions
    from graphfilter.run_folder import Source, ValueSummary
    from graphfilter.runtime.processes import Group

# The paper's 0.7 is for classes of texts: of a few columns of numbers it leaves too little.
DROPOUT = 0.2
TITLES = {"train": "train", "val": "validation", "test": "test"}


def fit_to_values(
    given: TargetOptions,
    found: Source,
    parameters: Mapping[str, Any],
    out: Path,
    *,
    resume: bool,
    overwrite: bool,
    baselines: bool,
    group: Group | None = None,
) -> None:
    """Fit a regressor, or a classifier of several labels, and show its scores."""
    from graphfilter.estimators import SGFClassifier, SGFRegressor
    from graphfilter.report.sentences import BASELINES
    from graphfilter.run_folder import check_folder, fit_values, plan_values, take_part_in_values
    from graphfilter.systems import get_system

    own: dict[str, Any] = {name: value for name, value in parameters.items() if value is not None}
    own.setdefault("dropout", DROPOUT)
    if given.number:
        if (monitor := own.pop("monitor", "r2")) not in ("accuracy", "r2", "loss"):
            raise ConfigError(f"--monitor {monitor} is a score of classes; of numbers it is R².")
        estimator = SGFRegressor(**own)
    else:
        estimator = SGFClassifier(**own)
    seed: int = parameters["random_state"]
    plan = plan_values(found, given.read_target(), seed, given.split_rule())
    on_first(group, lambda: check_folder(out, overwrite=overwrite, resume=resume))
    tell(plan.notes[len(found.graph.notes) :], quiet=given.quiet)
    tell(note_division(group, estimator), quiet=given.quiet)
    titles = ["training", *(f"comparing: {get_system(name).title}" for name in BASELINES)]
    try:
        with (
            ending_lost(out), training_bar(show=not given.quiet, titles=titles) as bar,
            stoppable(bar) as report,
        ):  # fmt: skip
            if group is not None and not group.is_first:
                take_part_in_values(
                    plan, estimator, out, seed=seed, resume=resume, baselines=baselines,
                    on_epoch=report,
                )  # fmt: skip
                return
            summary = fit_values(
                plan, estimator, out, seed=seed, resume=resume, overwrite=overwrite,
                baselines=baselines, on_epoch=report, command=command_line(),
            )  # fmt: skip
    except KeyboardInterrupt as stop:
        raise typer.Exit(end_stopped(stop, what_is_kept(out))) from None
    _show(summary)


def _show(summary: ValueSummary) -> None:
    from graphfilter.metrics.values import LABEL_METRICS, NUMBER_METRICS
    from graphfilter.report.value_comparison import number

    metrics, graph = summary.metrics, summary.graph
    numbers = metrics["task"] == "regression"
    shown = NUMBER_METRICS if numbers else LABEL_METRICS
    rows = [
        [
            TITLES[part],
            f"{scores['n_vertices']:,}",
            *(number(scores[name]) if name in scores else "" for name in shown),
        ]
        for part, scores in metrics["scores"].items()
    ]
    what = metrics["target"][0] if numbers else f"{len(metrics['target'])} labels"
    title = (
        f"{graph.name}: {graph.n_vertices:,} vertices, {graph.n_edges:,} edges, predicting {what}; "
        f"{max(metrics['epochs'])} epochs in {metrics['seconds']:.1f} s"
    )
    show_table(["part", "vertices", *shown.values()], rows, title=title)
    say(summary.headline)
    say_communicated(metrics)
    say(
        f"Written to {summary.folder}: report.html (open it in a browser), predictions.csv, "
        "metrics.json and the model."
    )
