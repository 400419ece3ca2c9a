"""The rows of the Literature that Pei et al. (2020) made, with the weights that their code tests.

The paper copies GCN, GAT and Geom-GCN from there. Their training scripts mean to keep the weights
of the best epoch, but keep ``net.state_dict()``, whose tensors are the live ones: what is tested
are the weights of the last epoch, a hundred epochs after the best. And their ``utils_data.py``
keeps the directions of links, which of the three only GCN can take here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Self

import numpy as np

from graphfilter.data.graph import Graph
from graphfilter.splits import Split
from graphfilter.systems import Prepared, get_system, train_system
from graphfilter.training.scores import score_parts
from graphfilter.util.machine import pick_device
from graphfilter.util.records import convert
from graphfilter_research.bench.protocol import GraphLoader, draw_split
from graphfilter_research.paper.collect import Options
from graphfilter_research.paper.published import LITERATURE_2, LITERATURE_3, LITERATURE_TITLES
from graphfilter_research.paper.tables import Block, ComparedAccuracy, Rendered, Row
from graphfilter_research.paper.target import Say, TaskTable

SYSTEM = "gcn-pei-directed"
# The systems by the printed row they are of; the further embeddings run with --variants only.
SYSTEMS = {SYSTEM: "gcn", "gat-pei": "gat", "geom-gcn": "geom-gcn"}
VARIANTS = {"geom-gcn-p": "geom-gcn", "geom-gcn-s": "geom-gcn"}
# Neither needs a package that may be missing.
QUICK_SYSTEMS = (SYSTEM, "geom-gcn")
# With directions, for GCN, and without. Chameleon's links are at hand without their directions, and
# those of Citeseer and Cora have none.
UNDIRECTED = {
    "wisconsin_directed": "wisconsin",
    "cornell_geomgcn_directed": "cornell_geomgcn",
    "texas_directed": "texas",
}
DATASETS = (*(name for both in UNDIRECTED.items() for name in both), "cora", "citeseer")
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
NOTE_ON_OTHERS = (
    "The other systems are set by Pei et al. too, with the same features and splits, but on links "
    "without directions, of the web graphs as well: they have no directed form here, and what is "
    "printed is of directed links. No learning rate is lowered on a plateau, as theirs are. "
    "Geom-GCN is one printed row for three embeddings; those here are of our own making."
)


@dataclass(frozen=True)
class LastEpoch:
    """Test accuracies of one run: of its best weights and of its last ones.

    The first records, of GCN, do not say which system they are of.
    """

    dataset: str
    run: int
    epochs: int
    best: float
    last: float
    system: str = SYSTEM

    @property
    def task(self) -> tuple[str, str, int]:
        return self.system, self.dataset, self.run

    @classmethod
    def from_json(cls, line: bytes) -> Self:
        """Read one line; ValueError or TypeError if it is not such a record."""
        return convert(cls, json.loads(line))


def tasks(datasets: Sequence[str], options: Options) -> list[tuple[str, str, int]]:
    """List the systems, their datasets and runs."""
    systems = {**SYSTEMS, **VARIANTS} if options.variants else SYSTEMS
    return [
        (system, dataset, run)
        for system in (QUICK_SYSTEMS if options.quick else systems)
        for dataset in _of_system(system, datasets)
        for run in range(options.n_runs)
    ]


def _of_system(system: str, datasets: Iterable[str]) -> list[str]:
    """Return the datasets of a system: with directions where it can take them."""
    others = UNDIRECTED.values() if system == SYSTEM else UNDIRECTED.keys()
    return [dataset for dataset in datasets if dataset not in others]


@lru_cache(maxsize=1)
def _prepare(dataset: str, device: str) -> Prepared:
    """Prepare a dataset once for its runs, which follow each other."""
    graph, _ = GraphLoader()(dataset)
    return Prepared.of(graph, scaling="row", device=device)


def train_twice(task: tuple[str, str, int], folder: Path, options: Options, say: Say) -> LastEpoch:
    """Train as usual, and again for as many epochs without looking at validation.

    The seed is the same, so that the second training goes the same way and ends with the weights
    that the first one had when it stopped: to the bit on a CPU. On a GPU sums of edges may be in
    any order, and then only the number of epochs is sure to be the same.
    """
    system, dataset, run = task
    say(f"{system} on {dataset}: run {run}")
    prepared = _prepare(dataset, pick_device(options.device))
    trained = get_system(system).for_dataset(dataset).limited(options.max_epochs)
    split = draw_split(prepared.graph, SPLIT_RULE, run)
    (first,) = train_system(prepared, trained, [split], [run])
    n_epochs = first.result.n_epochs
    blind = replace(split, val=split.val[:0])
    (second,) = train_system(prepared, trained.limited(n_epochs), [blind], [run])
    best, last = (_tested(o.probabilities, prepared.graph, split) for o in (first, second))
    return LastEpoch(dataset, run, n_epochs, best, last, system)


def _tested(probabilities: np.ndarray, graph: Graph, split: Split) -> float:
    assert graph.labels is not None  # a split was drawn by them
    return float(score_parts(probabilities, graph.labels, split)["test"]["accuracy"])


def show(records: Sequence[LastEpoch], datasets: Sequence[str]) -> Rendered:
    """Compare both weights with what is printed, one block per system."""
    by_system = {
        name: [record for record in records if record.system == name]
        for name in (*SYSTEMS, *VARIANTS)
    }
    there = [name for name, mine in by_system.items() if mine]
    blocks = tuple(_block(name, by_system[name]) for name in there)
    titles = list(dict.fromkeys(LITERATURE_TITLES[_row_of(name)] for name in there))
    *others, final = titles or [LITERATURE_TITLES[SYSTEMS[SYSTEM]]]
    rows = f"{', '.join(others)} and {final} rows" if others else f"{final} row"
    title = f"The {rows} of the Literature, by which weights are tested"
    notes = (NOTE, NOTE_ON_OTHERS) if {*there} - {SYSTEM} else (NOTE,)
    return Rendered(title, blocks, notes=notes)


def _row_of(system: str) -> str:
    return {**SYSTEMS, **VARIANTS}[system]


def _block(system: str, records: list[LastEpoch]) -> Block:
    there = dict.fromkeys(record.dataset for record in records)
    # In one order, whichever ran first; others come last.
    known = _of_system(system, DATASETS)
    datasets = [name for name in known if name in there] + [d for d in there if d not in known]
    row = _row_of(system)
    printed = {**LITERATURE_2[row], **LITERATURE_3[row]}
    limit = get_system(system).config.max_epochs
    rows = []
    for field, title in ROWS.items():
        cells = []
        for dataset in datasets:
            mine = [r for r in records if r.dataset == dataset]
            scores = 100 * np.array([getattr(r, field) for r in mine])
            cells.append(
                ComparedAccuracy(
                    float(scores.mean()),
                    float(scores.std()),
                    len(scores),
                    published=printed.get(UNDIRECTED.get(dataset, dataset)),
                    n_cut=sum(r.epochs >= limit for r in mine),
                )
            )
        rows.append(Row(title, tuple(cells)))
    heading = f"{get_system(system).title}; the Geom-GCN splits"
    return Block(heading, tuple(datasets), tuple(rows), "Weights")


TARGET = TaskTable(
    name="last-epoch",
    summary="the GCN, GAT and Geom-GCN rows of the Literature, last weights and best",
    datasets=DATASETS,
    quick=("texas_directed", "texas"),
    pairs=tasks,
    run=train_twice,
    read_line=LastEpoch.from_json,
    what="the accuracies of two weights",
    show=show,
)
