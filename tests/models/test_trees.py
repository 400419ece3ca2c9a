"""Boosted trees: LightGBM's answers, from plain tensors."""

from __future__ import annotations

import sys

import lightgbm
import numpy as np
import pytest
import torch

from graphfilter.data import make_csbm
from graphfilter.models import Trees, TreesConfig
from graphfilter.operators import adjacency
from graphfilter.util.errors import ConfigError, ModelFileError

OPERATOR = adjacency(make_csbm(30, mean_degree=4, n_features=2))


def fitted(n_classes: int, *, gaps: bool = False) -> tuple[Trees, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n_classes)
    x = rng.normal(size=(300, 5)).astype(np.float32)
    labels = np.digitize(x[:, 0] + x[:, 1] ** 2, [0.3, 1.2, 2.0][: n_classes - 1])
    if gaps:
        x[rng.random(x.shape) < 0.2] = np.nan
    trees = Trees(5, n_classes, TreesConfig(n_rounds=20))
    trees.fit(x, labels)
    return trees, x, labels


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_trees_answer_as_lightgbm_does(
    n_classes: int, gaps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For rows with missing values in any column, too."""
    boosters, train = [], lightgbm.train
    monkeypatch.setattr(lightgbm, "train", lambda *a: boosters.append(train(*a)) or boosters[-1])
    trees, x, _ = fitted(n_classes, gaps=gaps)
    x[np.random.default_rng(1).random(x.shape) < 0.2] = np.nan
    found = trees(OPERATOR, torch.from_numpy(x)).double().softmax(1).numpy()
    expected = boosters[0].predict(x)
    expected = np.column_stack([1 - expected, expected]) if n_classes == 2 else expected
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_trees_have_the_same_bits_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    states = []
    for threads in (1, 3):
        monkeypatch.setattr("graphfilter.models.trees.compiled_threads", lambda n=threads: n)
        states.append(fitted(3, gaps=True)[0].state_dict())
    for one, other in zip(*(state.values() for state in states), strict=True):
        assert torch.equal(one, other)


def test_trees_without_lightgbm_say_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ConfigError, match="pip install lightgbm"):
        fitted(2)


def test_trees_are_stored_as_tensors() -> None:
    trees, x, _ = fitted(3)
    again = Trees(5, 3, TreesConfig(n_rounds=20))
    again.load_state_dict(trees.state_dict())
    columns = torch.from_numpy(x)
    assert torch.equal(again(OPERATOR, columns), trees(OPERATOR, columns))


def test_class_without_training_vertex_is_never_answered() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3)).astype(np.float32)
    trees = Trees(3, 4, TreesConfig(n_rounds=5))
    trees.fit(x, np.where(x[:, 0] > 0, 3, 1))
    answers = trees(OPERATOR, torch.from_numpy(x)).argmax(1).numpy()
    assert set(answers.tolist()) == {1, 3}


def test_weights_of_vertices_count() -> None:
    x = np.zeros((20, 1), dtype=np.float32)
    labels = np.array([0] * 15 + [1] * 5)
    trees = Trees(1, 2, TreesConfig(n_rounds=5))
    trees.fit(x, labels, sample_weight=np.where(labels == 1, 9.0, 1.0))
    assert trees(OPERATOR, torch.from_numpy(x)).argmax(1).eq(1).all()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("left", lambda t: t - 1),
        ("right", lambda t: torch.zeros_like(t)),
        ("feature", lambda t: t + 99),
        ("outputs", lambda t: t + 99),
        ("roots", lambda t: t + 10**6),
        ("threshold", lambda t: t[:-1]),
        ("value", lambda t: t.float()),
        ("start", lambda t: t[:-1]),
    ],
)
def test_damaged_trees_are_refused(name: str, change) -> None:
    """No path may leave the tree or go round in a circle."""
    trees, _, _ = fitted(3)
    state = dict(trees.state_dict())
    state[name] = change(state[name])
    with pytest.raises(ModelFileError, match="damaged"):
        Trees(5, 3, TreesConfig(n_rounds=20)).load_state_dict(state)


def test_foreign_tensors_are_refused() -> None:
    trees, _, _ = fitted(2)
    with pytest.raises(ModelFileError, match="own tensors"):
        trees.load_state_dict({**trees.state_dict(), "more": torch.zeros(1)})


def test_columns_without_a_value_in_training_are_left_out() -> None:
    _, x, labels = fitted(3)
    alone, beside = Trees(5, 3, TreesConfig(n_rounds=5)), Trees(7, 3, TreesConfig(n_rounds=5))
    alone.fit(x, labels)
    empty = np.full((len(x), 1), np.nan, dtype=np.float32)
    beside.fit(np.hstack([empty, x, empty]), labels)
    assert (alone.remark, beside.n_left_out) == ("", 2)
    assert beside.remark.startswith("2 columns without a value")
    # At prediction other vertices may have values there: no tree asks.
    seven = np.full_like(empty, 7)
    columns = torch.from_numpy(np.hstack([seven, x, seven]))
    assert torch.equal(beside(OPERATOR, columns), alone(OPERATOR, torch.from_numpy(x)))


def test_trees_without_any_value_answer_with_the_classes_shares() -> None:
    trees = Trees(1, 2, TreesConfig(n_rounds=3))
    trees.fit(np.full((30, 1), np.nan, dtype=np.float32), np.array([0] * 20 + [1] * 10))
    share = trees(OPERATOR, torch.zeros(1, 1)).softmax(1)[0, 1]
    assert float(share) == pytest.approx(1 / 3, abs=1e-3)
