"""What training a system will take, of each process and of a machine, before anything is made.

:mod:`~graphfilter.systems.system` counts the bytes of one system in one process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphfilter.data.graph import Graph
from graphfilter.models import FilterNetworkConfig
from graphfilter.models.base import Sizes
from graphfilter.systems.committee import Committee, in_turn
from graphfilter.systems.pipeline import is_divided
from graphfilter.systems.system import JOINED, Memory, System, memory_of
from graphfilter.util.machine import Launched

ALONE = Launched()


@dataclass(frozen=True)
class Cost:
    """What a system takes.

    Attributes
    ----------
    memory : Memory
        Of the process that takes most; of its largest member, where a system has several.
    members : tuple of (str, Memory)
        Of every member, by title.
    at_once : int
        Hidden columns that a process computes at a time; 0 where there are none.
    machine : int
        Bytes that the processes of one machine take together. Pages of a mapped graph, which they
        share, are counted once.
    per_step : int
        Bytes that are summed over the processes in a step; 0 where columns are not divided.
    kept : int
        Bytes of what the graph's store keeps for it.
    """

    system: System
    memory: Memory
    members: tuple[tuple[str, Memory], ...]
    at_once: int
    machine: int
    per_step: int = 0
    kept: int = 0


def estimate_cost(
    system: System, graph: Graph, n_train: int, memory: int, place: Launched = ALONE
) -> Cost:
    """Estimate what training takes where each process has ``memory`` bytes.

    Parameters
    ----------
    place : Launched
        How many processes there are, and how many on a machine: hidden columns, or the members of
        a committee, are divided among them, as in training.

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
        peaks = _peaks([each for each, _ in found], place.size)
    else:
        n_parts = place.size if is_divided(system) else 1
        found, named = [memory_of(system, sizes, memory, n_parts)], ()
        peaks = _peaks([found[0][0]] * n_parts, place.size)
    largest, working = max(found, key=lambda each: each[0].peak)
    machine = _largest_machine(peaks, place.local_size, mapped_bytes(graph))
    per_step = _summed(system, sizes, place.size)
    return Cost(system, largest, named, working.columns, machine, per_step, working.kept)


def _peaks(parts: Sequence[Memory], n_processes: int) -> list[int]:
    """Return what each process takes that trains parts i, i + N, … one after another."""
    own = [[part.peak for part in parts[rank::n_processes]] for rank in range(n_processes)]
    first = parts[0]
    # One that trains none holds what all hold.
    idle = first.program + first.structure + first.features
    return [max(peaks, default=idle) for peaks in own]


def _largest_machine(peaks: Sequence[int], n_local: int, shared: int) -> int:
    """Return what the machine with most of the processes' bytes takes; ranks follow machines."""
    machines = [peaks[i : i + n_local] for i in range(0, len(peaks), n_local)]
    return max(sum(own) - shared * (len(own) - 1) for own in machines)


def _summed(system: System, sizes: Sizes, n_processes: int) -> int:
    """Return the bytes of a step's sums: logits, and gradients of the filter and of the bias."""
    model = system.model
    if n_processes == 1 or not is_divided(system) or not isinstance(model, FilterNetworkConfig):
        return 0
    degree = model.filter.build().degree
    return 4 * (sizes.n_vertices * sizes.n_classes + degree + 1 + sizes.n_classes)


def mapped_bytes(graph: Graph) -> int:
    """Return the bytes of a graph's structure and features that are mapped from a file."""
    x: Any = graph.features
    arrays: list[Any] = [graph.indptr, graph.indices, graph.weights]
    arrays += [x] if x is None or isinstance(x, np.ndarray) else [x.data, x.indices, x.indptr]
    return sum(array.nbytes for array in arrays if array is not None and _is_mapped(array))


def _is_mapped(array: Any) -> bool:
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False
