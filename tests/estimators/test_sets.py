"""Sets of classes: p-values by their definition, coverage on exchangeable data, limiting cases."""

from __future__ import annotations

import numpy as np
import pytest

from graphfilter.data import make_csbm
from graphfilter.estimators.calibration import (
    PLAIN,
    SetCalibration,
    SetFold,
    SetRule,
    neighbour_average,
    sets_at,
)
from graphfilter.systems.prepared import held_folds
from graphfilter.util.errors import ConfigError

N_CLASSES = 4


def made(n: int, seed: int, sharpness: float = 2.0):
    """Return probabilities, and classes drawn from other ones: the model is wrong, not the draw."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, N_CLASSES))
    true = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    said = np.exp(sharpness * logits)
    labels = (true.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1)
    return said / said.sum(axis=1, keepdims=True), np.eye(N_CLASSES, dtype=bool)[labels]


@pytest.mark.parametrize("n_folds", [1, 5])
@pytest.mark.parametrize("rule", [PLAIN, SetRule(0.1), SetRule(0.1, 0.5)])
def test_p_values_equal_their_definition(n_folds: int, rule: SetRule) -> None:
    rng = np.random.default_rng(0)
    graph = make_csbm(n_vertices=40, mean_degree=4, n_features=2, seed=0)
    average = neighbour_average(graph)
    outputs = [made(40, seed)[0] for seed in range(n_folds)]
    draws = np.random.default_rng((7, 3)).random(40)
    folds = tuple(SetFold(rule, np.sort(rng.random(6))) for _ in range(n_folds))
    found = SetCalibration(folds, seed=7).p_values(outputs, average)
    for v in range(40):
        for c in range(N_CLASSES):
            count = 1
            for fold, p in zip(folds, outputs, strict=True):
                score = rule.scores(p, draws, average)[v, c]
                count += sum(own >= score for own in fold.scores)
            assert found[v, c] == pytest.approx(count / (6 * n_folds + 1))


def test_scores_equal_the_mass_ahead_with_penalty() -> None:
    p, draws = np.array([[0.5, 0.2, 0.3]]), np.array([0.25])
    expected = [[0.125, 0.8 + 0.05 + 0.2, 0.5 + 0.075 + 0.1]]
    np.testing.assert_allclose(SetRule(0.1).scores(p, draws, None), expected)


def test_diffused_scores_are_half_the_neighbours() -> None:
    graph = make_csbm(n_vertices=30, mean_degree=3, n_features=2, seed=1)
    p, _ = made(30, 0)
    draws = np.linspace(0, 0.9, 30)
    own = PLAIN.scores(p, draws, None)
    average = neighbour_average(graph)
    np.testing.assert_allclose(
        SetRule(0, 0.5).scores(p, draws, average), 0.5 * own + 0.5 * average(own)
    )


@pytest.mark.parametrize("n_folds", [1, 5])
@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
def test_sets_cover_exchangeable_vertices_as_often_as_promised(
    n_folds: int, coverage: float
) -> None:
    hits, n, n_held, trials = 0, 300, 100, 60
    for seed in range(trials):
        p, truth = made(n, seed)
        held = held_folds(np.arange(n_held), seed, n_folds)
        calibration = SetCalibration.fit([p] * n_folds, held, truth, seed=seed)
        chosen = sets_at(calibration.p_values([p] * n_folds), p, coverage)
        hits += int((chosen & truth)[n_held:].any(axis=1).sum())
    share = hits / (trials * (n - n_held))
    # The deviation of one trial's coverage is at most 0.05: of the mean of sixty 0.0065.
    assert coverage - 0.02 < share < coverage + 0.035


def test_several_coverages_are_nested_and_full_coverage_is_every_class() -> None:
    p, truth = made(200, 0)
    calibration = SetCalibration.fit([p], [np.arange(50)], truth)
    p_values = calibration.p_values([p])
    small, large, everything = (sets_at(p_values, p, c) for c in (0.5, 0.9, 0.9999))
    assert (small <= large).all()
    assert everything.all()
    assert small.any(axis=1).all()


def test_sets_of_several_labels_hold_all_of_them() -> None:
    rng = np.random.default_rng(0)
    p = rng.random((4000, 3))
    truth = rng.random((4000, 3)) < p**2
    calibration = SetCalibration.fit([p], [np.arange(500)], truth, several=True)
    chosen = sets_at(calibration.p_values([p]), p, 0.9, several=True)
    held = np.all(truth[500:] <= chosen[500:], axis=1)
    assert 0.87 < held.mean() < 0.93


def test_diffusion_is_chosen_where_neighbours_know_more() -> None:
    graph = make_csbm(1500, frequency=0.1, mean_degree=20, n_features=2, seed=0)
    rng = np.random.default_rng(0)
    labels = graph.labels
    assert labels is not None
    truth = np.eye(graph.n_classes, dtype=bool)[labels]
    own = rng.normal(size=len(labels)) + 0.7 * (2 * labels - 1)
    said = 1 / (1 + np.exp(-1.4 * own))
    p = np.column_stack([1 - said, said])
    held = held_folds(np.arange(300), 0)
    average = neighbour_average(graph)
    plain = SetCalibration.fit([p] * 5, held, truth)
    diffused = SetCalibration.fit([p] * 5, held, truth, average=average)
    assert diffused.is_diffused
    sizes = [
        sets_at(calibration.p_values([p] * 5, average), p, 0.9)[300:].sum(axis=1).mean()
        for calibration in (plain, diffused)
    ]
    assert sizes[1] < sizes[0] - 0.02


def test_coverage_outside_zero_and_one_is_refused() -> None:
    p, _ = made(3, 0)
    with pytest.raises(ConfigError, match="coverage must be between 0 and 1; got 90"):
        sets_at(p, p, 90)


def test_folds_hold_every_vertex_once() -> None:
    held = held_folds(np.arange(7, 30), seed=3)
    assert np.sort(np.concatenate(held)).tolist() == list(range(7, 30))
    assert [len(fold) for fold in held_folds(np.arange(3), seed=0)] == [1, 1, 1]
