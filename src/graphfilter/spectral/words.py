"""What a diagnosis says, in sentences that follow from its numbers alone."""

from __future__ import annotations

import numpy as np

LOW_BELOW, HIGH_ABOVE = 0.6, 1.3

# A rule of thumb. Of 17 benchmark graphs measured, the citation and co-purchase graphs have an
# adjusted homophily of 0.67 and more, all others of 0.09 and less.
_WEAK_AGREEMENT = 0.2
_ONE_SIDE = (
    "No two labelled vertices are adjacent: the labels are on one side of the graph, so this is "
    "measured two steps away."
)
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
    'A low-frequency graph: each class is spread smoothly, though most edges join two classes.
    Neighbours share their class on 38 % of the edges, more often than by chance.'
    """
    if not n_edges:
        return "A graph without edges: no vertex has neighbours."
    agreement = describe_agreement(edge, adjusted, steps)
    if steps == 2 and not np.isnan(edge):
        return f"{_ONE_SIDE} {agreement}"
    if confidence == "unsure" or range_name == "unknown" or np.isnan(edge):
        return f"The labels are too few to tell the type of this graph. {agreement}"
    return f"A {range_name}-frequency graph: {_meaning(range_name, edge, adjusted)}. {agreement}"


def _meaning(range_name: str, edge: float, adjusted: float) -> str:
    """Return what a range means on a graph whose neighbours agree so often."""
    if range_name == "low" and not adjusted > _CHANCE:
        return "labels vary smoothly, but no more so than the sizes of the classes make them"
    if range_name == "low":
        if edge < 0.5:
            return "each class is spread smoothly, though most edges join two classes"
        return "labels change little from neighbour to neighbour"
    if range_name == "high":
        if edge >= 0.5:
            return "labels vary strongly over the graph, though most edges join one class"
        return "labels mostly change from neighbour to neighbour"
    if abs(adjusted) > _WEAK_AGREEMENT:
        return "the classes of the neighbours partly determine a vertex's class"
    return "neither agreement nor contrast with the neighbours alone determines the class"


def advise(range_name: str, n_edges: int, edge: float, adjusted: float, steps: int = 1) -> str:
    """Return which model the labels need."""
    if not n_edges:
        return "There are no edges: use a model of the features alone."
    if steps == 2:
        return _advise_on_one_side(edge, adjusted)
    if np.isnan(edge) or range_name == "unknown":
        return (
            f"{describe_agreement(edge, adjusted)} Use an adaptive filter, and compare it with a "
            "model that ignores the graph."
        )
    if range_name == "high" and edge < 0.5:
        return (
            "Neighbours mostly differ in label. A low-pass model would blur the classes into each "
            "other: use an adaptive filter."
        )
    if range_name == "low" and not adjusted < _WEAK_AGREEMENT:
        shared = "Neighbours mostly share their label."
        if edge < 0.5:
            shared = describe_agreement(edge, adjusted)
        return (
            f"{shared} A low-pass model (GCN, SGC, APPNP) will do; an adaptive filter should learn "
            "the same."
        )
    if range_name == "low":
        more = "little" if adjusted > 0 else "no"
        return (
            f"The label signals are smooth, but neighbours agree {more} more than class sizes "
            f"alone would make them (adjusted homophily {adjusted:.2f}). Use an adaptive filter, "
            "and compare it with a model that ignores the graph."
        )
    return (
        f"{describe_agreement(edge, adjusted)} Neither agreement nor contrast with the neighbours "
        "alone determines the label: use an adaptive filter, and compare it with a model that "
        "ignores the graph."
    )


def _advise_on_one_side(edge: float, adjusted: float) -> str:
    """Return which model labels on one side of the graph need."""
    if np.isnan(edge):
        return (
            f"{_ONE_SIDE} No two of them share a neighbour either, so the edges say nothing about "
            "them: compare with a model that ignores the graph."
        )
    agreement = describe_agreement(edge, adjusted, 2)
    if adjusted > _CHANCE:
        use = "A filter that looks two steps away, as an adaptive one does, can use that."
    else:
        use = "Use an adaptive filter, and compare it with a model that ignores the graph."
    return f"{_ONE_SIDE} {agreement} {use}"


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
