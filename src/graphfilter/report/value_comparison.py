"""Predicted numbers, or labels, beside those of plain models trained on the same split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphfilter.metrics import SIGNIFICANCE, corrected_t_test
from graphfilter.metrics.values import score_labels, score_numbers
from graphfilter.report.numbers import percent
from graphfilter.report.sentences import LOW_PASS, NO_GRAPH

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Rival:
    """What a plain model says of every vertex, (n, T), trained on the same split."""

    name: str
    title: str
    meaning: str
    said: Values
    seconds: float


@dataclass(frozen=True)
class ValueScore:
    """One model on the scored vertices.

    Attributes
    ----------
    score : float
        R² of numbers, micro F1 of labels; NaN where it is not defined.
    error : float
        RMSE of numbers, the share of labels that are wrong.
    p_value : float or None
        Of the difference between its errors and those of the fitted model; None for that itself.
    is_worse : bool
        Whether its mean loss is above that of the fitted model.
    """

    title: str
    meaning: str
    score: float
    error: float
    p_value: float | None = None
    is_worse: bool = False

    @property
    def verdict(self) -> str:
        """How the fitted model compares with this one: better, worse, or a tie (p > 0.05)."""
        if self.p_value is None or self.p_value > SIGNIFICANCE:
            return "tie"
        return "better" if self.is_worse else "worse"


@dataclass(frozen=True)
class ValueConclusion:
    """What the top of the page says: the scores of all models, and sentences that follow."""

    part: str
    n_vertices: int
    scores: tuple[ValueScore, ...]
    headline: str
    reason: str


def conclude_values(
    part: str,
    name: str,
    truth: Values,
    said: Values,
    training: Values,
    rivals: Sequence[tuple[Rival, Values]] = (),
    *,
    numbers: bool,
) -> ValueConclusion:
    """Compare the fitted model with plain ones on the same vertices.

    Parameters
    ----------
    part, name : str
        The vertices it is about, and what is predicted.
    truth, said : arrays (m, T)
        Of the scored vertices: numbers, or 0 and 1 and probabilities.
    training : array (k, T)
        Of the training vertices: their mean, or the usual answer for each label, is what a guess
        would say.
    rivals : pairs of a Rival and its answers (m, T) on the scored vertices
    numbers : bool
    """
    ours = _losses(said, truth, numbers)
    guess = np.broadcast_to(training.mean(axis=0), truth.shape)

    def scored(title: str, meaning: str, answers: Values, *, own: bool = False) -> ValueScore:
        loss = _losses(answers, truth, numbers)
        p = None if own or len(truth) < 2 else corrected_t_test(loss - ours, 0.0)
        score, error = _score(answers, truth, numbers)
        return ValueScore(title, meaning, score, error, p, bool(loss.mean() > ours.mean()))

    model = scored("this model", "the adaptive filter", said, own=True)
    others = {rival.name: scored(rival.title, rival.meaning, own) for rival, own in rivals}
    constant = scored("the mean" if numbers else "the usual answer", "always the same", guess)
    write = number if numbers else percent
    return ValueConclusion(
        part,
        len(truth),
        (model, *others.values(), constant),
        _headline(name, model, constant, numbers),
        _reason(others, write),
    )


def number(value: float) -> str:
    """Write a number with four significant digits, or all those before the point.

    >>> number(12345.67), number(12.345), number(0.0012)
    ('12,346', '12.35', '0.0012')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _headline(name: str, model: ValueScore, constant: ValueScore, numbers: bool) -> str:
    against = {"better": "better than", "tie": "not clearly better than", "worse": "worse than"}[
        constant.verdict
    ]
    if numbers:
        return (
            f"{name} is predicted with a typical error (RMSE) of {number(model.error)}, {against} "
            f"always answering the mean ({number(constant.error)})."
        )
    return (
        f"{percent(model.error)} of the labels are predicted wrong, {against} always giving the "
        f"usual answer for each ({percent(constant.error)})."
    )


def _reason(others: dict[str, ValueScore], write: object) -> str:
    """Say whether the graph and adapting help, as far as the comparisons show it."""
    assert callable(write)
    said = []
    if NO_GRAPH in others:
        alone = others[NO_GRAPH]
        said.append(
            {
                "better": f"The graph helps: without it the error is {write(alone.error)}.",
                "worse": f"The graph misleads: without it the error is {write(alone.error)}.",
                "tie": "The graph makes no clear difference: without it the error is "
                f"{write(alone.error)}.",
            }[alone.verdict]
        )
    if LOW_PASS in others:
        fixed = others[LOW_PASS]
        said.append(
            {
                "better": "Adapting the filter pays: a fixed low-pass filter has "
                f"{write(fixed.error)}.",
                "worse": f"A fixed low-pass filter does better, with {write(fixed.error)}.",
                "tie": f"A fixed low-pass filter does as well, with {write(fixed.error)}.",
            }[fixed.verdict]
        )
    return " ".join(said)


def _losses(said: Values, truth: Values, numbers: bool) -> Values:
    """Return the loss of each vertex: its squared error, or the share of its labels wrong."""
    if numbers:
        return np.square(said - truth).mean(axis=1)
    return ((said > 0.5) != (truth > 0.5)).mean(axis=1)


def _score(said: Values, truth: Values, numbers: bool) -> tuple[float, float]:
    if numbers:
        scores = score_numbers(said[:, 0], truth[:, 0])
        return scores.get("r2", float("nan")), scores["rmse"]
    wrong = float(_losses(said, truth, numbers).mean())
    return score_labels(said, truth)["micro_f1"], wrong
