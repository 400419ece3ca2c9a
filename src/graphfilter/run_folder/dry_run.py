"""What a fit will take, said before anything of its size is made; and no for an answer."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from graphfilter.errors import ConfigError
from graphfilter.estimators.base import VertexClassifier
from graphfilter.graph import Graph
from graphfilter.run_folder.plan import Plan
from graphfilter.runtime.memory import memory_of_process
from graphfilter.splits import Split
from graphfilter.systems import Prepared, System, train_system
from graphfilter.systems.committee import Committee
from graphfilter.systems.costs import Cost, estimate_cost
from graphfilter.training import Progress

# Refused is what takes more than there is even if the estimate is this much too high.
ERROR = 0.2
# Vertices of the random graph that an epoch is timed on, and epochs.
TIMED_VERTICES, TIMED_EPOCHS = 20_000, 3
# Bytes of a row of predictions: the id, the label, and what each class's probability takes.
_ROW_BYTES, _CELL_BYTES = 40, 9


@dataclass(frozen=True)
class DryRun:
    """What a fit is expected to take.

    Attributes
    ----------
    cost : Cost
        Memory by part, of the largest member where there are several.
    available : int
        Bytes of memory that there are.
    disk : int
        Bytes of the run folder.
    max_epochs : int
        At most so many; training mostly stops before.
    """

    cost: Cost
    available: int
    disk: int
    max_epochs: int

    @property
    def fits(self) -> bool:
        return self.cost.memory.peak <= self.available

    def check(self) -> None:
        """Raise where the fit would be killed."""
        needed = self.cost.memory.peak
        if needed * (1 - ERROR) <= self.available:
            return
        large = max(self.cost.members, key=lambda member: member[1].peak, default=None)
        of = "" if large is None else f", for the member {large[0]!r}"
        raise ConfigError(
            f"the fit would take about {_gib(needed)} of memory{of}; there are "
            f"{_gib(self.available)}. {self._remedy()}"
        )

    def _remedy(self) -> str:
        memory, settings = self.cost.memory, self.cost.system.settings()
        alone = self.cost.system.name.startswith("sgf")
        tries = [] if alone else ["--model sgf, which cuts its hidden columns into blocks"]
        if memory.features > memory.structure + memory.hidden:
            tries.append("fewer features (--features, --drop)")
        elif settings.get("hidden_size"):
            tries.append("a smaller --hidden" if alone else "a smaller hidden_size")
        tries.append("torchrun over several machines, or a machine with more memory")
        return f"Try {'; '.join(tries)}. GRAPHFILTER_MEMORY says how much there is, where it errs."


def plan_dry_run(plan: Plan, classifier: VertexClassifier) -> DryRun:
    """Estimate what fitting a classifier to a planned graph takes; nothing is allocated."""
    graph, system, available = plan.graph, classifier.build_system(), memory_of_process()
    rows = graph.n_vertices * (_ROW_BYTES + _CELL_BYTES * graph.n_classes)
    cost = estimate_cost(system, graph, len(plan.split.train), available)
    return DryRun(
        cost, available, rows + 2 * cost.memory.optimizer, system.settings()["max_epochs"]
    )


def time_epoch(plan: Plan, classifier: VertexClassifier) -> float:
    """Return about how many seconds an epoch takes, of all members together.

    It is measured on a random graph of the same degrees and columns but fewer vertices, and
    multiplied: larger graphs are somewhat slower than that, as less of them is in a cache.
    """
    graph, system = plan.graph, classifier.build_system()
    n = min(graph.n_vertices, TIMED_VERTICES)
    small = _smaller(graph, n)
    rng = np.random.default_rng(0)
    share = len(plan.split.train) / graph.n_vertices
    train = rng.permutation(n)[: max(graph.n_classes, round(share * n))]
    rest = np.setdiff1d(np.arange(n), train)
    split = Split(train, rest[: max(1, len(train) // 3)], [])
    members = [system]
    if isinstance(system, Committee):
        members = list(system.sitting(graph, len(plan.split.train)))
    prepared = Prepared.of(small)
    seconds = sum(_seconds(prepared, member, split) for member in members if not member.is_fitted)
    return seconds * graph.n_vertices / n


def _seconds(prepared: Prepared, system: System, split: Split) -> float:
    ended: list[float] = []

    def note(progress: Progress) -> None:
        ended.append(time.perf_counter())

    short = system.with_(max_epochs=TIMED_EPOCHS)
    train_system(prepared, short, [split], [0], on_epoch=note)
    return (ended[-1] - ended[0]) / max(1, len(ended) - 1)


def _smaller(graph: Graph, n: int) -> Graph:
    """Make a random graph with n vertices and otherwise like this one."""
    rng = np.random.default_rng(0)
    n_edges = max(1, graph.n_edges * n // graph.n_vertices)
    x = graph.features
    assert x is not None  # a plan gives a graph without features its identity
    if isinstance(x, np.ndarray):
        features = rng.standard_normal((n, x.shape[1]), dtype=np.float32)
    else:
        per_row = max(1, x.nnz // x.shape[0])
        columns = rng.integers(0, x.shape[1], n * per_row)
        indptr = np.arange(0, n * per_row + 1, per_row)
        ones = np.ones(n * per_row, dtype=np.float32)
        features = sp.csr_array((ones, columns, indptr), shape=(n, x.shape[1]))
        features.sum_duplicates()
    labels = np.arange(n) % graph.n_classes
    edges = rng.integers(0, n, (n_edges, 2))
    return Graph.from_edges(edges, n, features=features, labels=labels)


def _gib(n_bytes: int) -> str:
    return f"{n_bytes / 2**30:.1f} GiB"
