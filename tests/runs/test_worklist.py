"""The vertices worth a look, and their explanations."""

from __future__ import annotations

import numpy as np
import pytest
from tests.runs.made import made_fit, one_hot

from graphfilter import SGFClassifier, SGFRegressor
from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.estimators.explanation import Explanation, Reason
from graphfilter.estimators.targets import Target, named_target
from graphfilter.report.cases import cases_section, columns_section
from graphfilter.report.neighbourhood import RADII, place_names, places_of
from graphfilter.runs.answers import Decision
from graphfilter.runs.cases import (
    MOST_EXPLAINED,
    MOST_LISTED,
    CaseBook,
    least_sure,
    make_worklists,
    most_doubted,
    most_missed,
)
from graphfilter.runs.fit import Fit, train_fit
from graphfilter.runs.plan import Plan, Source, plan_fit
from graphfilter.splits import Split
from graphfilter.training import CLASSIFICATION, MULTILABEL, REGRESSION

NAMES = ["v0", "v1", "v2", "v3", "v4", "v5"]
LABELS = ["a", "a", "b", "b", "c", None]
SURE = np.array(
    [[0.9, 0.1, 0], [0.2, 0.8, 0], [0.3, 0.7, 0], [0.95, 0.05, 0], [0.3, 0.3, 0.4], [0.5, 0.4, 0.1]]
)
SPLIT = Split([0, 1], [4], [2, 3])


def fit_of(labels: list[str | None], outputs: np.ndarray = SURE, **options) -> Fit:
    edges = [[i, (i + 1) % 6] for i in range(6)]
    graph = Graph.from_edges(edges, labels=labels, vertex_names=NAMES)
    assert graph.labels is not None
    target = Target(CLASSIFICATION, graph.labels, graph.classes)
    plan = Plan(Source(graph), graph, target, SPLIT, 0, ())
    return Fit.of(plan, SGFClassifier(), outputs, **options)


def test_least_sure_lists_the_unlabelled_first_choice() -> None:
    assert least_sure(fit_of(LABELS)).tolist() == [5]


def test_least_sure_lists_test_vertices_where_all_are_labelled() -> None:
    assert least_sure(fit_of(["a", "a", "b", "b", "c", "c"])).tolist() == [2, 3]


def test_least_sure_are_nearest_to_the_threshold() -> None:
    labels: list[str | None] = ["a", "b", "b", "a", "b", "a"]
    pair = SURE[:, :2] / SURE[:, :2].sum(axis=1, keepdims=True)
    decision = Decision("b", 0.06, "given")
    assert least_sure(fit_of(labels, pair, decision=decision)).tolist() == [3, 2]


def test_most_doubted_lists_rejected_labels_least_probable_first() -> None:
    fit = fit_of(LABELS)
    assert most_doubted(fit).tolist() == [3, 1]
    assert [fit.names[fit.answers[v]] for v in (3, 1)] == ["a", "b"]


def test_vertex_lists_are_capped() -> None:
    n = MOST_LISTED + 50
    truth = np.arange(n) % 2
    fit = made_fit(truth, truth, one_hot(1 - truth))
    assert len(most_doubted(fit)) == MOST_LISTED
    assert len(least_sure(fit)) == MOST_LISTED


@pytest.fixture(scope="module")
def fit() -> Fit:
    graph = make_csbm(n_vertices=80, frequency=0.6, mean_degree=6, n_features=4)
    clf = SGFClassifier(max_epochs=15, random_state=0)
    return train_fit(plan_fit(Source(graph), 0), clf, baselines=False)


def test_label_errors_are_explained_against_the_given_label(fit: Fit) -> None:
    doubted = most_doubted(fit)
    _, unsure, errors = make_worklists(fit, CaseBook.of_fit(fit))
    np.testing.assert_array_equal(errors.vertices, doubted)
    assert len(errors.explanations) == min(len(doubted), MOST_EXPLAINED)
    for vertex, found in zip(doubted.tolist(), errors.explanations, strict=False):
        answer, given = fit.names[fit.answers[vertex]], fit.names[fit.plan.target.codes[vertex]]
        assert (found.vertex, found.predicted, found.against) == (str(vertex), answer, given)
        assert found.score > 0.5
    assert unsure.explanations[0].vertex == str(least_sure(fit)[0])


def test_columns_move_the_answer_by_the_mean_of_what_they_add() -> None:
    def why(*reasons: tuple[str, str, float]) -> Explanation:
        made = tuple(Reason(kind, name, "", value) for kind, name, value in reasons)
        return Explanation("v", "yes", "no", 0.9, 0.1, made)

    near = ("neighbour", "u", -0.1), ("others", "2 other neighbours", 0.4)
    one, two = why(("column", "age", 0.2), *near), why(("column", "age", -0.4))
    shown = columns_section({0: one, 5: two})
    assert shown is not None
    rows = {row["title"]: (row["text"], row["width"]) for row in shown["rows"]}
    assert rows == {"age": ("30.0", 100), "all neighbours together": ("15.0", pytest.approx(50))}
    assert columns_section({}) is None


def test_names_in_a_picture_lie_on_nothing(fit: Fit) -> None:
    book = CaseBook.of_fit(fit)
    for vertex in range(0, 80, 9):
        found = book.neighbourhood(vertex)
        names = place_names(found)
        assert names[0][2].startswith(str(vertex))
        boxes = [(x, y, 1.65 * len(text), 3.4) for x, y, text in names.values()]
        dots = zip(100 + 84 * places_of(found) * (1, -1), found.steps.tolist(), strict=True)
        boxes += [(*place, RADII[step], RADII[step]) for place, step in dots]
        for i, (x, y, wide, high) in enumerate(boxes[: len(names)]):
            for left, top, width, height in boxes[i + 1 :]:
                assert abs(x - left) >= wide + width - 0.2 or abs(y - top) >= high + height - 0.2


def test_bars_point_to_the_side_of_their_sign(fit: Fit) -> None:
    _, table, _ = cases_section(fit, make_worklists(fit, CaseBook.of_fit(fit)))["tables"]
    assert len(table["whys"]) == MOST_EXPLAINED
    for why in table["whys"]:
        for bar in why["parts"]:
            assert bar["left"] == (50 - bar["width"] if bar["value"] < 0 else 50)
            assert 0 <= bar["width"] <= 50
        assert max(bar["width"] for bar in why["parts"]) == 50


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
    (table,) = cases_section(fit, make_worklists(fit, CaseBook.of_fit(fit)))["tables"]
    vertices, columns, _ = most_missed(fit)
    assert len(table["whys"]) == MOST_EXPLAINED
    for v, column, row, why in zip(vertices, columns, table["rows"], table["whys"], strict=False):
        found, name = why["explanation"], fit.names[column]
        assert found.vertex == row[0] == str(v)
        if fit.task is MULTILABEL:
            assert {found.predicted, found.against} == {name, f"not {name}"}
            continue
        assert (found.unit, found.against) == (name, "")
        assert found.score == pytest.approx(fit.outputs[v, column], rel=1e-3)
        assert found.predicted == f"{name} {row[-2]}"
        if len(fit.names) > 1:
            assert row[2] == name
    if len(fit.names) > 1 and fit.task is REGRESSION:
        # In deviations, so that the number with the larger unit does not decide alone.
        assert set(columns.tolist()) == {0, 1}
