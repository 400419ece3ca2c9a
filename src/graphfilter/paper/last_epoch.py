"""The GCN row of the Literature, as the code that made it: directed links, the last weights.

The paper copies it from Pei et al. (2020). Their ``train_GCN.py`` means to keep the weights of the
best epoch, but keeps ``net.state_dict()``, whose tensors are the live ones: what is tested are the
weights of the last epoch, a hundred epochs after the best. And their ``utils_data.py`` keeps the
directions of links.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from graphfilter.bench import OnProgress
from graphfilter.bench.protocol import GraphLoader, draw_split
from graphfilter.graph import Graph
from graphfilter.metrics import score_parts
from graphfilter.paper.collect import at_hand, report
from graphfilter.paper.comparison import ComparedAccuracy
from graphfilter.paper.options import Options
from graphfilter.paper.published_accuracy import LITERATURE_2, LITERATURE_3
from graphfilter.paper.records import append_json_line, read_lines_of
from graphfilter.paper.tables import Block, Rendered, Row
from graphfilter.paper.target import Target
from graphfilter.runtime.devices import pick_device
from graphfilter.splits import Split
from graphfilter.storage import convert, find_lines
from graphfilter.systems import Prepared, get_system, train_system

NAME = "last-epoch"
SYSTEM = "gcn-pei-directed"
# Chameleon's links are at hand without their directions, and those of Citeseer have none.
DATASETS = {
    "wisconsin_directed": "wisconsin",
    "cornell_geomgcn_directed": "cornell_geomgcn",
    "texas_directed": "texas",
    "cora": "cora",
    "citeseer": "citeseer",
}
QUICK = {"texas_directed": "texas"}
SPLIT_RULE = "fixed"
ROWS = {
    "best": "weights of the best epoch",
    "last": "weights of the last epoch, which their code keeps",
}
NOTE = (
    "GCN as Pei et al. set it, on directed links where they are at hand, features divided by their "
    "row's sum, the Geom-GCN splits. Both rows are of the same runs; the best epoch is that of the "
    "lowest validation loss, the last one a hundred epochs later."
)


@dataclass(frozen=True)
class LastEpoch:
    """Test accuracies of one run: of its best weights and of its last ones."""

    dataset: str
    run: int
    epochs: int
    best: float
    last: float


def collect(folder: Path, options: Options, on_progress: OnProgress | None) -> list[str]:
    """Run what is not on record; return notes on what was left out."""
    datasets, notes = at_hand(QUICK if options.quick else DATASETS)
    name = options.file_name(NAME)
    known = _read(folder, name) if find_lines(folder, name) else []
    done = {(record.dataset, record.run) for record in known}
    load = GraphLoader()
    for i, dataset in enumerate(datasets):
        graph, _ = load(dataset)
        prepared = Prepared.of(graph, scaling="row", device=pick_device(options.device))
        for run in range(options.n_runs):
            report(on_progress, i, len(datasets), f"{dataset}: run {run}")
            if (dataset, run) not in done:
                record = train_twice(prepared, dataset, run, options.max_epochs)
                append_json_line(folder, name, asdict(record))
    return notes


def train_twice(
    prepared: Prepared, dataset: str, run: int, max_epochs: int | None = None
) -> LastEpoch:
    """Train as usual, and again for as many epochs without looking at validation.

    The seed is the same, so that the second training goes the same way and ends with the weights
    that the first one had when it stopped.
    """
    system = get_system(SYSTEM).for_dataset(dataset)
    if max_epochs is not None:
        system = replace(system, config=replace(system.config, max_epochs=max_epochs))
    split = draw_split(prepared.graph, SPLIT_RULE, run)
    (first,) = train_system(prepared, system, [split], [run])
    n_epochs = first.result.n_epochs
    blind = replace(system, config=replace(system.config, max_epochs=n_epochs))
    (second,) = train_system(prepared, blind, [replace(split, val=split.val[:0])], [run])
    accuracies = [_tested(o.probabilities, prepared.graph, split) for o in (first, second)]
    return LastEpoch(dataset, run, n_epochs, *accuracies)


def _tested(probabilities: np.ndarray, graph: Graph, split: Split) -> float:
    assert graph.labels is not None  # a split was drawn by them
    return float(score_parts(probabilities, graph.labels, split)["test"]["accuracy"])


def build(folder: Path, options: Options) -> Rendered:
    """Compare both weights with what is printed."""
    records = _read(folder, options.file_name(NAME))
    there = dict.fromkeys(record.dataset for record in records)
    printed = {**LITERATURE_2["gcn"], **LITERATURE_3["gcn"]}
    rows = []
    for field, title in ROWS.items():
        cells = []
        for dataset in there:
            mine = [r for r in records if r.dataset == dataset]
            scores = 100 * np.array([getattr(r, field) for r in mine])
            value = printed.get(DATASETS.get(dataset, dataset))
            cells.append(
                ComparedAccuracy(
                    float(scores.mean()), float(scores.std()), len(scores), published=value
                )
            )
        rows.append(Row(title, tuple(cells)))
    heading = f"{get_system(SYSTEM).title}; the Geom-GCN splits"
    block = Block(heading, tuple(there), tuple(rows), "Weights")
    title = "The GCN row of the Literature, by which weights are tested"
    return Rendered(title, (block,), notes=(NOTE,))


def _read(folder: Path, name: str) -> list[LastEpoch]:
    return read_lines_of(folder, name, _read_line, "the accuracies of two weights")


def _read_line(line: bytes) -> LastEpoch:
    return convert(LastEpoch, json.loads(line))


TARGET = Target(NAME, "the GCN row of the Literature, last weights and best", collect, build)
