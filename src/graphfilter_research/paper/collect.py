"""How a table or figure is run, and where its runs are kept: JSON lines, gzipped when complete."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from graphfilter.data.datasets import describe, load_dataset
from graphfilter.systems import System
from graphfilter.util.errors import ConfigError, DataFileError, check_count
from graphfilter.util.machine import pick_device
from graphfilter.util.records import convert
from graphfilter_research.bench.matrix import BenchProgress, OnProgress, run_matrix
from graphfilter_research.bench.pair import Pair
from graphfilter_research.bench.record import A_RECORD, Record, RecordFile
from graphfilter_research.lines import append_lines, find_lines, read_lines, unpack_lines

# With --quick, which shows that everything works and nothing else.
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
        Processes, one (dataset, system) pair each at a time.
    literature : bool
        Run the systems of the Literature rows too.
    variants : bool
        Run what goes beyond the paper's rows too: variants of the Literature's systems, the
        authors' bipartite graphs and their splits of Texas and Cornell, further settings of SGF.
    graphs : Path, optional
        A folder of graphs to run on.
    """

    runs: int = 10
    quick: bool = False
    device: str = "auto"
    jobs: int = 1
    literature: bool = False
    variants: bool = False
    graphs: Path | None = None

    def __post_init__(self) -> None:
        for name in ("runs", "jobs"):
            check_count(name, getattr(self, name))

    @property
    def n_runs(self) -> int:
        return min(self.runs, QUICK_RUNS) if self.quick else self.runs

    @property
    def max_epochs(self) -> int | None:
        """The limit of epochs; None for each system's own."""
        return QUICK_EPOCHS if self.quick else None

    def file_name(self, target: str) -> str:
        """Return the name of a target's files, without suffix: quick ones are kept apart."""
        return f"{target}-quick" if self.quick else target


T = TypeVar("T")


def remedy(folder: Path, name: str) -> str:
    """Return how the records of a target are made."""
    quick = " --quick" if name.endswith("-quick") else ""
    target = name.removesuffix("-quick")
    return f"make them: graphfilter reproduce {target} --out {folder}{quick}"


def read_lines_of(folder: Path, name: str, read: Callable[[bytes], T], what: str) -> list[T]:
    """Read a target's records, plain or gzipped; a line that ``read`` refuses is left out."""
    path = find_lines(folder, name)
    if path is None:
        problem = f"there are no such records, nor gzipped ones; {remedy(folder, name)}"
        raise DataFileError(folder / f"{name}.jsonl", problem)
    state = path.stat()
    return list(_read_once(path, (state.st_mtime_ns, state.st_size), read, what))


@cache
def _read_once(
    path: Path, state: tuple[int, int], read: Callable[[bytes], T], what: str
) -> tuple[T, ...]:
    """Read a file that others have read already, and that has not changed since, no more."""
    return tuple(read_lines(path, read, what)[0])


def read_target_records(folder: Path, name: str) -> list[Record]:
    """Read the benchmark records of a target, plain or gzipped."""
    return read_lines_of(folder, name, Record.from_json, A_RECORD)


def read_json_lines(folder: Path, name: str) -> list[dict[str, Any]]:
    """Read a target's records of whatever kind, unchecked but for the versions they name."""
    return read_lines_of(folder, name, _read_object, "a JSON object")


def _read_object(line: bytes) -> dict[str, Any]:
    content = convert(dict[str, Any], json.loads(line))
    convert(dict[str, Any], content.get("versions", {}))
    return content


def append_json_line(folder: Path, name: str, content: Mapping[str, Any]) -> None:
    """Append a record that is not of the benchmark."""
    append_lines(unpack_lines(folder, name), [json.dumps(content, allow_nan=False)])


def open_records(folder: Path, name: str) -> RecordFile:
    """Open a target's records to append to them."""
    return RecordFile(unpack_lines(folder, name))


def known_records(folder: Path, names: Iterable[str]) -> dict[str, Record]:
    """Return the successful records of several targets by key, so that runs are shared."""
    return {
        record.key: record
        for name in names
        if find_lines(folder, name) is not None
        for record in read_target_records(folder, name)
        if record.ok
    }


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
