"""What labels or numbers of a graph look like to a filter, as a person can act on it.

The sentences follow from the numbers of a diagnosis alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from graphfilter.data.graph import Graph
from graphfilter.spectral.frequency import (
    FrequencyEstimate,
    check_index,
    check_labels,
    estimate_label_frequency,
    estimate_signal_frequency,
    feature_frequency,
)
from graphfilter.util.errors import GraphError, check_name

LOW_BELOW, HIGH_ABOVE = 0.6, 1.3

# A rule of thumb. Of 17 benchmark graphs measured, the citation and co-purchase graphs have an
# adjusted homophily of 0.67 and more, all others of 0.09 and less.
_WEAK_AGREEMENT = 0.2
_ONE_SIDE = (
    "No two labelled vertices are adjacent: the labels are on one side of the graph, so this is "
    "measured two steps away."
)
# Adjusted homophily, or a correlation, nearer to 0 than this is called chance.
_CHANCE = 0.1


KINDS = ("edge", "vertex", "adjusted")


def homophily(graph: Graph, kind: str = "edge") -> float:
    r"""Return how much neighbours agree in label.

    Only edges between two labelled vertices are counted; a weighted edge counts by its weight.
    NaN where there is no such edge, or, for *adjusted*, only one class on them.

    Parameters
    ----------
    graph : Graph
    kind : {"edge", "vertex", "adjusted"}
        *edge*: the share h of edges whose ends agree. *vertex*: the share of agreeing neighbours,
        averaged over vertices that have any (Pei et al. 2020). *adjusted*: the edge homophily
        against that expected from the classes' degrees :math:`D_k` alone (Platonov et al. 2023),

        .. math:: \frac{h - \sum_k D_k^2 / (2|E|)^2}{1 - \sum_k D_k^2 / (2|E|)^2},

        1 where all neighbours agree and about 0 where labels do not follow the edges, whatever
        the number of classes and their sizes.

    Examples
    --------
    >>> path = Graph.from_edges([[0, 1], [1, 2], [2, 3]], labels=["a", "a", "b", "b"])
    >>> [round(homophily(path, kind), 3) for kind in ("edge", "vertex", "adjusted")]
    [0.667, 0.75, 0.333]
    """
    check_name("homophily", kind, KINDS)
    return _agreement(graph)[kind]


def _agreement(graph: Graph) -> dict[str, float]:
    """Return every kind of homophily, in one pass over the edges."""
    labels = check_labels(graph)
    rows = np.repeat(np.arange(graph.n_vertices), np.diff(graph.indptr))
    labelled = (labels[rows] >= 0) & (labels[graph.indices] >= 0)
    rows, columns = rows[labelled], graph.indices[labelled]
    weights = np.ones(len(rows)) if graph.weights is None else graph.weights[labelled].astype(float)
    total = weights.sum()
    if total == 0:
        return dict.fromkeys(KINDS, float("nan"))
    agree = weights * (labels[rows] == labels[columns])
    edge = float(agree.sum() / total)
    sums, agreeing = (np.bincount(rows, each, graph.n_vertices) for each in (weights, agree))
    vertex = float(np.mean(agreeing[sums > 0] / sums[sums > 0]))
    shares = np.bincount(labels[rows], weights=weights) / total
    by_chance = float(np.sum(shares**2))
    several = np.count_nonzero(shares) > 1
    adjusted = (edge - by_chance) / (1 - by_chance) if several else float("nan")
    return {"edge": edge, "vertex": vertex, "adjusted": adjusted}


# Pairs of vertices that are looked at; a vertex between k others makes k² of them.
MOST_PAIRS = 50_000_000


def two_steps(
    graph: Graph, index: NDArray[np.int64], most_pairs: int = MOST_PAIRS
) -> tuple[Graph, NDArray[np.int64]] | None:
    r"""Return the graph of those vertices that have labels, or share a neighbour with one that has.

    They are joined by the neighbours they share, :math:`A D^{-1} A` without its diagonal, so that
    one vertex between many others counts as much as one between two.

    Parameters
    ----------
    graph : Graph
    index : int array
        The vertices whose labels are known.
    most_pairs : int
        Vertices between the most others are left out beyond it.

    Returns
    -------
    graph, index : Graph and int array, or None
        None where two vertices of that side are adjacent: the labels are not on one side, or too
        few to tell.

    Examples
    --------
    >>> g = Graph.from_edges([[0, 3], [1, 3], [1, 4], [2, 4]], labels=["a", "a", "b", None, None])
    >>> far, index = two_steps(g, np.array([0, 1, 2]))
    >>> far.edges.tolist(), index.tolist()
    ([[0, 1], [1, 2]], [0, 1, 2])
    >>> two_steps(g, np.array([0, 3])) is None
    True
    """
    links = graph.adjacency
    labelled = np.zeros(graph.n_vertices, dtype=bool)
    labelled[index] = True
    between = links @ labelled.astype(float) > 0
    side = labelled | (links @ between.astype(float) > 0)
    if (side & between).any() or (links @ side.astype(float) > 0)[side].any():
        return None
    members, middle = np.flatnonzero(side), np.flatnonzero(between)
    n_each = np.diff(graph.indptr)[middle].astype(np.int64)
    order = np.argsort(n_each, kind="stable")
    middle = np.sort(middle[order[np.cumsum(n_each[order] ** 2) <= most_pairs]])
    steps = sp.csr_array(links[members][:, middle])
    back = sp.diags_array(1 / np.maximum(graph.degrees[middle], 1e-30)) @ steps.T
    pairs = sp.coo_array(sp.csr_array(steps @ back))
    other = pairs.row < pairs.col
    far = Graph.from_edges(
        np.stack([pairs.row[other], pairs.col[other]], axis=1), len(members),
        weights=pairs.data[other], name=graph.name,
    )  # fmt: skip
    far = replace(far, labels=check_labels(graph)[members].copy(), classes=graph.classes)
    return far, np.flatnonzero(labelled[members])


def frequency_range(value: float) -> str:
    """Name the paper's group of a label frequency: low below 0.6, high above 1.3, else middle.

    >>> [frequency_range(r) for r in (0.2, 1.0, 1.9)]
    ['low', 'middle', 'high']
    """
    if np.isnan(value):
        return "unknown"
    return "low" if value < LOW_BELOW else "high" if value > HIGH_ABOVE else "middle"


def describe_agreement(edge_homophily: float, adjusted_homophily: float, steps: int = 1) -> str:
    """Return how often neighbours share their class, compared with chance.

    At two steps, those that share a neighbour.

    >>> describe_agreement(0.06, -0.29)
    'Neighbours share their class on 6 % of the edges, less often than by chance.'
    """
    if np.isnan(edge_homophily):
        return "No edge joins two vertices whose classes are known."
    chance = "about as often as by chance"
    if abs(adjusted_homophily) > _CHANCE:
        chance = f"{'more' if adjusted_homophily > 0 else 'less'} often than by chance"
    agree = f"share their class on {100 * edge_homophily:.0f} % of the edges, {chance}."
    if steps == 2:
        agree = f"agree in class in {100 * edge_homophily:.0f} % of the pairs, {chance}."
    return f"{'Neighbours' if steps == 1 else 'Vertices that share a neighbour'} {agree}"


def describe_kind(
    range_name: str, confidence: str, n_edges: int, edge: float, adjusted: float, steps: int = 1
) -> str:
    """Return which kind of graph this is, and how often neighbours agree on it.

    Parameters
    ----------
    range_name : str
        Of the mean label frequency.
    confidence : {"exact", "sure", "unsure"}
    n_edges : int
    edge, adjusted : float
        The two homophilies; NaN where no edge joins known labels.
    steps : int
        1, or 2 where these are between vertices that share a neighbour.

    Examples
    --------
    >>> describe_kind("low", "exact", 100, 0.38, 0.29)
    'A low-frequency graph. Neighbours share their class on 38 % of the edges, more often than by
    chance.'
    """
    if not n_edges:
        return "A graph without edges: no vertex has neighbours."
    agreement = describe_agreement(edge, adjusted, steps)
    if steps == 2 and not np.isnan(edge):
        return f"{_ONE_SIDE} {agreement}"
    if confidence == "unsure" or range_name == "unknown" or np.isnan(edge):
        return f"The labels are too few to tell the type of this graph. {agreement}"
    return f"A {range_name}-frequency graph. {agreement}"


def advise(range_name: str, n_edges: int, edge: float, adjusted: float, steps: int = 1) -> str:
    """Return which model the labels need."""
    if not n_edges:
        return "There are no edges: use a model of the features alone."
    agreement = describe_agreement(edge, adjusted, steps)
    use = "Use an adaptive filter, and compare it with a model that ignores the graph."
    if steps == 2:
        if adjusted > _CHANCE:
            use = "A filter that looks two steps away, as an adaptive one does, can use that."
        return f"{_ONE_SIDE} {agreement} {use}"
    if range_name == "high" and edge < 0.5:
        use = "A low-pass model would blur the classes into each other: use an adaptive filter."
    elif range_name == "low" and not adjusted < _WEAK_AGREEMENT:
        use = (
            "A low-pass model (GCN, SGC, APPNP) will do; an adaptive filter should learn the same."
        )
    return f"{agreement} {use}"


def describe_confidence(low: float, high: float, confidence: str) -> str:
    """Return how sure a diagnosis is, given the interval of the mean label frequency."""
    if confidence == "exact":
        return "Every label is known, so this is exact."
    if np.isnan(low) or np.isnan(high):
        few = "the labels are too few to estimate their frequency"
        return f"This is uncertain: {few}. More labels would help."
    interval = f"{low:.2f} to {high:.2f}"
    if confidence == "sure":
        return f"The mean label frequency lies in {interval} (95 %), within one range."
    return (
        f"This is uncertain: the mean label frequency lies in {interval} (95 %), which spans "
        "ranges. More labels would narrow it."
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
        (:func:`~graphfilter.spectral.diagnosis.two_steps`). 1 otherwise.

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
    'Neighbours share their class on 0 % of the edges, less often than by chance. A low-pass model
    would blur the classes into each other: use an adaptive filter. Every label is known, so this is
    exact.'
    """
    labels = check_labels(graph)
    sample = check_index(graph, labels >= 0 if index is None else index)
    counts = np.bincount(labels[sample], minlength=graph.n_classes)
    if len(sample) < 2:
        raise GraphError(f"a diagnosis needs at least 2 labelled vertices; got {len(sample)}.")
    if np.count_nonzero(counts) < 2:
        raise GraphError("a diagnosis needs labels of at least two classes; got one.")
    near, place, steps = graph, sample, 1
    if index is not None:
        seen = np.full(graph.n_vertices, -1)
        seen[sample] = labels[sample]
        near = replace(graph, labels=seen)
    agreement = _agreement(near)
    if graph.n_edges and np.isnan(agreement["edge"]) and (far := two_steps(near, sample)):
        (near, place), steps = far, 2
        agreement = _agreement(near)
    edge, adjusted = agreement["edge"], agreement["adjusted"]
    frequency = known_frequency(near, place)
    ends = frequency_range(frequency.mean_low), frequency_range(frequency.mean_high)
    confidence = "sure" if ends[0] == ends[1] != "unknown" else "unsure"
    if len(place) == near.n_vertices:
        confidence = "exact"
    range_name = frequency_range(frequency.mean)
    advice = advise(range_name, graph.n_edges, edge, adjusted, steps)
    if graph.n_edges:
        how_sure = describe_confidence(frequency.mean_low, frequency.mean_high, confidence)
        if confidence == "unsure":  # That comes first where the labels are too few to tell.
            advice = f"{how_sure} As far as the estimate goes: {advice}"
        else:
            advice = f"{advice} {how_sure}"
    of_features = np.empty(0) if graph.features is None else feature_frequency(graph)
    of_features = of_features[np.isfinite(of_features)]
    return Diagnosis(
        n_vertices=graph.n_vertices,
        n_edges=graph.n_edges,
        n_isolated=int(np.count_nonzero(np.diff(graph.indptr) == 0)),
        n_features=graph.n_features,
        n_labelled=len(sample),
        class_counts=dict(zip(graph.classes.tolist(), counts.tolist(), strict=True)),
        label_frequency=frequency,
        ranges=tuple(map(frequency_range, frequency.value)),
        range=range_name,
        edge_homophily=edge,
        adjusted_homophily=adjusted,
        feature_frequency=(float(of_features.mean()), float(of_features.std()))
        if len(of_features)
        else None,
        confidence=confidence,
        kind=describe_kind(range_name, confidence, graph.n_edges, edge, adjusted, steps),
        advice=advice,
        steps=steps,
    )


def known_frequency(graph: Graph, index: ArrayLike) -> FrequencyEstimate:
    """Estimate the label frequency on its scale, 0 to 2; NaN where there are no edges at all."""
    estimate = estimate_label_frequency(graph, index).on_scale()
    if graph.n_edges:
        return estimate
    none, nan = np.full(graph.n_classes, np.nan), float("nan")
    return replace(estimate, value=none, low=none, high=none, mean=nan, mean_low=nan, mean_high=nan)


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
    index = np.flatnonzero(np.isfinite(values).all(axis=1))
    if len(index) < 2:
        raise GraphError(f"a diagnosis needs at least 2 known vertices; got {len(index)}.")
    numbers = values[index].astype(np.float64)
    deviation = numbers.std(axis=0)
    signals = (numbers - numbers.mean(axis=0)) / np.where(deviation == 0, 1, deviation)
    near, place, steps = graph, index, 1
    correlation = _correlation(graph, index, signals)
    if graph.n_edges and np.isnan(correlation).all():
        codes = np.full(graph.n_vertices, -1)
        codes[index] = 0
        if far := two_steps(graph.replace(labels=codes), index):
            (near, place), steps = far, 2
            correlation = _correlation(near, place, signals)
    frequency = estimate_signal_frequency(near, place, signals).on_scale()
    ranges = tuple(map(frequency_range, frequency.value))
    advice = _advise(correlation, steps, graph.n_edges)
    return ValueDiagnosis(tuple(names), len(index), frequency, ranges, correlation, steps, advice)


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
