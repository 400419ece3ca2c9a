"""Figure 3 with a rewired graph of its own for every run: how much one draw of it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from graphfilter_research.bench.pair import Pair
from graphfilter_research.bench.record import Record
from graphfilter_research.paper.accuracy_table import EVERY_LAYER
from graphfilter_research.paper.collect import pairs_of
from graphfilter_research.paper.options import Options
from graphfilter_research.paper.rewired_table import RewiredGraph, RewiredTable, Shares, share_block
from graphfilter_research.paper.tables import Rendered

SYSTEMS = ("sgf", EVERY_LAYER, "appnp-0.2")
# Every graph is prepared for one run of each system, so that they cannot share their tensors.
MOST_RUNS = 5
NOTE = (
    "Run r has split r, seed r and the graph rewired with seed r; fig-noise has one graph for all "
    "runs of a share, so that its deviations leave out those between rewired graphs."
)


def pairs(graph: RewiredGraph, options: Options) -> list[Pair]:
    alone = pairs_of([graph.name], SYSTEMS, options, file=graph.file)
    return [replace(pair, first=graph.seed, runs=1) for pair in alone]


def show(records: Sequence[Record], shares: Shares) -> Rendered:
    """Show the accuracies by share."""
    blocks = tuple(share_block(records, dataset, at, SYSTEMS) for dataset, at in shares.items())
    title = "Figure 3, one rewired graph per run: accuracy for each amount of edge perturbation"
    return Rendered(title, blocks, notes=(NOTE,))


TARGET = RewiredTable(
    name="noise-seeds",
    summary="Figure 3 with a rewired graph of its own for every run",
    datasets=("photo_lcc", "pubmed", "citeseer", "cora"),
    quick=("cora",),
    shares=(0.3, 0.6, 0.9),
    quick_shares=(0.9,),
    seeds=lambda options: range(min(options.n_runs, MOST_RUNS)),
    pairs=pairs,
    show=show,
    is_variant=True,
)
