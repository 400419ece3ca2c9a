"""How much memory a file may ask for: in proportion to its size, so that none is a bomb.

A few bytes can describe gigabytes: a compressed run of zeros, a matrix said to have 3·10⁸ rows.
Every reader therefore counts what it is about to make against a :class:`Budget`, *before* making
it. Genuine files unpack to some ten times their size, so the limit is far above them; it can be
raised with the environment variable ``GRAPHFILTER_MAX_BYTES``.
"""

from __future__ import annotations

import os
from pathlib import Path

from graphfilter.errors import ConfigError, DataFileError

VARIABLE = "GRAPHFILTER_MAX_BYTES"
# Any file may ask for this much, and a large one for so much per byte of it.
SMALL_BYTES = 128 << 20
BYTES_PER_BYTE = 200
# What building a graph takes at its peak, roughly, for each vertex and for each edge listed.
VERTEX_BYTES = 32
EDGE_BYTES = 32


class Budget:
    """The bytes of memory that reading one file may take.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".mtx") as file:
    ...     budget = Budget(file.name)
    >>> budget.spend(1000, "a few rows")
    >>> budget.spend(10**12, "1e12 rows")
    Traceback (most recent call last):
    graphfilter.errors.DataFileError: ...: must not ask for more than 134,217,728 bytes of memory,
    being a file of 0; it does: 1e12 rows. If this is intended, set GRAPHFILTER_MAX_BYTES to
    1000000001000 or more.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        try:
            self._size = Path(path).stat().st_size
        except OSError:
            self._size = 0  # the reader itself says what is wrong with the file
        self.limit = max(_least(), BYTES_PER_BYTE * self._size)
        self._spent = 0

    def spend(self, n_bytes: int, what: str) -> None:
        """Count bytes that are about to be used, or raise where they are too many."""
        self._spent += n_bytes
        if self._spent > self.limit:
            raise DataFileError(
                self._path,
                f"must not ask for more than {self.limit:,} bytes of memory, being a file of "
                f"{self._size:,}; it does: {what}. If this is intended, set {VARIABLE} to "
                f"{self._spent} or more.",
            )


def _least() -> int:
    told = os.environ.get(VARIABLE, "").strip()
    if not told:
        return SMALL_BYTES
    if not (told.isascii() and told.isdigit()):
        raise ConfigError(f"{VARIABLE} must be a whole number of bytes; got {told[:40]!r}.")
    return int(told)
