"""Geom-GCN (Pei et al. 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphfilter.data.graph import Graph
from graphfilter.models.base import GraphNetwork, ModelConfig
from graphfilter.models.layers import Draws, Input
from graphfilter.operators import Operator, SparseFeatures
from graphfilter.util.errors import check_name
from graphfilter_research.peers.geom_places import Places, near_pairs, place
from graphfilter_research.peers.pyg import Projection

EMBEDDINGS = ("isomap", "poincare", "structure")
N_QUADRANTS = 4
# Quadrants in the graph, quadrants in the plane, and the vertex itself.
N_RELATIONS = 2 * N_QUADRANTS + 1

# Coordinates of one place differ by rounding: below this share of the spread they are the same.
_SAME = 1e-6


@dataclass(frozen=True)
class GeomGCNConfig(ModelConfig):
    """Of :class:`GeomGCN`.

    Parameters
    ----------
    hidden_size : int
        Columns per relation.
    dropout : float
        On the input of both layers.
    embedding : {'isomap', 'poincare', 'structure'}
        Where the vertices lie: the authors' Geom-GCN-I, -P and -S (there struc2vec).
    """

    hidden_size: int = 16
    embedding: str = "isomap"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name("embedding", self.embedding, EMBEDDINGS)


class GeomGCN(GraphNetwork[GeomGCNConfig], config=GeomGCNConfig):
    r"""*Geom-GCN: Geometric Graph Convolutional Networks* (ICLR 2020).

    The vertices are placed in the plane. Each has two neighbourhoods, in the graph and in the
    plane, and in each the neighbours fall into four relations, by the quadrant they lie in; the
    vertex itself is the ninth. With the normalised adjacency :math:`S_i` of each,

    .. math:: H = \mathrm{relu}([S_1 X W_1, \dots, S_9 X W_9]), \qquad
              \hat y = \tfrac{1}{9} \sum_{i=1}^{9} S_i H V_i ,

    the concatenation before the activation and the mean of the last layer as in the authors' code.

    The graph is embedded once.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="geom-gcn@embedding=isomap", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    def make_layers(self, graph: Graph, generator: Draws) -> None:
        config = self.config
        matrices = _relations_of(graph, config.embedding)
        self._apart = sp.csr_array(sp.block_diag(matrices))
        self._wide = sp.csr_array(sp.hstack(matrices))
        self._on: dict[torch.device, tuple[SparseFeatures, SparseFeatures]] = {}
        self.first = Projection(graph.n_features, N_RELATIONS * config.hidden_size, generator)
        width = N_RELATIONS * config.hidden_size
        self.second = Projection(width, N_RELATIONS * graph.n_classes, generator)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made again on first use: sparse tensors cannot be copied."""
        return {**super().__getstate__(), "_on": {}}

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        apart, wide = self._matrices(self.first.weight.device)
        blocks = _by_relation(self.first(x, dropout=self.rate, generator=generator))
        beside = apart.project(blocks).view(N_RELATIONS, operator.n, -1).transpose(0, 1)
        hidden = torch.relu(beside.reshape(operator.n, -1))
        blocks = _by_relation(self.second(hidden, dropout=self.rate, generator=generator))
        return wide.project(blocks) / N_RELATIONS

    def _matrices(self, device: torch.device) -> tuple[SparseFeatures, SparseFeatures]:
        """Return diag(S_1, ..., S_9) and [S_1, ..., S_9] on a device."""
        if device not in self._on:
            self._on[device] = (
                SparseFeatures(self._apart, device=device),
                SparseFeatures(self._wide, device=device),
            )
        return self._on[device]


def _by_relation(columns: Tensor) -> Tensor:
    """Put the blocks of columns, one per relation, below each other: (n, 9 c) gives (9 n, c)."""
    blocks = columns.view(len(columns), N_RELATIONS, -1).transpose(0, 1)
    return blocks.reshape(-1, blocks.shape[2])


# By the graph itself, which never changes: the runs of a benchmark share its embedding.
@lru_cache(maxsize=3)
def _relations_of(graph: Graph, embedding: str) -> list[sp.csr_array]:
    return relations(graph, place(graph, embedding), hyperbolic=embedding == "poincare")


def relations(graph: Graph, places: Places, *, hyperbolic: bool = False) -> list[sp.csr_array]:
    r"""Return the normalised adjacency of each relation: graph, plane, the vertex itself.

    Entry (v, u) of relation r is :math:`1 / \sqrt{d_v d_u}` where u is a neighbour of v in
    quadrant r of it, and d counts the entries of a vertex over all nine.
    """
    n = graph.n_vertices
    rows = np.repeat(np.arange(n), np.diff(graph.indptr))
    placed = np.flatnonzero(np.isfinite(places[:, 0]))
    n_pairs = np.diff(graph.indptr)[placed].sum() // 2
    pairs = placed[near_pairs(places[placed], n_pairs, hyperbolic=hyperbolic)].T
    in_plane = np.concatenate([pairs, pairs[::-1]], axis=1)
    parts = []
    # Vertices that are not placed lie nowhere: every comparison is false, the first quadrant.
    tolerance = _SAME * np.ptp(places[placed]) if len(placed) else 0.0
    for v, u in (np.stack([rows, graph.indices]), in_plane):
        right, above = (places[u] - places[v] > tolerance).T
        quadrant = 2 * above.astype(int) + right
        parts += [(v[quadrant == q], u[quadrant == q]) for q in range(N_QUADRANTS)]
    parts.append((np.arange(n), np.arange(n)))
    degrees = np.sum([np.bincount(v, minlength=n) for v, _ in parts], axis=0)
    return [
        sp.csr_array((1 / np.sqrt(degrees[v] * degrees[u]), (v, u)), shape=(n, n)) for v, u in parts
    ]
