"""Pooling of numbers and of several labels: every output has weights of its own.

They are drawn to those of all outputs together, so that one that few vertices tell about is pooled
as the others are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from graphfilter.systems.pooling import STRENGTH, Pool, best_temperature

Array = NDArray[np.float64]

# Probabilities are at least so far from 0 and 1.
SUREST = 1e-6
# The smallest spread of a member, in deviations of the target.
LEAST_SPREAD = 1e-3


@dataclass(frozen=True, eq=False)
class LabelPool(Pool):
    r"""How members answer labels together: :math:`p_l = \sigma(\sum_m w_{ml} z_{ml} / T_{ml})`.

    ``weights``, ``temperatures`` and ``spreads`` are (M, L).
    """

    @property
    def shares(self) -> Array:
        return _mean_shares(self.weights * self.spreads)

    def answer(self, logits: Array) -> Array:
        """Return probabilities (n, L) from the logits of all members (M, n, L)."""
        return self.combined(np.einsum("ml,mnl->nl", self.coefficients, logits))

    @staticmethod
    def combined(total: Array) -> Array:
        return expit(total)


@dataclass(frozen=True, eq=False)
class NumberPool(Pool):
    r"""How members answer numbers together: a mean, weighed by how sure each is.

    Each says :math:`N(\mu_m, \sigma_m^2)`. The product of these densities, each to the power of its
    weight, is the normal distribution with

    .. math:: \mu = \frac{\sum_m w_m \mu_m / \sigma_m^2}{\sum_m w_m / \sigma_m^2}, \qquad
              \sigma^{-2} = \sum_m w_m / \sigma_m^2 .

    ``weights``, ``temperatures`` (the spreads σ of the members' errors) and ``spreads`` (of what
    they say) are (M, T).
    """

    @property
    def coefficients(self) -> Array:
        precisions = self.weights / np.square(self.temperatures)
        total = precisions.sum(axis=0)
        return precisions / np.where(total > 0, total, 1.0)

    @property
    def shares(self) -> Array:
        return _mean_shares(self.coefficients * self.spreads)

    def answer(self, logits: Array) -> Array:
        """Return numbers (n, T) from those of all members (M, n, T)."""
        return self.combined(np.einsum("mt,mnt->nt", self.coefficients, logits))

    @staticmethod
    def combined(total: Array) -> Array:
        return total


def label_logits(probabilities: Sequence[Array]) -> Array:
    """Return the logits (M, n, L) of probabilities of labels."""
    return logit(np.clip(probabilities, SUREST, 1 - SUREST))


def fit_number_pool(
    outputs: Array, truth: Array, *, prior: Array | None = None, strength: float = STRENGTH
) -> NumberPool:
    r"""Weight members by their outputs for vertices whose numbers are known.

    The spread of each is the root mean square of its errors. With :math:`a_m = w_m / \sigma_m^2`
    and errors :math:`r_{mi}`, the weights :math:`w \ge 0` of a number minimise

    .. math:: \tfrac12 \sum_i \frac{(\sum_m a_m r_{mi})^2}{\sum_m a_m}
              - \tfrac n2 \log \sum_m a_m + s \sum_m (w_m - \pi_m)^2 ,

    the negative log-likelihood of the product, which is convex.

    Parameters
    ----------
    outputs : array (M, n, T)
    truth : array (n, T)
        Numbers of about mean 0 and deviation 1.
    prior : array (M,), optional
        :math:`\pi`; equal shares otherwise.
    """
    n_members, n, n_numbers = outputs.shape
    centre = _normalised(prior, n_members)
    spreads = outputs.std(axis=1) if n else np.ones((n_members, n_numbers))
    if not n:
        ones = np.ones((n_members, n_numbers))
        return NumberPool(centre[:, None] * ones, ones, spreads)
    errors = truth - outputs
    # One vertex more that is as far off as the numbers are spread: of two vertices nobody is sure.
    sigma = np.sqrt((np.square(errors).sum(axis=1) + 1) / (n + 1)).clip(LEAST_SPREAD)
    scaled = errors / np.square(sigma)[:, None]
    moments = np.einsum("mit,kit->tmk", scaled, scaled)

    def fit(columns: Sequence[int], drawn_to: Array) -> Array:
        precision = 1 / np.square(sigma[:, columns])

        def loss(w: Array) -> tuple[float, Array]:
            total = w @ precision
            if not (total > 0).all():
                return 1e300, np.zeros_like(w)
            product = moments[list(columns)] @ w
            squares = product @ w
            value = 0.5 * (squares / total - n * np.log(total)).sum()
            slope = (product / total[:, None]).sum(axis=0)
            slope -= precision @ (0.5 * squares / np.square(total) + 0.5 * n / total)
            away = w - drawn_to
            return float(value + strength * away @ away), slope + 2 * strength * away

        return _minimum(loss, drawn_to)

    shared = fit(range(n_numbers), centre)
    weights = np.column_stack(
        [shared] if n_numbers == 1 else [fit([t], shared) for t in range(n_numbers)]
    )
    return NumberPool(weights, sigma, spreads)


def fit_label_pool(
    logits: Array, truth: Array, *, prior: Array | None = None, strength: float = STRENGTH
) -> LabelPool:
    """Weight members by their outputs for vertices whose labels are known.

    As :func:`~graphfilter.systems.pooling.fit_pool`: temperatures first, then weights, by a convex
    fit to the log loss. Those of all labels together come first; each label's own are drawn to
    them, so that a label that few vertices have shares them.

    Parameters
    ----------
    logits : array (M, n, L)
    truth : array (n, L)
        0 and 1.
    prior : array (M,), optional
    """
    n_members, n, n_labels = logits.shape
    centre = _normalised(prior, n_members)
    ones = np.ones((n_members, n_labels))
    if not n:
        return LabelPool(centre[:, None] * ones, ones, ones)
    signs = 2 * truth - 1
    shared_t = [_temperature(z * signs, 1.0, 1.0) for z in logits]
    temperatures = np.array(
        [
            [_temperature(z[:, i] * signs[:, i], t, strength) for i in range(n_labels)]
            for z, t in zip(logits, shared_t, strict=True)
        ]
    )
    margins = logits / temperatures[:, None] * signs

    def fit(own: Array, drawn_to: Array) -> Array:
        def loss(w: Array) -> tuple[float, Array]:
            z = w @ own
            away = w - drawn_to
            value = np.logaddexp(0, -z).sum() + strength * away @ away
            return float(value), -(own @ expit(-z)) + 2 * strength * away

        return _minimum(loss, drawn_to)

    shared = fit(margins.reshape(n_members, -1), centre)
    weights = np.column_stack([fit(margins[:, :, i], shared) for i in range(n_labels)])
    return LabelPool(weights, temperatures, np.abs(margins).mean(axis=1))


def _normalised(prior: Array | None, n_members: int) -> Array:
    centre = np.ones(n_members) if prior is None else np.asarray(prior, dtype=np.float64)
    return centre / centre.sum()


def _minimum(loss: object, start: Array) -> Array:
    bounds = [(0, None)] * len(start)
    return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x


def _temperature(margins: Array, centre: float, strength: float) -> float:
    """Return the T of least log loss of sigmoid(margin / T), drawn to a temperature."""

    def loss(log_temperature: float) -> float:
        away = log_temperature - np.log(centre)
        value = np.logaddexp(0, -margins / np.exp(log_temperature)).sum()
        return float(value + strength * away**2)

    return best_temperature(loss)


def _mean_shares(contributed: Array) -> Array:
    """Return each member's part of 1, the mean over the outputs to which somebody contributes."""
    total = contributed.sum(axis=0)
    used = total > 0
    if not used.any():
        return np.full(len(contributed), 1 / len(contributed))
    return (contributed[:, used] / total[used]).mean(axis=1)
