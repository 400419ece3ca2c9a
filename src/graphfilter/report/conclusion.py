"""The top of a run's report: how good the model is, whether the graph and adapting help.

It compares the fitted model with plain ones, which ``run_folder`` trains on the same split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphfilter.metrics import SIGNIFICANCE, mcnemar_test, wilson_interval
from graphfilter.report.numbers import percent

# APPNP is low-pass on every graph. SGC squares the adjacency, so that the highest frequency
# passes as well as the lowest: it is shown beside, and does not answer whether low-pass will do.
NO_GRAPH, LOW_PASS, TWO_STEPS = "mlp", "appnp", "sgc"
BASELINES = {
    NO_GRAPH: "the same network without the graph",
    LOW_PASS: "a fixed low-pass filter: neighbours are always averaged",
    TWO_STEPS: "a fixed two-step average; passes the highest frequency as well as the lowest",
}


@dataclass(frozen=True, eq=False)
class Baseline:
    """What a plain model says of every vertex, trained on the same split."""

    name: str
    title: str
    meaning: str
    predicted: NDArray[np.int64]
    seconds: float


@dataclass(frozen=True)
class Score:
    """The accuracy of one model on the scored vertices, beside that of the fitted one.

    ``difference`` and ``p_value`` compare it with the fitted model on the same vertices; None
    for the fitted model itself.
    """

    title: str
    meaning: str
    accuracy: float
    low: float
    high: float
    difference: float | None = None
    p_value: float | None = None

    @property
    def verdict(self) -> str:
        """How the fitted model compares with this one: better, worse, or alike (p > 0.05)."""
        if self.difference is None or self.p_value is None or self.p_value > SIGNIFICANCE:
            return "alike"
        return "better" if self.difference > 0 else "worse"


@dataclass(frozen=True)
class Conclusion:
    """What the top of the page says.

    Attributes
    ----------
    part : str
        The vertices it is about: test, or validation or train where there are no others.
    n_vertices : int
    scores : tuple of Score
        The fitted model, the baselines, and always answering the largest class.
    headline : str
        Accuracy, whether the graph helps, and whether adapting is needed: one sentence.
    reason : str
        Whether features, graph or both carry the classes; empty without baselines.
    """

    part: str
    n_vertices: int
    scores: tuple[Score, ...]
    headline: str
    reason: str


def conclude(
    part: str,
    truth: NDArray[np.int64],
    predicted: NDArray[np.int64],
    training: NDArray[np.int64],
    baselines: Sequence[tuple[Baseline, NDArray[np.int64]]] = (),
) -> Conclusion:
    """Compare the fitted model with the baselines.

    Parameters
    ----------
    part : str
    truth, predicted : int arrays (m,)
        Class numbers of the scored vertices.
    training : int array
        Labels of the training vertices; the largest class among them is what a guess would say.
    baselines : pairs of a Baseline and its predictions (m,) on the scored vertices
    """
    right = predicted == truth
    ours = _score("this model", "the adaptive filter", right)
    scores = [ours]
    named: dict[str, Score] = {}
    for baseline, guess in baselines:
        named[baseline.name] = _score(baseline.title, baseline.meaning, guess == truth, right)
        scores.append(named[baseline.name])
    commonest = int(np.bincount(training).argmax())
    guessing = _score("largest class", "always the same answer", truth == commonest, right)
    scores.append(guessing)
    reason = _where_from(named, guessing) if NO_GRAPH in named else ""
    headline = _headline(ours, named, part)
    return Conclusion(part, len(truth), tuple(scores), headline, reason)


def _score(
    title: str,
    meaning: str,
    right: NDArray[np.bool_],
    ours: NDArray[np.bool_] | None = None,
) -> Score:
    low, high = wilson_interval(int(right.sum()), len(right))
    accuracy = float(right.mean())
    if ours is None:
        return Score(title, meaning, accuracy, low, high)
    gained = float(ours.mean()) - accuracy
    return Score(title, meaning, accuracy, low, high, gained, mcnemar_test(ours, right))


def _headline(ours: Score, named: dict[str, Score], part: str) -> str:
    """Return the conclusion in one sentence."""
    where = {
        "test": "of the vertices it never saw",
        "val": "of the validation vertices, which also chose the best epoch",
        "train": "of the vertices it was trained on, there being no others",
    }[part]
    start = f"The model is right for {percent(ours.accuracy)} {where}"
    if NO_GRAPH not in named:
        return f"{start}; no baselines were trained, so whether the graph helps is not known."
    alone, fixed = named[NO_GRAPH], named[LOW_PASS]
    graph = {
        "better": "the graph helps",
        "worse": "the graph misleads",
        "alike": "the graph makes no clear difference",
    }[alone.verdict]
    adapting = {
        "better": "does worse than the adaptive one",
        "worse": "does better than the adaptive one",
        "alike": "does about as well as the adaptive one",
    }[fixed.verdict]
    return (
        f"{start}; {graph} ({percent(alone.accuracy)} without it), and a fixed low-pass filter "
        f"({percent(fixed.accuracy)}) {adapting}."
    )


def _where_from(named: dict[str, Score], guessing: Score) -> str:
    """Return whether features, graph or both carry the classes, in words."""
    alone, fixed, steps = named[NO_GRAPH], named[LOW_PASS], named.get(TWO_STEPS)
    knows = alone.low > guessing.accuracy
    said = {
        ("better", True): "The features and the graph both tell the classes apart.",
        ("better", False): "What is known comes from the graph: the features alone do no better "
        f"than always answering the largest class ({percent(guessing.accuracy)}).",
        ("alike", True): "The features alone carry most of what could be learned here.",
        ("alike", False): "Without the graph, the features do not clearly beat always answering "
        f"the largest class ({percent(guessing.accuracy)}): more labels would tell more.",
    }.get(
        (alone.verdict, knows),
        "Trust the features here, and ask whether these edges mean what they should.",
    )
    if steps is None or steps.verdict == "better":
        return said
    reached = (
        f"SGC, a fixed filter that lets the highest frequency through as well as the lowest, "
        f"reaches {percent(steps.accuracy)}"
    )
    if steps.verdict == "worse":
        return (
            f"{reached}: the model has not learned all there is. Train longer, or from other seeds."
        )
    return f"{said} {reached}." if fixed.verdict == "better" else said
