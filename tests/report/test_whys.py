"""Explanations on the page of a run."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from graphfilter import SGFClassifier
from graphfilter.data import make_csbm
from graphfilter.graph import Graph
from graphfilter.report.classes import least_sure, most_doubted
from graphfilter.report.whys import MOST_EXPLAINED, explain_rows
from graphfilter.run_folder.predictions import parts_of


@pytest.fixture(scope="module")
def graph() -> Graph:
    return make_csbm(n_vertices=80, frequency=0.6, mean_degree=6, n_features=4)


def test_label_errors_are_explained_against_the_given_label(graph: Graph) -> None:
    clf = SGFClassifier(max_epochs=15, random_state=0).fit(graph=graph)
    probabilities = clf.predict_proba()
    parts = parts_of(graph, clf.split_)
    doubted = most_doubted(graph, parts, probabilities)
    whys = explain_rows(clf, graph, probabilities, doubted, against_given=True)
    assert len(whys) == min(len(doubted), MOST_EXPLAINED)
    for row, why in zip(doubted, whys, strict=False):
        found = why.explanation
        assert (found.vertex, found.predicted, found.against) == (row.id, row.predicted, row.given)
        assert found.score > 0
    unsure = least_sure(graph, parts, probabilities)
    assert explain_rows(clf, graph, probabilities, unsure)[0].explanation.vertex == unsure[0].id


def test_bars_point_to_the_side_of_their_sign(graph: Graph) -> None:
    clf = SGFClassifier(max_epochs=15, random_state=0).fit(graph=graph)
    probabilities = clf.predict_proba()
    rows = least_sure(graph, parts_of(graph, clf.split_), probabilities)
    for why in explain_rows(clf, graph, probabilities, rows):
        for bar in (*why.parts, *why.speakers, *why.features):
            assert bar.left + bar.width == 50 if bar.value < 0 else bar.left == 50
            assert 0 <= bar.width <= 50
        assert max(bar.width for bar in why.parts) == 50


def test_huge_graph_is_not_explained_on_its_page(graph: Graph) -> None:
    clf = SGFClassifier(max_epochs=2, random_state=0).fit(graph=graph)
    wide = np.broadcast_to(np.float32(0), (80, 2_000_000))
    huge = dataclasses.replace(graph, features=wide)
    rows = least_sure(graph, parts_of(graph, clf.split_), clf.predict_proba())
    assert explain_rows(clf, huge, clf.predict_proba(), rows) == []
