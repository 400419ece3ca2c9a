from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from graphfilter.models import KernelConfig, KernelMachine
from graphfilter.models.kernel import RIDGES, fit_ridge, fit_rows, solve
from graphfilter.operators import SparseFeatures
from graphfilter.util.errors import ModelFileError


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


def test_class_without_training_vertex_is_never_answered() -> None:
    rows, labels = sample()
    kernel = KernelMachine(4, 5)
    kernel.fit(rows, labels)
    assert scores(kernel, rows)[:, 3:].max() < scores(kernel, rows)[:, :3].min()


def test_weights_of_vertices_count() -> None:
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
