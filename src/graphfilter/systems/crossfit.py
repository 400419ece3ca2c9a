"""What a pool loses on vertices that it was not weighed on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from graphfilter.systems.pooling import (
    STRENGTH,
    Array,
    drawn,
    fit_temperature,
    fit_weights,
    log_sum,
    vertex_weights,
    weighted_sum,
)

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
    class_weight : array (C,), optional
    n_folds : int
    """

    def __init__(
        self,
        logits: Array,
        labels: NDArray[np.int64],
        prior: Array,
        class_weight: Array | None = None,
        n_folds: int = 3,
    ) -> None:
        rng = np.random.default_rng(0)
        chosen = drawn(len(labels), MOST_JUDGES, rng)
        logits, labels = logits[:, chosen], labels[chosen]
        self._labels, self._prior = labels, prior
        self._weight = vertex_weights(labels, class_weight)
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
        """Return the loss of every judge with these members, weighted by its class."""
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


def superfluous(
    judged: CrossFit,
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
            int(m): _most_added(judged.losses(_without(used, m)) - losses, doubt)
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


def _without(used: NDArray[np.bool_], member: np.intp) -> NDArray[np.bool_]:
    others = used.copy()
    others[member] = False
    return others
