"""graphfilter fit: learn from the labelled vertices of a graph, label the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from graphfilter.cli.fit_model import choose_model, make_estimator, restarted
from graphfilter.cli.fit_start import read_start
from graphfilter.cli.sources import Device, Seed, given_words, takes
from graphfilter.cli.target_options import TargetOptions
from graphfilter.cli.together import join_processes
from graphfilter.errors import ConfigError

MODEL = "Model (one setting for any graph)"
PAPER = "Of --model sgf, the paper's"


@takes(TargetOptions)
def fit(
    given: TargetOptions,
    context: typer.Context,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the results; not needed with --dry-run.", metavar="FOLDER"),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="The committee: eight models that see the graph in different ways, weighed by "
            "what they say of validation vertices; committee-low: its three cheapest; "
            "committee-high: wider networks, more seeds; sgf: the paper's adaptive "
            "filter alone. Or any system by name (graphfilter bench models lists them), in a "
            "setting of your own after @: gcn, gcnii@n_layers=8, sgf@dropout=0.5.",
            metavar="NAME",
            rich_help_panel=MODEL,
            show_default="committee",
        ),
    ] = None,
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
        typer.Option(
            help="auto, augmented_adjacency, adjacency, laplacian or channels. auto is the second; "
            "where edges have directions or kinds also the last, and validation vertices decide.",
            rich_help_panel=PAPER,
        ),
    ] = "auto",
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
    seconds: Annotated[
        float | None,
        typer.Option(
            help="The committee's best answer within so many seconds, without plain models beside "
            "it. With --resume and 0: the answer that an interrupted fit has come to.",
            min=0,
            rich_help_panel=MODEL,
            show_default=False,
        ),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            help="Epochs without a better validation score; 40 to 120 for the committee, by the "
            "number of labels, 200 for sgf.",
            min=1,
            rich_help_panel=MODEL,
            show_default=False,
        ),
    ] = None,
    monitor: Annotated[
        str | None,
        typer.Option(
            help="The validation score that chooses the best epoch: accuracy, loss, "
            "balanced_accuracy or macro_f1; of two classes also roc_auc and average_precision. "
            "Unless given, accuracy, or average_precision where one of two classes is rare, or "
            "--cost or --positive say which is looked for. Of numbers r2 (unless given) or loss; "
            "of several labels micro_f1 (unless given), macro_f1, average_precision or loss.",
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
    scale: Annotated[
        str | None,
        typer.Option(
            help="Of --number, on which scale it is learned: identity, log (of 1 + y), rank, or "
            "auto, which asks the validation vertices; one per number, separated by commas. Unless "
            "given, auto for the committee and identity for others.",
            rich_help_panel=MODEL,
            show_default=False,
        ),
    ] = None,
    baselines: Annotated[
        bool,
        typer.Option(
            help="Train an MLP and fixed low-pass filters beside it, for the report's answer."
        ),
    ] = True,
    start_from: Annotated[
        Path | None,
        typer.Option(
            help="Begin with the weights of this run, on the graph as it has grown: in a fraction "
            "of the epochs. The model and the columns are those of the run, and its vertices keep "
            "their parts.",
            metavar="RUN",
            show_default=False,
        ),
    ] = None,
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
    chosen = choose_model(model, words, of_values=given.of_values)
    if scale is not None and not given.number:
        raise ConfigError("--scale is of --number; leave it out.")
    if out is None and not dry_run:
        raise ConfigError("fit needs a folder for the results: --out FOLDER.")
    group = join_processes()
    start = None if start_from is None else read_start(start_from, given)
    found = given.read() if start is None else start.read(given)
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
    from graphfilter.cli.fit_run import run_fit

    weight = "balanced" if balanced else None
    estimator = make_estimator(
        chosen, shared, of_sgf, seconds=seconds, numbers=bool(given.number), class_weight=weight,
        scale=None if scale is None else _one_or_several(scale),
    )  # fmt: skip
    if start is not None:
        estimator = restarted(start.estimator, estimator, words)
    run_fit(
        given, found, estimator, out, seed=seed, dry_run=dry_run, resume=resume,
        overwrite=overwrite, baselines=baselines and seconds is None, group=group,
        earlier=None if start is None else start.earlier,
    )  # fmt: skip


def _one_or_several(text: str) -> str | list[str]:
    """Read one name, or several separated by commas."""
    names = [name.strip() for name in text.split(",")]
    return names[0] if len(names) == 1 else names


def _number_or_name(text: str) -> float | Literal["uniform"]:
    """Read a number where there is one; the estimator checks the name."""
    try:
        return float(text)
    except ValueError:
        return cast(Literal["uniform"], text)
