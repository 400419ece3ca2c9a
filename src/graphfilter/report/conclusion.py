"""The top of a run's report: how good the model is, whether the graph and adapting help.

It compares the fitted model with plain ones, which ``run_folder`` trains on the same split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphfilter.metrics import SIGNIFICANCE, mcnemar_test, wilson_interval
from graphfilter.report.sentences import BASELINES, LOW_PASS, NO_GRAPH, TWO_STEPS, Found, Score

__all__ = ["BASELINES", "Baseline", "Conclusion", "Score", "conclude"]


@dataclass(frozen=True, eq=False)
class Baseline:
    """What a plain model says of every vertex, trained on the same split."""

    name: str
    title: str
    meaning: str
    predicted: NDArray[np.int64]
    seconds: float


@dataclass(frozen=True)
class Conclusion:
    """What the top of the page says.

    Attributes
    ----------
    part : str
        The vertices it is about: test, or validation or train where there are no others.
    n_vertices : int
    digits : int
        Of a share in percent, so that one vertex more or less shows.
    scores : tuple of Score
        The fitted model, the baselines, and always answering the largest class.
    headline : str
        Accuracy, whether the graph helps, and whether adapting is needed: one sentence.
    reason : str
        Whether features, graph or both carry the classes; empty without baselines.
    """

    part: str
    n_vertices: int
    digits: int
    scores: tuple[Score, ...]
    headline: str
    reason: str


def conclude(
    part: str,
    truth: NDArray[np.int64],
    predicted: NDArray[np.int64],
    training: NDArray[np.int64],
    baselines: Sequence[tuple[Baseline, NDArray[np.int64]]] = (),
    *,
    has_edges: bool = True,
    system: str = "",
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
    has_edges : bool
        Whether there is a graph to help or mislead.
    system : str
        The title of the fitted system; empty where it is the adaptive filter.
    """
    right = predicted == truth
    ours = _score("this model", system or "the adaptive filter", right)
    answers = {baseline.name: guess == truth for baseline, guess in baselines}
    named = {
        baseline.name: _score(
            baseline.title,
            "a network without the graph"
            if system and baseline.name == NO_GRAPH
            else baseline.meaning,
            answers[baseline.name],
            right,
        )
        for baseline, _ in baselines
    }
    commonest = truth == int(np.bincount(training).argmax())
    guessing = _score("largest class", "always the same answer", commonest, right)
    found = Found(
        ours=ours,
        named=named,
        guessing=guessing,
        n_vertices=len(truth),
        has_edges=has_edges,
        adaptive=not system,
        features_know=NO_GRAPH in answers and _beats(answers[NO_GRAPH], commonest),
        graph_could_help=any(
            _beats(answers[name], answers[NO_GRAPH])
            for name in (LOW_PASS, TWO_STEPS)
            if name in answers and NO_GRAPH in answers
        ),
    )
    scores = (ours, *named.values(), guessing)
    return Conclusion(part, len(truth), found.digits, scores, found.headline(part), found.reason())


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


def _beats(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> bool:
    """Return whether a model is clearly better than another one on the same vertices."""
    return bool(a.mean() > b.mean()) and mcnemar_test(a, b) <= SIGNIFICANCE
