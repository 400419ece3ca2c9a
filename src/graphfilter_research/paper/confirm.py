"""The default beyond the paper: on graphs it was not developed on, and beside foundation models.

Every row is run once, by one version, and named: what is in view while members are chosen can
confirm nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np

from graphfilter.systems import get_system
from graphfilter.util.errors import ConfigError
from graphfilter_research.bench.pair import Pair
from graphfilter_research.bench.record import Record
from graphfilter_research.paper.collect import Options, pairs_of
from graphfilter_research.paper.published import Accuracy
from graphfilter_research.paper.tables import (
    Block,
    ComparedAccuracy,
    Rendered,
    Row,
    compare_accuracy,
    select,
)
from graphfilter_research.paper.target import RunTable

DEFAULT, SCALING = "committee", "auto"
PEERS = ("gcn", "graphsage", "linkx", "mlp")
# Of each peer eight settings, of which validation vertices choose one per graph.
GRID = tuple(
    f"@learning_rate={rate:g}@dropout={dropout:g}@hidden_size={width}"
    for rate, dropout, width in product((0.01, 0.003), (0.2, 0.5), (64, 256))
)
# Of every class a tenth is trained on, a tenth validated on, the rest tested.
TENTHS = "few:0.1"
GRAPHPFN = "yandex-research/graphpfn at a4cf572"
G2T = "yandex-research/G2T-FM at e01d796"
PRINTED = {
    "pubmed": (
        ("G2T-FM, finetuned", 90.46, G2T),
        ("GraphPFN, in context", 89.76, GRAPHPFN),
        ("LightGBM with neighbours' features", 89.31, GRAPHPFN),
        ("GraphSAGE", 86.04, GRAPHPFN),
    ),
    "facebook": (
        ("GraphPFN", 93.06, GRAPHPFN),
        ("best graph network", 92.75, GRAPHPFN),
        ("G2T-FM", 92.16, G2T),
        ("LightGBM with neighbours' features", 89.93, GRAPHPFN),
    ),
}


def graphs_in(folder: Path | None) -> list[str]:
    """Return the npz files of a folder."""
    if folder is None:
        raise ConfigError("confirm must be given a folder of graphs: reproduce confirm FOLDER.")
    found = sorted(str(path) for path in folder.glob("*.npz"))
    if not found:
        raise ConfigError(f"{folder} must hold graphs as .npz files; it holds none.")
    return found


def confirm_pairs(datasets: Sequence[str], options: Options) -> list[Pair]:
    """List the runs of the default, and of every peer in every setting."""
    tuned = [peer + setting for peer in PEERS for setting in GRID[: 2 if options.quick else None]]
    return pairs_of(graphs_in(options.graphs), [DEFAULT, *tuned], options, scaling=SCALING)


def show_confirmed(records: Sequence[Record], datasets: Sequence[str]) -> Rendered:
    """Show the default beside each peer in the setting that validation vertices chose."""
    rows = []
    for dataset in sorted({record.dataset for record in records}):
        own = [record for record in records if record.dataset == dataset]
        cells = [_chosen(own, [DEFAULT]), *(_chosen(own, [p + s for s in GRID]) for p in PEERS)]
        rows.append(Row(Path(dataset).stem, tuple(cells)))
    titles = tuple(get_system(name).title for name in (DEFAULT, *PEERS))
    notes = (
        "Test accuracy in %, stratified 60/20/20 splits, run r with split r and seed r. Of each "
        f"peer {len(GRID)} settings (learning rate, dropout, width) were run, and the one with the "
        "best mean validation accuracy on a graph is shown.",
        _versions(records),
    )
    blocks = (Block("Graphs of a folder", titles, tuple(rows), "Graph"),) if rows else ()
    return Rendered("The default on graphs it was not developed on", blocks, None, notes)


def _chosen(records: Sequence[Record], models: Sequence[str]) -> ComparedAccuracy:
    """Return the runs of the model with the best mean validation accuracy."""

    def validated(runs: Sequence[Record]) -> float:
        scores = [run.scores["val"]["accuracy"] for run in runs if run.ok and "val" in run.scores]
        return float(np.mean(scores)) if scores else -math.inf

    return compare_accuracy(
        max(([r for r in records if r.model == model] for model in models), key=validated)
    )


def _versions(records: Sequence[Record]) -> str:
    named = {(r.versions.get("graphfilter", "?"), r.versions.get("code", "?")) for r in records}
    return "Run by " + "; ".join(f"graphfilter {v}, code {code}" for v, code in sorted(named)) + "."


def foundation_pairs(datasets: Sequence[str], options: Options) -> list[Pair]:
    return pairs_of(datasets, [DEFAULT], options, scaling=SCALING, split_rule=TENTHS)


def show_foundation(records: Sequence[Record], datasets: Sequence[str]) -> Rendered:
    """Show the default with as many labels as graph foundation models, beside what they print."""
    blocks = []
    for dataset in datasets:
        runs = select(records, dataset, DEFAULT, scaling=SCALING, split_rule=TENTHS)
        taken = [run for run in runs if run.ok]
        devices = " and ".join(sorted({run.device for run in taken}))
        seconds = f"{np.mean([r.seconds for r in taken]):.0f} s ({devices})" if taken else ""
        rows = [Row(get_system(DEFAULT).title, (compare_accuracy(runs), seconds, "here"))]
        rows += [Row(t, (Accuracy(a), "", source)) for t, a, source in PRINTED.get(dataset, ())]
        blocks.append(Block(dataset, ("Accuracy", "Seconds", "Source"), tuple(rows), "System"))
    notes = (
        "Test accuracy in %: of every class a tenth of the vertices is trained on, a tenth "
        "validated on, the rest tested; run r with split r and seed r. The splits are ours: those "
        "of the printed numbers are not at hand. Printed are the test scores of the "
        "repositories' own reports (exp/*/evaluation/report.json).",
        _versions(records),
    )
    return Rendered("Beside graph foundation models", tuple(blocks), None, notes)


CONFIRM = RunTable(
    name="confirm",
    summary="the default and tuned peers on every graph of a folder (beyond the paper)",
    datasets=("karate",),
    quick=("karate",),
    pairs=confirm_pairs,
    show=show_confirmed,
    is_variant=True,
)
FOUNDATION = RunTable(
    name="foundation",
    summary="the default beside printed graph foundation models (beyond the paper)",
    datasets=tuple(PRINTED),
    quick=("pubmed",),
    pairs=foundation_pairs,
    show=show_foundation,
    is_variant=True,
)
