"""Models × datasets × splits: a matrix of runs that can be stopped and started again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from graphfilter.bench.pair import Epoch, Pair, Skipped, blank_records, run_pair
from graphfilter.bench.processes import run_in_processes
from graphfilter.bench.protocol import GraphLoader, check_split_rule, dataset_name
from graphfilter.bench.record import Record, RecordFile
from graphfilter.errors import ConfigError, check_name
from graphfilter.graph.scaling import SCALINGS
from graphfilter.runtime.devices import pick_device
from graphfilter.storage import one_writer
from graphfilter.systems import System, get_system


@dataclass(frozen=True)
class BenchProgress:
    """How far a matrix is.

    Attributes
    ----------
    total, done, skipped, failed : int
        Runs: asked for, ended (the other two included), there before, and failed now.
    dataset, model, epoch, max_epochs
        The pair that was last heard of.
    seconds_left : float or None
        An estimate; None before anything is known.
    """

    total: int
    done: int
    skipped: int
    failed: int
    dataset: str
    model: str
    epoch: int
    max_epochs: int
    seconds_left: float | None


def run_benchmark(
    datasets: Sequence[str | Path],
    models: Sequence[str | System],
    *,
    out: str | Path,
    split_rule: str = "stratified",
    runs: int = 10,
    scaling: str = "auto",
    device: str = "auto",
    jobs: int = 1,
    max_epochs: int | None = None,
    on_progress: Callable[[BenchProgress], None] | None = None,
) -> list[Record]:
    """Run every model on every dataset; return the records of this matrix, old and new.

    Every run is appended to ``out`` as it ends. Started again, what is there is skipped and what
    failed is tried again. A run that fails is recorded with its reason, and the rest goes on.

    Parameters
    ----------
    datasets : names of the registry, or paths of npz files
    models : names of the registry, or systems
    out : path
        A JSON-lines file, new or of an earlier benchmark.
    split_rule : {'stratified', 'per_class', 'fixed', 'public', 'fraction:F'}
        Run r has seed r and split r. There is one public split: only the seed differs there.
    runs : int
    scaling : {'auto', 'none', 'row', 'standardise'}
    device : {'auto', 'cpu', 'cuda', 'cuda:N'}
    jobs : int
        Processes, a (dataset, model) pair each; the threads are divided among them.
    max_epochs : int, optional
        Instead of every system's own: for trying things out.
    on_progress : callable, optional
        Told of every run that ends and, a few times a second, of the epochs.
    """
    for name, value in (("runs", runs), ("jobs", jobs)):
        if value < 1:
            raise ConfigError(f"{name} must be at least 1; got {value}.")
    check_name("feature scaling", scaling, SCALINGS)
    if jobs > 1 and any(isinstance(model, System) for model in models):
        raise ConfigError("with jobs > 1 models must be names of the registry; got a System.")
    file = RecordFile(out)
    done = frozenset(record.key for record in file.records if record.ok)
    pairs = [
        Pair(
            dataset=name,
            model=model.name if isinstance(model, System) else get_system(model).name,
            split_rule=check_split_rule(split_rule),
            runs=runs,
            scaling=scaling,
            device=pick_device(device),
            max_epochs=max_epochs,
            given=model if isinstance(model, System) else None,
            done=done,
        )
        for name in dict.fromkeys(dataset_name(dataset) for dataset in datasets)
        for model in dict.fromkeys(models)
    ]
    for pair in pairs:
        _ = pair.config  # an impossible max_epochs is an error now, not a failed run later
    board = _Board(pairs, file, jobs, on_progress)
    with one_writer(out):
        if jobs == 1:
            load = GraphLoader()
            for pair in pairs:
                run_pair(pair, load, lambda event, pair=pair: board.handle(pair, event))
        else:
            run_in_processes(pairs, jobs, board.handle, board.end)
    return board.records()


class _Board:
    """Writes down what the pairs report, counts it, and reckons the time left."""

    def __init__(
        self,
        pairs: Sequence[Pair],
        file: RecordFile,
        jobs: int,
        on_progress: Callable[[BenchProgress], None] | None,
    ) -> None:
        self.file, self.jobs, self.on_progress = file, jobs, on_progress
        self.total = sum(pair.runs for pair in pairs)
        self.left = {(pair.dataset, pair.model): pair.runs for pair in pairs}
        self.keys: set[str] = set()
        self.skipped = self.failed = 0
        self.seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
        for record in file.records:
            self._learn(record)

    def handle(self, pair: Pair, event: Record | Skipped | Epoch) -> None:
        """Take what a pair emitted; records go to the disk first."""
        if isinstance(event, Record):
            self.file.append([event])
            self.failed += not event.ok
            self._count(pair, [event.key])
            self._learn(event)
        elif isinstance(event, Skipped):
            self.skipped += len(event.keys)
            self._count(pair, event.keys)
        if self.on_progress is not None:
            epoch = event if isinstance(event, Epoch) else Epoch(0, 0)
            self.on_progress(self._progress(pair, epoch))

    def end(self, pair: Pair, code: int) -> None:
        """Record what a process that was killed left undone."""
        if code == 0:
            return
        reason = f"its process ended with code {code}: killed, perhaps for want of memory"
        there = {r.asked for r in self.file.records if r.ok or r.key in self.keys}
        for record in blank_records(pair):
            if record.asked not in there:
                self.handle(pair, replace(record, status="failed", reason=reason))

    def records(self) -> list[Record]:
        """Return the records of this matrix, the last where a run has several."""
        found = {record.key: record for record in self.file.records if record.key in self.keys}
        order = {pair: i for i, pair in enumerate(self.left)}
        return sorted(found.values(), key=lambda r: (order[r.dataset, r.model], r.seed))

    def _count(self, pair: Pair, keys: Collection[str]) -> None:
        self.keys.update(keys)
        self.left[pair.dataset, pair.model] -= len(keys)

    def _learn(self, record: Record) -> None:
        if record.ok:
            self.seconds[record.dataset, record.model].append(record.seconds)

    def _progress(self, pair: Pair, epoch: Epoch) -> BenchProgress:
        left = seconds_left(self.left, self.seconds)
        return BenchProgress(
            total=self.total,
            done=self.total - sum(self.left.values()),
            skipped=self.skipped,
            failed=self.failed,
            dataset=pair.dataset,
            model=pair.model,
            epoch=epoch.epoch,
            max_epochs=epoch.max_epochs,
            seconds_left=None if left is None else left / self.jobs,
        )


def seconds_left(
    left: Mapping[tuple[str, str], int], seconds: Mapping[tuple[str, str], Sequence[float]]
) -> float | None:
    """Reckon the time of the runs left, by (dataset, model), from those that ended.

    A run takes the mean of its pair; where none of the pair has ended, of its dataset; where none
    of that has, of all.

    >>> ended = {("cora", "sgf"): [10.0, 20.0], ("texas", "mlp"): [1.0]}
    >>> seconds_left({("cora", "sgf"): 2, ("texas", "sgf"): 3}, ended)
    33.0
    """
    every: dict[str | None, list[float]] = defaultdict(list)
    for (dataset, _), values in seconds.items():
        every[dataset] += values
        every[None] += values
    if not every[None]:
        return None
    total = 0.0
    for pair, n in left.items():
        known = seconds.get(pair) or every[pair[0]] or every[None]
        total += n * sum(known) / len(known)
    return total
