"""Pooling: what several members say together, weighed on validation vertices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax, logsumexp, softmax

Array = NDArray[np.float64]

# Of a temperature: colder or warmer than this a member is always sure or never.
TEMPERATURES = (0.05, 20.0)
# How strongly weights are drawn to the prior, and temperatures to 1: as much as a few vertices
# can say, so that 37 do not decide too much. Chosen on validation vertices only (docs/committee.md).
STRENGTH = 5.0


def pool(logits: Array, weights: Array) -> Array:
    r"""Return probabilities :math:`p = \mathrm{softmax}(\sum_m w_m z_m)`, (n, C).

    Parameters
    ----------
    logits : array (M, n, C)
    weights : array (M,)
    """
    return softmax(np.tensordot(weights, logits, axes=1), axis=1)


def fit_temperature(logits: Array, labels: NDArray[np.int64], weight: Array) -> float:
    """Return the T that minimises the log loss of softmax(z / T) + (log T)²."""

    def loss(log_temperature: float) -> float:
        z = logits / np.exp(log_temperature)
        own = np.take_along_axis(z, labels[:, None], axis=1)[:, 0]
        return float(weight @ (logsumexp(z, axis=1) - own)) + log_temperature**2

    bounds = tuple(np.log(TEMPERATURES))
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))


def fit_weights(
    logits: Array,
    labels: NDArray[np.int64],
    *,
    prior: Array | None = None,
    class_weight: Array | None = None,
    strength: float = STRENGTH,
) -> Array:
    r"""Return the weights of :func:`pool`, from vertices whose labels are known.

    Each member is first brought to its own best temperature :math:`T_m`, so that it is as sure as
    it should be. Then :math:`v \ge 0` minimises

    .. math:: -\sum_i \log p_{i, y_i} + s \sum_m (v_m - \pi_m)^2 , \qquad w_m = v_m / T_m ,

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
    prior = np.full(n_members, 1 / n_members) if prior is None else prior / prior.sum()
    if not n:
        return prior
    weight = np.ones(n) if class_weight is None else class_weight[labels] * n
    weight = weight if class_weight is None else weight / class_weight[labels].sum()
    temperatures = np.array([fit_temperature(z, labels, weight) for z in logits])
    log_p = log_softmax(logits / temperatures[:, None, None], axis=2)
    own = np.take_along_axis(log_p, labels[None, :, None], axis=2)[:, :, 0]

    def loss(v: Array) -> tuple[float, Array]:
        z = np.tensordot(v, log_p, axes=1)
        p = softmax(z, axis=1)
        value = weight @ (logsumexp(z, axis=1) - v @ own) + strength * np.square(v - prior).sum()
        expected = np.einsum("mnc,nc->mn", log_p, p)
        return float(value), (expected - own) @ weight + 2 * strength * (v - prior)

    found = minimize(loss, prior, jac=True, method="L-BFGS-B", bounds=[(0, None)] * n_members)
    return found.x / temperatures
