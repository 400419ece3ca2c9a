from __future__ import annotations

import numpy as np
import pytest

from graphfilter import GraphClassifier, SGFClassifier
from graphfilter.data import make_csbm
from graphfilter.report.members import KindRow, describe_needs, view_members
from graphfilter.runs.comparison import Accuracy, compare
from graphfilter.runs.fit import train_fit
from graphfilter.runs.plan import Source, plan_fit
from graphfilter.systems.committees import GROUPS

GRAPH = make_csbm(60, mean_degree=6, n_features=5, frequency=0.3, seed=2)


def kinds(*pairs: tuple[str, float, float, bool]) -> list[KindRow]:
    return [KindRow(title, share, adds, clear) for title, share, adds, clear in pairs]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (kinds(("trees", 1.0, 0.0, False)), "Mostly trees."),
        (
            kinds(("neighbours", 0.4, 0.1, True), ("who is connected to whom", 0.3, 0.021, True)),
            "Above all neighbours; who is connected to whom adds 2.1 points.",
        ),
        (
            kinds(("neighbours", 0.9, 0.1, True), ("features alone", 0.1, -0.05, False)),
            "Mostly neighbours; features alone add nothing clear.",
        ),
        (
            kinds(("neighbours", 0.9, 0.1, True), ("who is connected to whom", 0.1, -0.01, True)),
            "Mostly neighbours; who is connected to whom costs 1 point.",
        ),
        (
            kinds(("neighbours", 0.9, 0.1, True), ("trees", 0.1, -0.03, True)),
            "Mostly neighbours; trees cost 3.0 points.",
        ),
    ],
)
def test_sentence_says_what_the_answers_rest_on(rows: list[KindRow], sentence: str) -> None:
    assert describe_needs(rows, Accuracy) == sentence


def test_view_has_the_numbers_of_the_committee() -> None:
    clf = GraphClassifier(max_epochs=6, random_state=0, device="cpu")
    fit = train_fit(plan_fit(Source(GRAPH), 0), clf, baselines=False)
    scored, labels = fit.judged, np.asarray(GRAPH.labels)
    view = view_members(fit, compare(fit))
    assert view is not None
    assert [kind.share for kind in view.kinds] == sorted(
        (kind.share for kind in view.kinds), reverse=True
    )
    assert sum(kind.share for kind in view.kinds) == pytest.approx(1)
    # The graph is too small for the network that is told labels.
    assert {kind.title for kind in view.kinds} == set(GROUPS) - {"labels of neighbours"}
    by_name = {note.name: note for note in clf.member_notes_}
    trees = next(kind for kind in view.kinds if kind.title == "trees")
    expected = (by_name["trees"].predicted[scored] == labels[scored]).mean()
    assert trees.members[0].alone == f"{100 * expected:.1f}\xa0%"
    without = clf.without_["trees"]
    assert without is not None
    lead = (fit.answers[scored] == labels[scored]).mean()
    lead -= (without[0][scored] == labels[scored]).mean()
    assert trees.adds == pytest.approx(lead)


def test_one_model_has_no_members_to_show() -> None:
    clf = SGFClassifier(max_epochs=2, random_state=0, device="cpu")
    fit = train_fit(plan_fit(Source(GRAPH), 0), clf, baselines=False)
    assert view_members(fit, compare(fit)) is None
