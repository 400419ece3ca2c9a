"""Words that notes, errors and pages share: counts with their nouns, lists of names."""

from __future__ import annotations

import math
from collections.abc import Sequence

# Numbers from here on are written with an exponent.
_LONGEST = 1e15


def count(n: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun, singular or plural.

    >>> count(1, "edge"), count(2000, "edge"), count(2, "vertex", "vertices")
    ('1 edge', '2,000 edges', '2 vertices')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def listed(words: Sequence[str]) -> str:
    """Join words as a sentence does.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def listed_names(names: Sequence[str], most: int = 10) -> str:
    """Quote names for an error: ten of them, the beginning of long ones."""
    more = f", ... ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(repr(name[:80]) for name in names[:most]) + more


def number(value: float) -> str:
    """Write a number with four significant digits, or all those before the point.

    >>> number(12345.67), number(12.345), number(0.0012), number(-1e150)
    ('12,346', '12.35', '0.0012', '-1e+150')
    """
    return f"{value:,.0f}" if 1000 <= abs(value) < _LONGEST else f"{value:.4g}"


def signed(value: float, beside: float = 0.0) -> str:
    """Write a difference with its sign, as finely as the larger one ``beside`` it needs.

    >>> signed(-12345.67), signed(0.5), signed(-0.00123), signed(0.00123, 2.5)
    ('-12,346', '+0.50', '-0.0012', '+0.00')
    """
    size = max(abs(value), abs(beside))
    if size and not 1e-5 < size < _LONGEST:
        return f"{value:+.2g}"
    digits = 0 if size >= 1000 else max(2, 1 - math.floor(math.log10(size or 1)))
    return f"{value:+,.{digits}f}"


def say_bytes(n_bytes: float) -> str:
    """Write an amount of memory.

    >>> say_bytes(300), say_bytes(3_500_000), say_bytes(8 << 30)
    ('0.3 KiB', '3.3 MiB', '8.0 GiB')
    """
    power = 3 if n_bytes >= 1 << 30 else 2 if n_bytes >= 1 << 20 else 1
    return f"{n_bytes / 1024**power:,.1f} {('KiB', 'MiB', 'GiB')[power - 1]}"
