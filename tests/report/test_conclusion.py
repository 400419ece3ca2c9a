"""The conclusion on top of a report: who is compared with whom, and the words."""

from __future__ import annotations

import numpy as np
import pytest
from tests.fits.made import made_fit, one_hot

from graphfilter import GraphClassifier
from graphfilter.report.conclusion import Conclusion, conclude
from graphfilter.runs.fit import BASELINES, LOW_PASS, NO_GRAPH, TWO_STEPS
from graphfilter.systems import get_system


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
    found = make_conclusion(alone=60, fixed=85, steps=90).found
    assert [s.value for s in found.scores] == [0.9, 0.6, 0.85, 0.9, 0.5]
    assert [s.verdict for s in found.scores] == ["tie", "better", "tie", "tie", "better"]
    assert found.scores[1].lead == pytest.approx(0.3)
    assert found.scores[-1].title == "largest class"


@pytest.mark.parametrize(
    ("alone", "fixed", "graph", "adapting"),
    [
        (60, 88, "the graph helps", "ties with"),
        (89, 60, "no clear difference", "does worse"),
        (100, 100, "the graph misleads", "does better"),
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
    assert "features and the graph both carry" in make_conclusion(alone=70, fixed=50).reason
    assert "comes from the graph" in make_conclusion(alone=50, fixed=50).reason
    assert "features alone do" in make_conclusion(alone=89, fixed=89).reason
    assert "Rely on the features" in make_conclusion(ours=80, alone=100, fixed=50).reason
    assert "ties with always answering" in make_conclusion(ours=52, alone=50, fixed=50).reason
    assert "does worse than always" in make_conclusion(ours=30, alone=30, fixed=30).reason


def test_reason_tells_when_another_fixed_filter_does_as_well() -> None:
    assert "SGC" in make_conclusion(alone=50, fixed=60, steps=90).reason
    assert "SGC" not in make_conclusion(alone=50, fixed=60, steps=60).reason
    assert "Train longer" in make_conclusion(alone=50, fixed=60, ours=70, steps=100).reason


def test_conclusion_without_baselines_claims_nothing_of_the_graph() -> None:
    truth = np.array([0, 1, 1])
    found = conclude(made_fit(truth, truth, one_hot(truth), part="val"))
    assert "no baselines" in found.headline
    assert "validation" in found.headline
    assert found.reason == "The model ties with always answering the largest class (66.7\xa0%)."
    assert len(found.found.scores) == 2
    many = np.tile(truth, 40)
    assert conclude(made_fit(many, many, one_hot(many), part="val")).reason == ""


def test_another_system_is_not_called_adaptive() -> None:
    truth = np.tile([0, 1], 50)
    other = GraphClassifier()
    other.system_ = get_system("gcn")
    right = {name: one_hot(truth) for name in BASELINES}
    found = conclude(made_fit(truth, truth, one_hot(1 - truth), right, estimator=other))
    assert found.found.ours.meaning == "GCN"
    said = " ".join([found.headline, found.reason, *(s.meaning for s in found.found.scores)])
    assert "adaptive" not in said
    assert "the same network" not in said
    assert "Fit sgf, which adapts" in found.reason
