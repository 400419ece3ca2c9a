"""Several operators of one graph: one per edge type, and one per direction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from graphfilter.data.edge_attributes import EdgeKinds
from graphfilter.data.graph import Graph
from graphfilter.operators.kernels.factored_matrix import FactoredMatrix
from graphfilter.operators.operator import Operator, normalise
from graphfilter.util.errors import GraphError

# What the channels are called that are not edge types.
EDGES, COUPLING, CO_CITATION = "edges", "links to the same", "linked by the same"


class Channels(Operator):
    """The operator of a whole graph, with the operators of its parts beside it.

    As an operator it is that of the whole graph; networks of several channels take the parts.

    Parameters
    ----------
    whole : Operator
    parts : mapping of Operators
        By name, all of the same vertices, device and precision.
    """

    def __init__(self, whole: Operator, parts: Mapping[str, Operator]) -> None:
        self.interval, self.kind, self.kernel = whole.interval, "channels", whole.kernel
        self.parts = dict(parts)
        self._without_edges: Operator | None = None

    def part(self, name: str) -> Operator:
        """Return the operator of a channel; for an edge type without edges, that of no edge."""
        if name in self.parts:
            return self.parts[name]
        if self._without_edges is None:
            empty = sp.csr_array((self.n, self.n), dtype=np.float64)
            self._without_edges = _augmented(empty, device=self.device, dtype=self.dtype)
        return self._without_edges

    def check_channels(self, names: tuple[str, ...]) -> None:
        """Raise unless a network of these channels can run on this graph."""
        if COUPLING in names and COUPLING not in self.parts:
            raise GraphError(
                "the graph must be directed, like the graph of the fit; it is not. Read it with "
                "`directed=True`."
            )
        if EDGES in self.parts and EDGES not in names:
            raise GraphError(
                f"every edge must have a type ({', '.join(names)}), as in the graph of the fit; "
                "this graph has no edge types. Name their column (`edge_kind`)."
            )
        if unknown := set(self.parts).difference(names):
            raise GraphError(
                f"edges must have the types that the network was fitted on ({', '.join(names)}); "
                f"got {sorted(unknown)[0]!r}. Leave those edges out, or fit again."
            )

    def to(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None
    ) -> Channels:
        parts = {name: part.to(device, dtype) for name, part in self.parts.items()}
        return Channels(super().to(device, dtype), parts)

    def factors(self) -> list[FactoredMatrix]:
        return [matrix for part in self.parts.values() for matrix in part.factors()]

    def __repr__(self) -> str:
        return f"Channels({self.n:,} vertices: {', '.join(self.parts)})"


def channel_names(graph: Graph) -> tuple[str, ...]:
    """Return the names of the channels of a graph: its edge types, and its directions."""
    kinds = (EDGES,) if graph.kinds is None else graph.kinds.names
    return (*kinds, COUPLING, CO_CITATION) if graph.directed else kinds


def without_edges(graph: Graph, names: Sequence[Any]) -> Graph:
    """Give a graph without edges these channels, so that a network can be built for them."""
    if len(set(names)) != len(names) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"channels must have different names; got {names!r}")
    kinds = tuple(name for name in names if name not in (EDGES, COUPLING, CO_CITATION))
    return replace(
        graph,
        arcs=np.zeros(0, dtype=np.float32) if COUPLING in names else None,
        kinds=EdgeKinds(kinds, np.zeros((len(kinds), 0), dtype=np.float32)) if kinds else None,
    )


def kind_operators(graph: Graph, whole: Operator, **where: Any) -> dict[str, Operator]:
    r"""Return :math:`\tilde A` of every edge type, or of the graph where there are none."""
    kinds = graph.kinds
    if kinds is None:
        return {EDGES: whole}
    return {
        name: _augmented(kinds.adjacency(k, graph.indptr, graph.indices), **where)
        for k, name in enumerate(kinds.names)
        for k, name in enumerate(kinds.names)
    }


def _augmented(matrix: sp.csr_array, **where: Any) -> Operator:
    degrees = torch.from_numpy(np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel())
    structure = FactoredMatrix.from_scipy(matrix, values=bool((matrix.data != 1).any()))
    return normalise(structure, degrees, "augmented_adjacency", **where)
