"""Rows or columns, some at a time: what is made of a block fits in memory, or in a cache."""

from __future__ import annotations


def blocks(n: int, size: int) -> list[slice]:
    """Divide n rows into slices of ``size``, the last of what is left; of 1 where it is less.

    >>> blocks(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = max(size, 1)
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]
