from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import log_softmax, logsumexp, softmax

from graphfilter.systems.pooling import Pool, fit_pool, fit_temperature, log_sum, together


def draw(rng: np.random.Generator, n: int, n_classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Logits, and labels drawn from their probabilities: a member that is as sure as it should."""
    logits = rng.normal(size=(n, n_classes)) * 2
    labels = np.array([rng.choice(n_classes, p=p) for p in softmax(logits, axis=1)])
    return logits, labels


def test_pool_of_one_member_is_the_member() -> None:
    logits = np.random.default_rng(0).normal(size=(1, 7, 3))
    np.testing.assert_allclose(Pool.equal(1).answer(logits), softmax(logits[0], axis=1))


def test_pool_multiplies_what_members_say() -> None:
    """p = softmax(Σ w z / T) is the product of the members' probabilities to their powers."""
    rng = np.random.default_rng(1)
    p = softmax(rng.normal(size=(2, 5, 3)), axis=2)
    pool = Pool(np.array([0.5, 2.0]), np.array([1.0, 4.0]), np.ones(2))
    expected = p[0] ** 0.5 * p[1] ** 0.5
    found = pool.answer(np.log(p))
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True))


def test_together_is_the_geometric_mean() -> None:
    p = softmax(np.random.default_rng(2).normal(size=(3, 4, 2)), axis=2)
    expected = np.exp(np.log(p).mean(axis=0))
    np.testing.assert_allclose(together(list(p)), expected / expected.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_log_of_sums_is_scipys(scale: float) -> None:
    z = scale * np.random.default_rng(0).normal(size=(20, 4))
    np.testing.assert_allclose(log_sum(z), logsumexp(z, axis=1), rtol=1e-14)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_temperature_is_found(temperature: float) -> None:
    logits, labels = draw(np.random.default_rng(3), 4000)
    found = fit_temperature(logits * temperature, labels, np.ones(len(labels)))
    assert found == pytest.approx(temperature, rel=0.1)


def test_temperature_is_one_where_vertices_say_nothing() -> None:
    logits, labels = draw(np.random.default_rng(0), 5)
    assert fit_temperature(logits, labels, np.zeros(5)) == pytest.approx(1, abs=1e-4)


def test_weights_are_those_of_the_generating_product() -> None:
    """Labels drawn from a product of two members, with a third of noise: the weights come back."""
    rng = np.random.default_rng(4)
    logits = rng.normal(size=(3, 6000, 3))
    p = softmax(1.5 * logits[0] + 0.5 * logits[1], axis=1)
    labels = np.array([rng.choice(3, p=row) for row in p])
    pool = fit_pool(logits, labels)
    found = pool.weights / pool.temperatures
    np.testing.assert_allclose(found, [1.5, 0.5, 0.0], atol=0.1)


def test_without_validation_vertices_the_prior_decides() -> None:
    pool = fit_pool(np.zeros((2, 0, 3)), np.zeros(0, dtype=np.int64), prior=np.array([3.0, 1.0]))
    np.testing.assert_allclose(pool.weights, [0.75, 0.25])


def test_few_vertices_leave_the_weights_near_the_prior() -> None:
    rng = np.random.default_rng(5)
    good, labels = draw(rng, 2000)
    logits = np.stack([good, rng.normal(size=good.shape)])
    few, many = fit_pool(logits[:, :6], labels[:6]), fit_pool(logits, labels)
    assert abs(few.shares[0] - 0.5) < abs(many.shares[0] - 0.5)
    assert many.shares[0] > 0.9


def test_class_weights_weigh_the_vertices_of_a_class() -> None:
    """A class of weight 0 has no say: the result is that of the other vertices."""
    logits, labels = draw(np.random.default_rng(6), 300)
    both = np.stack([logits, np.roll(logits, 1, axis=1)])
    weighted = fit_pool(both, labels, class_weight=np.array([1.0, 1.0, 0.0]))
    kept = labels < 2
    # The mean weight of a vertex is 1, so that as many vertices speak against the prior.
    scale = len(labels) / kept.sum()
    alone = fit_pool(both[:, kept], labels[kept], strength=5.0 / scale)
    np.testing.assert_allclose(weighted.shares, alone.shares, atol=0.05)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(1, 40), st.integers(2, 5))
def test_pool_is_never_worse_than_the_prior(seed: int, members: int, n: int, classes: int) -> None:
    """The fit starts at the prior: with its penalty, the loss can only fall."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(members, n, classes)) * 3
    labels = rng.integers(0, classes, n)
    pool = fit_pool(logits, labels)
    assert np.isfinite(pool.weights).all()
    assert (pool.weights >= 0).all()
    prior = np.full(members, 1 / members)

    def loss(weights: np.ndarray) -> float:
        z = np.tensordot(weights / pool.temperatures, logits, axes=1)
        own = np.take_along_axis(log_softmax(z, axis=1), labels[:, None], axis=1).sum()
        return -own + 5.0 * np.square(weights - prior).sum()

    assert loss(pool.weights) <= loss(prior) + 1e-6
