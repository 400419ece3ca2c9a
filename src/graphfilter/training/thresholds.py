"""Two classes: which probability is enough, what errors cost, and what the top of a list holds.

One class is called positive: the one that is looked for (fraud, churn). ``scores`` are its
probabilities and ``truth`` says of which vertices it is the class.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.util.errors import check_name

Scores = NDArray[np.float64]
Truth = NDArray[np.bool_]

# What a threshold can be chosen by; cost is made small, the others large.
DECISION_METRICS = ("f1", "accuracy", "balanced_accuracy", "mcc", "cost")
TOP_SHARES = (0.01, 0.05, 0.1)


@dataclass(frozen=True)
class Costs:
    """What the two errors cost: a positive that is missed, and a false alarm."""

    missed: float = 1.0
    false_alarm: float = 1.0


EQUAL_COSTS = Costs()


@dataclass(frozen=True)
class Decision:
    """When the positive class is answered: where its probability is at least the threshold.

    Attributes
    ----------
    positive : str
        The name of the class.
    threshold : float
    metric : str
        What the threshold was chosen by, on the validation vertices; 'given' where it was given.
    costs : Costs
    """

    positive: str
    threshold: float
    metric: str = "given"
    costs: Costs = EQUAL_COSTS

    @property
    def log_odds(self) -> str:
        """The threshold as the log-odds of the class; empty where it is 0 or 1.

        >>> Decision("fraud", 0.1).log_odds
        '-2.20'
        """
        if not 0 < self.threshold < 1:
            return ""
        return f"{math.log(self.threshold / (1 - self.threshold)):+.2f}"

    def decide(self, probabilities: Scores, classes: Sequence[Any]) -> NDArray[np.int64]:
        """Return class numbers (n,) from probabilities (n, 2)."""
        positive = [str(c) for c in classes].index(self.positive)
        answered = probabilities[:, positive] >= self.threshold
        return np.where(answered, positive, 1 - positive)


@dataclass(frozen=True, eq=False)
class BinaryCurve:
    """What every threshold would give, from the one that answers no vertex positive down.

    Attributes
    ----------
    thresholds : array (k,)
        Decreasing; half way between neighbouring scores.
    found, alarms : array (k,)
        How many positives are found, and how many others are taken for one.
    n_positive, n_negative : int
    average_precision, roc_area : float
        The mean precision over the positives, in the order in which they are found; the
        probability that a positive scores higher than another vertex.
    """

    thresholds: Scores
    found: NDArray[np.int64]
    alarms: NDArray[np.int64]
    n_positive: int
    n_negative: int
    average_precision: float
    roc_area: float

    @classmethod
    def of(cls, scores: Scores, truth: Truth) -> BinaryCurve:
        """Count at every distinct score, both classes being there."""
        # Slow to import.
        from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve

        n_positive, n_negative = int(truth.sum()), int((~truth).sum())
        alarm_rate, recall, at = roc_curve(truth, scores, drop_intermediate=False)
        distinct = at[1:]
        top = (1 + distinct[0]) / 2 if distinct[0] < 1 else np.nextafter(1.0, 2.0)
        between = (distinct[:-1] + distinct[1:]) / 2
        # Where two scores are next to each other there is nothing between them but themselves.
        between = np.where(between > distinct[1:], between, distinct[:-1])
        return cls(
            np.concatenate([[top], between, [distinct[-1] / 2]]),
            np.rint(recall * n_positive).astype(np.int64),
            np.rint(alarm_rate * n_negative).astype(np.int64),
            n_positive,
            n_negative,
            float(average_precision_score(truth, scores)),
            float(roc_auc_score(truth, scores)),
        )

    @property
    def recall(self) -> Scores:
        """The share of the positives that is found: the true positive rate."""
        return self.found / max(self.n_positive, 1)

    @property
    def false_alarm_rate(self) -> Scores:
        return self.alarms / max(self.n_negative, 1)

    @property
    def precision(self) -> Scores:
        """The share of the answers that is right; 1 where there are none."""
        answers = self.found + self.alarms
        return np.divide(self.found, answers, out=np.ones(len(answers)), where=answers > 0)

    def values(self, metric: str, costs: Costs = EQUAL_COSTS) -> Scores:
        """Return a metric at every threshold, larger where better (cost with a minus)."""
        check_name("metric of a threshold", metric, DECISION_METRICS)
        tp, fp = self.found.astype(float), self.alarms.astype(float)
        fn, tn = self.n_positive - tp, self.n_negative - fp
        n = self.n_positive + self.n_negative
        if metric == "f1":
            return 2 * tp / np.maximum(2 * tp + fp + fn, 1)
        if metric == "accuracy":
            return (tp + tn) / n
        if metric == "balanced_accuracy":
            return (self.recall + 1 - self.false_alarm_rate) / 2
        if metric == "mcc":
            size = np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
            return np.divide(tp * tn - fp * fn, size, out=np.zeros(len(tp)), where=size > 0)
        return -(costs.missed * fn + costs.false_alarm * fp) / n


def choose_threshold(
    scores: Scores, truth: Truth, metric: str = "f1", costs: Costs = EQUAL_COSTS
) -> float:
    """Return the threshold with the best value of a metric; among equals the one nearest to 1/2.

    >>> scores = np.array([0.9, 0.4, 0.3, 0.1])
    >>> round(choose_threshold(scores, np.array([True, True, False, False])), 3)
    0.35
    """
    curve = BinaryCurve.of(scores, truth)
    values = curve.values(metric, costs)
    best = np.flatnonzero(values >= values.max() - 1e-12)
    return float(curve.thresholds[best[np.abs(curve.thresholds[best] - 0.5).argmin()]])


def score_decision(
    scores: Scores, truth: Truth, threshold: float, costs: Costs = EQUAL_COSTS
) -> dict[str, Any]:
    """Return what a threshold gives: counts, precision, recall, F1, accuracy and mean cost.

    Precision is None where nothing is answered positive, recall where nothing is.
    """
    answered = scores >= threshold
    tp, n = int((answered & truth).sum()), max(len(truth), 1)
    fp, fn = int(answered.sum()) - tp, int(truth.sum()) - tp
    return {
        "n_vertices": len(truth),
        "found": tp,
        "false_alarms": fp,
        "missed": fn,
        "precision": tp / (tp + fp) if tp + fp else None,
        "recall": tp / (tp + fn) if tp + fn else None,
        "f1": 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else None,
        "accuracy": (len(truth) - fp - fn) / n,
        "cost": (costs.missed * fn + costs.false_alarm * fp) / n,
    }


def lifts(
    scores: Scores, truth: Truth, shares: Sequence[float] = TOP_SHARES
) -> list[dict[str, float]]:
    """Return how much richer in positives than the whole the top of the list by score is.

    Nothing where there are no positives or no vertices. Of each top share: ``precision`` is the
    share of positives in it, ``found`` the share of all positives it holds, ``lift`` the precision
    by the share of positives among all. Of vertices with equal scores at the end of the list, their
    mean is counted.

    >>> [top["lift"] for top in lifts(np.array([0.9, 0.5, 0.5, 0.1]), np.array([1, 0, 1, 0]) > 0,
    ...                             shares=(0.25, 0.5))]
    [2.0, 1.5]
    """
    n, n_positive = len(truth), int(truth.sum())
    if not n_positive:
        return []
    _, group = np.unique(-scores, return_inverse=True)
    hits = (np.bincount(group, truth) / np.bincount(group))[group]
    running = np.cumsum(hits[np.argsort(-scores, kind="stable")])
    made = []
    for share in shares:
        size = max(1, round(share * n))
        inside = float(running[size - 1])
        made.append(
            {
                "share": share,
                "n_vertices": size,
                "precision": inside / size,
                "found": inside / n_positive,
                "lift": inside / size * n / n_positive,
            }
        )
    return made
