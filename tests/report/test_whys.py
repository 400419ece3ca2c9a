"""Explanations on the page of a run."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from graphfilter import SGFClassifier, SGFRegressor
from graphfilter.data import make_csbm
from graphfilter.estimators.targets import named_target
from graphfilter.report.vertices import least_sure, most_doubted, most_missed, vertex_tables
from graphfilter.report.whys import MOST_EXPLAINED, explain_rows
from graphfilter.runs.fit import Fit, train_fit
from graphfilter.runs.plan import Source, plan_fit
from graphfilter.training import MULTILABEL, REGRESSION
from graphfilter.util.words import number


@pytest.fixture(scope="module")
def fit() -> Fit:
    graph = make_csbm(n_vertices=80, frequency=0.6, mean_degree=6, n_features=4)
    clf = SGFClassifier(max_epochs=15, random_state=0)
    return train_fit(plan_fit(Source(graph), 0), clf, baselines=False)


def test_label_errors_are_explained_against_the_given_label(fit: Fit) -> None:
    doubted = most_doubted(fit)
    whys = explain_rows(fit, doubted, against_given=True)
    assert len(whys) == min(len(doubted), MOST_EXPLAINED)
    for vertex, why in zip(doubted.tolist(), whys, strict=False):
        found = why.explanation
        answer, given = fit.names[fit.answers[vertex]], fit.names[fit.target.codes[vertex]]
        assert (found.vertex, found.predicted, found.against) == (str(vertex), answer, given)
        assert found.score > 0
    unsure = least_sure(fit)
    assert explain_rows(fit, unsure)[0].explanation.vertex == str(unsure[0])


def test_bars_point_to_the_side_of_their_sign(fit: Fit) -> None:
    for why in explain_rows(fit, least_sure(fit)):
        for bar in (*why.parts, *why.contributors, *why.features):
            assert bar.left + bar.width == 50 if bar.value < 0 else bar.left == 50
            assert 0 <= bar.width <= 50
        assert max(bar.width for bar in why.parts) == 50


@pytest.fixture(scope="module", params=["number", "two numbers", "labels"])
def fit_of_values(request) -> Fit:
    graph = make_csbm(n_vertices=80, frequency=0.6, mean_degree=6, n_features=4)
    x = np.asarray(graph.features, dtype=float)
    if request.param == "labels":
        target = named_target(MULTILABEL, (x[:, :2] > 0).astype(float), ["lift", "garden"])
        estimator = SGFClassifier(max_epochs=15, random_state=0)
    else:
        values = np.exp(x[:, :1]) if request.param == "number" else x[:, :2] * [1, 1000]
        names = ["price", "size"][: values.shape[1]]
        target = named_target(REGRESSION, values, names)
        estimator = SGFRegressor(max_epochs=15, random_state=0)
    return train_fit(plan_fit(Source(graph), 0, target=target), estimator, baselines=False)


def test_largest_errors_are_explained_in_the_unit_of_what_was_missed(fit_of_values: Fit) -> None:
    fit = fit_of_values
    (table,) = vertex_tables(fit)
    vertices, columns, _ = most_missed(fit)
    assert len(table.whys) == MOST_EXPLAINED
    for v, column, row, why in zip(vertices, columns, table.rows, table.whys, strict=False):
        found, name = why.explanation, fit.names[column]
        assert found.vertex == row[0] == str(v)
        if fit.task is MULTILABEL:
            assert {found.predicted, found.against} == {name, f"not {name}"}
            continue
        assert (found.unit, found.against) == (name, "")
        assert found.score == pytest.approx(fit.outputs[v, column], rel=1e-3)
        assert found.predicted == f"{name} {row[-2]}"
        if len(fit.names) > 1:
            assert row[2] == name
        for contributor in found.contributors:
            assert contributor.label == number(fit.plan.truth[int(contributor.vertex), column])
    if len(fit.names) > 1 and fit.task is REGRESSION:
        # In deviations, so that the number with the larger unit does not decide alone.
        assert set(columns.tolist()) == {0, 1}


def test_huge_graph_is_not_explained_on_its_page(fit: Fit) -> None:
    wide = np.broadcast_to(np.float32(0), (80, 2_000_000))
    huge = dataclasses.replace(fit.graph, features=wide)
    plan = dataclasses.replace(fit.plan, graph=huge)
    assert explain_rows(dataclasses.replace(fit, plan=plan), least_sure(fit)) == []
