"""Which vertices a batch, a loss and a score are taken over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.models import HopNetwork
from graphfilter.training.tasks import Task, all_weights

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


class Vertices:
    """The vertices a loss or score is taken over, by run, with their weights."""

    def __init__(
        self,
        train: Sequence[Tensor],
        val: Sequence[Tensor] | None,
        labels: Tensor,
        class_weight: Tensor | None,
        task: Task,
    ) -> None:
        self._task = task
        parts = [train] if val is None else [train, val]
        self._rows = torch.cat([index for part in parts for index in part]).unique()
        n_runs = len(train)
        self._aligned = task.aligned(labels[self._rows], n_runs)
        own = task.vertex_weights(labels, class_weight)
        weights = torch.zeros(len(parts), len(labels), n_runs, device=labels.device)
        for p, part in enumerate(parts):
            for r, index in enumerate(part):
                weights[p, index, r] = own[index].float()
        self._weights = weights[:, self._rows]
        self._sums = self._weights.sum(1, dtype=torch.float64)
        self._class_weight = class_weight
        sought = [task.sought(labels[index]) for index in train]
        self._positive = torch.tensor(sought, device=labels.device)
        # The vertices of the last part, whatever their weights, and in which runs they are.
        chosen = torch.zeros(len(labels), n_runs, dtype=torch.bool, device=labels.device)
        for r, index in enumerate(parts[-1]):
            chosen[index, r] = True
        self._last = chosen.any(1).nonzero()[:, 0]
        self._chosen, self._truth = chosen[self._last], labels[self._last]

    def mean_loss(self, logits: Tensor, vertex_weight: Tensor | None = None) -> Tensor:
        """Return the mean loss on the first part, by run: logits (n, R, C) give (R,).

        ``vertex_weight`` (n,), or (n, R), multiplies the loss of every vertex.
        """
        losses = self._task.losses(logits.index_select(0, self._rows), self._aligned)
        weighted = self._weights[0] * losses
        if vertex_weight is not None:
            own = vertex_weight.index_select(0, self._rows)
            weighted = weighted * (own if own.ndim == 2 else own[:, None])
        return weighted.sum(0) / self._sums[0].to(logits.dtype)

    def scores(self, logits: Tensor, monitor: str) -> Tensor:
        """Return training score, validation loss and score, and the monitored score.

        (3, R), or (4, R) where the monitored score is another; NaN where there are no vertices.
        """
        task = self._task
        scored = logits.index_select(0, self._rows)
        score = task.score(scored, self._aligned, self._weights)
        losses = self._weights[1] * task.losses(scored, self._aligned)
        loss = losses.sum(0, dtype=torch.float64)
        scores = torch.stack([score[0], loss / self._sums[1], score[1]])
        if monitor not in task.scores:
            return scores
        weight = all_weights(logits, self._class_weight)
        last = logits.index_select(0, self._last)
        score = task.scores[monitor]
        monitored = score(last, self._truth, self._chosen, weight, self._positive)
        return torch.cat([scores, monitored[None]])
