"""Telling differences between systems from the luck of the splits."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student


def corrected_t_test(differences: ArrayLike, test_train_ratio: float) -> float:
    r"""Return the two-sided p of the corrected resampled t-test (Nadeau & Bengio 2003).

    .. math:: t = \bar d \Big/ \sqrt{\Bigl(\frac1J +
              \frac{n_\mathrm{test}}{n_\mathrm{train}}\Bigr) \hat\sigma^2}, \qquad J - 1
              \text{ degrees of freedom}

    for the differences :math:`d_j` of two systems on the same J splits. Random splits of one
    graph share training vertices, so their scores are not independent: the plain paired t-test
    and the Wilcoxon signed-rank test, which take them to be, call chance significant far too
    often, and the more so the more splits are drawn. The added ratio makes up for it.

    Parameters
    ----------
    differences : array (J,), J at least 2
    test_train_ratio : float
        Sizes of the test part by the training part; 0 for runs on one and the same split, where
        the answer holds for that split only and the test is the plain one.

    Examples
    --------
    >>> round(corrected_t_test([1.0, 2.0, 3.0], 0.0), 4)
    0.0742
    """
    d = np.asarray(differences, dtype=float)
    variance = d.var(ddof=1) * (1 / len(d) + test_train_ratio)
    # The differences of equal scores, computed, may vary in the last digit.
    if variance <= (1e-12 * max(1.0, np.abs(d).max())) ** 2:
        return 1.0 if abs(d.mean()) < 1e-12 else 0.0
    return float(2 * student.sf(abs(d.mean()) / math.sqrt(variance), df=len(d) - 1))


def holm(p_values: Sequence[float]) -> NDArray[np.float64]:
    r"""Return p-values corrected for their number (Holm 1979).

    .. math:: \tilde p_{(i)} = \max_{j \le i} \min\bigl(1, (m - j + 1)\, p_{(j)}\bigr)

    Rejecting where :math:`\tilde p \le a` makes one or more false rejections among the m with
    probability at most a, however the tests depend on each other.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    steps = np.minimum(1.0, (len(p) - np.arange(len(p))) * p[order])
    corrected = np.empty(len(p))
    corrected[order] = np.maximum.accumulate(steps)
    return corrected
