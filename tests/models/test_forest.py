from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.ensemble import ExtraTreesClassifier

from graphfilter.errors import ModelFileError
from graphfilter.models import Forest, ForestConfig, forest


def fitted(n_classes: int = 3, n_trees: int = 30) -> tuple[Forest, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n_classes)
    x = rng.normal(size=(200, 5)).astype(np.float32)
    labels = np.digitize(x[:, 0] + x[:, 1] ** 2, [0.3, 1.2, 2.0][: n_classes - 1])
    found = Forest(5, n_classes, ForestConfig(n_trees=n_trees))
    found.fit(x, labels, seed=1)
    return found, x, labels


def shares(network: Forest, x: np.ndarray) -> np.ndarray:
    return network(None, torch.from_numpy(x)).double().softmax(1).numpy()  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_forest_votes_as_scikit_learn_does_with_one_vote_for_all(n_classes: int) -> None:
    found, x, labels = fitted(n_classes)
    model = ExtraTreesClassifier(30, random_state=1).fit(x, labels)
    expected = (30 * model.predict_proba(x) + 1 / n_classes) / 31
    np.testing.assert_allclose(shares(found, x), expected, atol=1e-6)


def test_leaves_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest, "MOST_LEAVES", 20)
    found, _, _ = fitted(n_trees=1)
    assert int((found.left == torch.arange(len(found.left))).sum()) <= 20


def test_class_without_training_vertex_is_never_answered() -> None:
    _, x, labels = fitted()
    found = Forest(5, 6, ForestConfig(n_trees=5))
    found.fit(x, labels)
    assert shares(found, x)[:, 3:].max() < 1e-6


def test_forest_is_stored_as_tensors_and_damage_is_refused() -> None:
    found, x, _ = fitted()
    state = dict(found.state_dict())
    again = Forest(5, 3)
    again.load_state_dict(state)
    np.testing.assert_array_equal(shares(again, x), shares(found, x))
    damages = {
        "votes": state["votes"][:, :2],
        "seen": state["seen"][:2],
        "left": torch.zeros_like(state["left"]),
        "feature": state["feature"] + 5,
    }
    for name, damaged in damages.items():
        with pytest.raises(ModelFileError):
            Forest(5, 3).load_state_dict({**state, name: damaged})
