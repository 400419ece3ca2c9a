"""The runs behind a table or figure: resumed where they stopped, never made twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from graphfilter.bench import Record, RecordFile
from graphfilter.bench.pair import Epoch, Pair, Skipped, blank_records, run_pair
from graphfilter.bench.processes import run_in_processes
from graphfilter.bench.protocol import GraphLoader
from graphfilter.data import describe, load_dataset
from graphfilter.errors import ConfigError, DataFileError
from graphfilter.runtime.devices import pick_device
from graphfilter.systems import System

# Of --quick, which shows that everything works and nothing else.
QUICK_RUNS = 2
QUICK_EPOCHS = 10


@dataclass(frozen=True)
class Options:
    """How to run a target.

    Attributes
    ----------
    runs : int
        Run r has seed r and split r.
    quick : bool
        ``QUICK_RUNS`` runs of ``QUICK_EPOCHS`` epochs on few datasets: not to be published.
    device : {'auto', 'cpu', 'cuda', 'cuda:N'}
    jobs : int
        Processes, a (dataset, system) pair each.
    literature : bool
        Run the systems of the Literature rows too.
    """

    runs: int = 10
    quick: bool = False
    device: str = "auto"
    jobs: int = 1
    literature: bool = False

    def __post_init__(self) -> None:
        for name in ("runs", "jobs"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1; got {getattr(self, name)}.")


@dataclass(frozen=True)
class Step:
    """How far a matrix is: runs done of all, those that failed, and what is running."""

    done: int
    total: int
    failed: int
    what: str


OnStep = Callable[[Step], None]


def pairs_of(
    datasets: Iterable[str],
    systems: Iterable[str | System],
    options: Options,
    *,
    scaling: str = "row",
    split_rule: str = "stratified",
) -> list[Pair]:
    """List the (dataset, system) pairs of a matrix; a system outside the registry must pickle."""
    systems = list(systems)
    return [
        Pair(
            dataset=dataset,
            model=system.name if isinstance(system, System) else system,
            split_rule=split_rule,
            runs=min(options.runs, QUICK_RUNS) if options.quick else options.runs,
            scaling=scaling,
            device=pick_device(options.device),
            max_epochs=QUICK_EPOCHS if options.quick else None,
            given=system if isinstance(system, System) else None,
        )
        for dataset in datasets
        for system in systems
    ]


def at_hand(datasets: Iterable[str]) -> tuple[list[str], list[str]]:
    """Divide datasets into those that can be loaded and notes on those that cannot."""
    found, notes = [], []
    for name in datasets:
        try:
            if not name.endswith(".npz") and describe(name).file is not None:
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


def run_matrix(
    pairs: Sequence[Pair],
    file: RecordFile,
    *,
    known: Mapping[str, Record] | None = None,
    files: Mapping[str, Path] | None = None,
    jobs: int = 1,
    on_step: OnStep | None = None,
) -> None:
    """Run what is not on record yet; every run is appended to ``file`` as it ends.

    Parameters
    ----------
    known : mapping of key to Record
        Of other targets: what is among them is copied, not run.
    files : mapping of name to path
        Npz files of datasets that are not in the registry, by the names to record them under.
    """
    board = _Board(pairs, file, known or {}, files or {}, on_step)
    if jobs == 1:
        load = GraphLoader()
        for pair in board.pairs:
            run_pair(pair, load, lambda event, pair=pair: board.handle(pair, event))
    else:
        run_in_processes(board.pairs, jobs, board.handle, board.end)


class _Board:
    """Gives every pair what is done of it, and writes down what it reports."""

    def __init__(
        self,
        pairs: Sequence[Pair],
        file: RecordFile,
        known: Mapping[str, Record],
        files: Mapping[str, Path],
        on_step: OnStep | None,
    ) -> None:
        self.file, self.on_step = file, on_step
        self.names = {str(path): name for name, path in files.items()}
        own = {record.key: record for record in file.records if record.ok}
        self.own, self.known = set(own), {**known, **own}
        paths = {name: str(path) for name, path in files.items()}
        self.pairs = [self._prepare(pair, paths.get(pair.dataset, pair.dataset)) for pair in pairs]
        self.total = sum(pair.runs for pair in pairs)
        self.done = self.failed = 0
        self.reported: set[str] = set()

    def _prepare(self, pair: Pair, dataset: str) -> Pair:
        done = frozenset(
            replace(record, dataset=dataset).key
            for record in self.known.values()
            if (record.dataset, record.model) == (pair.dataset, pair.model)
        )
        return replace(pair, dataset=dataset, done=done)

    def handle(self, pair: Pair, event: Record | Skipped | Epoch) -> None:
        if isinstance(event, Record):
            self.reported.add(event.asked)
            self._append(self._named(event))
            self.done += 1
            self.failed += not event.ok
        elif isinstance(event, Skipped):
            for record in self._skipped(pair, event):
                self.reported.add(replace(record, dataset=pair.dataset).asked)
                if record.key not in self.own:
                    self._append(record)
            self.done += len(event.keys)
        if self.on_step is not None:
            epoch = f", epoch {event.epoch}" if isinstance(event, Epoch) else ""
            dataset = self.names.get(pair.dataset, pair.dataset)
            what = f"{dataset}: {pair.model}{epoch}"
            self.on_step(Step(self.done, self.total, self.failed, what))

    def end(self, pair: Pair, code: int) -> None:
        """Record what a process that was killed left undone."""
        if code == 0:
            return
        reason = f"its process ended with code {code}: killed, perhaps for want of memory"
        for record in blank_records(pair):
            if record.asked not in self.reported:
                self.handle(pair, replace(record, status="failed", reason=reason))

    def _skipped(self, pair: Pair, event: Skipped) -> list[Record]:
        dataset = self.names.get(pair.dataset, pair.dataset)
        mine = {
            replace(record, dataset=pair.dataset).key: record
            for record in self.known.values()
            if (record.dataset, record.model) == (dataset, pair.model)
        }
        return [mine[key] for key in event.keys]

    def _append(self, record: Record) -> None:
        self.file.append([record])
        self.own.add(record.key)

    def _named(self, record: Record) -> Record:
        return replace(record, dataset=self.names.get(record.dataset, record.dataset))
