"""What memory and time a fit will take, estimated before anything of its size is allocated."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from graphfilter.data.graph import Graph
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.runs.fit import BASELINES
from graphfilter.runs.plan import Plan
from graphfilter.splits import Split
from graphfilter.systems import Prepared, System, get_system, train_system
from graphfilter.systems.committee import repeats
from graphfilter.systems.system import Committee, Cost, estimate_cost
from graphfilter.training import Callback, Progress
from graphfilter.util.errors import ConfigError
from graphfilter.util.machine import memory_of_process, pick_device
from graphfilter.util.words import say_bytes

# A fit is refused if it needs more memory than there is even if the estimate is this much too high.
ERROR = 0.2
# Vertices of the random graph that an epoch is timed on, and epochs.
TIMED_VERTICES, TIMED_EPOCHS = 20_000, 3
# Vertices of the graph that a model without epochs is timed on.
FITTED_VERTICES = 2000
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

    def within_memory(
        self, plan: Plan, estimator: VertexEstimator, *, baselines: bool
    ) -> tuple[Plan, bool]:
        """Raise where the fit would be killed; leave out baselines that would be, and say so.

        Returns the plan, with its notes, and whether the baselines are trained.
        """
        if pick_device(estimator.device) != "cpu":
            return plan, baselines
        self.check()
        n_train = len(plan.split.train)
        for name in BASELINES if baselines else ():
            cost = estimate_cost(get_system(name), plan.graph, n_train, self.available)
            if cost.memory.peak * (1 - ERROR) > self.available:
                note = "the baselines do not fit in memory: left out."
                return replace(plan, notes=(*plan.notes, note)), False
        return plan, baselines

    def check(self) -> None:
        """Raise where the fit would be killed."""
        needed = self.cost.memory.peak
        if needed * (1 - ERROR) <= self.available:
            return
        large = max(self.cost.members, key=lambda member: member[1].peak, default=None)
        of = "" if large is None else f", for the member {large[0]!r}"
        raise ConfigError(
            f"the fit would take about {say_bytes(needed)} of memory{of}; there are "
            f"{say_bytes(self.available)}. {self._remedy()}"
        )

    def _remedy(self) -> str:
        memory, settings = self.cost.memory, self.cost.system.settings()
        alone = self.cost.system.name.startswith("sgf")
        tries = [] if alone else ["`model='sgf'`, which cuts its hidden columns into blocks"]
        if not self.cost.system.name.startswith("hop-mlp"):
            tries.append("`model='hop-mlp'` on a store, which reads vertices in batches")
        if memory.features > memory.structure + memory.hidden:
            tries.append("fewer features (`features`, `drop`)")
        elif settings.get("hidden_size"):
            tries.append("a smaller `hidden_size`" if alone else "a smaller hidden_size")
        tries.append("a machine with more memory")
        return f"Try {'; '.join(tries)}. If the measured memory is wrong, set GRAPHFILTER_MEMORY."


def plan_dry_run(plan: Plan, estimator: VertexEstimator) -> DryRun:
    """Estimate what fitting an estimator to a planned graph takes; nothing is allocated."""
    graph, system, available = plan.graph, estimator.build_system(), memory_of_process()
    rows = graph.n_vertices * (_ROW_BYTES + _CELL_BYTES * graph.n_classes)
    cost = estimate_cost(system, graph, len(plan.split.train), available)
    disk = rows + 2 * cost.memory.optimizer
    return DryRun(cost, available, disk, system.settings()["max_epochs"])


@dataclass(frozen=True)
class Times:
    """About how many seconds a fit takes.

    Attributes
    ----------
    epoch : float
        An epoch of all members together.
    least, most : float
        The whole fit, baselines included: where no epoch after the first is better, so that
        patience ends it, and where every epoch is trained.
    """

    epoch: float
    least: float
    most: float


def time_fit(plan: Plan, estimator: VertexEstimator, *, baselines: bool = True) -> Times:
    """Time what a fit trains on a random graph of the same degrees and columns, but fewer vertices.

    The times are multiplied: larger graphs are somewhat slower than that, as less of them is in a
    cache.
    """
    graph, system, n_train = plan.graph, estimator.build_system(), len(plan.split.train)
    members = [system]
    if isinstance(system, Committee):
        members = list(system.members_for(graph, n_train))
    own = [_time(plan, member) for member in members]
    others = [_time(plan, get_system(name)) for name in BASELINES] if baselines else []
    seeds = [estimator.n_members] * len(members)
    if isinstance(system, Committee):
        seeds = [repeats(member, graph) for member in members]
    settings = system.settings()
    ends = []
    for epochs in (settings["patience"] + 1, settings["max_epochs"]):
        each = [n * (once + epochs * epoch) for n, (once, epoch) in zip(seeds, own, strict=True)]
        each += [estimator.n_members * epochs * epoch for _, epoch in others]
        ends.append(sum(each))
    return Times(sum(epoch for _, epoch in own), min(ends), max(ends))


def _time(plan: Plan, system: System) -> tuple[float, float]:
    """Return the seconds of what is done once, and of an epoch, on the whole graph."""
    graph = plan.graph
    n = min(graph.n_vertices, FITTED_VERTICES if system.is_fitted else TIMED_VERTICES)
    share = len(plan.split.train) / graph.n_vertices
    train = np.random.default_rng(0).permutation(n)[: max(graph.n_classes, round(share * n))]
    rest = np.setdiff1d(np.arange(n), train)
    split = Split(train, rest[: max(1, len(train) // 3)], [])
    prepared, larger = Prepared.of(_smaller(graph, n)), graph.n_vertices / n
    if system.is_fitted:
        (outcome,) = train_system(prepared, system, [split], [0])
        return outcome.seconds * larger, 0.0
    ends: list[float] = []

    def note(progress: Progress) -> None:
        ends.append(time.perf_counter())

    short = system.with_(max_epochs=TIMED_EPOCHS)
    train_system(prepared, short, [split], [0], callback=Callback(note))
    return 0.0, (ends[-1] - ends[0]) / max(1, len(ends) - 1) * larger


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
    labels = np.arange(n) % max(2, graph.n_classes)
    edges = rng.integers(0, n, (n_edges, 2))
    return Graph.from_edges(edges, n, features=features, labels=labels)
