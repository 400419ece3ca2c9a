"""graphfilter fit: learn from the labelled vertices of a graph, label the rest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from graphfilter.cli.fit_model import DEFAULT, SGF, check_words, make_classifier
from graphfilter.cli.progress import training_bar
from graphfilter.cli.screen import end_stopped, say, show_table, tell
from graphfilter.cli.sources import Device, Seed, given_words, takes
from graphfilter.cli.stopping import command_line, stoppable, what_is_kept
from graphfilter.cli.target_options import TargetOptions
from graphfilter.cli.together import (
    ending_lost,
    join_processes,
    note_division,
    on_first,
    say_communicated,
)
from graphfilter.errors import ConfigError

if TYPE_CHECKING:
    from graphfilter.run_folder import FitSummary

MODEL = "Model (one setting for any graph)"
PAPER = "Of --model sgf, the paper's, and of numbers and several labels"


@takes(TargetOptions)
def fit(
    given: TargetOptions,
    context: typer.Context,
    out: Annotated[Path, typer.Option(help="Folder for the results.")],
    model: Annotated[
        str,
        typer.Option(
            help="The committee: eight models that see the graph in different ways, weighed by "
            "what they say of validation vertices; committee-low: its three cheapest; sgf: the "
            "paper's adaptive filter alone. Or any system by name (graphfilter bench models lists "
            "them), in a setting of your own after @: gcn, gcnii@n_layers=8, sgf@dropout=0.5.",
            metavar="NAME",
            rich_help_panel=MODEL,
        ),
    ] = DEFAULT,
    members: Annotated[
        int, typer.Option(help="Networks to average.", min=1, rich_help_panel=PAPER)
    ] = 1,
    layers: Annotated[
        int, typer.Option(help="Depth of the filter.", min=1, rich_help_panel=PAPER)
    ] = 16,
    hidden: Annotated[
        int, typer.Option(help="Width of the hidden layer.", min=1, rich_help_panel=PAPER)
    ] = 64,
    operator: Annotated[
        str,
        typer.Option(help="augmented_adjacency, adjacency or laplacian.", rich_help_panel=PAPER),
    ] = "augmented_adjacency",
    init: Annotated[
        str,
        typer.Option(
            help="α and β at the start: a number, or uniform (drawn from -1 to 1).",
            rich_help_panel=PAPER,
        ),
    ] = "0.5",
    dropout: Annotated[
        float | None,
        typer.Option(
            help="Rate of dropout; 0.7, or 0.2 with --number or --multilabel.",
            rich_help_panel=PAPER,
            show_default=False,
        ),
    ] = None,
    balanced: Annotated[
        bool,
        typer.Option("--balanced", help="Weigh rare classes up.", rich_help_panel=MODEL),
    ] = False,
    epochs: Annotated[
        int | None,
        typer.Option(
            help="At most this many; 1500 unless given.",
            min=1,
            rich_help_panel=MODEL,
            show_default=False,
        ),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            help="Epochs without a better validation score; 120 for the committee, 200 for sgf.",
            min=1,
            rich_help_panel=MODEL,
            show_default=False,
        ),
    ] = None,
    monitor: Annotated[
        str | None,
        typer.Option(
            help="The validation score that chooses the best epoch: accuracy (unless given), "
            "loss, balanced_accuracy or macro_f1; of two classes also roc_auc and "
            "average_precision.",
            rich_help_panel=MODEL,
            show_default=False,
        ),
    ] = None,
    scaling: Annotated[
        str,
        typer.Option(
            help="Of the features: auto, none, row or standardise.", rich_help_panel=MODEL
        ),
    ] = "auto",
    baselines: Annotated[
        bool,
        typer.Option(
            help="Train an MLP and fixed low-pass filters beside it, for the report's answer."
        ),
    ] = True,
    seed: Seed = 0,
    device: Device = "auto",
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Say what the fit would take, and whether it fits; train nothing."
        ),
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted run.")] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the run in the folder.")
    ] = False,
) -> None:
    """Learn from the labelled vertices of a graph, label the rest, show the filter.

    The vertices' table has one row per vertex: an id, features, and a label where it is known. The
    edges' table has one row per edge: two ids and, if you like, a weight. Columns are understood
    by what they hold: numbers, dates, words, text; missing values are filled in. A column named
    split may say train, val or test; otherwise the labelled vertices are divided 60/20/20.

    Example:  graphfilter fit --edges edges.csv --vertices vertices.csv --label kind --out run
    """
    given.check_target()
    words = set(given_words(context))
    check_words(model, words, of_values=given.of_values)
    if dry_run and given.of_values:
        raise ConfigError("--dry-run is for one class per vertex; leave it out.")
    group = join_processes()
    found, quiet = given.read(), given.quiet
    shared: dict[str, Any] = {
        "max_epochs": epochs,
        "patience": patience,
        "monitor": monitor,
        "feature_scaling": scaling,
        "device": device,
        "random_state": seed,
    }
    of_sgf: dict[str, Any] = {
        "n_layers": layers,
        "hidden_size": hidden,
        "operator": operator,
        "filter_init": _number_or_name(init),
        "dropout": dropout,
        "n_members": members,
    }
    if given.of_values:
        from graphfilter.cli.fit_values import fit_to_values

        fit_to_values(
            given, found, shared | of_sgf, out, resume=resume, overwrite=overwrite,
            baselines=baselines, group=group,
        )  # fmt: skip
        return
    from graphfilter.graph.edges import count
    from graphfilter.report.conclusion import BASELINES
    from graphfilter.run_folder import (
        check_folder,
        checkpoints,
        fit_folder,
        has_channels,
        plan_dry_run,
        plan_fit,
        take_part,
    )
    from graphfilter.runtime.devices import pick_device
    from graphfilter.systems import get_system

    classifier = make_classifier(
        model, shared, of_sgf, class_weight="balanced" if balanced else None
    )
    plan = plan_fit(found, seed, given.split_rule())
    costs = plan_dry_run(plan, classifier)
    if dry_run:
        from graphfilter.cli.dry_run import show_dry_run

        if group is None or group.is_first:
            show_dry_run(costs, plan, classifier, quiet=quiet)
        return
    if pick_device(device) == "cpu":
        costs.check()
    on_first(group, lambda: check_folder(out, overwrite=overwrite, resume=resume))
    tell(plan.notes[len(found.graph.notes) :], quiet=quiet)
    tell(note_division(group, classifier), quiet=quiet)
    if resume and not checkpoints(out):
        tell([f"there is no checkpoint in {out}: starting at the beginning."], quiet=quiet)
    repeating = [f"repeating on {count(given.repeats - 1, 'other split')}"]
    titles = [
        "training",
        *(
            ["training with directions and kinds"]
            if has_channels(plan.graph) and model == SGF
            else []
        ),
        *(repeating if given.repeats > 1 else []),
        *(f"comparing: {get_system(name).title}" for name in BASELINES),
    ]
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


def _number_or_name(text: str) -> float | Literal["uniform"]:
    """Read a number where there is one; the classifier checks the name."""
    try:
        return float(text)
    except ValueError:
        return cast(Literal["uniform"], text)


def _show(summary: FitSummary) -> None:
    from graphfilter.graph.edges import count
    from graphfilter.report.spread import view_spread

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
            *(f"{scores[name]:.3f}" if name in scores else "" for name in shown),
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
    from graphfilter.graph.edges import count

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
