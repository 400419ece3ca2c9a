"""The answer first: how good the model is, whether the graph helps, whether adapting is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest, norm

from graphfilter.report.baseline import LOW_PASS, NO_GRAPH, TWO_STEPS, Baseline
from graphfilter.report.numbers import percent

LEVEL = 0.95


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
        """How the fitted model stands to this one: better, worse, or alike (p >= 0.05)."""
        if self.difference is None or self.p_value is None or self.p_value >= 1 - LEVEL:
            return "alike"
        return "better" if self.difference > 0 else "worse"


@dataclass(frozen=True)
class Answer:
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


def wilson_interval(n_right: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    r"""Return Wilson's interval for a share, which holds its level for few vertices too.

    .. math:: \frac{\hat p + z^2/2n \pm z \sqrt{\hat p (1 - \hat p)/n + z^2/4n^2}}{1 + z^2/n}

    >>> low, high = wilson_interval(10, 10)
    >>> round(low, 3), high
    (0.722, 1.0)
    """
    z = float(norm.ppf((1 + level) / 2))
    share = n_right / n
    centre = share + z**2 / (2 * n)
    spread = z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    low, high = (centre - spread) / (1 + z**2 / n), (centre + spread) / (1 + z**2 / n)
    # Exact at the ends, where rounding would leave a hair.
    return float(low) if n_right else 0.0, float(high) if n_right < n else 1.0


def paired_p_value(ours: NDArray[np.bool_], theirs: NDArray[np.bool_]) -> float:
    """Return McNemar's exact two-sided p value for two models scored on the same vertices.

    Only vertices that one has right and the other wrong tell them apart; were the models equally
    good, each of those would fall to either side like a coin.

    >>> paired_p_value(np.array([True] * 6), np.array([False] * 6))
    0.03125
    """
    wins = int(np.count_nonzero(ours & ~theirs))
    losses = int(np.count_nonzero(theirs & ~ours))
    return 1.0 if wins + losses == 0 else float(binomtest(wins, wins + losses).pvalue)


def answer(
    part: str,
    truth: NDArray[np.int64],
    predicted: NDArray[np.int64],
    training: NDArray[np.int64],
    baselines: Sequence[tuple[Baseline, NDArray[np.int64]]] = (),
) -> Answer:
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
    return Answer(part, len(truth), tuple(scores), headline, reason)


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
    return Score(title, meaning, accuracy, low, high, gained, paired_p_value(ours, right))


def _headline(ours: Score, named: dict[str, Score], part: str) -> str:
    """Say it in one sentence."""
    where = {
        "test": "of the vertices it never saw",
        "val": "of the validation vertices, which also chose the best epoch",
        "train": "of the vertices it was trained on, for want of others",
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
    """Say whether features, graph or both carry the classes."""
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
