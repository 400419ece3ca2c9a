"""What training a system will take, before anything is made.

:mod:`~graphfilter.systems.system` counts the bytes of one system in one process.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from graphfilter.data.graph import Graph
from graphfilter.models.base import Sizes
from graphfilter.systems.committee import Committee, in_turn
from graphfilter.systems.system import JOINED, Memory, System, memory_of


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
    sizes = Sizes.of(graph, n_train)
    if isinstance(system, Committee):
        members = in_turn(system.members_for(graph, n_train))
        alone = [memory_of(member, sizes, memory) for member in members]
        # Between rounds all hold their weights and moments.
        held = sum(each.optimizer for each, _ in alone)
        found = [
            (replace(each, program=each.program + JOINED, optimizer=held), n) for each, n in alone
        ]
        named = tuple((m.title, each) for m, (each, _) in zip(members, found, strict=True))
    else:
        found, named = [memory_of(system, sizes, memory)], ()
    largest, working = max(found, key=lambda each: each[0].peak)
    return Cost(system, largest, named, working.columns, working.kept)
