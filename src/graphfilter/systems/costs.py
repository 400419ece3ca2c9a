"""What training a system will take, before anything is made.

Bytes are counted from sizes alone. The factors were measured: ``benchmarks/dry_run.py`` compares
the whole with the peak of a process that then trains. Freed memory that the C library keeps for the
next epoch, at most 256 MiB, is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from graphfilter.data.graph import Graph
from graphfilter.models.base import GROWN, SPARSE_VALUE, Sizes
from graphfilter.models.views import (
    AVERAGES,
    COMPRESSED,
    COMPRESSED_AVERAGES,
    MOST_AVERAGED,
    MOST_HOPS,
    MOST_PLACES,
)
from graphfilter.systems.committee import Committee, in_turn
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


@dataclass(frozen=True)
class Cost:
    """What a system takes.

    Attributes
    ----------
    memory : Memory
        Of its largest member, where a system has several.
    members : tuple of (str, Memory)
        Of every member, by title.
    at_once : int
        Hidden columns that are computed at a time; 0 where there are none.
    kept : int
        Bytes of what the graph's store keeps for it.
    """

    system: System
    memory: Memory
    members: tuple[tuple[str, Memory], ...]
    at_once: int
    kept: int = 0


def estimate_cost(system: System, graph: Graph, n_train: int, memory: int) -> Cost:
    """Estimate what training takes where there are ``memory`` bytes.

    Examples
    --------
    >>> import graphfilter as gf
    >>> graph, sgf = gf.data.make_karate(), gf.systems.get_system("sgf")
    >>> cost = estimate_cost(sgf, graph, 20, 4 << 30)
    >>> cost.memory.peak < 1 << 30
    True
    """
    sizes, members, of_many = Sizes.of(graph, n_train), [system], False
    if isinstance(system, Committee):
        members, of_many = in_turn(system.members_for(graph, n_train)), True
    working = [member.model.memory(sizes, memory) for member in members if member.model is not None]
    n, n_entries = sizes.n_vertices, sizes.n_entries
    memories = [
        Memory(
            PROGRAM + JOINED * of_many,
            structure=(28 if sizes.weighted else 12) * n_entries + 48 * n,
            features=_features(member, sizes) if each.features is None else each.features,
            hidden=each.hidden,
            gradients=each.gradients,
            # Between rounds all members hold their weights and moments.
            optimizer=sum(one.optimizer for one in working),
            answers=ANSWERED * n * sizes.n_classes + MEASURED_ENTRY * n_entries,
        )
        for member, each in zip(members, working, strict=True)
    ]
    largest = max(range(len(members)), key=lambda i: memories[i].peak)
    titles = [member.title for member in members]
    return Cost(
        system,
        memories[largest],
        tuple(zip(titles, memories, strict=True)) if of_many else (),
        working[largest].columns,
        working[largest].kept,
    )


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
