"""Geom-GCN (Pei et al. 2020), and the places of vertices that its relations are made of."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.data.graph import Graph
from graphfilter.models.base import GraphNetwork, ModelConfig
from graphfilter.models.layers import Draws, Input
from graphfilter.operators import Operator, SparseFeatures
from graphfilter.util.errors import GraphError, check_name
from graphfilter_research.peers.pyg import Projection

MOST_VERTICES = 100_000

Places = NDArray[np.float64]


def place(graph: Graph, embedding: str, most_vertices: int = MOST_VERTICES) -> Places:
    """Place the vertices in the plane, (n, 2); rows of vertices that are not placed are NaN."""
    if graph.n_vertices > most_vertices:
        raise GraphError(
            f"Geom-GCN must place every vertex in the plane and takes at most {most_vertices:,} "
            f"vertices; got {graph.n_vertices:,}. Leave it out, or take a subgraph."
        )
    return {"isomap": isomap, "poincare": poincare, "structure": structure}[embedding](graph)


def isomap(
    graph: Graph, *, exact_up_to: int = 4000, n_landmarks: int = 1000, seed: int = 0
) -> Places:
    """Place the vertices in the plane so that distances are those along the graph: (n, 2).

    Isomap (Tenenbaum et al. 2000) with the graph itself for the neighbour graph: classical
    scaling of the numbers of steps between vertices, by scikit-learn's KernelPCA. There are no
    distances between components, so only the largest is placed; the other rows are NaN. With
    more than ``exact_up_to`` vertices only ``n_landmarks`` of them, drawn from ``seed``, are
    scaled, and the others placed by their distances to those (landmark isomap).
    """
    from sklearn.decomposition import KernelPCA

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


def poincare(
    graph: Graph, *, n_steps: int = 150, n_negative: int = 5, rate: float = 0.3, seed: int = 0
) -> Places:
    r"""Place the vertices in Poincaré's disc so that neighbours are near and others are not.

    *Poincaré Embeddings for Learning Hierarchical Representations* (Nickel & Kiela 2017): for each
    edge :math:`uv` the loss is :math:`-\log(e^{-d(u,v)} / (e^{-d(u,v)} + \sum_w e^{-d(u,w)}))` over
    ``n_negative`` vertices w drawn again at every step. Steps are along the gradient of the disc,
    all edges at once, shortened to a tenth of the way to its rim.
    """
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(graph.n_vertices), np.diff(graph.indptr))
    places = rng.uniform(-1e-3, 1e-3, (graph.n_vertices, 2))
    if not len(rows):
        return places
    degrees = np.maximum(np.diff(graph.indptr), 1)
    for step in range(n_steps):
        others = rng.integers(graph.n_vertices, size=(len(rows), n_negative))
        targets = np.concatenate([graph.indices[:, None], others], axis=1)
        distance, to_source, to_target = _distances(places, rows, targets)
        weight = np.exp(distance.min(axis=1, keepdims=True) - distance)
        weight /= -weight.sum(axis=1, keepdims=True)
        weight[:, 0] += 1
        gradient = _sum_rows(rows, (weight[..., None] * to_source).sum(axis=1), graph.n_vertices)
        moved = weight[..., None] * to_target
        gradient += _sum_rows(targets.ravel(), moved.reshape(-1, 2), graph.n_vertices)
        room = 1 - (places**2).sum(axis=1, keepdims=True)
        # The first steps are short, until the angles are found.
        stride = rate * (0.1 if step < 20 else 1.0)
        way = stride * (room**2 / 4) * gradient / degrees[:, None]
        longest = np.linalg.norm(way, axis=1, keepdims=True) / (0.1 * room)
        places = places - way / np.maximum(longest, 1)
    return places


def _distances(places: Places, source: Any, target: Any) -> tuple[Places, Places, Places]:
    """Return distances (m, k) in the disc, and their gradients at both ends (m, k, 2)."""
    a, b = places[source][:, None], places[target]
    gap = a - b
    square = (gap**2).sum(axis=2)
    alpha = 1 - (a**2).sum(axis=2)
    beta = 1 - (b**2).sum(axis=2)
    gamma = 1 + 2 * square / (alpha * beta)
    slope = 4 / np.sqrt(np.maximum(gamma**2 - 1, 1e-12))
    # From the definition, arccosh(gamma): the room of the other end and one's own change it.
    shared = (slope / (alpha * beta))[..., None]
    at_a = shared * (gap + (square / alpha)[..., None] * a)
    at_b = shared * (-gap + (square / beta)[..., None] * b)
    return np.arccosh(np.maximum(gamma, 1)), at_a, at_b


def _sum_rows(index: Any, values: Places, n: int) -> Places:
    sums = [np.bincount(index, values[:, i], minlength=n) for i in range(2)]
    return np.stack(sums, axis=1).astype(np.float64)


def structure(graph: Graph, *, n_rings: int = 2, n_quantiles: int = 5) -> Places:
    """Place the vertices so that those with like surroundings are near, wherever they are.

    In the spirit of struc2vec (Ribeiro et al. 2017), which compares the sorted degrees of the
    rings around two vertices: here quantiles of their logarithms, of the vertex itself and of
    every ring, are put in the plane by their principal components. It draws nothing at random.
    """
    n = graph.n_vertices
    degrees = np.log1p(np.diff(graph.indptr))
    profile = [degrees[:, None]]
    adjacency = sp.csr_array(graph.adjacency, dtype=np.int32, copy=True)
    adjacency.data[:] = 1
    within = sp.csr_array(sp.eye_array(n, dtype=np.int32, format="csr"))
    for _ in range(n_rings):
        reached = sp.csr_array(within @ adjacency + within)
        reached.data[:] = 1
        ring = sp.csr_array(reached - within)
        ring.eliminate_zeros()
        profile.append(_ring_quantiles(ring, degrees, n_quantiles))
        within = reached
    table = np.concatenate(profile, axis=1)
    table = table - table.mean(axis=0)
    _, _, axes = np.linalg.svd(table, full_matrices=False)
    axes = axes[:2] * np.sign(axes[:2].sum(axis=1, keepdims=True) + 1e-12)
    return table @ axes.T


def _ring_quantiles(ring: sp.csr_array, degrees: Places, n_quantiles: int) -> Places:
    """Return quantiles of the degrees on the ring of every vertex; 0 where it is empty."""
    sizes = np.diff(ring.indptr)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    values = degrees[ring.indices]
    values = values[np.lexsort((values, rows))]
    share = np.linspace(0, 1, n_quantiles)
    last = np.maximum(sizes - 1, 0)[:, None]
    at = ring.indptr[:-1, None] + np.round(share * last).astype(np.int64)
    padded = np.append(values, 0.0)
    return np.where(sizes[:, None] > 0, padded[np.minimum(at, len(values))], 0.0)


def near_pairs(places: Places, n_pairs: int, *, hyperbolic: bool = False) -> NDArray[np.int64]:
    """Return the pairs within the largest distance that gives at most ``n_pairs`` of them.

    So the neighbourhoods in the plane are on average as large as those in the graph. Distances
    are Euclid's, or those of Poincaré's disc.
    """
    from scipy.spatial import KDTree

    if not len(places):
        return np.empty((0, 2), dtype=np.int64)
    tree = KDTree(places)

    def count(distance: float) -> int:
        """Count pairs; both ways of counting have each twice, and every vertex with itself."""
        if hyperbolic:
            balls = hyperbolic_balls(places, distance)
            found = tree.query_ball_point(*balls, return_length=True).sum()
        else:
            found = tree.count_neighbors(tree, distance)
        return int(found - len(places)) // 2

    low, high = 0.0, 40.0 if hyperbolic else 2 * float(np.ptp(places, axis=0).max())
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if count(middle) <= n_pairs else (low, middle)
    if count(low) > n_pairs:
        return np.empty((0, 2), dtype=np.int64)
    if not hyperbolic:
        return tree.query_pairs(low, output_type="ndarray").astype(np.int64)
    balls = tree.query_ball_point(*hyperbolic_balls(places, low))
    first = np.repeat(np.arange(len(places)), [len(ball) for ball in balls])
    second = np.concatenate([np.asarray(ball, dtype=np.int64) for ball in balls])
    return np.stack([first, second], axis=1)[first < second]


def hyperbolic_balls(places: Places, radius: float) -> tuple[Places, NDArray[np.float64]]:
    """Return Euclidean centres and radii of the balls of Poincaré's disc around these places."""
    squared = (places**2).sum(axis=1)
    t = np.tanh(radius / 2)
    below = 1 - squared * t**2
    return places * ((1 - t**2) / below)[:, None], t * (1 - squared) / below


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
