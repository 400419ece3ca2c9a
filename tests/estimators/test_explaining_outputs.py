"""Explanations of numbers and of labels: their parts add up to what is predicted."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logit

import graphfilter as gf
from graphfilter.data import make_csbm
from graphfilter.estimators.contributions import Contributions
from graphfilter.estimators.explanation import in_units
from graphfilter.training import TargetScale
from graphfilter.util.errors import ConfigError

GRAPH = make_csbm(n_vertices=80, n_features=4, frequency=0.4, seed=0).replace(
    vertex_names=[f"v{i}" for i in range(80)], feature_names=list("abcd")
)
FEATURES = np.asarray(GRAPH.features)
NUMBERS = 50 + 20 * FEATURES[:, 0] + np.asarray(GRAPH.adjacency @ FEATURES[:, 1])
LABELS = np.column_stack([FEATURES[:, 0] > 0, FEATURES[:, 1] > 0.5]).astype(float)


def total(why) -> float:
    return why.base + why.structure + sum(step.contribution for step in why.steps)


@pytest.mark.parametrize(
    "model",
    [
        gf.SGFRegressor(max_epochs=20, n_layers=3, n_members=2, random_state=0),
        gf.GraphRegressor(effort="low", max_epochs=5, scale="identity", random_state=0),
    ],
    ids=["filter", "committee"],
)
def test_the_parts_of_a_number_add_up_to_it(model) -> None:
    model.fit(FEATURES, NUMBERS, graph=GRAPH)
    predicted = model.predict()
    low, high = model.target_scales_[0].low, model.target_scales_[0].high
    inside = np.flatnonzero((predicted > low) & (predicted < high))[:3]
    assert len(inside)
    for v in inside.tolist():
        why = model.explain(f"v{v}")
        assert why.score == pytest.approx(predicted[v], rel=1e-4)
        assert total(why) == pytest.approx(why.score)
        assert (why.against, why.probability, why.unit) == ("", None, "number")
        assert why.sentence.startswith(f"{why.predicted}: every vertex starts from ")
        assert not any(contributor.label for contributor in why.contributors)


@pytest.mark.parametrize("scale", ["log", "rank"])
def test_a_number_is_explained_in_its_own_unit_on_any_scale(scale: str) -> None:
    y = np.exp(NUMBERS / 30)
    model = gf.SGFRegressor(max_epochs=20, n_layers=3, scale=scale, random_state=0)
    model.fit(FEATURES, y, graph=GRAPH)
    predicted = model.predict()
    for v in np.argsort(predicted)[[5, 40, 79]].tolist():
        why = model.explain(f"v{v}")
        assert why.score == total(why) == pytest.approx(predicted[v], rel=1e-4)
        # Parts keep their signs and their order: the scale only rises.
        assert y.min() <= why.base <= y.max()
        single = sum(
            contributor.contribution for contributor in model.explain(f"v{v}", most=80).contributors
        )
        others = sum(step.contribution for step in why.steps if step.name != "own")
        assert single == pytest.approx(others, rel=1e-3)


def test_parts_that_cancel_keep_the_slope_of_the_scale() -> None:
    scale = TargetScale.fit(np.array([0.0, 9.0, 99.0]), "log")
    sums = Contributions(0.2, 0.5, np.array([-0.5, 0, 0, 0, 0]))
    found = in_units(sums, scale)
    assert found.score == pytest.approx(scale.undo(np.array([0.2]))[0])
    slope = np.diff(scale.undo(np.array([0.2, 0.2001])))[0] / 0.0001
    assert found.structure == pytest.approx(0.5 * slope, rel=0.01)


def test_one_of_several_numbers_is_named() -> None:
    model = gf.SGFRegressor(max_epochs=10, n_layers=3, random_state=0)
    model.fit(FEATURES, np.column_stack([NUMBERS, -NUMBERS]), graph=GRAPH)
    first, second = model.explain("v3"), model.explain("v3", output="1")
    assert first.score == pytest.approx(model.predict()[3, 0], rel=1e-4)
    assert second.score == pytest.approx(model.predict()[3, 1], rel=1e-4)
    assert first.features[0].name in "abcd"
    with pytest.raises(ConfigError, match="unknown output '7'"):
        model.explain("v3", output="7")


@pytest.mark.parametrize(
    "model",
    [
        gf.SGFClassifier(max_epochs=20, n_layers=3, random_state=0),
        gf.GraphClassifier(effort="low", max_epochs=5, random_state=0),
    ],
    ids=["filter", "committee"],
)
def test_the_parts_of_a_label_add_up_to_its_log_odds(model) -> None:
    model.fit(FEATURES, LABELS, graph=GRAPH)
    said = model.predict_proba()
    for v in range(3):
        for column, name in enumerate(model.classes_.tolist()):
            why = model.explain(f"v{v}", output=name)
            p = said[v, column]
            has = p > 0.5
            assert why.predicted == (f"{name}" if has else f"not {name}")
            assert why.against == (f"not {name}" if has else f"{name}")
            assert why.score == pytest.approx(abs(logit(p)), abs=2e-3)
            assert total(why) == pytest.approx(why.score)
            assert why.probability == pytest.approx(max(p, 1 - p))
        likely = model.explain(f"v{v}")
        assert str(model.classes_[said[v].argmax()]) in (likely.predicted, likely.against)
    with pytest.raises(ConfigError, match="name one as output"):
        model.explain("v0", against=0)


def test_output_is_not_for_classes() -> None:
    model = gf.SGFClassifier(max_epochs=3, random_state=0).fit(graph=GRAPH)
    with pytest.raises(ConfigError, match="one class"):
        model.explain("v0", output="a")
