"""The answer on top of a report: intervals and tests against their definitions, and the words."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from graphfilter.report.answer import answer, paired_p_value, wilson_interval
from graphfilter.report.baseline import BASELINES, LOW_PASS, NO_GRAPH, TWO_STEPS, Baseline

Z = float(norm.ppf(0.975))


@pytest.mark.parametrize(("right", "n"), [(0, 7), (3, 10), (35, 35), (480, 539)])
def test_wilson_interval_inverts_the_score_test(right: int, n: int) -> None:
    """Its ends are the shares p with |share - p| = z sqrt(p (1 - p) / n), where inside (0, 1)."""
    share = right / n
    for end in wilson_interval(right, n):
        if 0 < end < 1:
            assert abs(share - end) == pytest.approx(Z * math.sqrt(end * (1 - end) / n))


def test_wilson_interval_of_all_right_has_its_closed_form() -> None:
    low, high = wilson_interval(20, 20)
    assert low == pytest.approx(20 / (20 + Z**2))
    assert high == 1.0


def test_paired_p_value_is_that_of_a_coin() -> None:
    ours = np.array([True] * 5 + [False] + [True] * 50)
    theirs = np.array([False] * 5 + [True] + [True] * 50)
    tail = (math.comb(6, 5) + math.comb(6, 6)) / 2**6
    assert paired_p_value(ours, theirs) == pytest.approx(2 * tail)
    assert paired_p_value(theirs, ours) == pytest.approx(2 * tail)
    assert paired_p_value(ours, ours) == 1.0


def make_answer(*, alone: int, fixed: int, steps: int = 0, ours: int = 90, part: str = "test"):
    """Compare models that have the first so many of 100 vertices of two classes right."""
    truth = np.tile([0, 1], 50)

    def guess(n_right: int) -> np.ndarray:
        return np.where(np.arange(100) < n_right, truth, 1 - truth)

    n_right = {NO_GRAPH: alone, LOW_PASS: fixed, TWO_STEPS: steps}
    baselines = [
        (Baseline(name, name.upper(), BASELINES[name], guess(n), 0.0), guess(n))
        for name, n in n_right.items()
    ]
    return answer(part, truth, guess(ours), np.array([1, 1, 0]), baselines)


def test_answer_scores_every_model_on_the_same_vertices() -> None:
    found = make_answer(alone=60, fixed=85, steps=90)
    assert [s.accuracy for s in found.scores] == [0.9, 0.6, 0.85, 0.9, 0.5]
    assert [s.verdict for s in found.scores] == ["alike", "better", "alike", "alike", "better"]
    assert found.scores[1].difference == pytest.approx(0.3)
    assert found.scores[-1].title == "largest class"


@pytest.mark.parametrize(
    ("alone", "fixed", "graph", "adapting"),
    [
        (60, 88, "the graph helps", "about as well"),
        (89, 60, "no clear difference", "does worse"),
        (100, 100, "the graph misleads", "does better"),
    ],
)
def test_headline_says_whether_graph_and_adapting_help(
    alone: int, fixed: int, graph: str, adapting: str
) -> None:
    headline = make_answer(alone=alone, fixed=fixed).headline
    assert graph in headline
    assert adapting in headline
    assert headline.count(".") == 1 + headline.replace("\xa0", " ").count(".0 %")


def test_reason_names_what_carries_the_classes() -> None:
    assert "features and the graph both" in make_answer(alone=70, fixed=50).reason
    assert "comes from the graph" in make_answer(alone=50, fixed=50).reason
    assert "features alone carry" in make_answer(alone=89, fixed=89).reason
    assert "Trust the features" in make_answer(alone=100, fixed=50).reason
    assert "more labels" in make_answer(ours=52, alone=50, fixed=50).reason


def test_reason_tells_when_another_fixed_filter_does_as_well() -> None:
    assert "SGC" in make_answer(alone=50, fixed=60, steps=90).reason
    assert "SGC" not in make_answer(alone=50, fixed=60, steps=60).reason
    assert "Train longer" in make_answer(alone=50, fixed=60, ours=70, steps=100).reason


def test_answer_without_baselines_claims_nothing_of_the_graph() -> None:
    truth = np.array([0, 1, 1])
    found = answer("val", truth, truth, truth)
    assert "no baselines" in found.headline
    assert "validation" in found.headline
    assert found.reason == ""
    assert len(found.scores) == 2
