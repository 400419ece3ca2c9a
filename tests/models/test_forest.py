from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.ensemble import ExtraTreesClassifier

from graphfilter.models import Forest, ForestConfig, forest
from graphfilter.models.base import Sizes
from graphfilter.util.errors import ModelFileError


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
        "first": state["first"] + 1,
        "voted": state["voted"] + 3,
        "votes": state["votes"] * torch.nan,
        "threshold": state["threshold"] * torch.nan,
        "roots": state["roots"][:0],
        "seen": state["seen"][:2],
        "left": torch.zeros_like(state["left"]),
        "feature": state["feature"] + 5,
    }
    for name, damaged in damages.items():
        with pytest.raises(ModelFileError):
            Forest(5, 3).load_state_dict({**state, name: damaged})


def test_forest_does_not_grow_with_classes() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4)).astype(np.float32)
    stored = []
    for n_classes in (2, 300):
        found = Forest(4, n_classes, ForestConfig(n_trees=3))
        found.fit(x, np.arange(300) % n_classes)
        assert len(found.votes) <= 3 * 300
        stored.append(sum(value.nbytes for value in found.state_dict().values()))
    assert stored[1] < 2 * stored[0]


def test_threads_grow_the_same_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    rows, labels = rng.normal(size=(60, 4)).astype(np.float32), rng.integers(0, 3, size=60)
    grown = []
    for threads in ("1", "3"):
        monkeypatch.setenv("GRAPHFILTER_THREADS", threads)
        forest = Forest(4, 3, ForestConfig(n_trees=17))
        forest.fit(rows, labels, seed=5)
        grown.append(forest.state_dict())
    assert all(torch.equal(grown[0][name], grown[1][name]) for name in grown[0])


@pytest.mark.parametrize(("n_train", "n_classes"), [(60, 2), (300, 40), (1000, 150)])
def test_memory_bounds_what_a_forest_takes(n_train: int, n_classes: int) -> None:
    """Both what scikit-learn takes for a tree and what is kept of all of them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_train, 4)).astype(np.float32)
    labels = rng.integers(0, n_classes, n_train)
    labels[:n_classes] = np.arange(n_classes)
    tree = forest._grow(x, labels, None, 0, finite=True)
    assert tree.value.nbytes <= forest.growing_bytes(n_train, n_classes)
    config = ForestConfig(n_trees=10)
    found = Forest(4, n_classes, config)
    found.fit(x, labels, seed=1)
    kept = sum(part.nbytes for part in found.state_dict().values())
    most = config.memory(Sizes(n_train, 0, 4, 0, n_classes, n_train), 1 << 30).hidden
    assert kept <= most - forest.growing_bytes(n_train, n_classes)
    # And not by a bound so large that every plan of memory would fail.
    assert most <= 20 * (kept + tree.value.nbytes)
