"""Full-batch training beside training on sampled neighbours, of one graph, in the same time.

    python benchmarks/sampling.py            50,000 vertices, 1 million entries; and computers
    python benchmarks/sampling.py --small     1,000 vertices

SGF is trained by the package's own loop, on all vertices at once: in the paper's setting, with a
filter of degree 16, and with one of degree 4, whose epochs take less. hop-mlp is trained by the
same loop on batches of 512 vertices, whose features were averaged over neighbours beforehand, in
its first epoch; it samples nothing. GraphSAGE
(Hamilton et al. 2017; two layers of 64, dropout 0.5, Adam with 0.01) is PyTorch Geometric's,
trained on batches of 256 vertices with 10 of their neighbours and 10 of each of those; it answers
with all neighbours. All have the same split (60/20/20), one thread and the same seconds of the
processor; an epoch includes scoring the validation vertices. Each is a process of its own.

Of GraphSAGE, 256 and 1,024 vertices per batch were tried on computers, and features scaled as ours
are or so that rows add up to one, as is usual for bags of words: the better by validation accuracy
is taken. Dense features are scaled as ours are.

Neighbours are sampled by PyTorch Geometric's NeighborLoader where one of the packages that it
needs (pyg-lib, torch-sparse) is installed, and otherwise by the few lines below, which are slower.
"""

from __future__ import annotations

import argparse
import copy
import resource
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from graphfilter import Graph, load_dataset
from graphfilter.splits import Split, stratified
from graphfilter.systems import Prepared, get_system, train_system
from graphfilter.training import Callback, Progress
from graphfilter.util.errors import GraphFilterError
from graphfilter_research.peers.pyg import pyg_nn
from harness import Record, apart, main, markdown, option_parser, stage, three_digits

# Vertices, edges, and the seconds that each may train, of every graph; None where it is registered.
GRAPHS: dict[str, tuple[int | None, int, float]] = {
    "communities": (50_000, 500_000, 60.0),
    "computers": (None, 0, 40.0),
}
SMALL: dict[str, tuple[int | None, int, float]] = {"communities": (1_000, 5_000, 0.5)}
# By the name of the system; one is not of this package, and trained on samples.
SAMPLED = "sampled"
WAYS = {
    "sgf": "SGF of degree 16, all vertices at once",
    "sgf@n_layers=4": "SGF of degree 4, all vertices at once",
    "hop-mlp": "hop-mlp, batches of vertices with their hops",
    SAMPLED: "GraphSAGE, sampled neighbours",
}
N_CLASSES, N_FEATURES = 10, 32
# The share of the edges that are within a class on purpose; the noise of features.
WITHIN, NOISE = 0.4, 4.0
FANOUT, BATCH, HIDDEN = (10, 10), 256, 64
MIB = 2**20

# Vertices of a batch, the edges among them by their places there, and how many are trained on.
Batch = tuple[Tensor, Tensor, int]


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Train in every way on every graph that is at hand."""
    found = []
    for name, (n, n_edges, seconds) in (SMALL if options.small else GRAPHS).items():
        try:
            graph = read_graph(name, n, n_edges)
        except GraphFilterError as error:
            print(f"{name} is left out: {error}", flush=True)
            continue
        rows = {}
        for way in WAYS:
            with stage(f"{name}, {way}"):
                rows[way] = apart(measure, way, name, n, n_edges, seconds)
        found.append(
            {
                "graph": name,
                "n_vertices": graph.n_vertices,
                "n_entries": len(graph.indices),
                "n_features": graph.n_features,
                "n_classes": graph.n_classes,
                "seconds": seconds,
                "rows": rows,
            }
        )
    return {"sampler": sampler_name(), "graphs": found}


def read_graph(name: str, n: int | None, n_edges: int) -> Graph:
    """Make the random graph, or load one of the registry."""
    return load_dataset(name) if n is None else make_communities(n, n_edges)


def make_communities(n: int, n_edges: int) -> Graph:
    """Make a graph whose classes are hinted at by noisy features and by who is connected."""
    rng = np.random.default_rng(0)
    labels = np.sort(rng.integers(0, N_CLASSES, n))
    first = np.searchsorted(labels, np.arange(N_CLASSES + 1))
    ends = rng.integers(0, n, (n_edges, 2))
    own = rng.random(n_edges) < WITHIN
    of = labels[ends[own, 0]]
    ends[own, 1] = rng.integers(first[of], np.maximum(first[of + 1], first[of] + 1))
    means = rng.standard_normal((N_CLASSES, N_FEATURES))
    x = means[labels] + NOISE * rng.standard_normal((n, N_FEATURES))
    return Graph.from_edges(ends, n, features=x.astype(np.float32), labels=labels)


def measure(way: str, name: str, n: int | None, n_edges: int, seconds: float) -> Record:
    """Train in one of the ways; return what was reached when, and the peak of memory."""
    torch.set_num_threads(1)
    # With its first optimizer torch imports its compiler, which is of no way.
    torch.optim.Adam([torch.zeros(1, requires_grad=True)])
    graph = read_graph(name, n, n_edges)
    assert graph.labels is not None
    split = stratified(graph.labels, seed=0)
    if way == SAMPLED:
        scaling = "row" if sp.issparse(graph.features) else "auto"
        found = train_sampled(Prepared.of(graph, scaling=scaling), split, seconds)
    else:
        found = train_own(Prepared.of(graph), way, split, seconds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {**found, "peak_bytes": peak}


class Course:
    """What a training has reached, in seconds of the processor since it began."""

    def __init__(self, seconds: float) -> None:
        self._began, self._limit = time.process_time(), seconds
        self.at: list[float] = []
        self.scores: list[float] = []

    def note(self, score: float) -> bool:
        """Note the validation accuracy after an epoch; return whether the time is over."""
        self.at.append(time.process_time() - self._began)
        self.scores.append(score)
        return self.at[-1] >= self._limit

    def record(self, accuracy: float) -> Record:
        """Return the accuracy on test vertices beside when the best epoch was."""
        # What is loaded or made once is in the first epoch only.
        spent = np.diff(self.at) if len(self.at) > 1 else np.array(self.at)
        best = int(np.argmax(self.scores))
        return {
            "accuracy": accuracy,
            "epochs": len(self.at),
            "seconds_per_epoch": float(np.median(spent)),
            "best_seconds": self.at[best],
            "validation": self.scores[best],
        }


def train_own(prepared: Prepared, system: str, split: Split, seconds: float) -> Record:
    """Train a system of this package, from its hops on if it has some."""
    course = Course(seconds)

    def watch(progress: Progress) -> bool:
        return course.note(progress.val_score)

    (outcome,) = train_system(prepared, get_system(system), [split], [0], callback=Callback(watch))
    predicted = outcome.probabilities[split.test].argmax(axis=1)
    return course.record(float((predicted == prepared.labels[split.test]).mean()))


def train_sampled(prepared: Prepared, split: Split, seconds: float) -> Record:
    """Train GraphSAGE on batches of sampled neighbours."""
    course = Course(seconds)
    torch.manual_seed(0)
    graph, x = prepared.graph, prepared.x
    x = x if isinstance(x, Tensor) else x.to_dense()
    labels = torch.tensor(prepared.labels)
    network = pyg_nn().GraphSAGE(
        x.shape[1], HIDDEN, num_layers=len(FANOUT), out_channels=graph.n_classes, dropout=0.5
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    batches = loader(graph, split.train)
    whole = adjacency(graph)
    best, kept, over = -1.0, copy.deepcopy(network.state_dict()), False
    while not over:
        network.train()
        for vertices, edges, n_seeds in batches():
            optimizer.zero_grad()
            logits = network(x[vertices], edges)[:n_seeds]
            functional.cross_entropy(logits, labels[vertices[:n_seeds]]).backward()
            optimizer.step()
        score = accuracy_of(network, x, whole, labels, split.val)
        if score > best:
            best, kept = score, copy.deepcopy(network.state_dict())
        over = course.note(score)
    network.load_state_dict(kept)
    return course.record(accuracy_of(network, x, whole, labels, split.test))


def accuracy_of(
    network: torch.nn.Module, x: Tensor, whole: Tensor, labels: Tensor, part: NDArray[np.int64]
) -> float:
    """Return the accuracy with all neighbours of every vertex."""
    network.eval()
    index = torch.tensor(part)
    with torch.no_grad():
        predicted = network(x, whole)[index].argmax(dim=1)
    return float((predicted == labels[index]).float().mean())


def adjacency(graph: Graph) -> Tensor:
    """Return the adjacency as torch's CSR tensor, which PyTorch Geometric's layers multiply by."""
    offsets, columns = (torch.tensor(part).long() for part in (graph.indptr, graph.indices))
    size = (graph.n_vertices, graph.n_vertices)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse (CSR tensor|invariant)")
        return torch.sparse_csr_tensor(offsets, columns, torch.ones(len(columns)), size=size)


def sampler_name() -> str:
    """Return what samples neighbours here."""
    for module, package in (("pyg_lib", "pyg-lib"), ("torch_sparse", "torch-sparse")):
        if find_spec(module) is not None:
            return f"PyTorch Geometric's NeighborLoader with {package}"
    return "a sampler in numpy"


def loader(
    graph: Graph, seeds: NDArray[np.int64], fanout: Sequence[int] = FANOUT, size: int = BATCH
) -> Callable[[], Iterator[Batch]]:
    """Return what gives the batches of an epoch, in another order every time."""
    if sampler_name() == "a sampler in numpy":
        rng = np.random.default_rng(0)
        return lambda: sampled(graph, seeds, rng, fanout, size)
    from torch_geometric.data import Data
    from torch_geometric.loader import NeighborLoader

    rows = np.repeat(np.arange(graph.n_vertices), np.diff(graph.indptr))
    edges = torch.from_numpy(np.stack([graph.indices, rows]).astype(np.int64))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Using 'NeighborSampler' without")
        made: Any = NeighborLoader(
            Data(edge_index=edges, num_nodes=graph.n_vertices),
            list(fanout),
            input_nodes=torch.tensor(seeds),
            batch_size=size,
            shuffle=True,
        )
    return lambda: ((batch.n_id, batch.edge_index, batch.batch_size) for batch in made)


def sampled(
    graph: Graph,
    seeds: NDArray[np.int64],
    rng: np.random.Generator,
    fanout: Sequence[int],
    size: int,
) -> Iterator[Batch]:
    """Yield batches as NeighborLoader does: vertices first, then those sampled at each step."""
    place = np.full(graph.n_vertices, -1)
    for start in range(0, len(seeds), size):
        if start == 0:
            seeds = rng.permutation(seeds)
        vertices = front = seeds[start : start + size]
        n_seeds, edges = len(vertices), []
        place[vertices] = np.arange(n_seeds)
        for most in fanout:
            into, found = neighbours(graph, front, most, rng)
            new = np.unique(found[place[found] < 0])
            place[new] = len(vertices) + np.arange(len(new))
            edges.append(np.stack([place[found], place[front][into]]))
            vertices, front = np.concatenate([vertices, new]), new
        place[vertices] = -1
        yield torch.from_numpy(vertices), torch.from_numpy(np.concatenate(edges, axis=1)), n_seeds


def neighbours(
    graph: Graph, rows: NDArray[np.int64], most: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw at most so many neighbours of every row, each once: places of rows, and vertices."""
    starts = graph.indptr[rows]
    counts = graph.indptr[rows + 1] - starts
    before = np.cumsum(counts) - counts
    owner = np.repeat(np.arange(len(rows)), counts)
    rank = np.arange(len(owner)) - before[owner]
    # The first of each row in a random order.
    chosen = np.lexsort((rng.random(len(owner)), owner))[rank < most]
    return owner[chosen], graph.indices[starts[owner[chosen]] + rank[chosen]].astype(np.int64)


def table(record: Record) -> str:
    """Show both ways for every graph."""
    head = ["graph, and how it is trained on", "test accuracy", "epochs", "s per epoch",
            "s to the best", "peak memory"]  # fmt: skip
    rows = []
    for graph in record["graphs"]:
        about = (
            f"{graph['graph']} ({graph['n_vertices']:,} vertices, {graph['n_entries']:,} entries, "
            f"{graph['n_features']} features, {graph['n_classes']} classes)"
        )
        for way, found in graph["rows"].items():
            rows.append(
                [
                    f"{about}: {WAYS[way]}",
                    f"{found['accuracy']:.1%}",
                    str(found["epochs"]),
                    three_digits(found["seconds_per_epoch"]),
                    three_digits(found["best_seconds"]),
                    f"{found['peak_bytes'] / MIB:,.0f} MiB",
                ]
            )
    given = ", ".join(f"{graph['seconds']:g} s on {graph['graph']}" for graph in record["graphs"])
    about = (
        f"Each was given so much time of one processor: {given}. Batches of {BATCH:,} vertices, "
        f"{FANOUT[0]} neighbours of each and {FANOUT[1]} of theirs, by {record['sampler']}."
    )
    return f"{about}\n\n{markdown(head, rows)}"


if __name__ == "__main__":
    main("sampling", option_parser(__doc__), run, table)
