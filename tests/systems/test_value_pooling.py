"""Pools of numbers and labels: closed forms, gradients by recovery, and outputs that share."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls
from scipy.special import expit

from graphfilter.systems.pooling import (
    LabelPool,
    NumberPool,
    fit_label_pool,
    fit_number_pool,
    label_logits,
    pooling_of,
)
from graphfilter.training import CLASSIFICATION, MULTILABEL, REGRESSION

RNG = np.random.default_rng(0)


def test_number_pool_is_the_product_of_normal_densities() -> None:
    pool = NumberPool(np.array([[1.0], [2.0]]), np.array([[0.5], [1.0]]), np.ones((2, 1)))
    # Precisions 4 and 2.
    found = pool.answer(np.array([[[3.0]], [[0.0]]]))
    assert found == pytest.approx(np.array([[2.0]]))
    np.testing.assert_allclose(pool.coefficients[:, 0], [2 / 3, 1 / 3])


def test_weights_of_many_vertices_are_those_of_least_squares() -> None:
    """Without a prior the likelihood's weights are the convex combination of least error."""
    n = 4000
    y = RNG.normal(size=n)
    errors = RNG.normal(size=(3, n)) * np.array([0.3, 0.5, 0.9])[:, None]
    errors[2] += errors[0]
    said = y + errors
    pool = fit_number_pool(said[:, :, None], y[:, None], strength=1e-6)
    # Sum to one as a row that counts more than all others.
    design = np.vstack([said.T, np.full((1, 3), 1e5)])
    expected, _ = nnls(design, np.append(y, 1e5))
    np.testing.assert_allclose(pool.coefficients[:, 0], expected, atol=0.01)


def test_few_vertices_leave_the_prior() -> None:
    said = RNG.normal(size=(2, 1, 1))
    pool = fit_number_pool(said, np.zeros((1, 1)), prior=np.array([3.0, 1.0]), strength=1e6)
    np.testing.assert_allclose(pool.weights[:, 0], [0.75, 0.25], atol=1e-4)
    nobody = fit_number_pool(np.zeros((2, 0, 3)), np.zeros((0, 3)), prior=np.array([3.0, 1.0]))
    np.testing.assert_allclose(nobody.weights, [[0.75] * 3, [0.25] * 3])


def test_each_number_has_weights_of_its_own() -> None:
    y = RNG.normal(size=(800, 2))
    noise = RNG.normal(size=(2, 800, 2)) * np.array([[[0.1, 2.0]], [[2.0, 0.1]]])
    pool = fit_number_pool(y + noise, y)
    assert pool.coefficients[0, 0] > 0.95
    assert pool.coefficients[1, 1] > 0.95
    assert pool.shares == pytest.approx([0.5, 0.5], abs=0.05)


def test_member_that_says_the_same_of_all_has_no_share() -> None:
    y = RNG.normal(size=(300, 1))
    said = np.stack([y + 0.1 * RNG.normal(size=y.shape), np.zeros_like(y)])
    assert fit_number_pool(said, y).shares[0] > 0.999


def test_label_weights_are_those_of_the_generating_product() -> None:
    logits = RNG.normal(size=(3, 9000, 2))
    z = np.einsum("ml,mnl->nl", np.array([[1.5, 0.2], [0.5, 1.0], [0.0, 0.0]]), logits)
    truth = (RNG.random(z.shape) < expit(z)).astype(float)
    pool = fit_label_pool(logits, truth)
    expected = [[1.5, 0.2], [0.5, 1.0], [0.0, 0.0]]
    np.testing.assert_allclose(pool.coefficients, expected, atol=0.12)


def test_label_of_few_vertices_shares_the_weights_of_the_others() -> None:
    logits = RNG.normal(size=(2, 600, 3))
    truth = (RNG.random((600, 3)) < expit(2 * logits[0])).astype(float)
    # The third label tells nothing: nobody has it, and nobody says that somebody has.
    truth[:, 2], logits[:, :, 2] = 0, 0
    pool = fit_label_pool(logits, truth)
    shared = pool.weights[:, :2].mean(axis=1)
    np.testing.assert_allclose(pool.weights[:, 2], shared, rtol=0.1, atol=0.05)


def test_networks_of_a_member_count_the_same() -> None:
    p = RNG.random((3, 5, 2))
    labels = pooling_of(MULTILABEL).together(list(p))
    np.testing.assert_allclose(labels, expit(label_logits(list(p)).mean(axis=0)))
    np.testing.assert_allclose(pooling_of(REGRESSION).together(list(p)), p.mean(axis=0))
    rows = p / p.sum(axis=2, keepdims=True)
    geometric = np.exp(np.log(rows).mean(axis=0))
    np.testing.assert_allclose(
        pooling_of(CLASSIFICATION).together(list(rows)),
        geometric / geometric.sum(axis=1, keepdims=True),
    )


def test_pool_among_more_members_answers_the_same() -> None:
    pool = LabelPool(*(RNG.random((2, 3)) + 0.1 for _ in range(3)))
    logits = RNG.normal(size=(4, 6, 3))
    heard = np.array([False, True, False, True])
    np.testing.assert_allclose(pool.among(heard).answer(logits), pool.answer(logits[heard]))
    np.testing.assert_allclose(pool.among(heard).shares[heard], pool.shares)
