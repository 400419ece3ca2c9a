"""Figure 3: accuracy when a growing share of the edges is swapped at random (section 6.4).

Also with a rewired graph of its own for every run: how much one draw of it says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.files import write_npz
from graphfilter.data.graph import Graph
from graphfilter.systems import get_system
from graphfilter.util.errors import ConfigError, GraphError
from graphfilter.util.files import scratch_folder
from graphfilter.util.pictures import unframe
from graphfilter_research.bench.matrix import OnProgress
from graphfilter_research.bench.pair import Pair
from graphfilter_research.bench.protocol import GraphLoader
from graphfilter_research.bench.record import Record
from graphfilter_research.paper.accuracy_table import EVERY_LAYER
from graphfilter_research.paper.collect import Options, at_hand, collect_runs, pairs_of, report
from graphfilter_research.paper.published import DATASET_TITLES
from graphfilter_research.paper.tables import (
    Block,
    ComparedAccuracy,
    Rendered,
    Row,
    compare_runs,
    draw_line,
)
from graphfilter_research.paper.target import RunTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# With this many proposals in a row that change nothing, there is nothing left to swap.
FRUITLESS_ROUNDS = 300

Edges = NDArray[np.int64]


def rewire(graph: Graph, share: float, seed: int) -> Graph:
    r"""Swap a share of the edges; degrees, features, labels and fixed splits stay.

    Double-edge swaps, many at a time: disjoint pairs of edges :math:`uv, xy` become
    :math:`uy, xv`. A pair is left alone where that would make a loop, repeat an edge or bring
    back one of the original graph, so that exactly the swapped edges are gone from it.

    Parameters
    ----------
    share : float
        In [0, 1]: the share of the edges that are not those of ``graph``. As edges are swapped
        in pairs, one more may be.
    seed : int

    Examples
    --------
    >>> cycle = Graph.from_edges([[i, (i + 1) % 10] for i in range(10)])
    >>> noisy = rewire(cycle, 0.6, seed=0)
    >>> noisy.degrees.tolist() == cycle.degrees.tolist(), noisy.n_edges
    (True, 10)
    """
    if not 0 <= share <= 1:
        raise ConfigError(f"the share of edges to swap must be in [0, 1]; got {share}.")
    if graph.weights is not None:
        raise GraphError("a graph to be rewired must have edges of equal weight; its weights vary.")
    # Rounded: 0.3 of 10 edges are 3, whatever 0.3 * 10 is.
    n_wanted = ceil(round(share * graph.n_edges, 9))
    edges = swap_edges(graph.edges, graph.n_vertices, n_wanted, np.random.default_rng(seed))
    made = Graph.from_edges(edges, graph.n_vertices)
    notes = (*graph.notes, f"{share:.0%} of the edges swapped at random, degrees kept.")
    bare = replace(graph, arcs=None, kinds=None, notes=notes)
    return replace(bare, indptr=made.indptr, indices=made.indices)


def swap_edges(
    edges: NDArray[np.integer], n_vertices: int, n_wanted: int, rng: np.random.Generator
) -> Edges:
    """Return the edges (m, 2) with ``n_wanted`` of them (or one more) swapped for new ones."""
    now = edges.astype(np.int64)
    original = np.sort(_keys(now, n_vertices))
    moved = np.zeros(len(now), dtype=bool)
    fruitless = 0
    while (n_missing := n_wanted - int(np.count_nonzero(moved))) > 0:
        first, second = _propose(moved, n_missing, rng)
        swapped = _swap(now, first, second, rng)
        taken = np.sort(np.concatenate([original, _keys(now[moved], n_vertices)]))
        good = _allowed(swapped, taken, n_vertices)
        first, second = first[good], second[good]
        now[first], now[second] = swapped[0][good], swapped[1][good]
        moved[first] = moved[second] = True
        fruitless = 0 if len(first) else fruitless + 1
        if fruitless == FRUITLESS_ROUNDS:
            raise GraphError(
                f"{n_wanted} of {len(now)} edges were to be swapped, but after "
                f"{np.count_nonzero(moved)} no swap was found that keeps the degrees. Ask for a "
                "smaller share."
            )
    return now


def _propose(
    moved: NDArray[np.bool_], n_missing: int, rng: np.random.Generator
) -> tuple[Edges, Edges]:
    """Draw disjoint pairs of edges, as many as may be needed and each with an edge to move."""
    order = rng.permutation(len(moved))
    half = len(order) // 2
    first, second = order[:half], order[half : 2 * half]
    gain = 2 - moved[first].astype(int) - moved[second]
    # A pair that moves one edge of two is better where one is missing.
    useful = gain > 0 if n_missing > 1 or not (gain == 1).any() else gain == 1
    first, second, gain = first[useful], second[useful], gain[useful]
    n_pairs = np.searchsorted(np.cumsum(gain), n_missing) + 1
    return first[:n_pairs], second[:n_pairs]


def _swap(
    edges: Edges, first: Edges, second: Edges, rng: np.random.Generator
) -> tuple[Edges, Edges]:
    """Exchange an end of each pair; a coin decides which end of the second."""
    a, b = edges[first], edges[second]
    turned = rng.random(len(b)) < 0.5
    b[turned] = b[turned][:, ::-1]
    return np.stack([a[:, 0], b[:, 1]], axis=1), np.stack([b[:, 0], a[:, 1]], axis=1)


def _allowed(swapped: tuple[Edges, Edges], taken: Edges, n: int) -> NDArray[np.bool_]:
    """Return which pairs make no loop, no edge that is there and none that another pair makes."""
    keys = np.stack([_keys(part, n) for part in swapped])
    loop = np.any([part[:, 0] == part[:, 1] for part in swapped], axis=0)
    place = np.minimum(np.searchsorted(taken, keys), len(taken) - 1)
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    repeated = (counts > 1)[inverse].reshape(keys.shape)
    return ~(loop | np.any((taken[place] == keys) | repeated, axis=0))


def _keys(edges: Edges, n: int) -> Edges:
    """Number every unordered pair of vertices."""
    return edges.min(axis=1) * n + edges.max(axis=1)


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


SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SYSTEMS = ("sgf", "gcnii", "appnp-0.2", "appnp-0.8", "sgc", "mlp")
# The second reading of dropout is run where a run takes seconds.
BOTH_READINGS = ("citeseer", "cora")
# With --variants, beyond the paper; at few shares where a run takes a minute.
COMMITTEE = "committee"
COMMITTEE_SHARES = {"photo_lcc": (0.0, 0.5, 0.9), "pubmed": (0.0, 0.5, 0.9)}
NOTE = (
    "Rewired once a share (seed 0), every degree kept; all runs of a share see the same graph. "
    "SGF is run with the second reading of dropout too on Cora and Citeseer. "
    "The committee is not the paper's: it is an earlier default of graphfilter. "
    "The paper prints no numbers for this figure: it says that SGF and GCNII end at least as well "
    "as the MLP, that SGC and APPNP (0.2) fall alike, and that APPNP (0.8) is robust."
)


def systems_of(dataset: str) -> tuple[str, ...]:
    """Return the systems that are run on the rewired graphs of a dataset."""
    return (*SYSTEMS, EVERY_LAYER) if dataset in BOTH_READINGS else SYSTEMS


def systems_on_record(records: Sequence[Record], dataset: str) -> tuple[str, ...]:
    """Return the systems that are shown of a dataset: with the committee where it was run."""
    names = {rewired_name(dataset, share) for share in SHARES}
    there = any(r.model == COMMITTEE and r.dataset in names for r in records)
    return (*systems_of(dataset), COMMITTEE) if there else systems_of(dataset)


def pairs(graph: RewiredGraph, options: Options) -> list[Pair]:
    systems = systems_of(graph.dataset)
    if options.variants and graph.share in COMMITTEE_SHARES.get(graph.dataset, SHARES):
        systems = (*systems, COMMITTEE)
    return pairs_of([graph.name], systems, options, file=graph.file)


def show(records: Sequence[Record], shares: Shares) -> Rendered:
    """Draw the figure, and show its numbers as tables."""
    blocks = [
        share_block(records, dataset, at, systems_on_record(records, dataset))
        for dataset, at in shares.items()
    ]
    return Rendered(
        "Figure 3: accuracy for each amount of edge perturbation",
        tuple(blocks),
        draw(records, shares) if shares else None,
        (NOTE,),
    )


def draw(records: Sequence[Record], shares: Shares) -> Figure:
    """Draw one panel per dataset: accuracy by share, one line per system, deviations as bands."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(0.6 + 3.7 * len(shares), 4.1), layout="constrained")
    panels = figure.subplots(1, len(shares), squeeze=False)[0]
    for axes, (dataset, at) in zip(panels, shares.items(), strict=True):
        for system in systems_on_record(records, dataset):
            _draw_line(axes, at, [cell(records, dataset, x, system) for x in at], system)
        axes.set_title(DATASET_TITLES.get(dataset, dataset))
        axes.set_xlabel("edges swapped in %")
        axes.grid(axis="y", color="0.9")
        unframe(axes)
    panels[0].set_ylabel("test accuracy in %")
    handles, labels = panels[0].get_legend_handles_labels()
    n_columns = min(len(handles), 2 * len(shares))
    figure.legend(
        handles, labels, loc="outside lower center", ncols=n_columns, frameon=False, handlelength=3
    )
    return figure


def _draw_line(
    axes: Axes, shares: Sequence[float], cells: Sequence[ComparedAccuracy], system: str
) -> None:
    second = system == EVERY_LAYER
    place = (*SYSTEMS, COMMITTEE).index("sgf" if second else system)
    title, bold = get_system(system).title, system in ("sgf", COMMITTEE)
    draw_line(axes, shares, cells, place, title, bold=bold, dashed=second)


TARGET = RewiredTable(
    name="fig-noise",
    summary="accuracy when edges are swapped at random (Figure 3)",
    datasets=("photo_lcc", "pubmed", "citeseer", "cora"),
    quick=("cora",),
    shares=SHARES,
    quick_shares=(0.0, 0.9),
    # One graph for all runs of a share.
    seeds=lambda options: (0,),
    pairs=pairs,
    show=show,
)


SEEDS_SYSTEMS = ("sgf", EVERY_LAYER, "appnp-0.2")
# Every graph is prepared for one run of each system, so that they cannot share their tensors.
MOST_RUNS = 5
SEEDS_NOTE = (
    "Run r has split r, seed r and the graph rewired with seed r; fig-noise has one graph for all "
    "runs of a share, so that its deviations leave out those between rewired graphs."
)


def seeds_pairs(graph: RewiredGraph, options: Options) -> list[Pair]:
    alone = pairs_of([graph.name], SEEDS_SYSTEMS, options, file=graph.file)
    return [replace(pair, first=graph.seed, runs=1) for pair in alone]


def seeds_show(records: Sequence[Record], shares: Shares) -> Rendered:
    """Show the accuracies by share."""
    blocks = tuple(share_block(records, name, at, SEEDS_SYSTEMS) for name, at in shares.items())
    title = "Figure 3, one rewired graph per run: accuracy for each amount of edge perturbation"
    return Rendered(title, blocks, notes=(SEEDS_NOTE,))


SEEDS_TARGET = RewiredTable(
    name="noise-seeds",
    summary="Figure 3 with a rewired graph of its own for every run",
    datasets=("photo_lcc", "pubmed", "citeseer", "cora"),
    quick=("cora",),
    shares=(0.3, 0.6, 0.9),
    quick_shares=(0.9,),
    seeds=lambda options: range(min(options.n_runs, MOST_RUNS)),
    pairs=seeds_pairs,
    show=seeds_show,
    is_variant=True,
)
