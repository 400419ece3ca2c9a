"""Target: a table or figure of the paper that can be measured again. Each file declares its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ClassVar

from graphfilter.systems import System
from graphfilter.util.errors import ConfigError, DataFileError
from graphfilter_research.bench.matrix import OnProgress
from graphfilter_research.bench.pair import Pair
from graphfilter_research.lines import find_lines
from graphfilter_research.paper.collect import (
    Options,
    append_json_line,
    at_hand,
    collect_runs,
    known_records,
    pairs_of,
    read_lines_of,
    read_target_records,
    remedy,
    report,
)
from graphfilter_research.paper.published import DATASET_TITLES
from graphfilter_research.paper.tables import FIXED, ComparedAccuracy, Rendered


@dataclass(frozen=True, kw_only=True)
class Target(ABC):
    """A table or figure of the paper.

    Attributes
    ----------
    name : str
        Of its files, and on the command line.
    summary : str
        One line for a list of targets.
    has_quick : bool
        Whether --quick leaves records of its own.
    is_variant : bool
        Whether it goes beyond the paper's tables and figures: among all targets it is run only
        with --variants; without, it is built where it is on record.
    """

    name: str
    summary: str
    has_quick: bool = True
    is_variant: bool = False
    is_trained: ClassVar[bool] = True
    """Whether it has runs; else it is measured in seconds from the datasets alone."""

    @abstractmethod
    def collect(self, folder: Path, options: Options, on_progress: OnProgress | None) -> list[str]:
        """Run what is not on record in a folder; return notes on what was left out.

        Each run is appended as it ends: stopped and called again, it resumes.
        """

    @abstractmethod
    def build(self, folder: Path, options: Options) -> Rendered:
        """Make the table or figure from a folder's records, without training."""

    def render(self, folder: Path, options: Options) -> Rendered:
        """Return the table or figure of a folder's records; raise where there is none to show."""
        rendered = self.build(folder, options)
        if _is_empty(rendered):
            makes = remedy(folder, self.records(options))
            problem = f"holds no records of {self.name}; {makes}"
            raise DataFileError(self._path(folder, options), problem)
        return rendered

    def records(self, options: Options) -> str:
        """Return the name of the target's record file, without its suffix."""
        return options.file_name(self.name) if self.has_quick else self.name

    def is_on_record(self, folder: Path, options: Options) -> bool:
        """Return whether a folder holds the target's records; an empty file holds none."""
        path = self._path(folder, options)
        return path.is_file() and path.stat().st_size > 0

    def _path(self, folder: Path, options: Options) -> Path:
        name = self.records(options)
        return find_lines(folder, name) or folder / f"{name}.json"


@dataclass(frozen=True, kw_only=True)
class MeasuredTarget(Target):
    """A target without runs: ``measure`` and ``show`` are what collects and builds it."""

    measure: Callable[[Path, Options, OnProgress | None], list[str]]
    show: Callable[[Path, Options], Rendered]
    is_trained = False

    def collect(self, folder: Path, options: Options, on_progress: OnProgress | None) -> list[str]:
        return self.measure(folder, options, on_progress)

    def build(self, folder: Path, options: Options) -> Rendered:
        return self.show(folder, options)


def measure_nothing(folder: Path, options: Options, on_progress: OnProgress | None) -> list[str]:
    """Collect nothing, for what needs no records of its own."""
    return []


def _is_empty(rendered: Rendered) -> bool:
    """Return whether nothing was measured; printed values do not count."""
    cells = [cell for block in rendered.blocks for row in block.rows for cell in row.cells]
    if not cells:
        return rendered.figure is None
    runs = [cell for cell in cells if isinstance(cell, ComparedAccuracy)]
    if runs:
        return not any(cell.n or cell.n_failed for cell in runs)
    return not all(isinstance(cell, str) for cell in cells)


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
