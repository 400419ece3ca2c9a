"""Numbers on their way into a page: short, and without the NaN that JSON does not know."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np


def plain(values: Any, digits: int = 4) -> Any:
    """Return nested lists of numbers with so many significant digits; None where not finite.

    >>> plain(np.array([[1 / 3, np.nan], [2.0, 1e6]]))
    [[0.3333, None], [2.0, 1000000.0]]
    """
    array = np.asarray(values)
    if array.ndim:
        return [plain(row, digits) for row in array]
    if array.dtype.kind in "biu":
        return array.item()
    return float(f"{float(array):.{digits}g}") if np.isfinite(array) else None


def spread_out(n: int, most: int, *, keep: tuple[int, ...] = ()) -> list[int]:
    """Choose about ``most`` of 0..n-1, evenly, both ends and those in ``keep`` among them.

    >>> spread_out(100, 5, keep=(7,))
    [0, 7, 25, 50, 74, 99]
    """
    chosen = np.round(np.linspace(0, n - 1, min(most, n))).astype(int).tolist()
    return sorted({*chosen, *(k for k in keep if 0 <= k < n)})


def percent(share: float, digits: int = 1) -> str:
    r"""Write a share in percent, on one line; a dash where it is not known.

    >>> percent(0.8868).replace("\xa0", " ")
    '88.7 %'
    """
    return f"{100 * share:.{digits}f}\xa0%" if np.isfinite(share) else "–"


@dataclass(frozen=True)
class Axis:
    """A scale between two round numbers.

    >>> axis = Axis.around([0.843, 0.912, float("nan")])
    >>> axis, axis.at(0.86), axis.at(0.2), axis.holds(0.2)
    (Axis(low=0.84, high=0.92), 25.0, 0.0, False)
    """

    low: float
    high: float

    @classmethod
    def around(cls, values: Iterable[float]) -> Self:
        """Span the finite values in steps of 1, 2 or 5 times a power of ten.

        What lies further from the quartiles than three times their distance is left out (Tukey's
        outer fences): one failure must not squeeze all others into a corner.
        """
        known = np.array([value for value in values if math.isfinite(value)])
        if not len(known):
            return cls(0.0, 1.0)
        first, third = np.quantile(known, (0.25, 0.75))
        if reach := 3 * (third - first):
            known = known[(known >= first - reach) & (known <= third + reach)]
        low, high = float(known.min()), float(known.max())
        least = (high - low) / 5 or 0.1
        power = 10.0 ** math.floor(math.log10(least))
        step = next(step * power for step in (1, 2, 5, 10) if step * power >= least)
        low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
        return cls(round(low if low < high else low - step, 12), round(high, 12))

    def holds(self, value: float) -> bool:
        """Return whether a value lies on the scale."""
        return self.low <= value <= self.high

    def at(self, value: float) -> float:
        """Return where a value lies, in % of the way from the lower end; at an end if beyond."""
        share = (value - self.low) / (self.high - self.low)
        return round(100 * min(max(share, 0.0), 1.0), 2)
