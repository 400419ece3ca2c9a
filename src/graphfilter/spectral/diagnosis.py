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
from graphfilter.spectral.two_steps import two_steps
from graphfilter.spectral.words import (
    advise,
    describe_confidence,
    describe_kind,
    frequency_range,
)


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What :func:`diagnose` found.

    Attributes
    ----------
    n_vertices, n_edges, n_isolated, n_features, n_labelled : int
    class_counts : dict
        Class name to the number of known members.
    label_frequency : FrequencyEstimate
        One per class and their mean, with intervals; signed, within 0..2; NaN without edges.
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
    kind : str
        Which kind of graph this is, and how often neighbours agree.
    advice : str
        Whether a low-pass model will do or an adaptive filter is needed, and how sure that is.
    steps : int
        2 where the labels are on one side of the graph, so that no two labelled vertices are
        adjacent: frequency and homophily are then those between vertices that share a neighbour
        (:func:`~graphfilter.spectral.two_steps.two_steps`). 1 otherwise.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> diagnosis = gf.spectral.diagnose(g)
    >>> diagnosis.range, round(diagnosis.label_frequency.mean, 2)
    ('low', 0.37)
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
    kind: str
    advice: str
    steps: int = 1


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
    edge, adjusted = homophily(seen), homophily(seen, "adjusted")
    far = two_steps(seen, known) if graph.n_edges and np.isnan(edge) else None
    near, own = (seen, known) if far is None else far
    if far is not None:
        edge, adjusted = homophily(near), homophily(near, "adjusted")
    frequency = known_frequency(near, own)
    ends = frequency_range(frequency.mean_low), frequency_range(frequency.mean_high)
    sure = "sure" if ends[0] == ends[1] != "unknown" else "unsure"
    confidence = "exact" if len(own) == near.n_vertices else sure
    range_name = frequency_range(frequency.mean)
    steps = 1 if far is None else 2
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
        range=range_name,
        edge_homophily=edge,
        adjusted_homophily=adjusted,
        feature_frequency=_feature_summary(graph),
        confidence=confidence,
        kind=describe_kind(range_name, confidence, graph.n_edges, edge, adjusted, steps),
        advice=_advice(
            advise(range_name, graph.n_edges, edge, adjusted, steps),
            describe_confidence(frequency.mean_low, frequency.mean_high, confidence),
            confidence if graph.n_edges else "no edges",
        ),
        steps=steps,
    )


def known_frequency(graph: Graph, known: ArrayLike) -> FrequencyEstimate:
    """Estimate the label frequency on its scale, 0 to 2; NaN where there are no edges at all."""
    found = estimate_label_frequency(graph, known).on_scale()
    if graph.n_edges:
        return found
    none = np.full(graph.n_classes, np.nan)
    nan = float("nan")
    return replace(found, value=none, low=none, high=none, mean=nan, mean_low=nan, mean_high=nan)


def _advice(what: str, sure: str, confidence: str) -> str:
    """Return advice; where the labels are too few to tell, that comes first."""
    if confidence == "no edges":
        return what
    if confidence == "unsure":
        return f"{sure} As far as the estimate goes: {what}"
    return f"{what} {sure}"


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
