"""Start: networks of an earlier fit, whose weights those of the same config begin with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.inputs import VIEWS
from graphfilter.models import Fitted, Network
from graphfilter.systems.prepared import Prepared
from graphfilter.systems.system import System

# Networks that begin with weights are near their end: they wait this part of their patience.
PATIENCE_PART = 4
# The views whose columns are vertices, whoever else's come before them.
_OF_VERTICES = ("neighbours", "links", "unit+links")


@dataclass(frozen=True, eq=False)
class Start:
    """Networks that were trained on an earlier state of a graph.

    Attributes
    ----------
    networks : sequence of (System, Network)
        In the order of their seeds.
    places : int array (n_earlier,) or None
        The number that each vertex of the earlier graph has now, -1 where it is gone. None where
        that is not known: networks whose columns are vertices then start again.
    held : int8 array (n,) or None
        Of earlier networks that each held a fold of their vertices out: the fold of each vertex of
        the graph as it is now, -1 of those that none has held.
    """

    networks: Sequence[tuple[System, Network[Any]]]
    places: NDArray[np.int64] | None = None
    held: NDArray[np.int8] | None = None

    def begin(self, prepared: Prepared, system: System, networks: Sequence[Network[Any]]) -> int:
        """Give networks of a system the weights of the earlier ones; return how many have some."""
        if not self.n_carried(system):
            return 0
        columns = self._columns(prepared, system)
        pairs = zip(self.of(system), networks, strict=False)
        return sum(_carry(old, new, columns) for old, new in pairs)

    def after(self, system: System, n_seeds: int) -> Start:
        """Return the start of further seeds of a system, without the networks of the first."""
        taken = {id(network) for network in self.of(system)[:n_seeds]}
        left = [pair for pair in self.networks if id(pair[1]) not in taken]
        return replace(self, networks=left)

    def of(self, system: System) -> list[Network[Any]]:
        """Return the networks of the same config; none of models without epochs."""
        return [
            network
            for own, network in self.networks
            if not isinstance(network, Fitted)
            and (own.name, own.model, own.operator, own.view)
            == (system.name, system.model, system.operator, system.view)
        ]

    def n_carried(self, system: System) -> int:
        """Return how many networks of a system can begin with weights."""
        moves = VIEWS[system.view].keeps_graph
        known = self.places is not None and system.view in _OF_VERTICES
        return len(self.of(system)) if known or not moves else 0

    def _columns(self, prepared: Prepared, system: System) -> NDArray[np.int64] | None:
        """Return where the columns of an earlier network are now; None where they stay."""
        if self.places is None or not VIEWS[system.view].keeps_graph:
            return None
        n_features = prepared.graph.n_features if system.view == "unit+links" else 0
        n_columns = prepared.seen_as(system.view).graph.n_features
        # Directions, and further steps, are more columns per vertex.
        blocks = (n_columns - n_features) // prepared.graph.n_vertices
        starts = n_features + prepared.graph.n_vertices * np.arange(blocks)
        moved = np.where(self.places >= 0, self.places + starts[:, None], -1)
        return np.concatenate([np.arange(n_features), moved.ravel()])


def _carry(old: Network[Any], new: Network[Any], columns: NDArray[np.int64] | None) -> bool:
    """Give a network the weights of another; return whether their shapes go together."""
    before, state = old.state_dict(), new.state_dict()
    if before.keys() != state.keys():
        return False
    # What it was told belongs to a graph; it is not learned.
    carried = before | {name: value for name, value in state.items() if name == "told"}
    if columns is not None:
        found = [name for name, value in before.items() if _rows(value) == len(columns)]
        if len(found) != 1:  # Which of them reads the columns is not clear.
            return False
        # Those of vertices that are new are drawn, as every weight is at the start.
        rows, known = state[found[0]].clone(), columns >= 0
        rows[columns[known]] = before[found[0]][known].to(rows)
        carried[found[0]] = rows
    if any(carried[name].shape != value.shape for name, value in state.items()):
        return False
    new.load_state_dict(carried)
    return True


def _rows(tensor: Tensor) -> int:
    return tensor.shape[0] if tensor.ndim == 2 else -1
