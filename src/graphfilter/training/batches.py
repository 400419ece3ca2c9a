"""Which vertices an epoch of mini-batches sees together, in an order that a disk can read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.models import HopNetwork

# Training vertices that lie next to each other and are read together.
SEGMENT = 1024


@dataclass(frozen=True, eq=False)
class Batches:
    """The batches of an epoch: every training vertex once, in another order every time.

    Vertices are read in pools. A pool is segments of neighbours on the disk, drawn from
    everywhere, so that classes are mixed in it where vertices are sorted by class; it is read in
    the order of the file and shuffled in memory. Its batches are of nearly the same size. All of
    this depends on sizes and the generator alone.

    Attributes
    ----------
    vertices : int64 Tensor
        The training vertices, in their order.
    pool, batch : int
        Vertices of a pool and of a batch, at most.
    """

    vertices: Tensor
    pool: int
    batch: int

    @classmethod
    def of(cls, network: HopNetwork, train: NDArray[np.int64]) -> Self:
        """Divide training vertices as a network reads them."""
        vertices = torch.from_numpy(np.sort(train))
        return cls(vertices, network.rows_at_once, network.config.batch_size)

    @property
    def n_steps(self) -> int:
        """How many batches there are, the same in every epoch."""
        n = len(self.vertices)
        sizes = [min(self.pool, n - start) for start in range(0, n, self.pool)]
        return sum(self._n_batches(size) for size in sizes)

    def draw(self, generator: torch.Generator) -> Iterator[tuple[Tensor, list[Tensor]]]:
        """Yield every pool: its vertices in their order, and the places in it of each batch."""
        segments = self.vertices.split(SEGMENT)
        order = _permutation(len(segments), generator).tolist()
        for pool in torch.cat([segments[i] for i in order]).split(self.pool):
            places = _permutation(len(pool), generator)
            yield pool.sort().values, list(places.tensor_split(self._n_batches(len(pool))))

    def _n_batches(self, size: int) -> int:
        return -(-size // self.batch)


def _permutation(n: int, generator: torch.Generator) -> Tensor:
    return torch.randperm(n, generator=generator, device=generator.device).cpu()
