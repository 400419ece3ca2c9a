"""Which label next: the vertices whose label would teach most, each with its reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr

from graphfilter.errors import GraphError, check_count
from graphfilter.graph import Graph

Array = NDArray[np.float64]
Index = NDArray[np.int64]

# Random signals by which the reach of every vertex is estimated; the error is about 1 / 8 of it.
N_PROBES = 64


@dataclass(frozen=True)
class Suggestion:
    """A vertex to be labelled next.

    Attributes
    ----------
    vertex : int
    score : float
        Disagreement times reach, 1 for the best of all vertices.
    disagreement, reach : float
        The shares of vertices that have less of it.
    degree : int
    reason : str
        In words.
    """

    vertex: int
    score: float
    disagreement: float
    reach: float
    degree: int
    reason: str


def suggest_vertices(
    graph: Graph,
    disagreement: Array,
    reach: Array,
    candidates: Index,
    n: int,
) -> list[Suggestion]:
    """Return the n candidates with most disagreement times reach, no two of them neighbours.

    The next best is taken again and again, and its neighbours leave the choice; where nobody is
    left, neighbours of those chosen are taken too.

    Parameters
    ----------
    disagreement, reach : arrays (n_vertices,)
        See :func:`class_disagreement`, :func:`number_disagreement` and :func:`reach_of`.
    candidates : int array
        The vertices without a label.
    """
    check_count("n", n)
    if not len(candidates):
        raise GraphError("there must be vertices without a label to suggest some; all have one.")
    product = disagreement * reach
    best = float(product[candidates].max())
    # The first of equals is the one with the lower number, whatever order they are given in.
    order = np.sort(candidates)[np.argsort(-product[np.sort(candidates)], kind="stable")]
    chosen = _apart(graph, order, n)
    less = [_shares_below(each, candidates) for each in (disagreement, reach)]
    degrees = np.diff(graph.indptr)
    return [
        Suggestion(
            int(v),
            float(product[v] / best) if best > 0 else 0.0,
            float(less[0][v]),
            float(less[1][v]),
            int(degrees[v]),
            _reason(less[0][v], less[1][v], int(degrees[v])),
        )
        for v in chosen
    ]


def class_disagreement(members: Sequence[Array], shares: Sequence[float]) -> Array:
    r"""Return how far members are apart: :math:`\sum_m w_m\, \mathrm{KL}(p_m \,\|\, \bar p)`.

    What the label would tell about which member is right (the Jensen-Shannon divergence); of a
    single member, its entropy. Of several labels per vertex, the sum over them.

    Parameters
    ----------
    members : sequence of arrays (n, C)
        Rows that sum to 1.
    shares : sequence of float
    """
    weights = np.asarray(shares, dtype=np.float64) / np.sum(shares)
    said = np.stack(members)
    if len(said) == 1:
        return -np.where(said[0] > 0, said[0] * np.log(np.maximum(said[0], 1e-300)), 0).sum(axis=1)
    mean = np.einsum("m,mnc->nc", weights, said)
    return np.einsum("m,mn->n", weights, rel_entr(said, mean).sum(axis=2))


def number_disagreement(members: Sequence[Array], shares: Sequence[float]) -> Array:
    """Return the variance of the members' outputs (n, T), summed over the numbers of a vertex."""
    weights = np.asarray(shares, dtype=np.float64) / np.sum(shares)
    said = np.stack(members)
    mean = np.einsum("m,mnc->nc", weights, said)
    return np.einsum("m,mnc->n", weights, np.square(said - mean))


def reach_of(apply: Callable[[Array], Array], wanted: Array, seed: int = 0) -> Array:
    r"""Return how much others depend on each vertex: :math:`\sqrt{\sum_u h_u^2 f(P)_{uv}^2}`.

    Estimated from random signs z: the mean of :math:`(f(P) (h z))_v^2`.

    Parameters
    ----------
    apply : callable
        From columns (n, k) to f(P) times them; f(P) is symmetric.
    wanted : array (n,)
        h: how unsure each vertex is, so that those that are known count little.
    """
    signs = np.random.default_rng((seed, 4)).choice([-1.0, 1.0], size=(len(wanted), N_PROBES))
    return np.sqrt(np.square(apply(wanted[:, None] * signs)).mean(axis=1))


def _apart(graph: Graph, order: Index, n: int) -> list[int]:
    """Return the first n of an order, without neighbours of those before as long as it can be."""
    chosen: list[int] = []
    beside = np.zeros(graph.n_vertices, dtype=bool)
    for skip_neighbours in (True, False):
        for v in order:
            if len(chosen) == n:
                return chosen
            if beside[v] and (skip_neighbours or v in chosen):
                continue
            chosen.append(int(v))
            beside[v] = True
            beside[graph.indices[graph.indptr[v] : graph.indptr[v + 1]]] = True
    return chosen


def _shares_below(values: Array, candidates: Index) -> Array:
    """Return the share of the candidates below each vertex."""
    ordered = np.sort(values[candidates])
    return np.searchsorted(ordered, values) / len(ordered)


def _reason(disagreement: float, reach: float, degree: int) -> str:
    neighbours = "no neighbour" if not degree else f"{degree:,} neighbour{'s' * (degree > 1)}"
    return (
        f"members disagree more than on {disagreement:.0%} of the vertices without a label, and "
        f"others depend on it more than on {reach:.0%} ({neighbours})"
    )
