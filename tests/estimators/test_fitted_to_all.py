"""Members learn from validation vertices too in the end, and answer for those without."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from graphfilter import GraphClassifier
from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.estimators.members import has_folds
from graphfilter.splits import Split
from graphfilter.systems import Prepared, get_system, train_system
from graphfilter.systems.outcome import CommitteeOutcome
from graphfilter.systems.system import Committee

GRAPH = make_csbm(90, mean_degree=4, n_features=5, seed=0)
ORDER = np.random.default_rng(0).permutation(90)
# Given, not drawn: there are no folds.
SPLIT = Split(np.sort(ORDER[:40]), np.sort(ORDER[40:65]), np.sort(ORDER[65:]))


MEMBERS = ["only-linear", "only-told-trees", "only-filter", "only-deep"]


def committee(name: str) -> Committee:
    made = get_system(name).limited(20)
    assert isinstance(made, Committee)
    return replace(made, refits_networks=True)


def trained(name: str, graph: Graph = GRAPH) -> CommitteeOutcome:
    (outcome,) = train_system(Prepared.of(graph), committee(name), [SPLIT], [0])
    assert isinstance(outcome, CommitteeOutcome)
    return outcome


@pytest.mark.parametrize("name", MEMBERS)
def test_the_second_run_has_learned_from_validation_vertices(name: str) -> None:
    (part,) = trained(name).parts
    assert part.refitted
    assert len(part.runs) == 2
    np.testing.assert_array_equal(part.learned_from(0, SPLIT.train), SPLIT.train)
    both = np.union1d(SPLIT.train, SPLIT.val)
    np.testing.assert_array_equal(part.learned_from(1, SPLIT.train), both)


@pytest.mark.parametrize("name", MEMBERS)
def test_no_label_of_a_validation_vertex_is_in_its_own_answer(name: str) -> None:
    """Weights, and answers for validation vertices, are those of models that have not seen it."""
    outcome = trained(name)
    single = replace(committee(name), refits=False)
    (alone,) = train_system(Prepared.of(GRAPH), single, [SPLIT], [0])
    np.testing.assert_allclose(
        outcome.probabilities[SPLIT.val], alone.probabilities[SPLIT.val], atol=1e-12
    )
    assert np.abs(outcome.probabilities - alone.probabilities)[SPLIT.test].max() > 1e-6


def test_test_labels_change_no_bit() -> None:
    assert GRAPH.labels is not None
    labels = GRAPH.labels.copy()
    labels[SPLIT.test] = 1 - labels[SPLIT.test]
    first, second = trained("only-linear"), trained("only-linear", GRAPH.replace(labels=labels))
    np.testing.assert_array_equal(first.probabilities, second.probabilities)


def test_networks_learn_again_for_the_epochs_that_were_best() -> None:
    (part,) = trained("only-filter").parts
    first, second = part.runs
    assert second.n_epochs == first.result.best_epoch > 0
    assert second.result.stopped == "max_epochs"
    # One seed, and all labels, in the place of several seeds.
    plain = GraphClassifier(max_epochs=3, random_state=0).fit(graph=GRAPH, split=SPLIT)
    again = GraphClassifier(max_epochs=3, random_state=0, refit=True).fit(graph=GRAPH, split=SPLIT)
    assert any("adaptive filter" in note for note in again.notes_)
    assert not any("adaptive filter" in note for note in plain.notes_)
    none = GraphClassifier(max_epochs=3, random_state=0, refit=False).fit(graph=GRAPH, split=SPLIT)
    assert none.held_ is None


@pytest.mark.parametrize("refit", [None, True])
def test_a_saved_model_answers_as_the_fit_did(refit: bool | None, tmp_path: Path) -> None:
    fitted = GraphClassifier(max_epochs=3, random_state=0, refit=refit)
    fitted.fit(graph=GRAPH, split=SPLIT)
    assert fitted.held_ is not None
    assert not has_folds(fitted.held_)
    np.testing.assert_array_equal(np.flatnonzero(fitted.held_ == 0), SPLIT.val)
    assert any("have not seen their label" in note for note in fitted.notes_)
    fitted.save(tmp_path / "model")
    loaded = GraphClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(graph=GRAPH), fitted.predict_proba())
    # Another graph is answered by both.
    other = make_csbm(50, mean_degree=4, n_features=5, seed=1)
    np.testing.assert_allclose(
        loaded.predict_proba(graph=other), fitted.predict_proba(graph=other), atol=1e-12
    )
