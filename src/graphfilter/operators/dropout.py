"""What dropout draws: random numbers, of which masks are made or which compiled code reads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Drawn:
    """What dropout keeps of the entries of an array, for each of R runs.

    Attributes
    ----------
    words : int64 Tensor (R, ⌈size / 4⌉)
        Random numbers, 16 bits per entry: ten times faster on a CPU than one Bernoulli draw each,
        and the probability is right to 2^-16.
    shape : tuple of ints
        Of the array, which is the same for all runs.
    below : int
        An entry is kept where its number, from -2^15 to 2^15 - 1, is less.
    scale : float
        What the kept ones are multiplied by, so that the mean stays.
    """

    words: Tensor
    shape: tuple[int, ...]
    below: int
    scale: float

    def kept(self) -> Tensor:
        """Return what is kept, a Boolean array (R, *shape)."""
        return self.numbers() < self.below

    def numbers(self) -> Tensor:
        """Return the random number of every entry, int16 (R, *shape)."""
        numbers = self.words.view(torch.int16)[:, : math.prod(self.shape)]
        return numbers.view(len(self.words), *self.shape)

    def masks(self, dtype: torch.dtype) -> Tensor:
        """Return what to multiply the array by: (R, *shape)."""
        return self.kept().to(dtype).mul_(self.scale)


def draw(
    shape: Sequence[int],
    rate: float,
    generators: Sequence[torch.Generator | None],
    device: torch.device,
) -> Drawn | None:
    """Draw what dropout keeps of an array, one draw per generator; None where nothing is dropped.

    Examples
    --------
    >>> import torch
    >>> generator = torch.Generator().manual_seed(0)
    >>> drawn = draw((3, 4), 0.5, [generator], torch.device("cpu"))
    >>> drawn.kept().shape, drawn.scale
    (torch.Size([1, 3, 4]), 2.0)
    """
    kept = round((1 - rate) * 2**16)
    if kept >= 2**16:
        return None
    n_words = (math.prod(shape) + 3) // 4
    words = torch.empty(len(generators), n_words, dtype=torch.int64, device=device)
    for row, generator in zip(words, generators, strict=True):
        row.random_(-(2**63), None, generator=generator)
    return Drawn(words, tuple(shape), kept - 2**15, 2**16 / kept if kept else 0.0)
