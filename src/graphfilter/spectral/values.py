"""What numbers of vertices, or several labels of each, look like to a filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import GraphError
from graphfilter.graph import Graph
from graphfilter.spectral.estimate import FrequencyEstimate, estimate_signal_frequency
from graphfilter.spectral.two_steps import two_steps
from graphfilter.spectral.words import frequency_range

# A correlation nearer to 0 than this is called chance.
_CHANCE = 0.1


@dataclass(frozen=True, eq=False)
class ValueDiagnosis:
    """What :func:`diagnose_values` found.

    Attributes
    ----------
    names : tuple of str
    n_known : int
        Vertices whose values are known.
    frequency : FrequencyEstimate
        One per column, of its deviation from its mean, in units of its deviation.
    ranges : tuple of str
        Low, middle or high.
    correlation : float64 array (T,)
        Of the values of neighbours; NaN where no edge joins two that are known.
    steps : int
        2 where no two known vertices are adjacent, and these are between those that share a
        neighbour.
    advice : str

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.Graph.from_edges([[i, (i + 1) % 60] for i in range(60)])
    >>> wave = np.cos(2 * np.pi * np.arange(60) / 60)
    >>> found = gf.spectral.diagnose_values(g, wave[:, None], ["height"])
    >>> found.ranges, found.correlation.round(2)
    (('low',), array([0.99]))
    """

    names: tuple[str, ...]
    n_known: int
    frequency: FrequencyEstimate
    ranges: tuple[str, ...]
    correlation: NDArray[np.float64]
    steps: int
    advice: str


def diagnose_values(
    graph: Graph, values: NDArray[np.float64], names: Sequence[str]
) -> ValueDiagnosis:
    """Return what frequencies numbers of the vertices have, and whether neighbours resemble.

    Parameters
    ----------
    graph : Graph
    values : array (n, T)
        Numbers, or 0 and 1 for labels; a row of NaN where unknown.
    names : sequence of str
        Of the columns.

    Examples
    --------
    >>> path = Graph.from_edges([[0, 1], [1, 2], [2, 3]])
    >>> diagnose_values(path, np.array([[1.0], [2.0], [3.0], [4.0]]), ["size"]).n_known
    4
    """
    known = np.flatnonzero(np.isfinite(values).all(axis=1))
    if len(known) < 2:
        raise GraphError(f"a diagnosis needs at least 2 known vertices; got {len(known)}.")
    own = values[known].astype(np.float64)
    deviation = own.std(axis=0)
    signals = (own - own.mean(axis=0)) / np.where(deviation == 0, 1, deviation)
    steps, seen, index = 1, graph, known
    correlation = _correlation(graph, known, signals)
    if graph.n_edges and np.isnan(correlation).all():
        codes = np.full(graph.n_vertices, -1)
        codes[known] = 0
        far = two_steps(graph.replace(labels=codes), known)
        if far is not None:
            steps, (seen, index) = 2, far
            correlation = _correlation(seen, index, signals)
    frequency = estimate_signal_frequency(seen, index, signals).on_scale()
    return ValueDiagnosis(
        tuple(names),
        len(known),
        frequency,
        tuple(frequency_range(value) for value in frequency.value),
        correlation,
        steps,
        _advise(correlation, steps, graph.n_edges),
    )


def _correlation(
    graph: Graph, index: NDArray[np.int64], signals: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the correlation, over edges by weight, of the signals at their ends."""
    between = graph.adjacency[index][:, index].tocoo()
    total = between.data.sum()
    if not total:
        return np.full(signals.shape[1], np.nan)
    weights = between.data / total
    first, second = signals[between.row], signals[between.col]
    mean = weights @ first
    spread = weights @ (first - mean) ** 2
    shared = weights @ ((first - mean) * (second - mean))
    return np.divide(shared, spread, out=np.full(len(mean), np.nan), where=spread > 0)


def _advise(correlation: NDArray[np.float64], steps: int, n_edges: int) -> str:
    if not n_edges:
        return "There are no edges: use a model of the features alone."
    if np.isnan(correlation).all():
        return (
            "No edge joins two vertices whose values are known: compare with a model that ignores "
            "the graph."
        )
    mean = float(np.nanmean(correlation))
    who = "Neighbours" if steps == 1 else "Vertices that share a neighbour"
    start = "" if steps == 1 else "No two vertices whose values are known are adjacent. "
    if mean > _CHANCE:
        text = f"{who} have similar values (correlation {mean:.2f}): the graph should help."
    elif mean < -_CHANCE:
        text = f"{who} have opposite values (correlation {mean:.2f}): an adaptive filter is needed."
    else:
        text = (
            f"{who} hardly resemble each other (correlation {mean:.2f}): compare with a model that "
            "ignores the graph."
        )
    return start + text
