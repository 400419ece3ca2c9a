"""The linear model: what scikit-learn's says, from plain tensors."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.linear_model import Ridge
from sklearn.svm import LinearSVC

from graphfilter.models import LinearModel
from graphfilter.operators import to_tensor
from graphfilter.util.errors import ModelFileError

RNG = np.random.default_rng(0)
WORDS = sp.csr_array((RNG.random((200, 60)) < 0.1).astype(np.float32))
CLASSES = (WORDS[:, :20].sum(axis=1) > WORDS[:, 20:40].sum(axis=1)).astype(int) + (
    WORDS[:, 50:].sum(axis=1) > 1
)


def answers(model: LinearModel, rows: object) -> np.ndarray:
    return model(None, to_tensor(rows)).numpy()


def test_margins_are_those_of_a_support_vector_machine() -> None:
    model = LinearModel(60, 3)
    model.fit(WORDS, CLASSES)
    machine = LinearSVC(C=0.5, dual=False, random_state=0, max_iter=300, tol=1e-3)
    machine.fit(sp.csr_matrix(WORDS), CLASSES)
    np.testing.assert_allclose(
        answers(model, WORDS), machine.decision_function(sp.csr_matrix(WORDS)), atol=1e-4
    )


def test_two_classes_have_opposite_margins_and_a_class_without_vertices_is_not_answered() -> None:
    model = LinearModel(60, 3)
    model.fit(WORDS, np.where(CLASSES > 0, 2, 0))
    found = answers(model, WORDS)
    np.testing.assert_allclose(found[:, 0], -found[:, 2], atol=1e-6)
    assert (found.argmax(axis=1) != 1).all()


def test_labels_are_learned_one_by_one() -> None:
    labels = np.column_stack([CLASSES > 0, CLASSES == 2, np.ones(200, bool)])
    model = LinearModel(60, 3)
    model.fit(WORDS, labels)
    found = answers(model, WORDS) > 0
    assert (found[:, :2] == labels[:, :2]).mean() > 0.9
    assert found[:, 2].all()


def test_numbers_are_learned_by_ridge_regression() -> None:
    x = RNG.normal(size=(50, 4)).astype(np.float32)
    y = (x @ [1.0, -2, 0, 3] + 5)[:, None]
    model = LinearModel(4, 1)
    model.fit(x, y)
    np.testing.assert_allclose(
        answers(model, x), Ridge(alpha=1.0).fit(x, y).predict(x).reshape(-1, 1), atol=1e-4
    )


def test_the_penalty_is_chosen_by_validation_rows_and_kept_for_all_rows() -> None:
    rng = np.random.default_rng(1)
    noisy = np.where(rng.random(200) < 0.4, rng.integers(0, 3, 200), CLASSES)
    model = LinearModel(60, 3)
    model.fit(WORDS[:100], noisy[:100], val=(WORDS[100:], CLASSES[100:]))
    assert model.settled in (0.05, 0.5, 5.0)
    again = model.fitted_to_all(WORDS, noisy, None, 0)
    assert again.settled == model.settled
    assert not torch.equal(again.weight, model.weight)


def test_a_value_beyond_all_that_were_seen_counts_as_the_outermost() -> None:
    x = RNG.normal(size=(50, 2)).astype(np.float32)
    model = LinearModel(2, 2)
    model.fit(x, (x[:, 0] > 0).astype(int))
    most = np.abs(x).max(axis=0)
    signs = np.array([[1, -1]], dtype=np.float32)
    np.testing.assert_array_equal(answers(model, 1e6 * signs), answers(model, most * signs))


def test_the_same_seed_gives_the_same_bits() -> None:
    first, second = LinearModel(60, 3), LinearModel(60, 3)
    for model in (first, second):
        model.fit(WORDS, CLASSES, seed=3)
    assert torch.equal(first.weight, second.weight)


@pytest.mark.parametrize("name", ["weight", "bias", "reach"])
def test_damaged_tensors_are_refused(name: str) -> None:
    model = LinearModel(60, 3)
    model.fit(WORDS, CLASSES)
    state = dict(model.state_dict())
    LinearModel(60, 3).load_state_dict(state)
    with pytest.raises(ModelFileError, match="damaged"):
        LinearModel(60, 3).load_state_dict({**state, name: state[name] * torch.nan})
    with pytest.raises(ModelFileError, match="damaged"):
        LinearModel(60, 3).load_state_dict({**state, name: state[name][:-1]})
