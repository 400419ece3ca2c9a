"""What one process takes to train one system: memory by part.

Bytes are counted from sizes alone. The factors were measured: ``benchmarks/dry_run.py`` compares
the whole with the peak of a process that then trains. Freed memory that the C library keeps for the
next epoch, at most 256 MiB, is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import scipy.sparse as sp

from graphfilter.graph import Graph
from graphfilter.inputs import MOST_AVERAGED, MOST_HOPS, MOST_PLACES
from graphfilter.models import (
    BYTES_OF_PROCESS,
    BYTES_PER_EDGE_ENTRY,
    BYTES_PER_ENTRY,
    BYTES_PER_FEATURE,
    BYTES_PER_SPARSE_FEATURE,
    BYTES_PER_VERTEX,
    LANES,
    READ_BYTES,
    FilterNetworkConfig,
    ForestConfig,
    HopNetworkConfig,
    KernelConfig,
    ResidualConfig,
    TreesConfig,
    forest_bytes,
)
from graphfilter.operators import COLUMNS
from graphfilter.store import WORTH_KEEPING, store_of
from graphfilter.systems.system import System

# Python, torch and their libraries, with what their threads hold; and of that what comes with the
# report, which draws pictures, after training.
PROGRAM, REPORT = 680 * 2**20, 150 * 2**20
# Of a committee, scikit-learn and what the members before leave behind.
JOINED = 200 * 2**20
# Numbers of four bytes per vertex that a training step holds at its peak: of each hidden column
# what is kept for the gradient, of each further layer, and while gradients are made; of each
# feature; of each column that is filtered after the head.
KEPT, KEPT_PER_LAYER, GRADIENTS, PER_FEATURE, PER_LOGIT = 3.0, 3.25, 2.5, 2.75, 7.0
# Bytes of each vertex and class when all are answered and reported, and of an entry of the
# adjacency when frequencies are measured for the report.
ANSWERED, MEASURED_ENTRY = 45, 16
# Bytes of a stored value of sparse features, which are kept by rows and by columns.
SPARSE_VALUE = 66
# Bytes per vertex and class of a kernel's landmark, of an entry that averages are taken over, and
# of a column that trees are grown on.
LANDMARK, AVERAGED_ENTRY, GROWN = 46, 40, 16
# Bytes of each vertex and column that a deep network keeps in each of its layers.
DEEP = 41
# Bytes that a network on hops takes for the vertices it reads at a time, and of each vertex.
READING, PER_VERTEX = 4 * READ_BYTES, 40


@dataclass(frozen=True)
class Sizes:
    """The sizes that costs depend on; ``n_values`` of sparse features, 0 where they are dense.

    ``stored`` says whether the graph is mapped from a store.
    """

    n_vertices: int
    n_entries: int
    n_features: int
    n_values: int
    n_classes: int
    n_train: int
    weighted: bool = False
    stored: bool = False

    @classmethod
    def of(cls, graph: Graph, n_train: int) -> Self:
        x: Any = graph.features
        n_values = x.nnz if sp.issparse(x) else 0
        return cls(
            graph.n_vertices, len(graph.indices), graph.n_features, n_values,
            graph.n_classes, n_train, graph.weights is not None, store_of(graph) is not None,
        )  # fmt: skip


@dataclass(frozen=True)
class Memory:
    """Bytes at the peak, by part; answers are not there at the same time as hidden columns."""

    program: int = PROGRAM
    structure: int = 0
    features: int = 0
    hidden: int = 0
    gradients: int = 0
    optimizer: int = 0
    answers: int = 0

    @property
    def training(self) -> int:
        """What training takes at most, before anything is reported."""
        held = self.program - REPORT + self.structure + self.features + self.optimizer
        return held + self.hidden + self.gradients

    @property
    def peak(self) -> int:
        answering = self.program + self.structure + self.features + self.optimizer + self.answers
        return max(self.training, answering)

    def parts(self) -> dict[str, int]:
        return {part.name: getattr(self, part.name) for part in fields(self)}


def memory_of(
    system: System, sizes: Sizes, memory: int, n_processes: int = 1
) -> tuple[Memory, int]:
    """Return what a process takes at most, where it has ``memory`` bytes, by part.

    And how many hidden columns it computes at a time. Those of a network that can be divided are
    divided among ``n_processes``.
    """
    n, model = sizes.n_vertices, system.model
    per_entry = 28 if sizes.weighted else 12
    held = Memory(
        structure=per_entry * sizes.n_entries + 48 * n,
        features=_features(system, sizes),
        answers=ANSWERED * n * sizes.n_classes + MEASURED_ENTRY * sizes.n_entries,
    )
    if isinstance(model, KernelConfig | ForestConfig | TreesConfig):
        return replace(held, hidden=_fitted(model, sizes)), 0
    if isinstance(model, HopNetworkConfig):
        return _on_hops(held, model, sizes), model.hidden_size or 0
    if isinstance(model, ResidualConfig):
        kept = DEEP * n * model.hidden_size * model.n_layers
        return replace(held, hidden=kept), model.hidden_size
    width, layers = _shape(system)
    own, at_once = width, width
    if isinstance(model, FilterNetworkConfig) and model.can_be_divided:
        own = -(-width // n_processes)
        at_once = min(own, _columns_at_once(sizes, memory))
    filtered = isinstance(model, FilterNetworkConfig) and model.filter_on == "hidden"
    last = GRADIENTS * at_once if filtered else PER_LOGIT * sizes.n_classes
    kept = (KEPT + KEPT_PER_LAYER * (layers - 1)) * at_once
    # Parts of the columns draw the dropout of dense features again, and keep no copy of them.
    copied = not sizes.n_values and at_once == width
    inputs = PER_FEATURE * sizes.n_features if copied else 0
    weights = (sizes.n_features + width * (layers - 1) + sizes.n_classes) * own
    made = replace(
        held,
        hidden=int(4 * n * kept),
        gradients=int(4 * n * (last + inputs)),
        optimizer=16 * weights,
    )
    return made, at_once


def kept_hops_bytes(system: System, sizes: Sizes) -> int:
    """Return the bytes of the hops that a system keeps in the graph's store; 0 of most systems."""
    if not isinstance(system.model, HopNetworkConfig) or not sizes.stored:
        return 0
    n_bytes = 4 * sizes.n_vertices * (system.model.n_hops + 1) * sizes.n_features
    return n_bytes if n_bytes >= WORTH_KEEPING else 0


def _on_hops(held: Memory, model: HopNetworkConfig, sizes: Sizes) -> Memory:
    """Return what a network takes that reads some vertices at a time; of a store, without pages.

    What is mapped from files the system takes back where it needs the memory.
    """
    n, d, n_parts = sizes.n_vertices, sizes.n_features, model.n_hops + 1
    width = d if model.hidden_size is None else model.hidden_size
    weights = n_parts * (d * (model.hidden_size or 0) + width * sizes.n_classes)
    making = 8 * n * COLUMNS
    features = 0
    if not sizes.stored:
        own = SPARSE_VALUE * sizes.n_values if sizes.n_values else 4 * n * d
        features = own + 4 * n * n_parts * d
    hidden = max(making, READING) + n * (PER_VERTEX + 4 * sizes.n_classes)
    return replace(held, features=features, hidden=hidden, optimizer=16 * weights)


def _columns_at_once(sizes: Sizes, memory: int) -> int:
    """Return how many hidden columns are computed at a time, as training chooses it."""
    n = sizes.n_vertices
    features = BYTES_PER_SPARSE_FEATURE * sizes.n_values or BYTES_PER_FEATURE * n * sizes.n_features
    structure = BYTES_PER_EDGE_ENTRY * sizes.n_entries + BYTES_PER_VERTEX * n
    free = memory - BYTES_OF_PROCESS - structure - features
    fit = max(free, 0) // (BYTES_PER_ENTRY * max(n, 1))
    return max(fit // LANES, 1) * LANES


def _shape(system: System) -> tuple[int, int]:
    """Return the width of the hidden layers and how many there are, by the names of settings."""
    settings = system.settings()
    width = next((settings[k] for k in ("hidden_size", "hidden") if settings.get(k)), 64)
    model = system.model
    if isinstance(model, FilterNetworkConfig):
        return int(model.hidden_size or 1), model.encoder_layers
    return int(width), max(1, int(settings.get("n_layers") or 2))


def _features(system: System, sizes: Sizes) -> int:
    """Return the bytes of what a system sees of the vertices, with the features it is made of."""
    n, d, own = sizes.n_vertices, sizes.n_features, sizes.n_values
    plain = SPARSE_VALUE * own if own else 8 * n * d
    values = own or n * d
    if system.view == "unit":
        return plain + (SPARSE_VALUE * own if own else 12 * n * d)
    if system.view == "unit+links":
        return plain + SPARSE_VALUE * (values + sizes.n_entries)
    if system.view == "averages":
        hops = max(0, min(MOST_HOPS, MOST_AVERAGED // max(d, 1) - 1))
        return plain + AVERAGED_ENTRY * sizes.n_entries + GROWN * n * (d * (1 + hops) + 1)
    if system.view == "places":
        columns = 3 * min(d, MOST_PLACES) + MOST_PLACES
        return plain + AVERAGED_ENTRY * sizes.n_entries + 2 * GROWN * n * columns
    if system.view in ("neighbours", "links"):
        return plain + AVERAGED_ENTRY * sizes.n_entries
    return plain


def _fitted(model: Any, sizes: Sizes) -> int:
    if isinstance(model, KernelConfig):
        return LANDMARK * sizes.n_train * min(sizes.n_train, model.most_landmarks)
    if isinstance(model, ForestConfig):
        return forest_bytes(sizes.n_train, sizes.n_classes, model.n_trees)
    return GROWN * sizes.n_train * sizes.n_classes
