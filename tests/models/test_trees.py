"""Models that are fitted at once: trees, forests, kernel machines, of classes and of numbers."""

from __future__ import annotations

import sys
from typing import Any

import lightgbm
import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.special import expit
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.kernel_ridge import KernelRidge

from graphfilter.data import make_csbm
from graphfilter.models import (
    Fitted,
    Forest,
    ForestConfig,
    KernelConfig,
    KernelMachine,
    Trees,
    TreesConfig,
    forest,
)
from graphfilter.models.base import Sizes
from graphfilter.models.kernel import RIDGES, fit_ridge, fit_rows, solve
from graphfilter.operators import SparseFeatures, adjacency
from graphfilter.util.errors import ConfigError, ModelFileError

OPERATOR = adjacency(make_csbm(30, mean_degree=4, n_features=2))


def fitted_trees(n_classes: int, *, gaps: bool = False) -> tuple[Trees, np.ndarray, np.ndarray]:
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
    trees, x, _ = fitted_trees(n_classes, gaps=gaps)
    x[np.random.default_rng(1).random(x.shape) < 0.2] = np.nan
    found = trees(OPERATOR, torch.from_numpy(x)).double().softmax(1).numpy()
    expected = boosters[0].predict(x)
    expected = np.column_stack([1 - expected, expected]) if n_classes == 2 else expected
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_trees_have_the_same_bits_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    states = []
    for threads in (1, 3):
        monkeypatch.setattr("graphfilter.models.trees.compiled_threads", lambda n=threads: n)
        states.append(fitted_trees(3, gaps=True)[0].state_dict())
    for one, other in zip(*(state.values() for state in states), strict=True):
        assert torch.equal(one, other)


def test_trees_without_lightgbm_say_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ConfigError, match="pip install lightgbm"):
        fitted_trees(2)


def test_trees_are_stored_as_tensors() -> None:
    trees, x, _ = fitted_trees(3)
    again = Trees(5, 3, TreesConfig(n_rounds=20))
    again.load_state_dict(trees.state_dict())
    columns = torch.from_numpy(x)
    assert torch.equal(again(OPERATOR, columns), trees(OPERATOR, columns))


def test_class_unknown_to_trees_is_never_answered() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3)).astype(np.float32)
    trees = Trees(3, 4, TreesConfig(n_rounds=5))
    trees.fit(x, np.where(x[:, 0] > 0, 3, 1))
    answers = trees(OPERATOR, torch.from_numpy(x)).argmax(1).numpy()
    assert set(answers.tolist()) == {1, 3}


def test_weights_of_vertices_count_in_trees() -> None:
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
    trees, _, _ = fitted_trees(3)
    state = dict(trees.state_dict())
    state[name] = change(state[name])
    with pytest.raises(ModelFileError, match="damaged"):
        Trees(5, 3, TreesConfig(n_rounds=20)).load_state_dict(state)


def test_foreign_tensors_are_refused() -> None:
    trees, _, _ = fitted_trees(2)
    with pytest.raises(ModelFileError, match="own tensors"):
        trees.load_state_dict({**trees.state_dict(), "more": torch.zeros(1)})


def test_columns_without_a_value_in_training_are_left_out() -> None:
    _, x, labels = fitted_trees(3)
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


def fitted_forest(n_classes: int = 3, n_trees: int = 30) -> tuple[Forest, np.ndarray, np.ndarray]:
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
    found, x, labels = fitted_forest(n_classes)
    model = ExtraTreesClassifier(30, random_state=1).fit(x, labels)
    expected = (30 * model.predict_proba(x) + 1 / n_classes) / 31
    np.testing.assert_allclose(shares(found, x), expected, atol=1e-6)


def test_leaves_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest, "MOST_LEAVES", 20)
    found, _, _ = fitted_forest(n_trees=1)
    assert int((found.left == torch.arange(len(found.left))).sum()) <= 20


def test_class_unknown_to_a_forest_is_never_answered() -> None:
    _, x, labels = fitted_forest()
    found = Forest(5, 6, ForestConfig(n_trees=5))
    found.fit(x, labels)
    assert shares(found, x)[:, 3:].max() < 1e-6


def test_forest_is_stored_as_tensors_and_damage_is_refused() -> None:
    found, x, _ = fitted_forest()
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
    most = config.memory(Sizes(n_train, 0, 4, 0, n_classes, n_train)).hidden
    assert kept <= most - forest.growing_bytes(n_train, n_classes)
    # And not by a bound so large that every plan of memory would fail.
    assert most <= 20 * (kept + tree.value.nbytes)


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


def sample(n: int = 60, n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(n, 4)).astype(np.float32)
    return rows, np.digitize(rows[:, 0] + 0.3 * rng.normal(size=n), [-0.5, 0.5][: n_classes - 1])


def ridge(rows: np.ndarray, labels: np.ndarray, strength: float) -> np.ndarray:
    """Return the scores of the closed form (K + ridge)⁻¹ (Y − mean)."""
    distance = np.square(rows[:, None] - rows[None]).sum(axis=2)
    kernel = np.exp(-0.5 * distance)
    one_hot = np.eye(3)[labels]
    mean = one_hot.mean(axis=0)
    solved = np.linalg.solve(kernel + strength * np.eye(len(rows)), one_hot - mean)
    return mean + kernel @ solved


def scores(kernel: KernelMachine, rows: np.ndarray) -> np.ndarray:
    return kernel(None, torch.from_numpy(rows)).double().numpy()  # pyright: ignore[reportArgumentType]


def test_kernel_machine_is_ridge_regression_with_the_ridge_that_leaving_one_out_chooses() -> None:
    rows, labels = sample()
    kernel = KernelMachine(4, 3)
    kernel.fit(rows, labels)
    errors = []
    for strength in RIDGES:
        left_out = np.stack(
            [
                _predict_one(np.delete(rows, i, 0), np.delete(labels, i), rows[i], strength, labels)
                for i in range(len(rows))
            ]
        )
        errors.append(np.square(left_out - np.eye(3)[labels]).sum())
    wanted = ridge(rows, labels, RIDGES[int(np.argmin(errors))])
    found = scores(kernel, rows)
    sharpness = np.polyfit(wanted.ravel(), found.ravel(), 1)[0]
    np.testing.assert_allclose(found, sharpness * wanted, atol=1e-3 * sharpness)
    assert 1 <= sharpness <= 50


def _predict_one(rows, labels, row, strength, all_labels) -> np.ndarray:
    distance = np.square(rows[:, None] - rows[None]).sum(axis=2)
    mean = np.eye(3)[all_labels].mean(axis=0)
    solved = np.linalg.solve(
        np.exp(-0.5 * distance) + strength * np.eye(len(rows)), np.eye(3)[labels] - mean
    )
    return mean + np.exp(-0.5 * np.square(rows - row).sum(axis=1)) @ solved


def test_sparse_and_dense_rows_give_the_same() -> None:
    rows, labels = sample()
    rows[np.abs(rows) < 0.7] = 0
    dense, sparse = KernelMachine(4, 3), KernelMachine(4, 3)
    dense.fit(rows, labels)
    sparse.fit(sp.csr_array(rows), labels)
    x = SparseFeatures(sp.csr_array(rows))
    np.testing.assert_array_equal(scores(dense, rows), sparse(None, x).double().numpy())  # pyright: ignore[reportArgumentType]


def test_many_rows_are_compared_with_some() -> None:
    rows, labels = sample(300)
    kernel = KernelMachine(4, 3, KernelConfig(most_landmarks=100))
    kernel.fit(rows, labels, seed=3)
    assert len(kernel.coefficients) == 100
    assert (scores(kernel, rows).argmax(axis=1) == labels).mean() > 0.75
    again = KernelMachine(4, 3, KernelConfig(most_landmarks=100))
    again.fit(rows, labels, seed=3)
    np.testing.assert_array_equal(scores(again, rows), scores(kernel, rows))


def test_rows_that_are_equal_do_no_harm() -> None:
    rows = np.repeat(np.eye(2, dtype=np.float32), 10, axis=0)
    kernel = KernelMachine(2, 2)
    kernel.fit(rows, np.repeat([0, 1], 10))
    assert (scores(kernel, rows).argmax(axis=1) == np.repeat([0, 1], 10)).all()


def test_class_unknown_to_a_kernel_machine_is_never_answered() -> None:
    rows, labels = sample()
    kernel = KernelMachine(4, 5)
    kernel.fit(rows, labels)
    assert scores(kernel, rows)[:, 3:].max() < scores(kernel, rows)[:, :3].min()


def test_weights_of_vertices_count_in_a_kernel_machine() -> None:
    rows = np.zeros((20, 1), dtype=np.float32)
    labels = np.array([0] * 15 + [1] * 5)
    kernel = KernelMachine(1, 2)
    kernel.fit(rows, labels, sample_weight=np.where(labels == 1, 9.0, 1.0))
    assert (scores(kernel, rows).argmax(axis=1) == 1).all()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("offsets", lambda t: t.flip(0)),
        ("offsets", lambda t: t[:-1]),
        ("columns", lambda t: t + 99),
        ("columns", lambda t: t - 1),
        ("values", lambda t: t[:-1]),
        ("values", lambda t: t.double()),
        ("coefficients", lambda t: t[1:]),
        ("start", lambda t: t[1:]),
    ],
)
def test_damaged_kernel_machine_is_refused(name: str, change) -> None:
    rows, labels = sample()
    kernel = KernelMachine(4, 3)
    kernel.fit(rows, labels)
    state = dict(kernel.state_dict())
    KernelMachine(4, 3).load_state_dict(state)
    state[name] = change(state[name])
    with pytest.raises(ModelFileError):
        KernelMachine(4, 3).load_state_dict(state)


def test_leaving_one_out_removes_a_vertex_with_all_its_weight() -> None:
    """Against a fit without it, for every ridge; weights differ by a factor of 25."""
    rows, labels = sample(30)
    rng = np.random.default_rng(5)
    weight = rng.uniform(0.2, 5.0, len(labels))
    weight *= len(labels) / weight.sum()
    gram = np.exp(-0.5 * np.square(rows[:, None] - rows[None], dtype=np.float64).sum(axis=2))
    targets = np.eye(3)[labels] - weight @ np.eye(3)[labels] / len(labels)

    def predicted(strength: float, left_out: int) -> np.ndarray:
        kept = np.delete(np.arange(len(rows)), left_out)
        # Landmarks stay: a = K⁻¹ φ-weights, with Σ w (K a − y)² + ridge aᵀ K a at its least.
        normal = gram[:, kept] * weight[kept] @ gram[kept] + strength * gram
        solved = np.linalg.lstsq(normal, gram[:, kept] * weight[kept] @ targets[kept], rcond=1e-13)
        return gram[left_out] @ solved[0]

    answers = [np.stack([predicted(s, i) for i in range(len(rows))]) for s in RIDGES]
    errors = [weight @ np.square(answer - targets).sum(axis=1) for answer in answers]
    found = fit_ridge(gram, gram, targets, weight)
    np.testing.assert_allclose(found.left_out, answers[int(np.argmin(errors))], atol=1e-3)


@pytest.mark.parametrize("kind", ["classes", "labels", "numbers"])
def test_refitted_to_the_same_rows_it_says_the_same(kind: str) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 4))
    targets: Any = rng.integers(3, size=60)
    if kind != "classes":
        targets = np.stack([rows[:, 0], rows[:, 1] + rows[:, 2], rows[:, 3]], axis=1)
        targets = targets > 0 if kind == "labels" else targets
    weight = rng.uniform(0.5, 2, size=60)
    kernel = KernelMachine(4, 3)
    kernel.fit(rows, targets, sample_weight=weight)
    x = torch.tensor(rng.normal(size=(20, 4)), dtype=torch.float32)
    again = kernel.refitted(rows, targets, weight)
    torch.testing.assert_close(again(None, x), kernel(None, x), rtol=1e-3, atol=1e-3)
    half = kernel.refitted(rows * [1, 1, 0, 0], targets, weight)
    assert not torch.allclose(half(None, x), kernel(None, x), rtol=1e-2, atol=1e-2)


def test_every_row_as_a_landmark_has_the_coefficients_of_landmarks_in_general() -> None:
    rows, labels = sample()
    kernel = np.exp(-0.5 * np.square(rows[:, None] - rows[None]).sum(axis=2, dtype=np.float64))
    targets, weight = np.eye(3)[labels], np.linspace(0.5, 1.5, len(labels))
    general, own = fit_ridge(kernel, kernel, targets, weight), fit_rows(kernel, targets, weight)
    assert own.ridge == general.ridge
    np.testing.assert_allclose(own.left_out, general.left_out, atol=1e-4)
    np.testing.assert_allclose(kernel @ own.coefficients, kernel @ general.coefficients, atol=1e-4)


def test_rows_that_share_no_column_are_as_far_apart_as_they_are_long() -> None:
    rows = sp.csr_array(np.kron(np.eye(3), [[1.0, 2.0], [3.0, 0.5]]).astype(np.float32))
    machine = KernelMachine(6, 2)
    alike = machine._alike(rows, rows)
    apart = np.square(rows.toarray()[:, None] - rows.toarray()[None]).sum(axis=2)
    np.testing.assert_allclose(alike.dense(), np.exp(-0.5 * apart), rtol=1e-6)
    coefficients = np.arange(12.0).reshape(6, 2)
    np.testing.assert_allclose(alike @ coefficients, alike.dense() @ coefficients, rtol=1e-12)


def test_solution_on_a_device_is_the_one_by_lapack() -> None:
    rng = np.random.default_rng(0)
    rows, targets = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    kernel, diagonal = rows @ rows.T, rng.uniform(0.1, 1.0, 30)
    # Not equal to plain "cpu": whatever is not the CPU is left to torch.
    for here, there in zip(
        solve(kernel, diagonal, targets),
        solve(kernel, diagonal, targets, torch.device("cpu:0")),
        strict=True,
    ):
        np.testing.assert_allclose(here, there, rtol=1e-9)


def test_machine_is_fitted_and_refitted_where_its_buffers_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    where: list[torch.device] = []

    def noted(*given: Any) -> Any:
        where.append(given[3])
        return solve(*given[:3])

    monkeypatch.setattr("graphfilter.models.kernel.solve", noted)
    monkeypatch.setattr("graphfilter.models.kernel.solve", noted)
    rows, labels = sample()
    kernel = KernelMachine(4, 3).to("meta")
    kernel.fit(rows, labels)
    kernel.refitted(rows, labels)
    assert set(where) == {torch.device("meta")}
    assert len(where) == len(RIDGES) + 1
