"""One epoch of mini-batches: a pass over the training vertices, then one over the validation's."""

from __future__ import annotations

import torch
from torch import Tensor

from graphfilter.models import HopNetwork
from graphfilter.training.batches import Batches
from graphfilter.training.run import Run, keep_best
from graphfilter.training.vertices import Vertices


class BatchEpoch:
    """What happens in an epoch of one run; call it as often as it trains.

    Every training vertex is read once: loss and training score are of the outputs that its step
    was taken with, dropout included. Nothing is held of all vertices but logits.

    Parameters
    ----------
    run, generator : Run, torch.Generator
        Of a :class:`~graphfilter.models.HopNetwork`.
    hops : Tensor (n, K + 1, d)
        In main memory or mapped from a file, wherever the network is.
    labels, class_weight, optimizer : as for :class:`~graphfilter.training.epoch.Epoch`
    """

    def __init__(
        self,
        run: Run,
        generator: torch.Generator,
        hops: Tensor,
        labels: Tensor,
        class_weight: Tensor | None,
        optimizer: torch.optim.Optimizer,
    ) -> None:
        assert isinstance(run.model, HopNetwork)
        self._run, self._network = run, run.model
        self._generator, self._optimizer = generator, optimizer
        self._hops, self._labels = hops, labels
        task = run.task
        self._weights = task.vertex_weights(labels, class_weight).float()
        self._batches = Batches.of(run.model, run.train.cpu().numpy())
        self._trained = Vertices([run.train], None, labels, class_weight, task)
        self._scored = Vertices([run.train], [run.val], labels, class_weight, task)
        self._validated = run.val.cpu().sort().values
        most = min(self._batches.pool, max(len(run.train), len(run.val)))
        self._pool = hops.new_empty(most, *hops.shape[1:])
        n_outputs = run.model.head.bias.shape[0]
        self._logits = torch.zeros(len(labels), 1, n_outputs, device=labels.device)

    def __call__(self) -> None:
        """Train and score the run, and record the result."""
        run, network = self._run, self._network
        network.train()
        for vertices, batches in self._batches.draw(self._generator):
            pool = self._read(vertices)
            for places in batches:
                self._step(vertices[places], pool.index_select(0, places))
        network.eval()
        with torch.no_grad():
            for vertices in self._validated.split(self._batches.pool):
                self._logits[vertices, 0] = network.rows(self._read(vertices))
            loss = self._trained.mean_loss(self._logits)
            scores = self._scored.scores(self._logits, run.monitor)
            values = torch.cat([loss[None].double(), scores])[:, 0].cpu().numpy()
        if run.update(values, run.scalars().double().cpu().numpy()):
            keep_best([run])

    def _read(self, vertices: Tensor) -> Tensor:
        """Return the hops of some vertices, where those of others were before."""
        return torch.index_select(self._hops, 0, vertices, out=self._pool[: len(vertices)])

    def _step(self, vertices: Tensor, hops: Tensor) -> None:
        task, rows = self._run.task, vertices.to(self._labels.device)
        outputs = self._network.rows(hops, self._generator)[:, None]
        losses = task.losses(outputs, task.aligned(self._labels[rows], 1))[:, 0]
        weights = self._weights[rows]
        # A batch may be of classes alone that weigh nothing.
        total = weights.sum().clamp(min=torch.finfo(weights.dtype).tiny)
        self._optimizer.zero_grad(set_to_none=True)
        ((weights * losses).sum() / total).backward()
        self._optimizer.step()
        self._logits[rows] = outputs.detach()
