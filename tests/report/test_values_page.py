"""The page of numbers and labels: its comparisons and its sentences."""

from __future__ import annotations

import numpy as np
import pytest

from graphfilter.report.value_comparison import Rival, conclude_values

RNG = np.random.default_rng(0)
TRUTH = RNG.normal(size=(200, 1))


def rival(name: str, error: float) -> tuple[Rival, np.ndarray]:
    said = TRUTH + error * RNG.normal(size=TRUTH.shape)
    return Rival(name, name.upper(), "", said, 0.0), said


def conclude(*rivals: tuple[Rival, np.ndarray]):
    said = TRUTH + 0.5 * np.random.default_rng(1).normal(size=TRUTH.shape)
    return conclude_values("test", "price", TRUTH, said, TRUTH, rivals, numbers=True)


@pytest.mark.parametrize(
    ("error", "verdict", "sentence"),
    [
        (1.5, "better", "The graph helps"),
        (0.1, "worse", "The graph misleads"),
        (0.5, "tie", "The graph makes no clear difference"),
    ],
)
def test_sentence_about_the_graph_follows_from_the_comparison(
    error: float, verdict: str, sentence: str
) -> None:
    found = conclude(rival("mlp", error))
    assert found.scores[1].verdict == verdict
    assert sentence in found.reason
    assert f"{found.scores[1].error:.4g}" in found.reason


def test_adapting_pays_where_a_fixed_filter_is_clearly_worse() -> None:
    assert "Adapting the filter pays" in conclude(rival("appnp", 2.0)).reason
    assert "does as well" in conclude(rival("appnp", 0.5)).reason
    assert "does better" in conclude(rival("appnp", 0.1)).reason


def test_constant_answer_has_the_spread_of_the_truth_as_its_error() -> None:
    mean = conclude().scores[-1]
    assert mean.error == pytest.approx(TRUTH.std())
    assert mean.score == pytest.approx(0.0, abs=1e-12)


def test_model_that_is_no_better_than_the_mean_is_not_praised() -> None:
    found = conclude_values("test", "price", TRUTH, TRUTH + 9, TRUTH, numbers=True)
    assert "worse than always answering the mean" in found.headline
    guess = conclude_values("test", "price", TRUTH, 0 * TRUTH, TRUTH, numbers=True)
    assert "not clearly better than always answering the mean" in guess.headline


def test_error_of_labels_is_their_share_wrong() -> None:
    truth = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    said = np.array([[0.9, 0.1], [0.9, 0.9], [0.1, 0.9], [0.1, 0.1]])
    found = conclude_values("test", "", truth, said, truth, numbers=False)
    assert found.scores[0].error == 2 / 8
    assert found.headline.replace("\xa0", " ").startswith("25.0 % of the labels")
