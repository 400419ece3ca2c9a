"""Trees, forest and kernel machine of numbers and of several labels, and what they learn."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import expit
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.kernel_ridge import KernelRidge

from graphfilter.models import Fitted, Forest, ForestConfig, KernelMachine, Trees, TreesConfig
from graphfilter.util.errors import ModelFileError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4)).astype(np.float32)
NUMBERS = np.column_stack([X[:, 0] + X[:, 1] ** 2, -X[:, 2]]).astype(np.float64)
LABELS = NUMBERS + 0.1 * RNG.normal(size=NUMBERS.shape) > 0.3


def said(model: Fitted) -> np.ndarray:
    return model(None, torch.from_numpy(X)).double().numpy()  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("shift", [0.0, 1e9])
def test_trees_learn_numbers_of_any_size(shift: float) -> None:
    """LightGBM reads them in single precision, in which large ones would all be the same."""
    trees = Trees(4, 2, TreesConfig(n_rounds=20))
    trees.fit(X, shift + NUMBERS, seed=3)
    np.testing.assert_allclose(trees.start, (shift + NUMBERS).mean(axis=0), rtol=1e-12)
    trees.start -= shift  # What a model answers is in single precision, too.
    assert (np.square(said(trees) - NUMBERS).mean(axis=0) < 0.5 * NUMBERS.var(axis=0)).all()


def test_trees_learn_labels() -> None:
    trees = Trees(4, 2, TreesConfig(n_rounds=20))
    trees.fit(X, LABELS, seed=3)
    assert ((said(trees) > 0) == LABELS).mean() > 0.9
    assert np.abs(expit(said(trees)).mean(axis=0) - LABELS.mean(axis=0)).max() < 0.02


def test_trees_answer_a_constant_number_and_a_label_that_all_have() -> None:
    trees = Trees(4, 2, TreesConfig(n_rounds=5))
    trees.fit(X, np.column_stack([np.full(150, 7.0), NUMBERS[:, 0]]))
    np.testing.assert_allclose(said(trees)[:, 0], 7.0)
    trees.fit(X, np.ones((150, 2), dtype=bool))
    np.testing.assert_allclose(expit(said(trees)), 150.5 / 151)


def test_forest_answers_numbers_as_scikit_learn_does() -> None:
    forest = Forest(4, 2, ForestConfig(n_trees=12))
    forest.fit(X, NUMBERS, seed=1)
    expected = ExtraTreesRegressor(12, random_state=1).fit(X, NUMBERS).predict(X)
    np.testing.assert_allclose(said(forest), expected, rtol=1e-5, atol=1e-6)


def test_forest_answers_labels_by_their_votes_with_one_undecided() -> None:
    forest = Forest(4, 2, ForestConfig(n_trees=12))
    forest.fit(X, LABELS, seed=1)
    share = ExtraTreesRegressor(12, random_state=1).fit(X, LABELS.astype(float)).predict(X)
    np.testing.assert_allclose(expit(said(forest)), (12 * share + 0.5) / 13, atol=1e-6)


@pytest.mark.parametrize("targets", [NUMBERS, LABELS])
def test_kernel_machine_is_a_ridge_regression_with_one_of_its_ridges(targets: np.ndarray) -> None:
    kernel = KernelMachine(4, 2)
    kernel.fit(X, targets)
    mean = targets.mean(axis=0)
    candidates = []
    for ridge in (0.03, 0.1, 0.3, 1.0):
        model = KernelRidge(alpha=ridge, kernel="rbf", gamma=0.5).fit(X, targets - mean)
        candidates.append(mean + model.predict(X))
    found = said(kernel)
    if targets is LABELS:  # Up to one sharpness for all.
        found = found / (2 * np.asarray(candidates) - 1)
        assert (
            min(np.ptp(each[np.abs(candidates[i] - 0.5) > 0.05]) for i, each in enumerate(found))
            < 0.05
        )
    else:
        assert min(np.abs(found - each).max() for each in candidates) < 1e-3


@pytest.mark.parametrize("targets", [NUMBERS, LABELS])
@pytest.mark.parametrize("kind", [Trees, Forest, KernelMachine])
def test_models_of_values_are_stored_as_tensors(kind: type, targets: np.ndarray) -> None:
    model, again = kind(4, 2), kind(4, 2)
    model.fit(X, targets, seed=0)
    again.load_state_dict(model.state_dict())
    np.testing.assert_array_equal(said(again), said(model))


def test_damaged_forest_of_numbers_is_refused() -> None:
    forest = Forest(4, 2, ForestConfig(n_trees=3))
    forest.fit(X, NUMBERS)
    state = dict(forest.state_dict())
    for seen in (torch.ones(2, 2, dtype=torch.bool), torch.ones(0, 3, dtype=torch.bool)):
        with pytest.raises(ModelFileError):
            Forest(4, 2).load_state_dict({**state, "seen": seen})
