"""Numbers on their way into a page: short, and without the NaN that JSON does not know."""

from __future__ import annotations

from typing import Any

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
