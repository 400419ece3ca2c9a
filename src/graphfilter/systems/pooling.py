"""Pooling: the combined outputs of several members, weighted on validation vertices.

Of numbers and of several labels every output has weights of its own. They are drawn to those of all
outputs together, so that one that few vertices tell about is pooled as the others are.
:class:`CrossFit` says what a pool loses on vertices that it was not weighed on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_softmax, logit, softmax

from graphfilter.systems.prepared import NO_FOLD
from graphfilter.training import MULTILABEL, Task

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
    weights, temperatures : arrays (M,), or (M, C) where each output has its own
    spreads : array (M,) or (M, C)
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
        """What each contributes, as parts of 1: the mean over outputs to which somebody does."""
        contributed = self.contributed
        total = contributed.sum(axis=0)
        if not (used := total > 0).any():
            return np.full(len(contributed), 1 / len(contributed))
        if contributed.ndim == 1:
            return contributed / total
        return (contributed[:, used] / total[used]).mean(axis=1)

    @property
    def contributed(self) -> Array:
        """The weight of each member times its spread."""
        return self.weights * self.spreads

    def answer(self, outputs: Array) -> Array:
        """Return the combined answer (n, C) from what :meth:`read` made of all members' outputs."""
        return self.combined(weighted_sum(self.coefficients, outputs))

    @staticmethod
    def read(outputs: Sequence[Array]) -> Array:
        """Return what is pooled (M, n, C) of the members' outputs: logits, or numbers."""
        return log_probabilities(outputs)

    @staticmethod
    def combined(total: Array) -> Array:
        """Return the answer (n, C) from the weighted sum of what is pooled."""
        return softmax(total, axis=1)

    @classmethod
    def fit(cls, outputs: Array, truth: NDArray[Any], **options: Any) -> Pool:
        """Return the pool of what is pooled of validation vertices, their truth and a prior."""
        return fit_pool(outputs, truth, **options)

    @classmethod
    def together(cls, answers: Sequence[Array]) -> Array:
        """Return the combined output of networks with equal weights."""
        if len(answers) == 1:
            return answers[0]
        return cls.equal(len(answers)).answer(cls.read(answers))

    @classmethod
    def by_vertex(cls, answers: Sequence[Array], coefficients: Sequence[Array]) -> Array:
        """Return the combined outputs of members whose weights differ by vertex.

        Parameters
        ----------
        answers : sequence of arrays (n, C)
        coefficients : sequence of arrays (n,) or (n, C)
            What multiplies the logits, or numbers, of each member.
        """
        total = np.zeros_like(answers[0])
        for outputs, own in zip(cls.read(answers), coefficients, strict=True):
            total += outputs * (own[:, None] if own.ndim == 1 else own)
        return cls.combined(total)


# Of class probabilities, the normalised geometric mean.
together = Pool.together


def log_probabilities(probabilities: Sequence[Array]) -> Array:
    """Return logits (M, n, C) of the members' probabilities, (n, C) each."""
    return np.log(np.maximum(probabilities, 1e-12))


def weighted_sum(weights: Array, logits: Array) -> Array:
    """Return the sum (n, C) of what members say (M, n, C), by weights (M,) or (M, C).

    Not by BLAS: its threads take longer to meet than these sums take, several times beside others.
    """
    return np.einsum("m,mnc->nc" if weights.ndim == 1 else "mc,mnc->nc", weights, logits)


def log_sum(z: Array) -> Array:
    """Return log Σ exp of each row of finite numbers; scipy's takes four times as long."""
    top = z.max(axis=1)
    return top + np.log(np.exp(z - top[:, None]).sum(axis=1))


def fit_temperature(logits: Array, labels: NDArray[np.int64], weight: Array) -> float:
    """Return the T that minimises the log loss of softmax(z / T) + (log T)²."""

    def loss(temperature: float) -> float:
        z = logits / temperature
        own = np.take_along_axis(z, labels[:, None], axis=1)[:, 0]
        return float(weight @ (log_sum(z) - own))

    return _best_temperature(loss)


def _best_temperature(
    loss: Callable[[float], float], centre: float = 1.0, strength: float = 1.0
) -> float:
    """Return the temperature of the least loss; its logarithm is drawn to that of another."""

    def drawn_to_centre(log_temperature: float) -> float:
        away = log_temperature - np.log(centre)
        return float(loss(np.exp(log_temperature)) + strength * away**2)

    bounds = tuple(np.log(TEMPERATURES))
    return float(np.exp(minimize_scalar(drawn_to_centre, bounds=bounds, method="bounded").x))


def fit_pool(
    logits: Array,
    labels: NDArray[np.int64],
    *,
    prior: Array | None = None,
    weight: Array | None = None,
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
    weight : array (n,), optional
        What each vertex weighs.
    """
    n_members, n, _ = logits.shape
    centre = _normalised(prior, n_members)
    if not n:
        return Pool(centre, np.ones(n_members), np.ones(n_members))
    weight = vertex_weights(n, weight)
    temperatures = np.array([fit_temperature(z, labels, weight) for z in logits])
    log_p = log_softmax(logits / temperatures[:, None, None], axis=2)
    found = fit_weights(log_p, labels, centre, weight, strength)
    return Pool(found, temperatures, log_p.std(axis=2).mean(axis=1))


def drawn(n: int, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return ``most`` of n places at random, in order; all where there are no more."""
    return np.sort(rng.permutation(n)[:most])


def vertex_weights(n: int, weight: Array | None) -> Array:
    """Return what n vertices weigh, 1 on average."""
    return np.ones(n) if weight is None else weight * (n / weight.sum())


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

    return _minimum(loss, centre)


# Probabilities are at least so far from 0 and 1.
SUREST = 1e-6
# The smallest spread of a member, in deviations of the target.
LEAST_SPREAD = 1e-3


def label_logits(probabilities: Sequence[Array]) -> Array:
    """Return the logits (M, n, L) of probabilities of labels."""
    return logit(np.clip(probabilities, SUREST, 1 - SUREST))


@dataclass(frozen=True, eq=False)
class LabelPool(Pool):
    r"""How members answer labels together: :math:`p_l = \sigma(\sum_m w_{ml} z_{ml} / T_{ml})`.

    ``weights``, ``temperatures`` and ``spreads`` are (M, L).
    """

    @staticmethod
    def read(outputs: Sequence[Array]) -> Array:
        return label_logits(outputs)

    @staticmethod
    def combined(total: Array) -> Array:
        return expit(total)

    @classmethod
    def fit(cls, outputs: Array, truth: NDArray[Any], **options: Any) -> Pool:
        return fit_label_pool(outputs, truth, **options)


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

    @staticmethod
    def read(outputs: Sequence[Array]) -> Array:
        return np.stack(outputs)

    @property
    def coefficients(self) -> Array:
        precisions = self.weights / np.square(self.temperatures)
        total = precisions.sum(axis=0)
        return precisions / np.where(total > 0, total, 1.0)

    @property
    def contributed(self) -> Array:
        return self.coefficients * self.spreads

    @staticmethod
    def combined(total: Array) -> Array:
        return total

    @classmethod
    def fit(cls, outputs: Array, truth: NDArray[Any], **options: Any) -> Pool:
        return fit_number_pool(outputs, truth, **options)


def fit_number_pool(
    outputs: Array,
    truth: Array,
    *,
    prior: Array | None = None,
    weight: Array | None = None,
    strength: float = STRENGTH,
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
    weight : array (n,), optional
    """
    n_members, n, n_numbers = outputs.shape
    centre = _normalised(prior, n_members)
    spreads = outputs.std(axis=1) if n else np.ones((n_members, n_numbers))
    if not n:
        ones = np.ones((n_members, n_numbers))
        return NumberPool(centre[:, None] * ones, ones, spreads)
    errors = (truth - outputs) * np.sqrt(vertex_weights(n, weight))[:, None]
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
    logits: Array,
    truth: Array,
    *,
    prior: Array | None = None,
    weight: Array | None = None,
    strength: float = STRENGTH,
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
    prior, weight : arrays (M,) and (n,), optional
    """
    n_members, n, n_labels = logits.shape
    centre = _normalised(prior, n_members)
    ones = np.ones((n_members, n_labels))
    if not n:
        return LabelPool(centre[:, None] * ones, ones, ones)
    signs, each = 2 * truth - 1, vertex_weights(n, weight)[:, None]
    shared_t = [_temperature(z * signs, 1.0, 1.0, each) for z in logits]
    temperatures = np.array(
        [
            [_temperature(z[:, [i]] * signs[:, [i]], t, strength, each) for i in range(n_labels)]
            for z, t in zip(logits, shared_t, strict=True)
        ]
    )
    margins = logits / temperatures[:, None] * signs

    def fit(own: Array, drawn_to: Array, each: Array) -> Array:
        def loss(w: Array) -> tuple[float, Array]:
            z = w @ own
            away = w - drawn_to
            value = (each * np.logaddexp(0, -z)).sum() + strength * away @ away
            return float(value), -(own @ (each * expit(-z))) + 2 * strength * away

        return _minimum(loss, drawn_to)

    shared = fit(margins.reshape(n_members, -1), centre, np.repeat(each, n_labels))
    own = [fit(margins[:, :, i], shared, each[:, 0]) for i in range(n_labels)]
    weights = np.column_stack(own)
    return LabelPool(weights, temperatures, np.abs(margins).mean(axis=1))


def _normalised(prior: Array | None, n_members: int) -> Array:
    centre = np.ones(n_members) if prior is None else np.asarray(prior, dtype=np.float64)
    return centre / centre.sum()


def _minimum(loss: object, start: Array) -> Array:
    bounds = [(0, None)] * len(start)
    return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x


def _temperature(margins: Array, centre: float, strength: float, each: Array) -> float:
    """Return the T of least log loss of sigmoid(margin / T), drawn to a temperature."""
    return _best_temperature(
        lambda t: (each * np.logaddexp(0, -margins / t)).sum(), centre, strength
    )


def pooling_of(task: Task) -> type[Pool]:
    """Return how the members of a task are pooled."""
    if task.one_class:
        return Pool
    return LabelPool if task is MULTILABEL else NumberPool


def without_own_labels(answers: Sequence[Array], held: NDArray[np.int8] | None) -> list[Array]:
    """Return answers of runs that each held a fold out, (n, C) each, with theirs for that fold.

    What all say of a vertex in a fold is then what one says that has not seen its label.
    """
    if held is None:
        return list(answers)
    rows = np.flatnonzero(held != NO_FOLD)
    own = np.stack(answers)[held[rows], rows]
    made = [outputs.copy() for outputs in answers]
    for outputs in made:
        outputs[rows] = own
    return made


# The most vertices that members are judged on: more take longer and decide the same.
MOST_JUDGES = 3000


class CrossFit:
    """Members weighed on some validation vertices and judged on the others, in turn.

    Parameters
    ----------
    logits : array (M, n, C)
    labels : array (n,)
    prior : array (M,)
        Shares that are believed beforehand.
    weight : array (n,), optional
    n_folds : int
    """

    def __init__(
        self,
        logits: Array,
        labels: NDArray[np.int64],
        prior: Array,
        weight: Array | None = None,
        n_folds: int = 3,
    ) -> None:
        rng = np.random.default_rng(0)
        chosen = drawn(len(labels), MOST_JUDGES, rng)
        logits, labels = logits[:, chosen], labels[chosen]
        self._labels, self._prior = labels, prior
        self._weight = vertex_weights(len(chosen), None if weight is None else weight[chosen])
        # Classes are dealt out evenly.
        fold = np.empty(len(labels), dtype=np.int64)
        fold[np.lexsort((rng.random(len(labels)), labels))] = np.arange(len(labels)) % n_folds
        self._folds: list[tuple[NDArray[np.bool_], Array]] = []
        for k in range(n_folds):
            fitted = fold != k
            weight = self._weight[fitted]
            temperatures = [fit_temperature(z[fitted], labels[fitted], weight) for z in logits]
            log_p = log_softmax(logits / np.array(temperatures)[:, None, None], axis=2)
            self._folds.append((fitted, log_p))

    def losses(self, used: NDArray[np.bool_]) -> Array:
        """Return the loss of every judge with these members, as it weighs."""
        centre = self._prior[used] / self._prior[used].sum()
        found = np.empty(len(self._labels))
        for fitted, log_p in self._folds:
            outputs = log_p[used]
            w = fit_weights(
                outputs[:, fitted], self._labels[fitted], centre, self._weight[fitted], STRENGTH
            )
            z = weighted_sum(w, outputs[:, ~fitted])
            own = np.take_along_axis(z, self._labels[~fitted][:, None], axis=1)[:, 0]
            found[~fitted] = log_sum(z) - own
        return self._weight * found


class CrossFitNumbers:
    """As :class:`CrossFit`, of members that say numbers: (M, n, T), for a truth (n, T)."""

    def __init__(self, outputs: Array, truth: Array, prior: Array, n_folds: int = 3) -> None:
        rng = np.random.default_rng(0)
        chosen = drawn(len(truth), MOST_JUDGES, rng)
        self._outputs, self._truth, self._prior = outputs[:, chosen], truth[chosen], prior
        self._fold = rng.permutation(len(chosen)) % n_folds

    def losses(self, used: NDArray[np.bool_]) -> Array:
        """Return the squared error of every judge with these members."""
        outputs, found = self._outputs[used], np.empty(len(self._truth))
        for k in np.unique(self._fold):
            own = self._fold == k
            pool = fit_number_pool(outputs[:, ~own], self._truth[~own], prior=self._prior[used])
            error = self._truth[own] - pool.answer(outputs[:, own])
            found[own] = np.square(error).mean(axis=1)
        return found


def superfluous(
    judged: CrossFit | CrossFitNumbers,
    used: NDArray[np.bool_],
    candidates: NDArray[np.bool_],
    worth: float,
    doubt: float = 1.0,
) -> list[int]:
    """Return which candidates add nothing to the other used members, one after another.

    A member adds nothing where what the others lose without it, and ``doubt`` standard errors
    more, is less than ``worth`` of the loss. Of several the one that adds least goes first, and
    the rest are judged without it: of two that say the same one stays.

    Parameters
    ----------
    used, candidates : bool arrays (M,)
        Those that are used, and which of them may be dropped.
    """
    used, gone = used.copy(), list[int]()
    while used.sum() > 1:
        losses = judged.losses(used)
        adds = {
            int(m): _most_added(judged.losses(used & (np.arange(len(used)) != m)) - losses, doubt)
            for m in np.flatnonzero(used & candidates)
        }
        if not adds or min(adds.values()) >= worth * losses.mean():
            break
        least = min(adds, key=lambda m: adds[m])
        used[least] = False
        gone.append(least)
    return gone


def _most_added(differences: Array, doubt: float) -> float:
    return float(differences.mean() + doubt * differences.std() / np.sqrt(len(differences)))
