"""How members' answers become one, for classes and for numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import nnls
from scipy.special import expit, log_softmax, logsumexp, softmax

from graphfilter.systems.pooling import (
    MOST_JUDGES,
    CrossFit,
    CrossFitNumbers,
    LabelPool,
    NumberPool,
    Pool,
    fit_label_pool,
    fit_number_pool,
    fit_pool,
    fit_temperature,
    label_logits,
    log_sum,
    pooling_of,
    superfluous,
    together,
)
from graphfilter.training import CLASSIFICATION, MULTILABEL, REGRESSION


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
    weighted = fit_pool(both, labels, weight=np.array([1.0, 1.0, 0.0])[labels])
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


LABELS = RNG.integers(0, 3, size=300)


def says(strength: float, seed: int) -> np.ndarray:
    """Logits of a member that knows the labels so well."""
    noise = np.random.default_rng(seed).normal(size=(300, 3))
    return strength * np.eye(3)[LABELS] + noise


def judge(*members: np.ndarray) -> tuple[CrossFit, np.ndarray]:
    heard = np.ones(len(members), dtype=bool)
    return CrossFit(np.stack(members), LABELS, heard / len(members)), heard


def test_losses_of_a_member_that_knows_nothing_are_those_of_guessing() -> None:
    judged, heard = judge(np.zeros((300, 3)))
    np.testing.assert_allclose(judged.losses(heard), np.log(3), atol=1e-9)


def test_losses_are_of_vertices_that_did_not_weigh() -> None:
    """A member that is right by heart on what it was weighed on would be heard too much."""
    judged, heard = judge(says(2, 1), says(0, 2))
    alone = judged.losses(np.array([True, False]))
    assert judged.losses(heard).mean() == pytest.approx(alone.mean(), rel=0.05)
    assert (judged.losses(heard) != alone).any()


def test_noise_is_superfluous_and_knowledge_is_not() -> None:
    judged, heard = judge(says(2, 1), says(0, 2), says(2, 3))
    assert superfluous(judged, heard, heard, 0.003) == [1]


def test_of_two_that_say_the_same_one_stays() -> None:
    same = says(2, 1)
    judged, heard = judge(same, same.copy(), says(2, 3))
    assert len(superfluous(judged, heard, np.array([True, True, False]), 0.03)) == 1


def test_only_candidates_go_and_one_always_stays() -> None:
    judged, heard = judge(says(0, 1), says(0, 2))
    assert superfluous(judged, heard, np.array([False, False]), 0.003) == []
    assert len(superfluous(judged, heard, heard, 10.0)) == 1


def test_many_vertices_are_judged_by_some() -> None:
    labels = np.tile(LABELS, 12)
    judged = CrossFit(np.zeros((1, len(labels), 3)), labels, np.ones(1))
    assert len(judged.losses(np.ones(1, dtype=bool))) == MOST_JUDGES < len(labels)


def test_members_that_say_numbers_are_judged_by_their_squared_error() -> None:
    truth = RNG.normal(size=(300, 2))
    right, noise = truth + 0.3 * RNG.normal(size=truth.shape), RNG.normal(size=truth.shape)
    other = truth + 0.3 * RNG.normal(size=truth.shape)
    heard = np.ones(3, dtype=bool)
    judged = CrossFitNumbers(np.stack([right, noise, other]), truth, heard / 3)
    alone = judged.losses(np.array([True, False, False]))
    np.testing.assert_allclose(np.sort(alone), np.sort(np.square(right - truth).mean(axis=1)))
    assert judged.losses(heard).mean() < 0.7 * alone.mean()
    assert superfluous(judged, heard, heard, 0.05) == [1]
