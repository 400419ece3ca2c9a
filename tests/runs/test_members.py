"""What members of a committee have and add."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphfilter import GraphClassifier, SGFClassifier
from graphfilter.data import make_csbm
from graphfilter.runs.comparison import compare
from graphfilter.runs.findings import compare_members, describe_groups
from graphfilter.runs.fit import train_fit
from graphfilter.runs.plan import Source, plan_fit
from graphfilter.systems.registry import GROUPS

GRAPH = make_csbm(60, mean_degree=6, n_features=5, frequency=0.3, seed=2)


def groups(*rows: tuple[str, float, float, bool]) -> list[dict[str, Any]]:
    return [dict(zip(("title", "share", "adds", "is_clear"), row, strict=True)) for row in rows]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (groups(("trees", 1.0, 0.0, False)), "Mostly trees."),
        (
            groups(("neighbours", 0.4, 0.1, True), ("who is connected to whom", 0.3, 0.021, True)),
            "Above all neighbours; who is connected to whom adds 2.1 points.",
        ),
        (
            groups(("neighbours", 0.9, 0.1, True), ("features alone", 0.1, -0.05, False)),
            "Mostly neighbours; features alone add nothing clear.",
        ),
        (
            groups(("neighbours", 0.9, 0.1, True), ("who is connected to whom", 0.1, -0.01, True)),
            "Mostly neighbours; who is connected to whom costs 1 point.",
        ),
        (
            groups(("neighbours", 0.9, 0.1, True), ("trees", 0.1, -0.03, True)),
            "Mostly neighbours; trees cost 3.0 points.",
        ),
    ],
)
def test_sentence_says_what_the_answers_rest_on(rows: list[dict[str, Any]], sentence: str) -> None:
    assert describe_groups(rows, is_share=True) == sentence


def test_view_has_the_numbers_of_the_committee() -> None:
    clf = GraphClassifier(max_epochs=6, random_state=0, device="cpu")
    fit = train_fit(plan_fit(Source(GRAPH), 0), clf, baselines=False)
    committee = fit.estimator
    assert isinstance(committee, GraphClassifier)
    scored, labels = fit.judged, np.asarray(GRAPH.labels)
    view = compare_members(fit, compare(fit))
    assert view is not None
    assert [group["share"] for group in view["groups"]] == sorted(
        (group["share"] for group in view["groups"]), reverse=True
    )
    assert sum(group["share"] for group in view["groups"]) == pytest.approx(1)
    # The graph is too small for the network that is told labels.
    assert {group["title"] for group in view["groups"]} == set(GROUPS) - {"labels of neighbours"}
    by_name = {note.name: note for note in committee.member_notes_}
    trees = next(group for group in view["groups"] if group["title"] == "trees")
    expected = (by_name["trees"].predicted[scored] == labels[scored]).mean()
    assert trees["members"][0]["alone"] == f"{100 * expected:.1f}\xa0%"
    without = committee.without_["trees"]
    assert without is not None
    lead = (fit.answers[scored] == labels[scored]).mean()
    lead -= (without[0][scored] == labels[scored]).mean()
    assert trees["adds"] == pytest.approx(lead)


def test_one_model_has_no_members_to_show() -> None:
    clf = SGFClassifier(max_epochs=2, random_state=0, device="cpu")
    fit = train_fit(plan_fit(Source(GRAPH), 0), clf, baselines=False)
    assert compare_members(fit, compare(fit)) is None
