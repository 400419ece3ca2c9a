"""graphfilter fit: learn from the labelled vertices of a graph, label the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer

from graphfilter.cli.fit_model import choose_model, make_estimator, restarted
from graphfilter.cli.fit_start import read_start
from graphfilter.cli.help import ANSWER, PAPER, TRAINING
from graphfilter.cli.options import Device, Seed, flag, given_words, option, takes
from graphfilter.cli.target_options import TargetOptions
from graphfilter.cli.together import join_processes
from graphfilter.errors import ConfigError


@takes(TargetOptions)
def fit(
    given: TargetOptions,
    context: typer.Context,
    out: Annotated[
        Path | None, option("Folder for the report, the predictions and the model.", "FOLDER")
    ] = None,
    model: Annotated[
        str | None,
        option(
            "Model: committee (eight models, weighted on validation vertices), committee-low "
            "(its three cheapest), committee-high (wider, more seeds), sgf (the paper's filter) or "
            "any of graphfilter bench models, also in another setting: gcnii@n_layers=8.",
            "NAME",
            TRAINING,
            show_default="committee",
        ),
    ] = None,
    members: Annotated[int, option("Networks to average.", "N", PAPER, min=1)] = 1,
    layers: Annotated[int, option("Depth of the filter.", "N", PAPER, min=1)] = 16,
    hidden: Annotated[int, option("Width of the hidden layer.", "N", PAPER, min=1)] = 64,
    operator: Annotated[
        str,
        option(
            "Operator: auto, augmented_adjacency, adjacency, laplacian or channels. auto is "
            "augmented_adjacency; where edges have directions or types, validation vertices choose "
            "between it and channels.",
            "NAME",
            PAPER,
        ),
    ] = "auto",
    init: Annotated[
        str, option("Initial α and β: a number, or uniform (drawn from -1 to 1).", "VALUE", PAPER)
    ] = "0.5",
    dropout: Annotated[
        float | None,
        option("Dropout rate. Default: 0.7, or 0.2 with --number or --multilabel.", "RATE", PAPER),
    ] = None,
    balanced: Annotated[
        bool, flag("--balanced", "Give rare classes more weight.", TRAINING)
    ] = False,
    epochs: Annotated[
        int | None, option("Maximum number of epochs. Default: 1500.", "N", TRAINING, min=1)
    ] = None,
    seconds: Annotated[
        float | None,
        option(
            "Time limit for the committee, without baselines. With --resume and 0: finish an "
            "interrupted fit with what it has trained.",
            "SECONDS",
            TRAINING,
            min=0,
        ),
    ] = None,
    patience: Annotated[
        int | None,
        option(
            "Epochs without a better validation score before training stops. Default: 40 to "
            "120 for the committee, by the number of labels; 200 for sgf.",
            "N",
            TRAINING,
            min=1,
        ),
    ] = None,
    monitor: Annotated[
        str | None,
        option(
            "Validation score that chooses the best epoch: accuracy, loss, balanced_accuracy "
            "or macro_f1; for two classes also roc_auc and average_precision. Default: accuracy; "
            "average_precision where one of two classes is rare, or --cost or --positive names it. "
            "Numbers: r2 (default) or loss. Several labels: micro_f1 (default), macro_f1, "
            "average_precision or loss.",
            "NAME",
            TRAINING,
        ),
    ] = None,
    scaling: Annotated[
        str, option("Feature scaling: auto, none, row or standardise.", "NAME", TRAINING)
    ] = "auto",
    scale: Annotated[
        str | None,
        option(
            "Scale on which --number is learned: identity, log (of 1 + y), rank, or auto, "
            "which validation vertices choose; one per number, separated by commas. Default: auto "
            "for the committee, identity for others.",
            "NAME",
            TRAINING,
        ),
    ] = None,
    baselines: Annotated[
        bool,
        option(
            "Train an MLP and fixed low-pass filters too, to report whether the graph helps.",
            panel=ANSWER,
        ),
    ] = True,
    start_from: Annotated[
        Path | None,
        option(
            "Start from the weights of this run, in a fraction of the epochs, when the graph "
            "has grown. Model and columns are those of the run; its vertices keep their parts.",
            "RUN",
            TRAINING,
        ),
    ] = None,
    seed: Seed = 0,
    device: Device = "auto",
    dry_run: Annotated[
        bool, flag("--dry-run", "Print the memory and time that the fit would take; train nothing.")
    ] = False,
    resume: Annotated[bool, flag("--resume", "Resume an interrupted run.")] = False,
    overwrite: Annotated[bool, flag("--overwrite", "Replace the run in the folder.")] = False,
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
    chosen = choose_model(model, words, of_values=given.of_values)
    if scale is not None and not given.number:
        raise ConfigError("--scale applies to --number only; leave it out.")
    if out is None and not dry_run:
        raise ConfigError("fit needs a folder for the results: --out FOLDER.")
    if start_from is not None and out is not None and start_from.resolve() == out.resolve():
        raise ConfigError(
            f"--out must be another folder than that of --start-from; got {out} for both. "
            "The fit could not be repeated once its run to start from is replaced."
        )
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
