"""Geom-GCN (Pei et al. 2020), in the latent space of isomap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.errors import GraphError
from graphfilter.graph import Graph
from graphfilter.models.base import ModelConfig, Network
from graphfilter.models.layers import Draws, Input, Linear
from graphfilter.operators import Operator
from graphfilter.operators.sparse import SparseFeatures

N_RELATIONS = 4
MOST_VERTICES = 100_000

# Coordinates of one place differ by rounding: below this share of the spread they are the same.
_SAME = 1e-6


@dataclass(frozen=True)
class GeomGCNConfig(ModelConfig):
    """Of :class:`GeomGCN`.

    Parameters
    ----------
    hidden_size : int
    dropout : float
        On the input of both layers.
    """

    kind: ClassVar[str] = "GeomGCN"
    keeps_graph: ClassVar[bool] = True
    hidden_size: int = 48

    def build(self, graph: Graph, generator: torch.Generator) -> GeomGCN:
        return GeomGCN(graph, self, generator=generator)


class GeomGCN(Network[GeomGCNConfig]):
    r"""*Geom-GCN: Geometric Graph Convolutional Networks* (ICLR 2020), Geom-GCN-I.

    The vertices are placed in the plane by isomap. Each has two neighbourhoods, in the graph
    (with itself) and in the plane, and in each the neighbours fall into four relations, by the
    quadrant they lie in; outside the largest component there is the graph's alone. With
    the normalised adjacency :math:`S_i` of each of the 8 pairs,

    .. math:: H' = \mathrm{relu}\Bigl(\sum_{i=1}^{8} S_i (H W_i + b_i)\Bigr)

    (the authors' concatenation times one matrix, written as a sum), two layers, the last
    without the relu.

    Parameters
    ----------
    graph : Graph
        Embedded once.
    config : GeomGCNConfig, optional
    generator : torch.Generator, optional
        For the initial weights.
    """

    def __init__(
        self, graph: Graph, config: GeomGCNConfig | None = None, *, generator: Draws = None
    ) -> None:
        config = config or GeomGCNConfig()
        super().__init__(config)
        self._wide = sp.csr_array(sp.hstack(relations(graph, isomap(graph))))
        self._on: dict[torch.device, SparseFeatures] = {}
        n_blocks = 2 * N_RELATIONS
        self.first = Linear(graph.n_features, n_blocks * config.hidden_size, generator)
        self.second = Linear(config.hidden_size, n_blocks * graph.n_classes, generator)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made again on first use: sparse tensors cannot be copied."""
        return {**super().__getstate__(), "_on": {}}

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        rate = self.rate
        hidden = torch.relu(self._sum(self.first(x, dropout=rate, generator=generator)))
        return self._sum(self.second(hidden, dropout=rate, generator=generator))

    def _sum(self, blocks: Tensor) -> Tensor:
        """Return the sum of S_i times block i, as one product with [S_1, ..., S_8]."""
        if blocks.device not in self._on:
            self._on[blocks.device] = SparseFeatures(self._wide, device=blocks.device)
        stacked = blocks.view(len(blocks), 2 * N_RELATIONS, -1).transpose(0, 1)
        return self._on[blocks.device].project(stacked.reshape(-1, stacked.shape[-1]))


def isomap(
    graph: Graph, *, exact_up_to: int = 4000, n_landmarks: int = 1000, seed: int = 0
) -> NDArray[np.float64]:
    """Place the vertices in the plane so that distances are those along the graph: (n, 2).

    Isomap (Tenenbaum et al. 2000) with the graph itself for the neighbour graph: classical
    scaling of the numbers of steps between vertices, by scikit-learn's KernelPCA. There are no
    distances between components, so only the largest is placed; the other rows are NaN. With
    more than ``exact_up_to`` vertices only ``n_landmarks`` of them, drawn from ``seed``, are
    scaled, and the others placed by their distances to those (landmark isomap).
    """
    from sklearn.decomposition import KernelPCA

    if graph.n_vertices > MOST_VERTICES:
        raise GraphError(
            f"Geom-GCN must embed every vertex by its distances to the others and takes at most "
            f"{MOST_VERTICES:,} vertices; got {graph.n_vertices:,}. Leave it out, or take a "
            "subgraph."
        )
    _, component = sp.csgraph.connected_components(graph.adjacency, directed=False)
    inside = np.flatnonzero(component == np.bincount(component).argmax())
    n = len(inside)
    places = np.full((graph.n_vertices, 2), np.nan)
    if n < 3:
        return places
    landmarks = np.arange(n)
    if n > exact_up_to:
        landmarks = np.random.default_rng(seed).choice(n, n_landmarks, replace=False)
    adjacency = graph.adjacency[inside][:, inside]
    kernel = sp.csgraph.dijkstra(adjacency, indices=landmarks, unweighted=True)
    kernel = -0.5 * kernel**2
    scaling = KernelPCA(n_components=2, kernel="precomputed", random_state=seed)
    scaling.fit(kernel[:, landmarks])
    places[inside] = scaling.transform(kernel.T)
    return places


def relations(graph: Graph, places: NDArray[np.float64]) -> list[sp.csr_array]:
    r"""Return the normalised adjacency of each relation, in the graph and then in the plane.

    Entry (v, u) of relation r is :math:`1 / \sqrt{d_v d_u}` where u is a neighbour of v in
    quadrant r of it, and d counts the neighbours of the whole neighbourhood.
    """
    n = graph.n_vertices
    rows = np.repeat(np.arange(n), np.diff(graph.indptr))
    loops = np.stack([np.arange(n)] * 2)
    in_graph = np.concatenate([np.stack([rows, graph.indices]), loops], axis=1)
    placed = np.flatnonzero(np.isfinite(places[:, 0]))
    n_pairs = np.diff(graph.indptr)[placed].sum() // 2
    pairs = placed[near_pairs(places[placed], n_pairs)].T
    in_plane = np.concatenate([pairs, pairs[::-1]], axis=1)
    matrices = []
    # Vertices that are not placed lie nowhere: every comparison is false, the first quadrant.
    tolerance = _SAME * np.ptp(places[placed]) if len(placed) else 0.0
    for v, u in (in_graph, in_plane):
        degrees = np.maximum(np.bincount(v, minlength=n), 1)
        values = 1 / np.sqrt(degrees[v] * degrees[u])
        right, above = (places[u] - places[v] > tolerance).T
        quadrant = 2 * above.astype(int) + right
        for relation in range(N_RELATIONS):
            chosen = quadrant == relation
            entries = (values[chosen], (v[chosen], u[chosen]))
            matrices.append(sp.csr_array(entries, shape=(n, n)))
    return matrices


def near_pairs(places: NDArray[np.float64], n_pairs: int) -> NDArray[np.int64]:
    """Return the pairs within the largest distance that gives at most ``n_pairs`` of them.

    So the neighbourhoods in the plane are on average as large as those in the graph.
    """
    from scipy.spatial import KDTree

    if not len(places):
        return np.empty((0, 2), dtype=np.int64)
    tree = KDTree(places)
    spread = float(np.ptp(places, axis=0).max())
    low, high = 0.0, 2 * spread
    for _ in range(50):
        middle = (low + high) / 2
        # The count has every pair twice and every vertex with itself.
        if (tree.count_neighbors(tree, middle) - len(places)) // 2 <= n_pairs:
            low = middle
        else:
            high = middle
    if (tree.count_neighbors(tree, low) - len(places)) // 2 > n_pairs:
        return np.empty((0, 2), dtype=np.int64)
    return tree.query_pairs(low, output_type="ndarray").astype(np.int64)
