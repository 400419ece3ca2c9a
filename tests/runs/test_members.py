"""What members of a committee have and add."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.runs.made import made_fit, one_hot

from graphfilter import GraphClassifier, SGFClassifier
from graphfilter.data import make_csbm
from graphfilter.runs.comparison import Accuracy, compare
from graphfilter.runs.findings import Evidence, compare_members, describe_groups
from graphfilter.runs.fit import train_fit
from graphfilter.runs.plan import LOW_PASS, NO_GRAPH, TWO_STEPS, Source, plan_fit
from graphfilter.systems.registry import GROUPS

GRAPH = make_csbm(60, mean_degree=6, n_features=5, frequency=0.3, seed=2)


def groups(*rows: tuple[str, float, float, bool]) -> list[dict[str, Any]]:
    return [dict(zip(("title", "share", "adds", "is_clear"), row, strict=True)) for row in rows]


LINKS = "who is connected to whom"
BY_ACCURACY = Accuracy(np.zeros(100), [])


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (
            groups(("trees", 1.0, 0.0, False)),
            "The answer rests on trees on columns and neighbours alone.",
        ),
        (
            groups(("neighbours", 0.4, 0.1, True), (LINKS, 0.3, 0.021, True)),
            "The answer rests above all on neighbours (40 %); without that it would be 10.0 points "
            "worse; without who is connected to whom 2.1 points worse.",
        ),
        # What may be left out is not what the answer rests on.
        (
            groups((LINKS, 0.9, 0.0, False), ("features alone", 0.1, -0.05, False)),
            "The largest share is that of who is connected to whom (90 %); without it the answer "
            "would not be clearly worse: the others know that too.",
        ),
        (
            groups(("features alone", 0.9, -0.1, True), (LINKS, 0.1, -0.01, True)),
            "The largest share is that of the columns alone (90 %); without it the answer would be "
            "better; without who is connected to whom 1 point better.",
        ),
    ],
)
def test_sentence_says_what_the_answers_rest_on(rows: list[dict[str, Any]], sentence: str) -> None:
    assert describe_groups(rows, BY_ACCURACY).replace("\xa0", " ") == sentence


def said(ours: int, alone: int, rows: list[dict[str, Any]], fixed: int = 0) -> str:
    """Conclude of a committee of these groups, with the first so many of 100 right."""
    truth = np.tile([0, 1], 50)

    def right(n: int) -> np.ndarray:
        return one_hot(np.where(np.arange(100) < n, truth, 1 - truth))

    others = {NO_GRAPH: right(alone), LOW_PASS: right(fixed), TWO_STEPS: right(0)}
    fit = made_fit(np.array([1, 1, 0]), truth, right(ours), others)
    evidence = Evidence(fit, compare(fit), rows)
    return f"{evidence.whether_graph_helps()}. {evidence.reason()}"


@pytest.mark.parametrize(
    ("ours", "alone", "fixed", "rows", "words", "never"),
    [
        # Better than one network without connections, and nothing else speaks for them.
        (90, 70, 0, [(LINKS, 0.9, 0.0, False)], "as much as to the conn", "connections help"),
        (90, 70, 0, [(LINKS, 0.9, 0.1, True)], "the connections help", "as much as to"),
        (90, 70, 85, [(LINKS, 0.9, 0.0, False)], "the connections help", "as much as to"),
        # What trees add, they may know from columns.
        (90, 70, 0, [("trees", 0.9, 0.1, True)], "as much as to the conn", "connections help"),
        # A network of the columns alone learned nothing, but other models did.
        (90, 50, 0, [("features alone", 0.5, 0.0, False), (LINKS, 0.5, 0.1, True)],
         "Columns and connections both", "comes from the connections"),
        (90, 50, 0, [(LINKS, 1.0, 0.1, True)], "comes from the connections", "both"),
        (90, 89, 0, [("neighbours", 0.9, 0.0, False)], "no clear difference", "help"),
    ],
)  # fmt: skip
def test_sentences_about_connections_do_not_contradict_what_members_add(
    ours: int, alone: int, fixed: int, rows: list[Any], words: str, never: str
) -> None:
    text = said(ours, alone, groups(*rows), fixed)
    assert words in text
    assert never not in text


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
