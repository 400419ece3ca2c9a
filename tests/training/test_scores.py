"""Scores, their intervals and tests, and the decisions that scores are of."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn import metrics as reference
from sklearn.metrics import average_precision_score
from torch.nn.functional import cross_entropy

from graphfilter.data import make_csbm
from graphfilter.filters import StackedFilter
from graphfilter.metrics import (
    METRICS,
    calibration_by_chance,
    calibration_error,
    score,
    score_parts,
)
from graphfilter.models import FilterNetwork
from graphfilter.operators import augmented_adjacency
from graphfilter.splits import Split, stratified
from graphfilter.training import TrainConfig, train

GRAPH = make_csbm(n_vertices=90, mean_degree=4, n_features=5)


def make_network() -> FilterNetwork:
    generator = torch.Generator().manual_seed(0)
    return FilterNetwork(5, 2, StackedFilter(3), hidden_size=6, generator=generator)


@pytest.mark.parametrize("class_weight", [None, torch.tensor([1.0, 3.0])])
def test_epoch_scores_follow_their_definitions(class_weight: torch.Tensor | None) -> None:
    """After one epoch: the weights kept are the ones that were scored."""
    operator, x = augmented_adjacency(GRAPH), torch.tensor(GRAPH.features)
    labels, split = torch.tensor(GRAPH.labels), stratified(GRAPH.labels, 0, (0.3, 0.5, 0.2))
    network = make_network()
    (result,) = train(
        [network], operator, x, labels, [split], TrainConfig(max_epochs=1), seeds=[0],
        class_weight=class_weight,
    )  # fmt: skip
    network.load_state_dict(result.state)
    with torch.no_grad():
        logits = network.eval()(operator, x).double()
    own = torch.ones(90) if class_weight is None else class_weight[labels]

    def accuracy(part: np.ndarray) -> float:
        index = torch.from_numpy(part.copy())
        right = (logits.argmax(1) == labels)[index] * own[index]
        return float(right.sum() / own[index].sum())

    val = torch.from_numpy(split.val.copy())
    weight = None if class_weight is None else class_weight.double()
    loss = cross_entropy(logits[val], labels[val], weight=weight)
    got = {name: values[0] for name, values in result.history.items()}
    assert got["train_accuracy"] == pytest.approx(accuracy(split.train))
    assert got["val_accuracy"] == pytest.approx(accuracy(split.val))
    assert got["val_loss"] == pytest.approx(float(loss), rel=1e-5)
    # What tells the parts apart here: no two of them score the same.
    assert accuracy(split.train) != accuracy(split.val)


def test_training_loss_is_that_of_the_training_vertices_with_dropout() -> None:
    operator, x = augmented_adjacency(GRAPH), torch.tensor(GRAPH.features)
    labels, split = torch.tensor(GRAPH.labels), stratified(GRAPH.labels, 0)
    (result,) = train(
        [make_network()], operator, x, labels, [split], TrainConfig(max_epochs=1), seeds=[7]
    )
    logits = make_network().train()(operator, x, torch.Generator().manual_seed(7))
    index = torch.from_numpy(split.train.copy())
    expected = cross_entropy(logits[index], labels[index])
    assert result.history["loss"][0] == pytest.approx(expected.item(), rel=1e-5)


def test_score_of_certain_and_right_answers_is_perfect() -> None:
    probabilities = np.eye(3)[[0, 1, 2, 0]]
    got = score(probabilities, np.array([0, 1, 2, 0]))
    assert (got["n_vertices"], got["accuracy"], got["macro_f1"]) == (4, 1.0, 1.0)
    assert got["log_loss"] == pytest.approx(0.0, abs=1e-9)
    assert got["calibration_error"] == 0.0


def test_macro_f1_averages_the_classes_that_are_present() -> None:
    """Class 0: precision 2/3, recall 1; class 1: precision 1, recall 1/2; class 2 is absent."""
    probabilities = np.eye(3)[[0, 0, 0, 1]]
    got = score(probabilities, np.array([0, 0, 1, 1]))
    assert got["macro_f1"] == pytest.approx((0.8 + 2 / 3) / 2)


def test_macro_f1_gives_a_small_class_the_weight_of_a_large_one() -> None:
    """Class 0, three vertices: F1 6/7; class 1, one vertex that is missed: F1 0."""
    got = score(np.eye(2)[[0, 0, 0, 0]], np.array([0, 0, 0, 1]))
    assert got["macro_f1"] == pytest.approx((6 / 7 + 0) / 2)


def test_calibration_gaps_of_different_confidences_do_not_cancel() -> None:
    """Right at 55 %, a gap of 0.45 one way; wrong at 85 %, a gap of 0.85 the other way."""
    probabilities = np.array([[0.55, 0.45], [0.85, 0.15]])
    assert calibration_error(probabilities, np.array([0, 1])) == pytest.approx((0.45 + 0.85) / 2)


def test_calibration_gaps_of_neighbouring_bins_do_not_cancel() -> None:
    """Each of the ten bins is apart, the highest two too: 0.05 below 1 and 0.85 above 0."""
    for low in np.arange(0.55, 0.9, 0.1):
        probabilities = np.array([[low, 1 - low], [low + 0.1, 0.9 - low]])
        wanted = ((1 - low) + (low + 0.1)) / 2
        assert calibration_error(probabilities, np.array([0, 1])) == pytest.approx(wanted)


def test_calibration_error_is_the_gap_between_confidence_and_accuracy() -> None:
    probabilities = np.tile([0.75, 0.25], (4, 1))
    assert calibration_error(probabilities, np.array([0, 0, 0, 1])) == pytest.approx(0.0)
    assert calibration_error(probabilities, np.array([0, 0, 0, 0])) == pytest.approx(0.25)


def test_calibration_by_chance_is_the_mean_error_of_labels_drawn_from_the_probabilities() -> None:
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet([2.0, 1.0, 1.0], 300)
    draws = np.cumsum(probabilities, axis=1)
    errors = [
        calibration_error(probabilities, (rng.random((300, 1)) > draws).sum(axis=1))
        for _ in range(400)
    ]
    spread = np.std(errors) / np.sqrt(len(errors))
    expected = calibration_by_chance(probabilities)
    # The normal approximation itself is off by a few per cent where a bin has few vertices.
    assert np.mean(errors) == pytest.approx(expected, abs=4 * spread + 0.03 * expected)


def test_certain_answers_have_no_calibration_error_by_chance() -> None:
    assert calibration_by_chance(np.eye(2)[[0, 1, 0]]) == 0.0


def test_parts_are_scored_apart_without_their_unlabelled_vertices() -> None:
    split = Split(np.array([0, 1]), np.array([2]), np.array([3, 4]))
    labels = np.array([0, 1, -1, 1, -1])
    got = score_parts(np.eye(2)[[0, 0, 0, 1, 1]], labels, split)
    assert {part: (s["n_vertices"], s["accuracy"]) for part, s in got.items()} == {
        "train": (2, 0.5),
        "test": (1, 1.0),
    }


def test_two_classes_are_scored_as_scikit_learn_does() -> None:

    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 50)
    rare = rng.integers(1, 5, 50) / 5
    got = score(np.stack([1 - rare, rare], axis=1), labels, positive=1)
    assert set(got) == {"n_vertices", "calibration_by_chance", *METRICS}
    answer = (rare > 0.5).astype(int)
    assert got["balanced_accuracy"] == reference.balanced_accuracy_score(labels, answer)
    assert got["roc_auc"] == reference.roc_auc_score(labels, rare)
    assert got["average_precision"] == reference.average_precision_score(labels, rare)


def test_average_precision_is_of_the_class_that_is_rarer_in_training() -> None:

    rng = np.random.default_rng(0)
    # Fraud comes before ok in the alphabet: it is class 0.
    fraud = rng.random(200) < 0.1
    said = np.clip(0.2 * fraud + rng.random(200) * 0.6, 0, 1)
    probabilities, labels = np.stack([said, 1 - said], axis=1), np.where(fraud, 0, 1)
    split = Split(np.arange(100), [], np.arange(100, 200))
    got = score_parts(probabilities, labels, split)["test"]["average_precision"]
    assert got == average_precision_score(fraud[100:], said[100:])
    other = score_parts(probabilities, labels, split, positive=1)["test"]["average_precision"]
    assert other == average_precision_score(~fraud[100:], 1 - said[100:]) > 0.9 > got


def test_scores_of_a_decision_are_of_what_is_answered() -> None:
    probabilities = np.array([[0.9, 0.1], [0.7, 0.3], [0.4, 0.6]])
    labels, answered = np.array([0, 1, 1]), np.array([0, 1, 1])
    assert score(probabilities, labels)["accuracy"] == pytest.approx(2 / 3)
    assert score(probabilities, labels, predicted=answered)["accuracy"] == 1.0


@pytest.mark.parametrize(("n_classes", "labels"), [(3, [0, 1, 2]), (2, [1, 1, 1])])
def test_rankings_are_left_out_where_they_are_not_defined(n_classes: int, labels: list) -> None:
    got = score(np.eye(n_classes)[labels], np.array(labels))
    assert set(METRICS) - set(got) == {"roc_auc", "average_precision"}
    assert got["balanced_accuracy"] == 1.0
