"""Figure 3 with a rewired graph of its own for every run: how much one draw of it says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from graphfilter.bench import GraphLoader, OnProgress, Pair
from graphfilter.data import write_npz
from graphfilter.paper.accuracy_table import EVERY_LAYER
from graphfilter.paper.collect import at_hand, collect_runs, pairs_of, report
from graphfilter.paper.comparison import compare_runs
from graphfilter.paper.figure3 import rewired_name, split_name
from graphfilter.paper.options import Options
from graphfilter.paper.published_accuracy import DATASET_TITLES
from graphfilter.paper.records import read_target_records
from graphfilter.paper.rewiring import rewire
from graphfilter.paper.tables import Block, Rendered, Row
from graphfilter.paper.target import Target
from graphfilter.storage import scratch_folder
from graphfilter.systems import get_system

NAME = "noise-seeds"
DATASETS = ("photo_lcc", "pubmed", "citeseer", "cora")
QUICK = ("cora",)
SHARES = (0.3, 0.6, 0.9)
QUICK_SHARES = (0.9,)
SYSTEMS = ("sgf", EVERY_LAYER, "appnp-0.2")
# Every graph is prepared for one run of each system, so that they cannot share their tensors.
MOST_RUNS = 5
NOTE = (
    "Run r has split r, seed r and the graph rewired with seed r; fig-noise has one graph for all "
    "runs of a share, so that its deviations leave out those between rewired graphs."
)


def collect(folder: Path, options: Options, on_progress: OnProgress | None) -> list[str]:
    """Run what is not on record; return notes on what was left out."""
    datasets, notes = at_hand(QUICK if options.quick else DATASETS)
    shares = QUICK_SHARES if options.quick else SHARES
    load = GraphLoader()
    with scratch_folder("graphfilter-rewired-") as place:
        pairs: list[Pair] = []
        for dataset in datasets:
            graph, _ = load(dataset)
            for share in shares:
                name = rewired_name(dataset, share)
                for run in range(min(options.n_runs, MOST_RUNS)):
                    report(on_progress, 0, 0, f"rewiring {name}, seed {run}")
                    file = place / f"{name}-{run}.npz"
                    write_npz(rewire(graph, share, run).replace(name=name), file)
                    alone = pairs_of([name], SYSTEMS, options, file=file)
                    pairs += [replace(pair, first=run, runs=1) for pair in alone]
        collect_runs(folder, NAME, pairs, options, on_progress)
    return notes


def build(folder: Path, options: Options) -> Rendered:
    """Build the table from the records of a folder."""
    records = read_target_records(folder, options.file_name(NAME))
    found = {split_name(record.dataset) for record in records}
    blocks = []
    for dataset in dict.fromkeys((*reversed(DATASETS), *QUICK)):
        shares = sorted(share for d, share in found if d == dataset and share is not None)
        rows = [
            Row(
                get_system(s).title,
                tuple(compare_runs(records, rewired_name(dataset, x), s) for x in shares),
            )
            for s in SYSTEMS
        ]
        heading = f"{DATASET_TITLES.get(dataset, dataset)}, by the share of edges swapped"
        if shares:
            blocks.append(Block(heading, tuple(f"{x:.0%}" for x in shares), tuple(rows)))
    title = "Figure 3, one rewired graph per run: accuracy for each amount of edge perturbation"
    return Rendered(title, tuple(blocks), notes=(NOTE,))


TARGET = Target(
    NAME, "Figure 3 with a rewired graph of its own for every run", collect, build, is_variant=True
)
