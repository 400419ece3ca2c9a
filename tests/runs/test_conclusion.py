"""The conclusion on top of a report: who is compared with whom, and the words."""

from __future__ import annotations

import numpy as np
import pytest
from tests.runs.made import made_fit, one_hot

from graphfilter import SGFRegressor, SystemClassifier
from graphfilter.runs.findings import Conclusion, conclude
from graphfilter.runs.plan import BASELINES, LOW_PASS, NO_GRAPH, TWO_STEPS
from graphfilter.systems import get_system
from graphfilter.training import MULTILABEL, REGRESSION


def make_conclusion(
    *, alone: int, fixed: int, steps: int = 0, ours: int = 90, part: str = "test"
) -> Conclusion:
    """Compare models that have the first so many of 100 vertices of two classes right."""
    truth = np.tile([0, 1], 50)

    def guess(n_right: int) -> np.ndarray:
        return one_hot(np.where(np.arange(100) < n_right, truth, 1 - truth))

    n_right = {NO_GRAPH: alone, LOW_PASS: fixed, TWO_STEPS: steps}
    baselines = {name: guess(n) for name, n in n_right.items()}
    return conclude(made_fit(np.array([1, 1, 0]), truth, guess(ours), baselines, part=part))


def test_conclusion_scores_every_model_on_the_same_vertices() -> None:
    found = make_conclusion(alone=60, fixed=85, steps=90).comparison
    assert [s.value for s in found.scores] == [0.9, 0.6, 0.85, 0.9, 0.5]
    assert [s.verdict for s in found.scores] == ["tie", "better", "tie", "tie", "better"]
    assert found.scores[1].lead == pytest.approx(0.3)
    assert found.scores[-1].title == "largest class"


@pytest.mark.parametrize(
    ("alone", "fixed", "graph", "adapting"),
    [
        (60, 88, "the connections help", "does as well"),
        (89, 60, "no clear difference", "does worse"),
        (100, 100, "the connections mislead", "does better"),
    ],
)
def test_headline_says_whether_graph_and_adapting_help(
    alone: int, fixed: int, graph: str, adapting: str
) -> None:
    headline = make_conclusion(alone=alone, fixed=fixed).headline
    assert graph in headline
    assert adapting in headline
    assert headline.count(".") == 1 + headline.replace("\xa0", " ").count(".0 %")


def test_reason_names_what_carries_the_classes() -> None:
    assert "Columns and connections both carry" in make_conclusion(alone=70, fixed=50).reason
    assert "comes from the connections" in make_conclusion(alone=50, fixed=50).reason
    assert "cannot be told from these 100" in make_conclusion(alone=89, fixed=89).reason
    assert "Rely on the columns" in make_conclusion(ours=80, alone=100, fixed=50).reason
    assert "not clearly better than always" in make_conclusion(ours=52, alone=50, fixed=50).reason
    assert "does worse than always" in make_conclusion(ours=30, alone=30, fixed=30).reason


def test_reason_tells_when_a_fixed_filter_does_better() -> None:
    assert "train longer" in make_conclusion(alone=50, fixed=60, ours=70, steps=100).reason


def test_conclusion_without_baselines_claims_nothing_of_the_graph() -> None:
    truth = np.array([0, 1, 1])
    found = conclude(made_fit(truth, truth, one_hot(truth), part="val"))
    assert "without baselines" in found.headline
    assert "validation" in found.headline
    assert found.reason == (
        "With 3 vertices to judge by, this is not clearly better than always answering the "
        "largest class (66.7\xa0%)."
    )
    assert len(found.comparison.scores) == 2
    many = np.tile(truth, 40)
    assert conclude(made_fit(many, many, one_hot(many), part="val")).reason == ""


@pytest.mark.research
def test_another_system_is_not_called_adaptive() -> None:
    truth = np.tile([0, 1], 50)
    other = SystemClassifier(model="gcn")
    other.system_ = get_system("gcn")
    right = {name: one_hot(truth) for name in BASELINES}
    found = conclude(made_fit(truth, truth, one_hot(1 - truth), right, estimator=other))
    assert found.comparison.ours.meaning == "GCN"
    said = " ".join([found.headline, found.reason, *(s.meaning for s in found.comparison.scores)])
    assert "adaptive" not in said
    assert "the same network" not in said
    assert "fit another model" in found.reason


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
        (1.5, "better", "the connections help"),
        (0.1, "worse", "the connections mislead"),
        (0.5, "tie", "no clear difference"),
    ],
)
def test_sentence_about_the_graph_follows_from_the_comparison(
    error: float, verdict: str, sentence: str
) -> None:
    conclusion = concluded(mlp=error, appnp=1.5)
    alone = conclusion.comparison.named["mlp"]
    assert alone.verdict == verdict
    assert sentence in conclusion.headline
    assert f"{alone.value:.4g}" in conclusion.headline


@pytest.mark.parametrize(
    ("error", "said"), [(2.0, "does worse"), (0.5, "does as well"), (0.1, "does better")]
)
def test_sentence_about_adapting_follows_from_the_comparison(error: float, said: str) -> None:
    conclusion = concluded(mlp=0.5, appnp=error)
    assert f"({conclusion.comparison.named['appnp'].value:.4g}) {said}" in conclusion.headline


def test_constant_answer_has_the_spread_of_the_truth_as_its_error() -> None:
    mean = concluded().comparison.guessing
    assert mean.value == pytest.approx(TRUTH.std())
    assert mean.low < mean.value < mean.high


def test_model_that_is_no_better_than_the_mean_is_not_praised() -> None:
    bad = concluded(TRUTH + 9, mlp=9.0, appnp=9.0)
    assert "does worse than always answering the mean" in bad.reason
    assert (
        "not clearly better than always answering the mean"
        in concluded(0 * TRUTH, mlp=2.0, appnp=2.0).reason
    )


def test_error_of_labels_is_their_share_wrong() -> None:
    truth = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    said = np.array([[0.9, 0.1], [0.9, 0.9], [0.1, 0.9], [0.1, 0.1]])
    found = conclude(made_fit(truth, truth, said, task=MULTILABEL, names=["a", "b"]))
    assert found.comparison.ours.value == 2 / 8
    assert found.headline.replace("\xa0", " ").startswith("25.0 % of the labels")
