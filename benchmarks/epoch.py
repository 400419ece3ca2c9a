"""A training epoch and a prediction on real graphs, beside the straightforward PyG model.

    python benchmarks/epoch.py                  on the CPU
    python benchmarks/epoch.py --device cuda    on a GPU
    python benchmarks/epoch.py --small          Cora only

An epoch is one training step and one evaluation of the paper's model: K = 16, 64 hidden columns,
dropout 0.7. The peers have autograd through the layers and Adam: plain torch with a CSR adjacency
and sparse features, as a careful user would write it; the same with dense features, as all others
have them; PyTorch Geometric with an edge index, whose message
passing gathers and scatters; the same with a CSR adjacency; and under torch.compile. Ours goes
through graphfilter.training.train; its epoch is the difference of a long and a short training, so
that what happens once does not count. Datasets are looked for in GRAPHFILTER_DATA.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from graphfilter.data import load_dataset, locate
from graphfilter.data.graph import Graph
from graphfilter.filters import StackedFilter
from graphfilter.models import FilterNetwork
from graphfilter.operators import augmented_adjacency, to_tensor
from graphfilter.splits import stratified
from graphfilter.training import TrainConfig, train
from graphfilter_research.datasets import readers
from graphfilter_research.peers.pyg import graph_edges, to_dense
from harness import (
    Record,
    Tick,
    Timing,
    main,
    markdown,
    option_parser,
    show_ratio,
    show_seconds,
    stage,
    time_calls,
    time_epochs,
)
from peers import PygNetwork, normalise, pyg_epoch
from pictures import draw_bars, make_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_LAYERS, HIDDEN, DROPOUT, N_RUNS = 16, 64, 0.7, 10
DATASETS = ("cora", "citeseer", "chameleon", "pubmed", "computers")

# The ways to write the peer: the one a careful user would run first.
PEERS = {
    "plain_sparse": "plain torch, CSR adjacency, sparse features",
    "plain_csr": "plain torch, CSR adjacency",
    "pyg": "PyG, gather–scatter",
    "pyg_csr": "PyG, CSR adjacency",
    "pyg_compiled": "PyG, torch.compile",
}

# What is wanted of the ratios: of an epoch by device, peer and dataset; of a prediction.
SPARSE_GOALS = {"cora": 10, "pubmed": 8, "computers": 8}
PLAIN_GOALS = {"cora": 25, "citeseer": 60, "pubmed": 14, "computers": 6}
PYG_GOALS = {"cora": 40, "citeseer": 40, "chameleon": 40, "pubmed": 20, "computers": 20}
EPOCH_GOALS = {
    "cpu": {"plain_sparse": SPARSE_GOALS, "plain_csr": PLAIN_GOALS, "pyg": PYG_GOALS},
    "cuda": {"pyg": {"cora": 10}},
}
PREDICTION_GOALS = {"cora": 3}


def read_graph(name: str) -> Graph:
    """Read a dataset at hand as it is; only downloading one needs more than torch and scipy."""
    path = locate(name)
    return load_dataset(name) if path is None else readers.read_npz(path)


class Case:
    """A dataset on a device, and the calls that are timed on it."""

    def __init__(self, name: str, device: torch.device) -> None:
        graph = read_graph(name)
        assert graph.features is not None
        assert graph.labels is not None
        self.device = device
        self.operator = augmented_adjacency(graph, device=device)
        self.x = to_tensor(graph.features, device=device)
        self.labels = torch.tensor(graph.labels, device=device)
        self.split = stratified(graph.labels, seed=0)
        self.sizes = (graph.n_features, graph.n_classes)
        edges, _ = graph_edges(graph)
        self.edges: tuple[Tensor, Tensor] = normalise(edges.to(device), graph.n_vertices)

    def network(self, seed: int = 0, dropout: float = DROPOUT) -> FilterNetwork:
        generator = torch.Generator().manual_seed(seed)
        network = FilterNetwork(
            *self.sizes,
            StackedFilter(N_LAYERS),
            hidden_size=HIDDEN,
            dropout=dropout,
            generator=generator,
        )
        return network.to(self.device)

    def time_ours(self, seconds: float, tick: Tick, n_runs: int = 1) -> Timing:
        """Time an epoch of ``n_runs`` runs side by side."""
        seeds = range(n_runs)

        def train_for(n_epochs: int) -> None:
            config = TrainConfig(max_epochs=n_epochs, patience=n_epochs)
            models = [self.network(seed) for seed in seeds]
            parts = [self.split] * n_runs
            train(models, self.operator, self.x, self.labels, parts, config, seeds=seeds)

        return time_epochs(train_for, self.device, seconds=seconds, tick=tick)

    def peer(self, kind: str) -> tuple[PygNetwork, tuple[Tensor, ...]]:
        """Return the straightforward model in one of the ways of ``PEERS``, and what it takes."""
        network = PygNetwork(
            *self.sizes, n_layers=N_LAYERS, hidden_size=HIDDEN, dropout=DROPOUT,
            plain=kind.startswith("plain"),
        )  # fmt: skip
        in_csr = kind in ("plain_sparse", "plain_csr", "pyg_csr")
        x = to_dense(self.x)
        if kind == "plain_sparse":
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Sparse (CSR tensor|invariant)")
                x = x.to_sparse_csr()
        return network.to(self.device), (x, *((self.operator.csr(),) if in_csr else self.edges))

    def peer_epoch(self, kind: str) -> Callable[[], None]:
        """Return an epoch of that model."""
        network, inputs = self.peer(kind)
        compiled = kind == "pyg_compiled"
        # Without what was compiled for other graphs: beyond eight versions torch stops compiling.
        torch.compiler.reset()
        return pyg_epoch(network, inputs, self.labels, self.split, TrainConfig(), compiled=compiled)

    def time_peer(self, kind: str, seconds: float, tick: Tick) -> Timing:
        """Time that epoch."""
        return time_calls(self.peer_epoch(kind), self.device, seconds=seconds, tick=tick)

    def peer_prediction(self, kind: str) -> Callable[[], object]:
        """Return a prediction of that model."""
        network, inputs = self.peer(kind)
        call = torch.no_grad()(network.eval())
        return lambda: call(*inputs)

    def prediction(self, *, narrow: bool) -> Callable[[], object]:
        """Return a prediction of ours that filters the classes' columns, or the hidden ones."""
        # Training without dropout is the same function with the filter on the hidden columns.
        network = self.network(dropout=0.0).train(not narrow)
        return torch.no_grad()(lambda: network(self.operator, self.x))


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Measure epochs on every dataset, predictions on a CPU, and runs side by side on Cora."""
    names = options.datasets.split(",") if options.datasets else DATASETS
    seconds = 0.5 if options.small else 5.0 if device.type == "cpu" else 1.0
    epochs, predictions = [], []
    together: Record = {}
    for name in names[:1] if options.small else names:
        case = Case(name, device)
        with stage(f"{name}: epoch, ours") as tick:
            ours = case.time_ours(seconds, tick)
        row: Record = {"dataset": name, "ours": ours.to_json()}
        for kind, title in PEERS.items():
            if kind == "pyg_compiled" and (options.small or not options.compiled):
                # Compiling takes longer than all the rest of a small run.
                continue
            with stage(f"{name}: epoch, {title}") as tick:
                row[kind] = case.time_peer(kind, seconds, tick).to_json()
        epochs.append(row)
        if device.type == "cpu":
            with stage(f"{name}: prediction") as tick:
                predictions.append(_predictions(name, case, seconds / 5, tick))
        if not together:
            with stage(f"{name}: epoch, {N_RUNS} runs side by side") as tick:
                many = case.time_ours(seconds, tick, n_runs=N_RUNS)
            together = {"dataset": name, "n_runs": N_RUNS, "one": ours.to_json()}
            together["all"] = many.to_json()
    return {"epochs": epochs, "predictions": predictions, "side_by_side": together}


def _predictions(name: str, case: Case, seconds: float, tick: Tick) -> Record:
    """Time predictions: ours on the narrow side and on the wide one, and two peers'."""
    calls = {"classes": case.prediction(narrow=True), "hidden": case.prediction(narrow=False)}
    calls |= {kind: case.peer_prediction(kind) for kind in ("plain_csr", "pyg")}
    row: Record = {"dataset": name, "n_classes": case.sizes[1]}
    for kind, call in calls.items():
        row[kind] = time_calls(call, case.device, seconds=seconds, most=200, tick=tick).to_json()
    return row


def table(record: Record) -> str:
    """Show the record as tables: epochs beside each peer, predictions, runs side by side."""
    tables = []
    for kind, title in PEERS.items():
        goals = EPOCH_GOALS.get(record["device"], {}).get(kind, {})
        # Records made before a peer was timed do not have it.
        rows = [
            _compare(row["dataset"], row["ours"], row[kind], goals.get(row["dataset"]))
            for row in record["epochs"]
            if kind in row
        ]
        if rows:
            tables.append(markdown(["an epoch", "graphfilter", title, "ratio", "goal"], rows))
    if record["predictions"]:
        tables.append(_prediction_table(record["predictions"]))
    both = record["side_by_side"]
    head = ["an epoch", "one run", f"{both['n_runs']} runs side by side", "ratio", "goal"]
    goal = 2 if record["device"] == "cuda" else None
    row = _compare(both["dataset"], both["one"], both["all"], goal)
    row[-1] = row[-1].replace("≥", "<")
    tables.append(markdown(head, [row]))
    return "\n\n".join(tables)


def _prediction_table(predictions: list[Record]) -> str:
    others = {"hidden": f"on {HIDDEN} hidden", "plain_csr": PEERS["plain_csr"], "pyg": PEERS["pyg"]}
    shown = {key: title for key, title in others.items() if key in predictions[0]}
    rows = []
    for row in predictions:
        ratios = [show_ratio(row[key]["median"] / row["classes"]["median"]) for key in shown]
        goal = PREDICTION_GOALS.get(row["dataset"])
        cells = [f"{row['dataset']} (C = {row['n_classes']})", show_seconds(row["classes"])]
        rows.append([*cells, *ratios, "" if goal is None else f"≥ {goal}×"])
    head = ["a prediction", "filter on C columns", *(f"{title} / ours" for title in shown.values())]
    return markdown([*head, "goal"], rows)


def _compare(name: str, first: Record, second: Record, goal: float | None) -> list[str]:
    ratio = second["median"] / first["median"]
    wanted = "" if goal is None else f"≥ {goal}×"
    return [name, show_seconds(first), show_seconds(second), f"**{show_ratio(ratio)}**", wanted]


def draw(record: Record) -> Figure:
    """Draw epochs beside the peer's."""
    figure, (axes,) = make_figure(9, 3.6)
    rows = record["epochs"]
    series = {
        label: [1e3 * row[key]["median"] for row in rows]
        for key, label in {"ours": "graphfilter", **PEERS}.items()
        if all(key in row for row in rows)
    }
    draw_bars(axes, [row["dataset"] for row in rows], series, unit="milliseconds an epoch")
    axes.set_title("One training step and one evaluation, K = 16, 64 hidden columns")
    return figure


if __name__ == "__main__":
    parser = option_parser(__doc__)
    parser.add_argument("--datasets", help="names with commas between them")
    parser.add_argument(
        "--no-compiled", dest="compiled", action="store_false", help="leave torch.compile out"
    )
    main("epoch", parser, run, table)
