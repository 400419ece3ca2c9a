"""The top of a report: how good the model is, whether the graph and adapting help."""

from __future__ import annotations

from dataclasses import dataclass, replace

from graphfilter.estimators.adaptive import AdaptiveEstimator
from graphfilter.report.sentences import Words, begin
from graphfilter.runs.comparison import Comparison, compare
from graphfilter.runs.fit import NO_GRAPH, Fit

ADAPTIVE = "the adaptive filter"


@dataclass(frozen=True, eq=False)
class Conclusion:
    """What the top of the page says.

    Attributes
    ----------
    found : Comparison
        The fitted model, the baselines, and always giving the same answer.
    headline : str
        How good it is, whether the graph helps, and whether adapting is needed: one sentence.
    reason : str
        Whether features, graph or both carry what is known; empty without baselines.
    """

    found: Comparison
    headline: str
    reason: str


def conclude(fit: Fit) -> Conclusion:
    """Compare a fit with its baselines, in numbers and in words."""
    adaptive = isinstance(fit.estimator, AdaptiveEstimator)
    meaning = ADAPTIVE if adaptive else fit.estimator.system_.title
    return put_in_words(
        compare(replace(fit, meaning=meaning)),
        fit,
        has_edges=fit.graph.n_edges > 0,
        adaptive=adaptive,
    )


def put_in_words(
    found: Comparison, fit: Fit, *, has_edges: bool = True, adaptive: bool = True
) -> Conclusion:
    """Say what a comparison shows."""
    if not adaptive and NO_GRAPH in found.named:
        alone = replace(found.named[NO_GRAPH], meaning="a network without the graph")
        found = replace(found, named={**found.named, NO_GRAPH: alone})
    words = Words(found, begin(fit, found), has_edges, adaptive)
    return Conclusion(found, words.headline(), words.reason())
