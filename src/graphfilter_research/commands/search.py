"""graphfilter search: a setting for this graph, next to the one for all graphs."""

# Annotations of fields are evaluated here: typer reads them.
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import typer

from graphfilter.cli.app import Device, Seed, option_field
from graphfilter.cli.screen import end_stopped, progress, say, share, show_table, tell
from graphfilter.cli.sources import FeatureOptions
from graphfilter_research.commands.bench import Scaling, SplitRule, limit_epochs

if TYPE_CHECKING:
    from graphfilter_research.bench.search import Found, SearchProgress, SearchResult


@dataclass(frozen=True, kw_only=True)
class Search(FeatureOptions):
    """Search the paper's set of settings on one split of a graph, by validation score.

    The first trial is the model's own setting. The test vertices are used once, at the end, for
    that setting and the best one.

    Example:  graphfilter search --edges edges.csv --vertices vertices.csv --label kind --trials 50

    Attributes
    ----------
    model : NAME
        Model: see graphfilter bench models.
    trials : N
        Number of trials, those already in the storage included.
    storage : FILE
        SQLite file of trials, from which a search resumes.
    n_split : N
        Number of the split.
    max_epochs : N
        Maximum number of epochs.
    quick
        At most 100 epochs per trial.
    """

    first: ClassVar[str] = "edges vertices label dataset model trials storage quick"
    model: str = "sgf"
    trials: int = option_field(50, min=1)
    storage: Path | None = None
    split_rule: SplitRule = "stratified"
    n_split: int = option_field(0, name="--split", min=0)
    scaling: Scaling = "auto"
    seed: Seed = 0
    device: Device = "auto"
    max_epochs: int | None = option_field(None, min=1)
    quick: bool = False

    def __call__(self) -> None:
        """Read the graph, search, and show the own setting beside the best."""
        from graphfilter.runs.plan import check_classes, with_features
        from graphfilter_research.bench.protocol import dataset_name
        from graphfilter_research.bench.search import search as run_search

        max_epochs = limit_epochs(self.max_epochs, quick=self.quick)
        graph, notes = with_features(self.read().graph)
        tell([*notes, *check_classes(graph)], quiet=self.quiet)
        try:
            with progress("{done}/{total} trials", show=not self.quiet) as move:

                def report(told: "SearchProgress") -> None:
                    best = f", best validation {share(told.best_val_accuracy)}"
                    move("searching", told.n_done, told.n_trials, best)

                result = run_search(
                    graph,
                    self.model,
                    trials=self.trials,
                    split=self.n_split,
                    split_rule=self.split_rule,
                    seed=self.seed,
                    storage=self.storage,
                    scaling=self.scaling,
                    device=self.device,
                    max_epochs=max_epochs,
                    dataset=dataset_name(self.dataset) if self.dataset else "",
                    on_trial=report,
                )
        except KeyboardInterrupt as stop:
            kept = "nothing is saved without --storage"
            kept = kept if self.storage is None else "the trials are saved"
            raise typer.Exit(end_stopped(stop, f"{kept}.")) from None
        _show(result, graph.name)


# What the entry point names.
search = Search


def _show(result: "SearchResult", name: str) -> None:
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


def _row(title: str, found: "Found", axes: list[str]) -> list[str]:
    values = [f"{found.setting[axis]:g}" for axis in axes]
    return [title, *values, share(found.val_accuracy), share(found.test_accuracy)]
