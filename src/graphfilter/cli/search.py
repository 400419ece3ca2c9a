"""graphfilter search: a setting for this graph, beside the one for all graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from graphfilter.bench.search import Found, SearchProgress, SearchResult
from graphfilter.bench.search import search as run_search
from graphfilter.cli import sources
from graphfilter.cli.bench import EXIT_INTERRUPTED, QUICK_EPOCHS
from graphfilter.cli.screen import complain, err, say, show_table
from graphfilter.cli.sources import column_choices, read_source
from graphfilter.errors import ConfigError


def search(
    dataset: sources.DatasetName = None,
    graph: sources.GraphFile = None,
    model: Annotated[str, typer.Option(help="See graphfilter bench models.")] = "sgf",
    trials: Annotated[
        int, typer.Option(help="In all, those already in the storage included.", min=1)
    ] = 50,
    storage: Annotated[
        Path | None, typer.Option(help="SQLite file: a search goes on from what it holds.")
    ] = None,
    split_rule: Annotated[
        str, typer.Option(help="stratified, per_class, fixed, public, or fraction:0.1.")
    ] = "stratified",
    split: Annotated[int, typer.Option(help="Which split of the rule.", min=0)] = 0,
    scaling: Annotated[
        str, typer.Option(help="Of the features: auto, none, row or standardise.")
    ] = "auto",
    seed: Annotated[int, typer.Option(help="Same seed, same result.", min=0, max=2**32 - 1)] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    max_epochs: Annotated[
        int | None, typer.Option(help="Instead of the model's own.", min=1)
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"At most {QUICK_EPOCHS} epochs a trial.")
    ] = False,
    quiet: sources.Quiet = False,
) -> None:
    """Search the paper's set of settings on one split; the validation vertices choose.

    The first trial is the model's own setting. The test vertices are looked at once, at the end,
    for that setting and the best one.

    Example:  graphfilter search --dataset cora --trials 50 --storage search.db
    """
    if dataset is None and graph is None:
        raise ConfigError("name what to search on: --dataset NAME or --graph FILE.")
    columns = column_choices(id=None, label=None, source=None, target=None, weight=None)
    found = read_source(
        edges=None, vertices=None, dataset=dataset, graph=graph, columns=columns, quiet=quiet
    )
    if quick and max_epochs is None:
        max_epochs = QUICK_EPOCHS
    bar = Progress(
        TextColumn("searching"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("trials, best validation {task.fields[best]:.1%}"),
        TimeElapsedColumn(),
        console=err,
        disable=quiet,
    )

    def report(progress: SearchProgress) -> None:
        if not bar.tasks:
            bar.start()
            bar.add_task("", total=progress.n_trials, best=0.0)
        bar.update(bar.tasks[0].id, completed=progress.n_done, best=progress.best_val_accuracy)

    try:
        result = run_search(
            found.graph,
            model,
            trials=trials,
            split=split,
            split_rule=split_rule,
            seed=seed,
            storage=storage,
            scaling=scaling,
            device=device,
            max_epochs=max_epochs,
            on_trial=report,
        )
    except KeyboardInterrupt:
        kept = "nothing is kept without --storage" if storage is None else "what ended is kept"
        complain(f"interrupted; {kept}.")
        raise typer.Exit(EXIT_INTERRUPTED) from None
    finally:
        bar.stop()
    _show(result, found.graph.name)


def _show(result: SearchResult, name: str) -> None:
    axes = list(result.default.setting)
    rows = [
        _row("own setting", result.default, axes),
        _row("best on validation", result.best, axes),
    ]
    say(
        f"{result.system} on {name}, split {result.split.rule}: {result.n_complete} trials "
        f"complete, {result.n_pruned} pruned, {result.n_failed} failed."
    )
    heads = ["", *(axis.replace("_", " ") for axis in axes), "validation", "test"]
    show_table(heads, rows)
    gain = result.best.test_accuracy - result.default.test_accuracy
    say(f"Gain on the test vertices, which chose nothing: {100 * gain:+.1f} points.")


def _row(title: str, found: Found, axes: list[str]) -> list[str]:
    values = [f"{found.setting[axis]:g}" for axis in axes]
    return [title, *values, f"{found.val_accuracy:.1%}", f"{found.test_accuracy:.1%}"]
