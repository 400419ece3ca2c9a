"""Pooling: the combined outputs of several members, weighted on validation vertices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax, softmax

Array = NDArray[np.float64]

# Bounds of a temperature: beyond them a member is always certain, or never.
TEMPERATURES = (0.05, 20.0)
# How strongly weights are drawn to the prior, and temperatures to 1: as much as a few vertices
# can say, so that 37 do not decide too much.
STRENGTH = 5.0


@dataclass(frozen=True, eq=False)
class Pool:
    r"""How members answer together: :math:`p = \mathrm{softmax}(\sum_m w_m z_m / T_m)`.

    A product of their probabilities, each at its own temperature and to the power of its weight:
    sums of logits, so that what each contributes to an answer adds up.

    Attributes
    ----------
    weights, temperatures : arrays (M,)
    spreads : array (M,)
        How far apart each member holds the classes, at its temperature: one that knows nothing
        gives all the same, and contributes nothing whatever its weight.
    """

    weights: Array
    temperatures: Array
    spreads: Array

    @classmethod
    def equal(cls, n_members: int) -> Self:
        """Return the pool of members that count the same, as sure as they are."""
        return cls(np.full(n_members, 1 / n_members), np.ones(n_members), np.ones(n_members))

    @property
    def coefficients(self) -> Array:
        """What multiplies the outputs of each member in the answer."""
        return self.weights / self.temperatures

    def among(self, used: NDArray[np.bool_]) -> Self:
        """Return the pool of more members, of whom those marked ``used`` (M,) are these."""

        def spread(values: Array, fill: float) -> Array:
            found = np.full((len(used), *values.shape[1:]), fill)
            found[used] = values
            return found

        return type(self)(
            spread(self.weights, 0.0), spread(self.temperatures, 1.0), spread(self.spreads, 0.0)
        )

    @property
    def shares(self) -> Array:
        """What each contributes to the answers, as parts of 1: its weight times its spread."""
        contributed = self.weights * self.spreads
        total = contributed.sum()
        return (
            contributed / total if total > 0 else np.full(len(self.weights), 1 / len(self.weights))
        )

    def answer(self, logits: Array) -> Array:
        """Return class probabilities (n, C) from the logits of all members (M, n, C)."""
        return self.combined(weighted_sum(self.coefficients, logits))

    @staticmethod
    def combined(total: Array) -> Array:
        """Return the answer (n, C) from the weighted sum of the members' outputs."""
        return softmax(total, axis=1)


def together(probabilities: Sequence[Array]) -> Array:
    """Return the combined output of networks with equal weights: the normalised geometric mean."""
    if len(probabilities) == 1:
        return probabilities[0]
    return Pool.equal(len(probabilities)).answer(log_probabilities(probabilities))


def log_probabilities(probabilities: Sequence[Array]) -> Array:
    """Return logits (M, n, C) of the members' probabilities, (n, C) each."""
    return np.log(np.maximum(probabilities, 1e-12))


def weighted_sum(weights: Array, logits: Array) -> Array:
    """Return the sum (n, C) of what members say (M, n, C), by weight.

    Not by BLAS: its threads take longer to meet than these sums take, several times beside others.
    """
    return np.einsum("m,mnc->nc", weights, logits)


def log_sum(z: Array) -> Array:
    """Return log Σ exp of each row of finite numbers; scipy's takes four times as long."""
    top = z.max(axis=1)
    return top + np.log(np.exp(z - top[:, None]).sum(axis=1))


def fit_temperature(logits: Array, labels: NDArray[np.int64], weight: Array) -> float:
    """Return the T that minimises the log loss of softmax(z / T) + (log T)²."""

    def loss(log_temperature: float) -> float:
        z = logits / np.exp(log_temperature)
        own = np.take_along_axis(z, labels[:, None], axis=1)[:, 0]
        return float(weight @ (log_sum(z) - own)) + log_temperature**2

    return best_temperature(loss)


def best_temperature(loss: Callable[[float], float]) -> float:
    """Return the temperature whose logarithm has the least loss."""
    bounds = tuple(np.log(TEMPERATURES))
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))


def fit_pool(
    logits: Array,
    labels: NDArray[np.int64],
    *,
    prior: Array | None = None,
    class_weight: Array | None = None,
    strength: float = STRENGTH,
) -> Pool:
    r"""Weight members by their outputs for vertices whose labels are known.

    Each is first brought to its own best temperature :math:`T_m`, so that it is as sure as it
    should be. Then :math:`w \ge 0` minimises

    .. math:: -\sum_i \log p_{i, y_i} + s \sum_m (w_m - \pi_m)^2 ,

    which is convex: with many vertices the data decide, with few the prior does.

    Parameters
    ----------
    logits : array (M, n, C)
    labels : array (n,)
    prior : array (M,), optional
        :math:`\pi`; equal shares otherwise.
    class_weight : array (C,), optional
        Weighs the vertices of each class.
    """
    n_members, n, _ = logits.shape
    centre = np.ones(n_members) if prior is None else np.asarray(prior)
    centre = centre / centre.sum()
    if not n:
        return Pool(centre, np.ones(n_members), np.ones(n_members))
    weight = vertex_weights(labels, class_weight)
    temperatures = np.array([fit_temperature(z, labels, weight) for z in logits])
    log_p = log_softmax(logits / temperatures[:, None, None], axis=2)
    found = fit_weights(log_p, labels, centre, weight, strength)
    return Pool(found, temperatures, log_p.std(axis=2).mean(axis=1))


def drawn(n: int, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return ``most`` of n places at random, in order; all where there are no more."""
    return np.sort(rng.permutation(n)[:most])


def vertex_weights(labels: NDArray[np.int64], class_weight: Array | None) -> Array:
    """Return what vertices of these labels weigh, 1 on average."""
    weight = np.ones(len(labels)) if class_weight is None else class_weight[labels]
    return weight * (len(labels) / weight.sum())


def fit_weights(
    log_p: Array, labels: NDArray[np.int64], centre: Array, weight: Array, strength: float
) -> Array:
    """Return the weights of members (M,) that say ``log_p`` (M, n, C): see :func:`fit_pool`."""
    own = np.take_along_axis(log_p, labels[None, :, None], axis=2)[:, :, 0]

    def loss(w: Array) -> tuple[float, Array]:
        z = weighted_sum(w, log_p)
        total = log_sum(z)
        p = np.exp(z - total[:, None])
        value = weight @ (total - w @ own) + strength * np.square(w - centre).sum()
        expected = np.einsum("mnc,nc->mn", log_p, p)
        return float(value), (expected - own) @ weight + 2 * strength * (w - centre)

    found = minimize(loss, centre, jac=True, method="L-BFGS-B", bounds=[(0, None)] * len(centre))
    return found.x
