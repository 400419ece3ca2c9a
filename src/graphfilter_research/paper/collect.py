"""Runs for a table or figure: which datasets are available, which pairs to run, what to copy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from graphfilter.data.datasets import describe, load_dataset
from graphfilter.systems import System
from graphfilter.util.errors import ConfigError, DataFileError
from graphfilter.util.machine import pick_device
from graphfilter_research.bench.matrix import BenchProgress, OnProgress, run_matrix
from graphfilter_research.bench.pair import Pair
from graphfilter_research.paper.options import Options
from graphfilter_research.paper.records import known_records, open_records

# Targets with runs in common: what one has run is copied to another.
SHARING = (
    "table2", "table3", "table4", "table5", "fig-filters", "settings", "theta", "fig-noise",
    "noise-seeds",
)  # fmt: skip


def at_hand(datasets: Iterable[str]) -> tuple[list[str], list[str]]:
    """Divide datasets into those that can be loaded and notes on those that cannot."""
    found, notes = [], []
    for name in datasets:
        try:
            if not name.endswith(".npz") and not describe(name).is_made:
                load_dataset(name)
            found.append(name)
        except DataFileError as error:
            notes.append(f"{name} left out: {error}")
    if not found:
        raise ConfigError(
            "none of the datasets is at hand; get them with graphfilter data get NAME, or name a "
            "folder of them in GRAPHFILTER_DATA. graphfilter data list shows which there are."
        )
    return found, notes


def pairs_of(
    datasets: Iterable[str],
    systems: Iterable[str | System],
    options: Options,
    *,
    scaling: str = "row",
    split_rule: str = "stratified",
    file: str | Path = "",
) -> list[Pair]:
    """List the pairs of datasets and systems to run.

    A system outside the registry must pickle. ``file`` is the npz file of a dataset that is not in
    the registry.
    """
    systems = list(systems)
    return [
        Pair(
            dataset=dataset,
            model=system.name if isinstance(system, System) else system,
            split_rule=split_rule,
            runs=options.n_runs,
            scaling=scaling,
            device=pick_device(options.device),
            max_epochs=options.max_epochs,
            given=system if isinstance(system, System) else None,
            file=str(file),
        )
        for dataset in datasets
        for system in systems
    ]


def collect_runs(
    folder: Path,
    target: str,
    pairs: Sequence[Pair],
    options: Options,
    on_progress: OnProgress | None,
) -> None:
    """Bring a target's records up to date with its pairs.

    What targets have in common is copied from their records in the same folder; quick runs are not
    shared.
    """
    known = known_records(folder, SHARING) if target in SHARING and not options.quick else {}
    file = open_records(folder, options.file_name(target))
    run_matrix(pairs, file, known=known, jobs=options.jobs, on_progress=on_progress)


def report(on_progress: OnProgress | None, done: int, total: int, what: str) -> None:
    """Report a step of something that the matrix of runs does not do."""
    if on_progress is not None:
        on_progress(BenchProgress(done, total, what))
