"""RunTable and TaskTable: targets that are made of runs, declared by what to run and show."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from graphfilter.systems import System
from graphfilter.util.errors import ConfigError
from graphfilter_research.bench.matrix import OnProgress
from graphfilter_research.bench.pair import Pair
from graphfilter_research.lines import find_lines
from graphfilter_research.paper.collect import at_hand, collect_runs, pairs_of, report
from graphfilter_research.paper.comparison import FIXED
from graphfilter_research.paper.options import Options
from graphfilter_research.paper.published_accuracy import DATASET_TITLES
from graphfilter_research.paper.records import (
    append_json_line,
    known_records,
    read_lines_of,
    read_target_records,
)
from graphfilter_research.paper.tables import Rendered
from graphfilter_research.paper.target import Target

Say = Callable[[str], None]
Task = tuple[Hashable, ...]


@dataclass(frozen=True, kw_only=True)
class RunTable(Target):
    """A table or figure of benchmark runs.

    Attributes
    ----------
    datasets, quick : tuples of str
        What is run, in this order; ``quick`` of a quick look.
    variants : tuple of str
        Those of ``datasets`` that are run with --variants only.
    pairs : callable
        Lists what to run on the datasets that are at hand.
    show : callable
        Makes the table of the records, given the datasets that they are of, in the order above;
        and, where ``beside`` names targets, of the records of those.
    beside : tuple of str
    """

    datasets: tuple[str, ...]
    quick: tuple[str, ...]
    pairs: Callable[[Any, Options], Sequence[Any]]
    show: Callable[..., Rendered]
    variants: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

    def collect(self, folder: Path, options: Options, on_progress: OnProgress | None) -> list[str]:
        named = [d for d in self.datasets if options.variants or d not in self.variants]
        datasets, notes = at_hand(self.quick if options.quick else named)
        pairs = self.pairs(datasets, options)
        return notes + self.run_all(folder, pairs, options, on_progress)

    def run_all(
        self, folder: Path, pairs: Any, options: Options, on_progress: OnProgress | None
    ) -> list[str]:
        """Bring the records up to date with what was listed; return notes on what was left out."""
        collect_runs(folder, self.name, pairs, options, on_progress)
        return []

    def build(self, folder: Path, options: Options) -> Rendered:
        records = self.read(folder, options)
        others = [list(known_records(folder, self.beside).values())] if self.beside else []
        return self.show(records, self.on_record(records), *others)

    def read(self, folder: Path, options: Options) -> Sequence[Any]:
        """Read the records of a folder."""
        return read_target_records(folder, options.file_name(self.name))

    def on_record(self, records: Sequence[Any]) -> Any:
        """Return what is on record: those of its datasets that there are."""
        there = {record.dataset for record in records}
        return [d for d in dict.fromkeys((*self.datasets, *self.quick)) if d in there]


@dataclass(frozen=True, kw_only=True)
class TaskTable(RunTable):
    """A table or figure of what the benchmark does not run, with records of its own kind.

    Its ``pairs`` lists tasks, as tuples. A record is a dataclass with its ``task`` and ``dataset``.

    Attributes
    ----------
    run : callable
        Does a task. It is also given the folder, where it may keep what it resumes from, and a
        function that reports a step. A ConfigError leaves the task out.
    read_line : callable
        Makes a record of a line; ValueError or TypeError where it is none.
    what : str
        What a line must be.
    """

    run: Callable[[Any, Path, Options, Say], Any]
    read_line: Callable[[bytes], Any]
    what: str

    def read(self, folder: Path, options: Options) -> Sequence[Any]:
        return read_lines_of(folder, options.file_name(self.name), self.read_line, self.what)

    def run_all(
        self, folder: Path, pairs: Any, options: Options, on_progress: OnProgress | None
    ) -> list[str]:
        name = options.file_name(self.name)
        known = self.read(folder, options) if find_lines(folder, name) else ()
        done: set[Task] = {record.task for record in known}
        tasks: list[Task] = [task for task in pairs if task not in done]
        errors: dict[str, ConfigError] = {}
        for task, ended in self._each(folder, tasks, options, on_progress):
            try:
                append_json_line(folder, name, asdict(ended()))
                done.add(task)
            except ConfigError as error:
                errors[f"{task[0]} left out: {error}"] = error
        if errors and not done:
            raise next(iter(errors.values()))
        return list(errors)

    def _each(
        self, folder: Path, tasks: list[Task], options: Options, on_progress: OnProgress | None
    ) -> Iterator[tuple[Task, Callable[[], Any]]]:
        """Do the tasks, some at a time, and yield each as it ends with what gives its record."""
        if min(options.jobs, len(tasks)) <= 1:
            for i, task in enumerate(tasks):
                say = partial(report, on_progress, i, len(tasks))
                yield task, partial(self.run, task, folder, options, say)
            return
        # Spawned: a forked process must not use torch's threads or CUDA.
        with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
            waiting = {
                pool.submit(self.run, task, folder, options, stay_silent): task for task in tasks
            }
            for i, ended in enumerate(as_completed(waiting)):
                task = waiting[ended]
                report(on_progress, i + 1, len(tasks), " ".join(map(str, task)))
                yield task, ended.result


def stay_silent(text: str) -> None:
    """Report nothing, of a task in another process."""


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
