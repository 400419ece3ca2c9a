"""RewiredTable: runs on graphs of which a growing share of the edges is swapped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from graphfilter.data.npz import write_npz
from graphfilter.systems import get_system
from graphfilter.util.files import scratch_folder
from graphfilter_research.bench.matrix import OnProgress
from graphfilter_research.bench.pair import Pair
from graphfilter_research.bench.protocol import GraphLoader
from graphfilter_research.bench.record import Record
from graphfilter_research.paper.collect import at_hand, collect_runs, report
from graphfilter_research.paper.comparison import ComparedAccuracy, compare_runs
from graphfilter_research.paper.options import Options
from graphfilter_research.paper.published_accuracy import DATASET_TITLES
from graphfilter_research.paper.rewiring import rewire
from graphfilter_research.paper.run_table import RunTable
from graphfilter_research.paper.tables import Block, Row

# Which shares of which dataset are on record.
Shares = dict[str, list[float]]


@dataclass(frozen=True)
class RewiredGraph:
    """A rewired graph in a file, and the name that its runs are recorded under."""

    dataset: str
    share: float
    seed: int
    place: Path

    @property
    def name(self) -> str:
        return rewired_name(self.dataset, self.share)

    @property
    def file(self) -> Path:
        return self.place / f"{self.name}-{self.seed}.npz"


@dataclass(frozen=True, kw_only=True)
class RewiredTable(RunTable):
    """A table of runs on rewired graphs, of which ``pairs`` gets one and ``show`` the shares.

    Attributes
    ----------
    shares, quick_shares : tuples of float
        Of the edges that are swapped.
    seeds : callable
        Returns the seeds that each share is rewired with.
    """

    shares: tuple[float, ...]
    quick_shares: tuple[float, ...]
    seeds: Callable[[Options], Sequence[int]]
    pairs: Callable[[RewiredGraph, Options], Sequence[Pair]]

    def collect(self, folder: Path, options: Options, on_progress: OnProgress | None) -> list[str]:
        datasets, notes = at_hand(self.quick if options.quick else self.datasets)
        load, pairs = GraphLoader(), []
        # Processes get the rewired graphs as files, which nobody needs afterwards: the seed does.
        with scratch_folder("graphfilter-rewired-") as place:
            for dataset in datasets:
                graph, _ = load(dataset)
                for share in self.quick_shares if options.quick else self.shares:
                    for seed in self.seeds(options):
                        made = RewiredGraph(dataset, share, seed, place)
                        report(on_progress, 0, 0, f"rewiring {made.name}, seed {seed}")
                        write_npz(rewire(graph, share, seed).replace(name=made.name), made.file)
                        pairs += self.pairs(made, options)
            collect_runs(folder, self.name, pairs, options, on_progress)
        return notes

    def on_record(self, records: Sequence[Record]) -> Shares:
        found: Shares = {dataset: [] for dataset in reversed(self.datasets)}
        for dataset, share in sorted({rewired_share(record.dataset) for record in records}):
            if share >= 0:
                found.setdefault(dataset, []).append(share)
        return {dataset: shares for dataset, shares in found.items() if shares}


def rewired_name(dataset: str, share: float) -> str:
    """Return the name a rewired dataset is recorded under.

    >>> rewired_name("cora", 0.3)
    'cora~0.3'
    """
    return f"{dataset}~{share:g}"


def rewired_share(name: str) -> tuple[str, float]:
    """Return the dataset and the share of a rewired one's name; -1 of any other name.

    >>> rewired_share("cora~0.3"), rewired_share("cora")
    (('cora', 0.3), ('cora', -1.0))
    """
    dataset, _, share = name.rpartition("~")
    try:
        return dataset, float(share)
    except ValueError:
        return name, -1.0


def cell(records: Sequence[Record], dataset: str, share: float, system: str) -> ComparedAccuracy:
    """Return what a system reaches where a share of the edges is swapped."""
    return compare_runs(records, rewired_name(dataset, share), system)


def share_block(
    records: Sequence[Record], dataset: str, shares: Sequence[float], systems: Sequence[str]
) -> Block:
    """Return the accuracies of systems by the share of edges swapped."""
    rows = [
        Row(get_system(s).title, tuple(cell(records, dataset, x, s) for x in shares))
        for s in systems
    ]
    heading = f"{DATASET_TITLES.get(dataset, dataset)}, by the share of edges swapped"
    return Block(heading, tuple(f"{x:.0%}" for x in shares), tuple(rows))
