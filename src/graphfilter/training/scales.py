"""TargetScale: the scale on which a number is learned, and the way back to its own units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from graphfilter.util.errors import check_name
from graphfilter.util.words import number

Array = NDArray[np.float64]

SCALES = ("identity", "log", "rank")
WORDS = {"identity": "as it is", "log": "as log(1 + y)", "rank": "by its rank"}
# The rank of a number is kept by at most so many quantiles of the training vertices.
MOST_QUANTILES = 1000
# One vertex in a hundred may be anywhere: no single one decides between the scales.
STRAY = 0.01
# By how much the log-likelihood of another scale must be above that of the numbers as they are.
MARGIN = 2.0


@dataclass(frozen=True, eq=False)
class TargetScale:
    r"""How a number y is learned: :math:`t = (g(y) - \mu) / \sigma`.

    g is the identity, :math:`\log(1 + y)`, or scikit-learn's ``QuantileTransformer`` to normal
    quantiles. Means and deviations are of the training vertices. Answers are cut at
    ``low`` and ``high``: see :func:`allowed_range`.

    Attributes
    ----------
    name : {'identity', 'log', 'rank'}
    mean, deviation : float
    low, high : float
    quantiles : array (q,)
        Of the training vertices; empty of other scales than 'rank'.

    Examples
    --------
    >>> import numpy as np
    >>> from graphfilter.training import TargetScale
    >>> scale = TargetScale.fit(np.array([0.0, 9.0, 99.0]), "log")
    >>> scale.undo(scale.transform(np.array([9.0]))).round(6).tolist()
    [9.0]
    """

    name: str
    mean: float
    deviation: float
    low: float
    high: float
    quantiles: Array = field(default_factory=lambda: np.zeros(0), repr=False)

    @classmethod
    def fit(cls, y: Array, name: str = "identity") -> TargetScale:
        """Fit a scale to the numbers of the training vertices."""
        check_name("scale", name, SCALES)
        low, high = allowed_range(y)
        kept = np.quantile(y, np.linspace(0, 1, min(MOST_QUANTILES, len(y))))
        scale = cls(name, 0.0, 1.0, low, high, kept if name == "rank" else np.zeros(0))
        t = scale._forward(y)
        # A constant has no deviation: it is learned as it is.
        deviation = float(t.std()) if np.ptp(t) > 0 else 1.0
        return cls(name, float(t.mean()), deviation, low, high, scale.quantiles)

    def transform(self, y: Array) -> Array:
        """Return numbers as they are learned; NaN stays."""
        return (self._forward(y) - self.mean) / self.deviation

    def undo(self, t: Array) -> Array:
        """Return what is learned in the units of the target, inside what the data allow."""
        return np.clip(self._backward(t * self.deviation + self.mean), self.low, self.high)

    def undo_bounds(self, t: Array) -> Array:
        """Return the ends of intervals in the units of the target; they are not cut.

        Positive targets stay positive. Beyond the ranks that were seen an end is the furthest that
        is allowed.
        """
        g = t * self.deviation + self.mean
        if self.name == "rank":
            furthest = float(ndtri(1 - 0.5 / max(len(self.quantiles), 2)))
            inside = self._backward(np.clip(g, -furthest, furthest))
            return np.where(g > furthest, self.high, np.where(g < -furthest, self.low, inside))
        with np.errstate(over="ignore"):
            y = np.expm1(g) if self.name == "log" else g
        return np.maximum(y, 0.0) if self.low >= 0 else y

    def outside(self, t: Array) -> NDArray[np.bool_]:
        """Return which answers :meth:`undo` cuts."""
        y = self._backward(t * self.deviation + self.mean)
        return (y < self.low) | (y > self.high)

    @property
    def words(self) -> str:
        """The scale and the range in words."""
        return (
            f"learned {WORDS[self.name]}; predictions are kept between {number(self.low)} and "
            f"{number(self.high)}"
        )

    def _forward(self, y: Array) -> Array:
        if self.name == "log":
            # Below 0 are only vertices that chose nothing: those of a test part.
            return np.log1p(np.maximum(y, 0.0))
        return self._ranks(y, inverse=False) if self.name == "rank" else y

    def _backward(self, g: Array) -> Array:
        if self.name == "log":
            # Far above the range, where it is cut, without an overflow.
            return np.expm1(np.minimum(g, np.log1p(max(self.high, 0.0)) + 1))
        return self._ranks(g, inverse=True) if self.name == "rank" else g

    def _ranks(self, values: Array, *, inverse: bool) -> Array:
        from sklearn.preprocessing import QuantileTransformer  # Slow to import.

        n = len(self.quantiles)
        model = QuantileTransformer(n_quantiles=n, output_distribution="normal")
        model.quantiles_, model.n_features_in_ = self.quantiles[:, None], 1
        model.references_, model.n_quantiles_ = np.linspace(0, 1, n), n
        column = np.ravel(values)[:, None]
        if inverse:
            return model.inverse_transform(column).reshape(np.shape(values))
        # The extremes are at no rank that is more extreme than one of so many can be.
        furthest = float(ndtri(1 - 0.5 / max(n, 2)))
        return np.clip(model.transform(column), -furthest, furthest).reshape(np.shape(values))


def allowed_range(y: Array) -> tuple[float, float]:
    """Return the range of numbers widened by their deviation; positive ones stay positive.

    >>> allowed_range(np.array([0.0, 4.0]))
    (0.0, 6.0)
    """
    least, most, spread = float(y.min()), float(y.max()), float(y.std())
    low = least - spread
    if least > 0:  # Widened as a factor: by the deviation of the logarithms.
        low = max(low, least * float(np.exp(-np.log(y).std())))
    elif least == 0:
        low = 0.0
    return low, most + spread


def choose_scale(
    y: Array,
    train: NDArray[np.int64],
    val: NDArray[np.int64],
    predict: Callable[[Array], Array],
) -> TargetScale:
    """Return the scale on which a simple model best foretells the validation vertices.

    Parameters
    ----------
    y : array (n,)
    train, val : int arrays
    predict : callable
        From the transformed numbers of the training vertices to those of the validation vertices.
    """
    plain = TargetScale.fit(y[train])
    known = y[np.concatenate([train, val])]
    if not len(val) or np.ptp(y[train]) == 0:
        return plain
    names = [name for name in SCALES if name != "log" or known.min() >= 0]
    scales = {name: TargetScale.fit(y[train], name) for name in names}
    found = {
        name: log_likelihood(
            scale, y[val], predict(scale.transform(y[train])), resolution(y[train])
        )
        for name, scale in scales.items()
    }
    best = max(found, key=lambda name: found[name])
    return scales[best] if found[best] > found["identity"] + MARGIN else plain


def resolution(y: Array) -> float:
    """Return how finely numbers are told apart: half the usual gap, at least 1 % of the spread."""
    gaps = np.diff(np.unique(y))
    return max(0.5 * float(np.median(gaps)), 0.01 * float(y.std())) if len(gaps) else 1.0


def log_likelihood(scale: TargetScale, y: Array, predicted: Array, width: float) -> float:
    r"""Return the log-likelihood of numbers, each known up to ``width``, in their own units.

    .. math:: \sum_i \log \frac{1}{2h} \Bigl[
              \Phi\bigl(\tfrac{t(y_i + h) - \hat t_i}{s}\bigr)
              - \Phi\bigl(\tfrac{t(y_i - h) - \hat t_i}{s}\bigr) \Bigr]

    with s the root mean square of the errors. For small h this is the density on the scale times
    the Jacobian t'; as a difference it is right for repeated values too, where ranks jump.
    """
    error = scale.transform(y) - predicted
    spread = max(float(np.sqrt(np.square(error).mean())), 1e-9)
    above, below = ((scale.transform(y + h) - predicted) / spread for h in (width, -width))
    # On the side where the normal distribution has digits left.
    sign = np.where(above + below > 0, -1.0, 1.0)
    mass = np.abs(ndtr(sign * above) - ndtr(sign * below))
    anywhere = 2 * width / max(scale.high - scale.low, 2 * width)
    return float(np.log(((1 - STRAY) * mass + STRAY * anywhere) / (2 * width)).sum())
