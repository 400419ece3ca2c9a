"""RunTable: a target that is made of benchmark runs, declared by what to run and what to show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphfilter.bench import OnProgress, Pair, Record
from graphfilter.paper.collect import at_hand, collect_runs, pairs_of
from graphfilter.paper.comparison import FIXED
from graphfilter.paper.options import Options
from graphfilter.paper.published_accuracy import DATASET_TITLES
from graphfilter.paper.records import read_target_records
from graphfilter.paper.tables import Rendered
from graphfilter.paper.target import Target
from graphfilter.systems import System


@dataclass(frozen=True, kw_only=True)
class RunTable:
    """A table of runs.

    Attributes
    ----------
    name, summary, is_variant
        As of :class:`~graphfilter.paper.target.Target`.
    datasets, quick : tuples of str
        What is run, in this order; ``quick`` of a quick look.
    pairs : callable
        Lists what to run on the datasets that are at hand.
    show : callable
        Makes the table of the records, given the datasets that they are of, in the order above.
    """

    name: str
    summary: str
    datasets: tuple[str, ...]
    quick: tuple[str, ...]
    pairs: Callable[[Any, Options], Sequence[Pair]]
    show: Callable[[Sequence[Record], Any], Rendered]
    is_variant: bool = False

    def collect(self, folder: Path, options: Options, on_progress: OnProgress | None) -> list[str]:
        """Run what is not on record; return notes on what was left out."""
        datasets, notes = at_hand(self.quick if options.quick else self.datasets)
        pairs = self.pairs(datasets, options)
        collect_runs(folder, self.name, pairs, options, on_progress)
        return notes

    def build(self, folder: Path, options: Options) -> Rendered:
        """Make the table from the records of a folder."""
        records = read_target_records(folder, options.file_name(self.name))
        return self.show(records, self.on_record(records))

    def on_record(self, records: Sequence[Record]) -> Any:
        """Return what is on record: those of its datasets that there are."""
        there = {record.dataset for record in records}
        return [d for d in dict.fromkeys((*self.datasets, *self.quick)) if d in there]

    @property
    def target(self) -> Target:
        return Target(self.name, self.summary, self.collect, self.build, is_variant=self.is_variant)


def titles_of(datasets: Iterable[str]) -> tuple[str, ...]:
    """Return the titles of datasets; a name where there is none."""
    return tuple(DATASET_TITLES.get(dataset, dataset) for dataset in datasets)


def with_authors_splits(
    datasets: Sequence[str], systems: Iterable[str | System], options: Options
) -> list[Pair]:
    """List the runs on stratified splits and, of variants, on those that the authors took."""
    systems = list(systems)
    pairs = pairs_of(datasets, systems, options)
    if options.variants:
        authors = [dataset for dataset in datasets if dataset in FIXED]
        pairs += pairs_of(authors, systems, options, split_rule="fixed")
    return pairs
