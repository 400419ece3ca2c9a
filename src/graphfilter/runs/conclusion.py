"""What a comparison says in words: how good the model is, and whether graph and adapting help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from graphfilter.estimators.sgf import AdaptiveEstimator
from graphfilter.runs.comparison import (
    Accuracy,
    Comparison,
    LabelsWrong,
    MeanCost,
    Ranking,
    compare,
)
from graphfilter.runs.fit import LOW_PASS, NO_GRAPH, TWO_STEPS, Fit
from graphfilter.training.scores import Metric
from graphfilter.training.thresholds import score_decision
from graphfilter.util.words import count

# Fewer vertices than this are counted rather than given in percent.
FEW_VERTICES = 20


@dataclass(frozen=True, eq=False)
class Conclusion:
    """What a fit shows, in numbers and in words.

    Attributes
    ----------
    comparison : Comparison
        The fitted model, the baselines, and always giving the same answer.
    headline : str
        How good it is, whether the graph helps, and whether adapting is needed: one sentence.
    reason : str
        Whether features, graph or both carry the information.
    """

    comparison: Comparison
    headline: str
    reason: str


def conclude(fit: Fit) -> Conclusion:
    """Compare a fit with its baselines, and say what the comparison shows."""
    adaptive, has_edges = isinstance(fit.estimator, AdaptiveEstimator), fit.plan.graph.n_edges > 0
    comparison = compare(fit, "the adaptive filter" if adaptive else fit.estimator.system_.title)
    if not adaptive and NO_GRAPH in comparison.named:
        alone = replace(comparison.named[NO_GRAPH], meaning="a network without the graph")
        comparison = replace(comparison, named={**comparison.named, NO_GRAPH: alone})
    start = _how_good(fit, comparison)
    if not has_edges:
        headline = f"{start}; there are no edges, so the graph neither helps nor misleads."
    elif NO_GRAPH not in comparison.named:
        headline = f"{start}; no baselines were trained, so whether the graph helps is not known."
    else:
        headline = f"{start}; {_whether_graph_helps(comparison, adaptive=adaptive)}."
    return Conclusion(
        comparison, headline, _reason(comparison, has_edges=has_edges, adaptive=adaptive)
    )


def _how_good(fit: Fit, comparison: Comparison) -> str:
    """Say how good a fit is, by the yardstick it is judged by."""
    where = {
        "test": "vertices it never saw",
        "val": "validation vertices, which also chose the best epoch",
        "train": "vertices it was trained on, as there are no others",
    }[comparison.part]
    yardstick, value, n = comparison.yardstick, comparison.ours.value, comparison.n_vertices
    shown = comparison.ours.shown
    if isinstance(yardstick, Accuracy):
        share = f"{round(value * n)} of {n}" if n < FEW_VERTICES else f"{shown} of the"
        return f"The model is right for {share} {where}"
    if isinstance(yardstick, LabelsWrong):
        return f"{shown} of the labels are predicted wrong for {where}"
    if not isinstance(yardstick, Ranking | MeanCost):
        return f"{fit.names[0]} is predicted with a typical error (RMSE) of {shown} for {where}"
    assert fit.positive is not None
    judged = fit.judged
    says, is_positive = (x[judged] == fit.positive for x in (fit.answers, fit.plan.truth))
    scores = score_decision(says.astype(float), is_positive, 0.5)
    text = (
        f"The model finds {scores['found']:,} of {scores['found'] + scores['missed']:,} "
        f"“{fit.names[fit.positive]}” among {where}, "
        f"with {count(scores['false_alarms'], 'false alarm')}"
    )
    if isinstance(yardstick, Ranking):
        return f"{text} (average precision {shown})"
    return f"{text}, which costs {shown} per vertex"


def _whether_graph_helps(comparison: Comparison, *, adaptive: bool) -> str:
    """Return whether the graph helps, and whether a fixed filter would do."""
    alone, fixed = comparison.named[NO_GRAPH], comparison.named[LOW_PASS]
    without = alone.shown
    if alone.verdict == "better":
        text = f"the graph helps ({without} without it)"
    elif alone.verdict == "worse":
        whom = "this model" if comparison.graph_could_help else "it"
        text = f"the graph misleads {whom} ({without} without it)"
    else:
        network = "the same network" if adaptive else "a network"
        text = f"it ties with {network} without the graph ({without})"
        if not comparison.graph_could_help:
            text = f"{text}: the graph makes no clear difference"
    does = {"better": "does worse than", "worse": "does better than", "tie": "ties with"}
    verb, ours = does[fixed.verdict], "the adaptive one" if adaptive else "it"
    return f"{text}, and a fixed low-pass filter ({fixed.shown}) {verb} {ours}"


def _reason(comparison: Comparison, *, has_edges: bool, adaptive: bool) -> str:
    """Return whether features, graph or both carry the information; empty without baselines."""
    named = comparison.named
    verdict = comparison.guessing.verdict
    guess = f"{comparison.yardstick.guess} ({comparison.guessing.shown})"
    if NO_GRAPH not in named:
        does = {"worse": "does worse than", "tie": "ties with"}.get(verdict, "")
        return f"The model {does} {guess}." if does else ""
    alone = named[NO_GRAPH].verdict
    ahead = [named[n] for n in (LOW_PASS, TWO_STEPS) if n in named and named[n].verdict == "worse"]
    if ahead and has_edges:
        best = min(ahead, key=lambda score: score.lead or 0.0)
        reached = f"{best.title}, a fixed filter, reaches {best.shown}"
        if not adaptive:
            return f"{reached}: this model does not suit this graph. Fit sgf, which adapts."
        return f"{reached}: the model has not learned enough. Train longer, or with other seeds."
    if verdict == "worse":
        return f"The model does worse than {guess}: look at its errors one by one."
    if verdict == "tie" and alone == "worse":
        return f"The model ties with {guess}; the features alone do better."
    if verdict == "tie":
        return f"The model ties with {guess}: more labels or more informative features are needed."
    text = _who_carries(alone, comparison.features_know, guess)
    if not has_edges:
        text = "The information comes from the features."
    steps = named.get(TWO_STEPS)
    # SGC does as well, where a low-pass filter does not.
    if steps is not None and steps.verdict == "tie" and named[LOW_PASS].verdict == "better":
        text += (
            " SGC, a fixed filter that lets the highest frequency through as well as the lowest, "
            f"ties with it ({steps.shown})."
        )
    return text


def _who_carries(alone: str, features_know: bool, guess: str) -> str:
    """Return what carries the answers of a model that clearly beats guessing."""
    if alone == "worse":
        return "Rely on the features here, and check whether the edges mean what they should."
    if features_know:
        if alone == "better":
            return "The features and the graph both carry information."
        return "The features alone do about as well."
    if alone == "better":
        return (
            "The information comes from the graph: the features alone are not clearly better "
            f"than {guess}."
        )
    return (
        f"The features alone are not clearly better than {guess}: more labels are needed to know "
        "whether the graph is."
    )


def describe_spread(
    repeats: Mapping[str, Any], metrics: Mapping[str, Metric], key: str
) -> dict[str, Any]:
    """Write out the repeats of ``metrics.json``, on the test vertices where there are some.

    ``key`` is the score to speak of; the first of the ``metrics`` of the task where that one was
    not repeated. Intervals are empty where nothing varies.
    """
    part = next(p for p in ("test", "val", "train") if p in repeats["scores"])
    rows = {}
    for name, found in repeats["scores"][part].items():
        if name in metrics:
            write = "{:.1%}".format if metrics[name].share else "{:.3f}".format
            keys = {"mean": found["mean"], "deviation": found["deviation"],
                    "least": min(found["values"]), "most": max(found["values"])}  # fmt: skip
            row = {k: write(value).replace("%", "\xa0%") for k, value in keys.items()}
            low, high = found["low"], found["high"]
            interval = "" if low is None else f"{write(low)} to {write(high)}"
            row |= {"name": metrics[name].name, "interval": interval.replace("%", "\xa0%")}
            rows[name] = row
    first = rows[key] if key in rows else rows[next(name for name in metrics if name in rows)]
    where = {"test": "test", "val": "validation", "train": "training"}[part]
    what = "splits" if repeats["splits"] == "drawn" else "seeds on the same split"
    text = f"Over {repeats['n']} {what} the {where} {first['name']} is {first['mean']} on average"
    if first["interval"]:
        text += f" (95\xa0% interval of the mean {first['interval']})"
    if first["least"] == first["most"]:
        text += ", the same every time"
    else:
        text += f", from {first['least']} to {first['most']}"
    return {"n": repeats["n"], "part": where, "sentence": f"{text}.", "rows": list(rows.values())}
