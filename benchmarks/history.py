"""How fast it was, commit by commit: a few minutes' measurement, appended to a series.

    python benchmarks/history.py            measure this commit, append, and draw the page
    python benchmarks/history.py --draw     draw the page of what is on record

Seconds depend on the machine and on what else it does. So each thing is timed in turns with a
straightforward peer, torch's CSR product and autograd, and the ratio of each turn counts: a commit
that makes ours slower lowers it, wherever it is measured. The graph is made here, of two classes,
4,000 vertices and some 20,000 edges; K = 16, 64 columns; one thread. docs/benchmark-history.md
marks what fell by a fifth or more below the median of the five measurements before it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

import attack_runs
import graphfilter
from graphfilter.data import make_csbm
from graphfilter.filters import StackedFilter
from graphfilter.graph import Graph
from graphfilter.models import FilterNetwork
from graphfilter.operators import Operator, augmented_adjacency, to_tensor
from graphfilter.runtime.package import content_hash
from graphfilter.splits import stratified
from graphfilter.storage import atomic_file
from graphfilter.training import TrainConfig, train
from harness import machine, markdown, seconds_of, stage
from peers import PygNetwork, pyg_epoch
from series import FOLDER, ROOT, append, commit_parser, read_series, this_commit
from suite_runs import SuiteRun, read_runs, section

SERIES = FOLDER / "cpu.jsonl"
PAGE = ROOT / "docs" / "benchmark-history.md"
CPU = torch.device("cpu")
N_VERTICES, N_LAYERS, COLUMNS = 4000, 16, 64
# Below this share of the median of so many measurements before, a ratio is marked.
FALL, BEFORE = 0.8, 5
SHOWN = 30

Call = Callable[[], Any]
TITLES = {
    "product": "one product",
    "filter": "filter, forward and backward",
    "epoch": "epoch of training",
    "graph": "graph and operator from edges",
}


@dataclass(frozen=True)
class Pair:
    """Ours and its peer: the median seconds of a call, and the ratios peer / ours of the turns."""

    ours: float
    peer: float
    ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class Measurement:
    """One line of the series."""

    commit: str
    date: str
    version: str
    code: str
    measured_with: dict[str, Any]
    pairs: dict[str, Pair] = field(default_factory=dict)


def cases(n_vertices: int = N_VERTICES) -> dict[str, tuple[Call, Call]]:
    """Return what is timed: ours and the peer, which compute the same."""
    graph = make_csbm(n_vertices, frequency=0.5, n_features=128, seed=0)
    operator = augmented_adjacency(graph)
    csr, x = operator.csr(), torch.randn(n_vertices, COLUMNS)
    learned = StackedFilter(N_LAYERS)
    scalars = [torch.full((N_LAYERS,), 0.5, requires_grad=True) for _ in range(2)]

    def filter_ours() -> None:
        learned(operator, x.requires_grad_()).sum().backward()

    def filter_peer() -> None:
        stacked(csr, x.requires_grad_(), *scalars).sum().backward()

    return {
        "product": (lambda: operator @ x.detach(), lambda: csr @ x.detach()),
        "filter": (filter_ours, filter_peer),
        "epoch": _epochs(graph),
        "graph": builders(graph.edges, graph.n_vertices),
    }


def stacked(csr: Tensor, x: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    """Return H_K, where H_k = alpha_k P H_{k-1} + beta_k H_0, by torch and autograd alone."""
    h = x
    for a, b in zip(alpha, beta, strict=True):
        h = a * (csr @ h) + b * x
    return h


def _epochs(graph: Graph) -> tuple[Call, Call]:
    """Return ten epochs of ours, set-up and all, and ten of a plain loop."""
    assert graph.features is not None
    assert graph.labels is not None
    operator, x = augmented_adjacency(graph), to_tensor(graph.features)
    labels, split = torch.tensor(graph.labels), stratified(graph.labels, seed=0)
    sizes, config = (graph.n_features, graph.n_classes), TrainConfig(max_epochs=10, patience=10)
    options = {"hidden_size": COLUMNS, "dropout": 0.7}
    plain = PygNetwork(*sizes, n_layers=N_LAYERS, **options)
    epoch = pyg_epoch(plain, (torch.tensor(graph.features), operator.csr()), labels, split, config)

    def ours() -> None:
        network = FilterNetwork(*sizes, StackedFilter(N_LAYERS), **options)
        train([network], operator, x, labels, [split], config, seeds=[0])

    def peer() -> None:
        for _ in range(10):
            epoch()

    return ours, peer


def builders(edges: NDArray[np.int64], n: int) -> tuple[Call, Call]:
    """Return calls that make the normalised adjacency, ours and by scipy."""

    def ours() -> Operator:
        return augmented_adjacency(Graph.from_edges(edges, n))

    def peer() -> sp.csr_array:
        ones = np.ones(len(edges), np.float32)
        half = sp.coo_array((ones, (edges[:, 0], edges[:, 1])), shape=(n, n)).tocsr()
        whole = half + half.T + sp.eye_array(n, dtype=np.float32, format="csr")
        scale = sp.diags_array(1 / np.sqrt(whole.sum(axis=1)))
        return (scale @ whole @ scale).tocsr()

    return ours, peer


def take_turns(ours: Call, peer: Call, turns: int) -> Pair:
    """Time both in turns, after one turn that does not count."""
    ours()
    peer()
    times = [(seconds_of(ours, CPU), seconds_of(peer, CPU)) for _ in range(turns)]
    ratios = [theirs / own for own, theirs in times]
    low, high = np.quantile(ratios, [0.25, 0.75])
    own, theirs = (statistics.median(seconds) for seconds in zip(*times, strict=True))
    return Pair(own, theirs, statistics.median(ratios), float(low), float(high))


def measure(
    commit: str, date: str, *, turns: int = 31, n_vertices: int = N_VERTICES
) -> Measurement:
    """Measure the code that is imported."""
    pairs = {}
    for name, (ours, peer) in cases(n_vertices).items():
        with stage(TITLES[name]):
            pairs[name] = take_turns(ours, peer, turns)
    return Measurement(commit, date, graphfilter.__version__, content_hash(), machine(CPU), pairs)


def read_measurements(path: Path = SERIES) -> list[Measurement]:
    return read_series(path, Measurement, "a measurement")


def falls(series: Sequence[Measurement]) -> set[tuple[int, str]]:
    """Return which measurements fell by a fifth or more below those before on a like machine."""
    found = set()
    for i, now in enumerate(series):
        chip = now.measured_with.get("device")
        earlier = [m for m in series[:i] if m.measured_with.get("device") == chip][-BEFORE:]
        for name, pair in now.pairs.items():
            known = [m.pairs[name].ratio for m in earlier if name in m.pairs]
            if known and pair.ratio <= FALL * statistics.median(known):
                found.add((i, name))
    return found


def page(
    series: Sequence[Measurement],
    runs: Sequence[SuiteRun] = (),
    attacks: Sequence[attack_runs.AttackRun] = (),
) -> str:
    """Return docs/benchmark-history.md: the latest first, what fell in bold."""
    marked = falls(series)
    rows = []
    for i, each in list(enumerate(series))[-SHOWN:][::-1]:
        cells = []
        for name in TITLES:
            pair = each.pairs.get(name)
            text = "" if pair is None else f"{pair.ratio:.2f}× ({pair.low:.2f} to {pair.high:.2f})"
            cells.append(f"**{text} ▼**" if (i, name) in marked else text)
        rows.append([f"`{each.commit}`", each.date, *cells])
    lines = [
        "# Benchmark history", "",
        "How much faster than torch's CSR product with autograd, commit by commit: the median of",
        "the ratios peer / ours, timed in turns, and their quartiles. Above 1 ours is faster. Bold",
        "and ▼: a fifth or more below the median of the five measurements before it on a like",
        "machine. What is measured beside other peers is in [performance](performance.md).", "",
        markdown(["commit", "date", *TITLES.values()], rows), "",
    ]  # fmt: skip
    if series:
        about = dict(series[-1].measured_with)
        chip = about.pop("device")
        versions = ", ".join(f"{name} {version}" for name, version in about.items())
        lines += [f"Made by `make bench-history`; the latest on {chip}; {versions}.", ""]
    return "\n".join([*lines, *section(runs), *attack_runs.section(attacks)])


def draw() -> None:
    """Write docs/benchmark-history.md of what is on record."""
    with atomic_file(PAGE) as temporary:
        text = page(read_measurements(), read_runs(), attack_runs.read_attacks())
        temporary.write_text(text, encoding="utf-8")


def main() -> None:
    parser = commit_parser(__doc__)
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    options = parser.parse_args()
    if not options.draw:
        torch.set_num_threads(1)
        append(measure(*(options.commit or this_commit())), SERIES)
    draw()


if __name__ == "__main__":
    main()
