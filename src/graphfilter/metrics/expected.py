"""What a loss should be on vertices without truth, by what it was on others that are alike."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.metrics.significance import LEVEL

Array = NDArray[np.float64]

MOST_BINS, FEWEST_IN_A_BIN = 10, 30


@dataclass(frozen=True)
class Expected:
    """A mean loss that is expected, and its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class LossBins:
    r"""The mean loss of vertices whose truth is known, by a signal that each vertex has.

    The signal is what an answer says of itself, such as its probability. Of N new vertices with
    shares :math:`w_b` in the bins of the signal, the mean loss is expected to be

    .. math:: \mu = \sum_b w_b \bar\ell_b, \qquad n_{eff} = 1 / \sum_b w_b^2 / n_b ,

    if vertices of equal signal have the losses that they had. A loss that is a share of errors is
    then beta-binomial, as if :math:`n_{eff}` vertices had shown :math:`\mu` of them; any other is
    normal with the variance :math:`\sum_b w_b v_b (1 / n_{eff} + 1 / N)`.

    Attributes
    ----------
    edges : array (B - 1,)
        Between bins.
    counts, means, variances : arrays (B,)

    Examples
    --------
    >>> import numpy as np
    >>> sure = np.linspace(0, 1, 200)
    >>> bins = LossBins.of(sure, wrong := (sure < 0.25).astype(float))
    >>> bool(abs(bins.expect(sure, is_share=True).value - wrong.mean()) < 0.01)
    True
    """

    edges: Array
    counts: NDArray[np.int64]
    means: Array
    variances: Array

    @classmethod
    def of(cls, signal: Array, losses: Array) -> LossBins:
        """Divide vertices by their signal into bins of equal size."""
        n_bins = int(np.clip(len(signal) // FEWEST_IN_A_BIN, 1, MOST_BINS))
        edges = np.unique(np.quantile(signal, np.linspace(0, 1, n_bins + 1)[1:-1]))
        place = np.searchsorted(edges, signal, side="left")
        counts = np.bincount(place, minlength=len(edges) + 1)
        # Each bin is drawn to the mean of all by one vertex.
        sums = np.bincount(place, weights=losses, minlength=len(counts))
        means = (sums + losses.mean()) / (counts + 1)
        far = np.square(losses - means[place])
        squares = np.bincount(place, weights=far, minlength=len(counts))
        return cls(edges, counts, means, (squares + losses.var()) / (counts + 1))

    def expect(self, signal: Array, *, is_share: bool) -> Expected:
        """Return what the mean loss of vertices with these signals should be.

        ``is_share`` says that a loss is an error or none, or a share of errors.
        """
        place = np.searchsorted(self.edges, signal, side="left")
        n = max(len(signal), 1)
        shares = np.bincount(place, minlength=len(self.counts)) / n
        value = float(shares @ self.means)
        n_alike = 1 / max(float(np.square(shares) @ (1 / (self.counts + 1))), 1e-12)
        if is_share:
            from scipy.stats import betabinom

            law = betabinom(n, value * n_alike + 0.5, (1 - value) * n_alike + 0.5)
            low, high = law.ppf([(1 - LEVEL) / 2, (1 + LEVEL) / 2]) / n
            return Expected(value, float(low), float(high))
        variance = float(shares @ self.variances) * (1 / n_alike + 1 / n)
        half = NormalDist().inv_cdf((1 + LEVEL) / 2) * np.sqrt(variance)
        return Expected(value, max(0.0, value - half), value + half)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, to be saved."""
        return {name: getattr(self, name) for name in ("edges", "counts", "means", "variances")}

    @classmethod
    def from_arrays(cls, edges: Any, counts: Any, means: Any, variances: Any) -> LossBins:
        """Return what :meth:`to_arrays` returned; ValueError where it could not have."""
        numbers = [np.asarray(a, dtype=np.float64) for a in (edges, means, variances)]
        sizes = np.asarray(counts)
        shapes = {a.shape for a in (sizes, *numbers[1:])}
        if shapes != {(len(numbers[0]) + 1,)} or sizes.dtype.kind not in "iu":
            raise ValueError("bins of losses of different lengths")
        if not all(np.isfinite(a).all() for a in numbers) or (numbers[2] < 0).any():
            raise ValueError("bins of losses must hold finite numbers")
        if (np.diff(numbers[0]) < 0).any() or (sizes < 0).any():
            raise ValueError("bins of losses must be sorted")
        return cls(numbers[0], sizes.astype(np.int64), numbers[1], numbers[2])
