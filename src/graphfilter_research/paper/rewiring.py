"""Structural noise: edges swapped at random while every vertex keeps its degree (section 6.4)."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.util.errors import ConfigError, GraphError

# With this many proposals in a row that change nothing, there is nothing left to swap.
FRUITLESS_ROUNDS = 300

Edges = NDArray[np.int64]


def rewire(graph: Graph, share: float, seed: int) -> Graph:
    r"""Swap a share of the edges; degrees, features, labels and fixed splits stay.

    Double-edge swaps, many at a time: disjoint pairs of edges :math:`uv, xy` become
    :math:`uy, xv`. A pair is left alone where that would make a loop, repeat an edge or bring
    back one of the original graph, so that exactly the swapped edges are gone from it.

    Parameters
    ----------
    share : float
        In [0, 1]: the share of the edges that are not those of ``graph``. As edges are swapped
        in pairs, one more may be.
    seed : int

    Examples
    --------
    >>> cycle = Graph.from_edges([[i, (i + 1) % 10] for i in range(10)])
    >>> noisy = rewire(cycle, 0.6, seed=0)
    >>> noisy.degrees.tolist() == cycle.degrees.tolist(), noisy.n_edges
    (True, 10)
    """
    if not 0 <= share <= 1:
        raise ConfigError(f"the share of edges to swap must be in [0, 1]; got {share}.")
    if graph.weights is not None:
        raise GraphError("a graph to be rewired must have edges of equal weight; its weights vary.")
    # Rounded: 0.3 of 10 edges are 3, whatever 0.3 * 10 is.
    n_wanted = ceil(round(share * graph.n_edges, 9))
    edges = swap_edges(graph.edges, graph.n_vertices, n_wanted, np.random.default_rng(seed))
    made = Graph.from_edges(edges, graph.n_vertices)
    notes = (*graph.notes, f"{share:.0%} of the edges swapped at random, degrees kept.")
    bare = replace(graph, arcs=None, kinds=None, notes=notes)
    return replace(bare, indptr=made.indptr, indices=made.indices)


def swap_edges(
    edges: NDArray[np.integer], n_vertices: int, n_wanted: int, rng: np.random.Generator
) -> Edges:
    """Return the edges (m, 2) with ``n_wanted`` of them (or one more) swapped for new ones."""
    now = edges.astype(np.int64)
    original = np.sort(_keys(now, n_vertices))
    moved = np.zeros(len(now), dtype=bool)
    fruitless = 0
    while (n_missing := n_wanted - int(np.count_nonzero(moved))) > 0:
        first, second = _propose(moved, n_missing, rng)
        swapped = _swap(now, first, second, rng)
        taken = np.sort(np.concatenate([original, _keys(now[moved], n_vertices)]))
        good = _allowed(swapped, taken, n_vertices)
        first, second = first[good], second[good]
        now[first], now[second] = swapped[0][good], swapped[1][good]
        moved[first] = moved[second] = True
        fruitless = 0 if len(first) else fruitless + 1
        if fruitless == FRUITLESS_ROUNDS:
            raise GraphError(
                f"{n_wanted} of {len(now)} edges were to be swapped, but after "
                f"{np.count_nonzero(moved)} no swap was found that keeps the degrees. Ask for a "
                "smaller share."
            )
    return now


def _propose(
    moved: NDArray[np.bool_], n_missing: int, rng: np.random.Generator
) -> tuple[Edges, Edges]:
    """Draw disjoint pairs of edges, as many as may be needed and each with an edge to move."""
    order = rng.permutation(len(moved))
    half = len(order) // 2
    first, second = order[:half], order[half : 2 * half]
    gain = 2 - moved[first].astype(int) - moved[second]
    # A pair that moves one edge of two is better where one is missing.
    useful = gain > 0 if n_missing > 1 or not (gain == 1).any() else gain == 1
    first, second, gain = first[useful], second[useful], gain[useful]
    n_pairs = np.searchsorted(np.cumsum(gain), n_missing) + 1
    return first[:n_pairs], second[:n_pairs]


def _swap(
    edges: Edges, first: Edges, second: Edges, rng: np.random.Generator
) -> tuple[Edges, Edges]:
    """Exchange an end of each pair; a coin decides which end of the second."""
    a, b = edges[first], edges[second]
    turned = rng.random(len(b)) < 0.5
    b[turned] = b[turned][:, ::-1]
    return np.stack([a[:, 0], b[:, 1]], axis=1), np.stack([b[:, 0], a[:, 1]], axis=1)


def _allowed(swapped: tuple[Edges, Edges], taken: Edges, n: int) -> NDArray[np.bool_]:
    """Return which pairs make no loop, no edge that is there and none that another pair makes."""
    keys = np.stack([_keys(part, n) for part in swapped])
    loop = np.any([part[:, 0] == part[:, 1] for part in swapped], axis=0)
    place = np.minimum(np.searchsorted(taken, keys), len(taken) - 1)
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    repeated = (counts > 1)[inverse].reshape(keys.shape)
    return ~(loop | np.any((taken[place] == keys) | repeated, axis=0))


def _keys(edges: Edges, n: int) -> Edges:
    """Number every unordered pair of vertices."""
    return edges.min(axis=1) * n + edges.max(axis=1)
