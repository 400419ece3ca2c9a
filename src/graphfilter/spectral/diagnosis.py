"""What a graph's labels look like to a filter, in words and numbers a person can act on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphfilter.errors import GraphError
from graphfilter.graph import Graph
from graphfilter.spectral.agreement import homophily
from graphfilter.spectral.estimate import (
    FrequencyEstimate,
    check_index,
    estimate_label_frequency,
)
from graphfilter.spectral.rayleigh import check_labels, feature_frequency

RANGES = ("low", "middle", "high")
LOW_BELOW, HIGH_ABOVE = 0.6, 1.3

# A rule of thumb. Of 17 benchmark graphs measured, the citation and co-purchase graphs have an
# adjusted homophily of 0.67 and more, all others of 0.09 and less.
_WEAK_AGREEMENT = 0.2
# Adjusted homophily nearer to 0 than this is called chance.
_CHANCE = 0.1


def frequency_range(value: float) -> str:
    """Name the paper's group of a label frequency: low below 0.6, high above 1.3, else middle.

    >>> [frequency_range(r) for r in (0.2, 1.0, 1.9)]
    ['low', 'middle', 'high']
    """
    if np.isnan(value):
        return "unknown"
    return "low" if value < LOW_BELOW else "high" if value > HIGH_ABOVE else "middle"


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What :func:`diagnose` found.

    Attributes
    ----------
    n_vertices, n_edges, n_isolated, n_features, n_labelled : int
    class_counts : dict
        Class name to the number of known members.
    label_frequency : FrequencyEstimate
        One per class and their mean, with intervals; signed.
    ranges : tuple of str
        The name of each class's range: low, middle or high.
    range : str
        The range of the mean.
    edge_homophily, adjusted_homophily : float
        Over edges between known labels; NaN where there are none.
    feature_frequency : tuple of float, or None
        Mean and deviation over the features that are not zero everywhere.
    confidence : {"exact", "sure", "unsure"}
        *exact*: every label is known. *sure*: the whole interval of the mean lies in one range.
    advice : str
        Whether a low-pass model will do or an adaptive filter is needed, and how sure that is.
    """

    n_vertices: int
    n_edges: int
    n_isolated: int
    n_features: int
    n_labelled: int
    class_counts: dict[Any, int]
    label_frequency: FrequencyEstimate
    ranges: tuple[str, ...]
    range: str
    edge_homophily: float
    adjusted_homophily: float
    feature_frequency: tuple[float, float] | None
    confidence: str
    advice: str


def diagnose(graph: Graph, index: ArrayLike | None = None) -> Diagnosis:
    """Return what frequencies the labels have and which kind of model they need.

    Parameters
    ----------
    graph : Graph
        With labels.
    index : array of int or boolean mask, optional
        The vertices whose labels may be looked at; all labelled ones where not given. Taken as a
        uniform sample of all vertices.

    Examples
    --------
    >>> cycle = Graph.from_edges([[i, (i + 1) % 100] for i in range(100)], labels=[0, 1] * 50)
    >>> d = diagnose(cycle)
    >>> d.range, d.confidence, d.edge_homophily
    ('high', 'exact', 0.0)
    >>> d.advice
    'Neighbours mostly differ in label. A low-pass model would blur the classes into each other:
    use an adaptive filter. Every label is known, so this is exact.'
    """
    known = check_labels(graph) >= 0 if index is None else index
    known = check_index(graph, known)
    if len(known) < 2:
        raise GraphError(f"a diagnosis needs at least 2 labelled vertices; got {len(known)}.")
    if len(np.unique(check_labels(graph)[known])) < 2:
        raise GraphError("a diagnosis needs labels of at least two classes; got one.")
    seen = graph if index is None else _with_labels_of(graph, known)
    labels = check_labels(seen)
    frequency = estimate_label_frequency(seen, known)
    ends = frequency_range(frequency.mean_low), frequency_range(frequency.mean_high)
    sure = "sure" if ends[0] == ends[1] else "unsure"
    confidence = "exact" if len(known) == graph.n_vertices else sure
    edge, adjusted = homophily(seen), homophily(seen, "adjusted")
    counts = np.bincount(labels[known], minlength=seen.n_classes).tolist()
    return Diagnosis(
        n_vertices=graph.n_vertices,
        n_edges=graph.n_edges,
        n_isolated=int(np.count_nonzero(graph.degrees == 0)),
        n_features=graph.n_features,
        n_labelled=len(known),
        class_counts=dict(zip(seen.classes.tolist(), counts, strict=True)),
        label_frequency=frequency,
        ranges=tuple(frequency_range(value) for value in frequency.value),
        range=frequency_range(frequency.mean),
        edge_homophily=edge,
        adjusted_homophily=adjusted,
        feature_frequency=_feature_summary(graph),
        confidence=confidence,
        advice=_advice(frequency, edge, adjusted, confidence),
    )


def describe_agreement(edge_homophily: float, adjusted_homophily: float) -> str:
    """Return how often neighbours share their class, compared with chance.

    >>> describe_agreement(0.06, -0.29)
    'Neighbours share their class on 6 % of the edges, less often than by chance.'
    """
    if np.isnan(edge_homophily):
        return "No edge joins two vertices whose classes are known."
    chance = "about as often as by chance"
    if abs(adjusted_homophily) > _CHANCE:
        chance = f"{'more' if adjusted_homophily > 0 else 'less'} often than by chance"
    return f"Neighbours share their class on {100 * edge_homophily:.0f} % of the edges, {chance}."


def _advice(frequency: FrequencyEstimate, edge: float, adjusted: float, confidence: str) -> str:
    """Return advice; where the labels are too few to tell, that comes first."""
    what = _advise(frequency_range(frequency.mean), edge, adjusted)
    sure = _how_sure(frequency, confidence)
    return (
        f"{sure} As far as the estimate goes: {what}"
        if confidence == "unsure"
        else f"{what} {sure}"
    )


def _with_labels_of(graph: Graph, index: NDArray[np.int64]) -> Graph:
    labels = np.full(graph.n_vertices, -1)
    labels[index] = check_labels(graph)[index]
    return replace(graph, labels=labels)


def _feature_summary(graph: Graph) -> tuple[float, float] | None:
    if graph.features is None:
        return None
    values = feature_frequency(graph)
    known = values[np.isfinite(values)]
    return (float(known.mean()), float(known.std())) if len(known) else None


def _advise(range_name: str, edge: float, adjusted: float) -> str:
    if range_name == "high":
        return (
            "Neighbours mostly differ in label. A low-pass model would blur the classes into each "
            "other: use an adaptive filter."
        )
    if range_name == "low" and not adjusted < _WEAK_AGREEMENT:
        return (
            "Neighbours mostly share their label. A low-pass model (GCN, SGC, APPNP) will do; an "
            "adaptive filter should learn the same."
        )
    if range_name == "low":
        return (
            "The label signals are smooth, but neighbours agree little more than class sizes "
            f"alone would make them (adjusted homophily {adjusted:.2f}). Use an adaptive filter, "
            "and compare it with a model that ignores the graph."
        )
    return (
        f"{describe_agreement(edge, adjusted)} Neither agreement nor contrast with the neighbours "
        "alone gives the label away: use an adaptive filter, and compare it with a model that "
        "ignores the graph."
    )


def _how_sure(frequency: FrequencyEstimate, confidence: str) -> str:
    if confidence == "exact":
        return "Every label is known, so this is exact."
    interval = f"{frequency.mean_low:.2f} to {frequency.mean_high:.2f}"
    if confidence == "sure":
        return f"The mean label frequency lies in {interval} (95 %), within one range."
    return (
        f"This is unsure: the mean label frequency lies in {interval} (95 %), which spans ranges. "
        "More labels would narrow it."
    )
