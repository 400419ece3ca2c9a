"""The conclusion on numbers and on several labels: its comparisons and its sentences."""

from __future__ import annotations

import numpy as np
import pytest
from tests.fits.made import made_fit

from graphfilter import SGFRegressor
from graphfilter.report.conclusion import Conclusion, conclude
from graphfilter.training import MULTILABEL, REGRESSION

RNG = np.random.default_rng(0)
TRUTH = RNG.normal(size=(200, 1))


def with_error(error: float) -> np.ndarray:
    return TRUTH + error * RNG.normal(size=TRUTH.shape)


def concluded(said: np.ndarray | None = None, **errors: float) -> Conclusion:
    own = TRUTH + 0.5 * np.random.default_rng(1).normal(size=TRUTH.shape) if said is None else said
    baselines = {name: with_error(error) for name, error in errors.items()}
    fit = made_fit(
        TRUTH, TRUTH, own, baselines, task=REGRESSION, names=["price"], estimator=SGFRegressor()
    )
    return conclude(fit)


@pytest.mark.parametrize(
    ("error", "verdict", "sentence"),
    [
        (1.5, "better", "the graph helps"),
        (0.1, "worse", "the graph misleads"),
        (0.5, "tie", "the graph makes no clear difference"),
    ],
)
def test_sentence_about_the_graph_follows_from_the_comparison(
    error: float, verdict: str, sentence: str
) -> None:
    conclusion = concluded(mlp=error, appnp=1.5)
    alone = conclusion.found.named["mlp"]
    assert alone.verdict == verdict
    assert sentence in conclusion.headline
    assert f"{alone.value:.4g}" in conclusion.headline


@pytest.mark.parametrize(
    ("error", "said"), [(2.0, "does worse than"), (0.5, "ties with"), (0.1, "does better than")]
)
def test_sentence_about_adapting_follows_from_the_comparison(error: float, said: str) -> None:
    conclusion = concluded(mlp=0.5, appnp=error)
    assert f"({conclusion.found.named['appnp'].value:.4g}) {said}" in conclusion.headline


def test_constant_answer_has_the_spread_of_the_truth_as_its_error() -> None:
    mean = concluded().found.guessing
    assert mean.value == pytest.approx(TRUTH.std())
    assert mean.low < mean.value < mean.high


def test_model_that_is_no_better_than_the_mean_is_not_praised() -> None:
    bad = concluded(TRUTH + 9, mlp=9.0, appnp=9.0)
    assert "does worse than always answering the mean" in bad.reason
    assert "ties with always answering the mean" in concluded(0 * TRUTH, mlp=2.0, appnp=2.0).reason


def test_error_of_labels_is_their_share_wrong() -> None:
    truth = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    said = np.array([[0.9, 0.1], [0.9, 0.9], [0.1, 0.9], [0.1, 0.1]])
    found = conclude(made_fit(truth, truth, said, task=MULTILABEL, names=["a", "b"]))
    assert found.found.ours.value == 2 / 8
    assert found.headline.replace("\xa0", " ").startswith("25.0 % of the labels")
