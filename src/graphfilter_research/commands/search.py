"""graphfilter search: a setting for this graph, next to the one for all graphs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphfilter.cli.column_options import FeatureOptions
from graphfilter.cli.options import (
    QUICK_EPOCHS,
    Device,
    Scaling,
    Seed,
    SplitRule,
    flag,
    limit_epochs,
    option,
    takes,
)
from graphfilter.cli.progress import progress
from graphfilter.cli.screen import end_stopped, say, share, show_table, tell

if TYPE_CHECKING:
    from graphfilter_research.bench.search import Found, SearchProgress, SearchResult


@takes(FeatureOptions, first="edges vertices label dataset model trials storage quick")
def search(
    given: FeatureOptions,
    model: Annotated[str, option("Model: see graphfilter bench models.", "NAME")] = "sgf",
    trials: Annotated[
        int, option("Number of trials, those already in the storage included.", "N", min=1)
    ] = 50,
    storage: Annotated[
        Path | None, option("SQLite file of trials, from which a search resumes.", "FILE")
    ] = None,
    split_rule: SplitRule = "stratified",
    split: Annotated[int, option("Number of the split.", "N", min=0)] = 0,
    scaling: Scaling = "auto",
    seed: Seed = 0,
    device: Device = "auto",
    max_epochs: Annotated[int | None, option("Maximum number of epochs.", "N", min=1)] = None,
    quick: Annotated[bool, flag("--quick", f"At most {QUICK_EPOCHS} epochs per trial.")] = False,
) -> None:
    """Search the paper's set of settings on one split of a graph, by validation score.

    The first trial is the model's own setting. The test vertices are used once, at the end, for
    that setting and the best one.

    Example:  graphfilter search --edges edges.csv --vertices vertices.csv --label kind --trials 50
    """
    from graphfilter.runs.plan import check_classes, with_features
    from graphfilter_research.bench.protocol import dataset_name
    from graphfilter_research.bench.search import search as run_search

    max_epochs = limit_epochs(max_epochs, quick=quick)
    found, notes = with_features(given.read().graph)
    tell([*notes, *check_classes(found)], quiet=given.quiet)
    try:
        with progress("{done}/{total} trials", show=not given.quiet) as move:

            def report(told: SearchProgress) -> None:
                best = f", best validation {share(told.best_val_accuracy)}"
                move("searching", told.n_done, told.n_trials, best)

            result = run_search(
                found,
                model,
                trials=trials,
                split=split,
                split_rule=split_rule,
                seed=seed,
                storage=storage,
                scaling=scaling,
                device=device,
                max_epochs=max_epochs,
                dataset=dataset_name(given.dataset) if given.dataset else "",
                on_trial=report,
            )
    except KeyboardInterrupt as stop:
        kept = "nothing is saved without --storage" if storage is None else "the trials are saved"
        raise typer.Exit(end_stopped(stop, f"{kept}.")) from None
    _show(result, found.name)


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
    say(f"Gain on the test vertices, which were not used to choose: {100 * gain:+.1f} points.")


def _row(title: str, found: Found, axes: list[str]) -> list[str]:
    values = [f"{found.setting[axis]:g}" for axis in axes]
    return [title, *values, share(found.val_accuracy), share(found.test_accuracy)]
