"""What one process takes to train one system: memory by part.

Bytes are counted from sizes alone. The factors were measured: ``benchmarks/dry_run.py`` compares
the whole with the peak of a process that then trains. Freed memory that the C library keeps for the
next epoch, at most 256 MiB, is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from graphfilter.inputs import (
    AVERAGES,
    COMPRESSED,
    COMPRESSED_AVERAGES,
    MOST_AVERAGED,
    MOST_HOPS,
    MOST_PLACES,
)
from graphfilter.models import GROWN, SPARSE_VALUE, Sizes, Working
from graphfilter.systems.system import System

# Python, torch and their libraries, with what their threads hold; and of that what comes with the
# report, which draws pictures, after training.
PROGRAM, REPORT = 680 * 2**20, 150 * 2**20
# Memory of a committee for scikit-learn and for what earlier members leave behind.
JOINED = 200 * 2**20
# Bytes of each vertex and class when all are answered and reported, and of an entry of the
# adjacency when frequencies are measured for the report.
ANSWERED, MEASURED_ENTRY = 45, 16
# Bytes of an entry that averages are taken over.
AVERAGED_ENTRY = 40


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
    system: System, sizes: Sizes, available: int, n_processes: int = 1
) -> tuple[Memory, Working]:
    """Return what a process takes at most, where it has ``available`` bytes, by part.

    And what its network says that it takes. Hidden columns of a network that can be divided are
    divided among ``n_processes``.
    """
    assert system.model is not None  # It is trained.
    working = system.model.memory(sizes, available, n_processes)
    per_entry = 28 if sizes.weighted else 12
    features = _features(system, sizes) if working.features is None else working.features
    memory = Memory(
        structure=per_entry * sizes.n_entries + 48 * sizes.n_vertices,
        features=features,
        hidden=working.hidden,
        gradients=working.gradients,
        optimizer=working.optimizer,
        answers=ANSWERED * sizes.n_vertices * sizes.n_classes + MEASURED_ENTRY * sizes.n_entries,
    )
    return memory, working


def _features(system: System, sizes: Sizes) -> int:
    """Return the bytes of what a system sees of the vertices, with the features it is made of."""
    n, d, own = sizes.n_vertices, sizes.n_features, sizes.n_values
    plain = SPARSE_VALUE * own if own else 8 * n * d
    values = own or n * d
    if system.view == "unit":
        return plain + (SPARSE_VALUE * own if own else 12 * n * d)
    if system.view in ("unit+links", "features+links"):
        return plain + SPARSE_VALUE * (values + sizes.n_entries)
    if system.view in (AVERAGES, COMPRESSED_AVERAGES):
        if system.view == COMPRESSED_AVERAGES and d > MOST_AVERAGED:
            d = COMPRESSED
        hops = max(0, min(MOST_HOPS, MOST_AVERAGED // max(d, 1) - 1))
        return plain + AVERAGED_ENTRY * sizes.n_entries + GROWN * n * (d * (1 + hops) + 1)
    if system.view == "places":
        columns = 3 * min(d, MOST_PLACES) + MOST_PLACES
        return plain + AVERAGED_ENTRY * sizes.n_entries + 2 * GROWN * n * columns
    if system.view in ("neighbours", "links"):
        return plain + AVERAGED_ENTRY * sizes.n_entries
    return plain
