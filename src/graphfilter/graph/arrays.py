"""What a graph holds, and what follows from it: the arrays behind a Graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.graph.edge_kinds import EdgeKinds
from graphfilter.graph.history import EdgeHistory
from graphfilter.splits import Split
from graphfilter.tables import Features


@dataclass(frozen=True, eq=False, repr=False)
class GraphArrays:
    """The content of a graph; :class:`~graphfilter.graph.Graph` says what each field is.

    Whatever is computed from a graph takes this, so that Graph itself may use it.
    """

    indptr: NDArray[Any]
    indices: NDArray[Any]
    weights: NDArray[np.float32] | None = None
    features: Features | None = None
    labels: NDArray[np.int64] | None = None
    classes: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    vertex_names: tuple[Any, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    splits: tuple[Split, ...] = ()
    notes: tuple[str, ...] = ()
    name: str = "graph"
    arcs: NDArray[np.float32] | None = None
    kinds: EdgeKinds | None = None
    history: EdgeHistory | None = None

    def __post_init__(self) -> None:
        edges = (self.indptr, self.indices, self.weights, self.arcs)
        for array in (*edges, self.labels, self.classes):
            if array is not None:
                array.flags.writeable = False
        features = self.features
        if features is not None and sp.issparse(features):
            for array in (features.data, features.indices, features.indptr):
                array.flags.writeable = False
        elif features is not None:
            features.flags.writeable = False

    @property
    def n_vertices(self) -> int:
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        """Undirected edges, each counted once."""
        return len(self.indices) // 2

    @property
    def n_features(self) -> int:
        return 0 if self.features is None else self.features.shape[1]

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def degrees(self) -> NDArray[np.float64]:
        """Sum of the weights at each vertex (the number of neighbours where unweighted)."""
        if self.weights is None:
            return np.diff(self.indptr).astype(np.float64)
        rows = np.repeat(np.arange(self.n_vertices), np.diff(self.indptr))
        counts = np.bincount(rows, weights=self.weights, minlength=self.n_vertices)
        return counts.astype(np.float64)

    @property
    def adjacency(self) -> sp.csr_array:
        """The weighted adjacency matrix in float64."""
        data = np.ones(len(self.indices)) if self.weights is None else self.weights.astype(float)
        shape = (self.n_vertices, self.n_vertices)
        return sp.csr_array((data, self.indices, self.indptr), shape=shape)

    @property
    def edges(self) -> NDArray[Any]:
        """Every edge once, as (m, 2) with u < v, sorted."""
        rows, upper = self._upper()
        return np.stack([rows[upper], self.indices[upper]], axis=1)

    @property
    def edge_weights(self) -> NDArray[np.float32] | None:
        """The weights of :attr:`edges`, or None where every edge weighs 1."""
        return None if self.weights is None else self.weights[self._upper()[1]]

    @property
    def directed(self) -> bool:
        """Whether the graph remembers which way its edges go."""
        return self.arcs is not None

    def out_links(self) -> sp.csr_array:
        """Return A (n, n) in float32: in row u, the vertices that u links to.

        An edge of a graph without directions goes both ways.
        """
        values = self.weights if self.arcs is None else self.arcs
        values = np.ones(len(self.indices), dtype=np.float32) if values is None else values.copy()
        shape = (self.n_vertices, self.n_vertices)
        links = sp.csr_array((values, self.indices.copy(), self.indptr.copy()), shape=shape)
        links.eliminate_zeros()
        return links

    def in_links(self) -> sp.csr_array:
        """Return Aᵀ (n, n) in float32: in row u, the vertices that link to u."""
        return self.out_links().T.tocsr()

    def _upper(self) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        rows = np.repeat(np.arange(self.n_vertices, dtype=self.indices.dtype), np.diff(self.indptr))
        return rows, rows < self.indices
