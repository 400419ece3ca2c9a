"""Which of the hidden columns a part has."""

from __future__ import annotations

from typing import NamedTuple


class Columns(NamedTuple):
    """Hidden columns from ``first`` to before ``last``, of ``total``."""

    first: int
    last: int
    total: int

    @property
    def width(self) -> int:
        return self.last - self.first
