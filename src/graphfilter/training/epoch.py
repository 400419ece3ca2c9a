"""One epoch: of several runs at once, or of one run in mini-batches.

Every run is a slice of the same tensors. On a GPU the second epoch is captured as a CUDA graph and
replayed from then on: a small graph's epoch is hundreds of kernels of a few microseconds, which
Python cannot launch as fast as they run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import torch
from torch import Tensor

from graphfilter.models import HopNetwork, SideBySide
from graphfilter.operators import Operator, SparseFeatures
from graphfilter.training.run import Run, keep_best
from graphfilter.training.vertices import Batches, Vertices
from graphfilter.util.machine import capturing


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


class Epoch:
    """What happens in an epoch of these runs; call it as often as they train.

    Parameters
    ----------
    runs, generators : sequences of R
        Their networks, vertices and dropout; more than one only of ``SideBySide`` networks of one
        config.
    operator, x, labels : as for :func:`graphfilter.training.train`
    class_weight : Tensor (n_classes,) or None
    optimizer : torch.optim.Optimizer
        Of all their weights.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        generators: Sequence[torch.Generator],
        operator: Operator,
        x: Tensor | SparseFeatures,
        labels: Tensor,
        class_weight: Tensor | None,
        optimizer: torch.optim.Optimizer,
    ) -> None:
        self._runs = runs
        self._generators = generators
        self._operator = operator
        self._x = x
        self._optimizer = optimizer
        self._models = [run.model for run in runs]
        self._modules = [module for model in self._models for module in model.modules()]
        task, train = runs[0].task, [run.train for run in runs]
        self._train = Vertices(train, None, labels, class_weight, task)
        self._scored = Vertices(train, [run.val for run in runs], labels, class_weight, task)
        self._monitor = runs[0].monitor
        self._n_curves = len(runs[0].curves)
        first = self._models[0]
        captured = (
            operator.device.type == "cuda"
            and isinstance(first, SideBySide)
            and first.can_be_replayed(len(runs), operator, x)
        )
        self._replay = _Replay(generators, operator.device) if captured else None
        if captured and isinstance(x, SparseFeatures):
            _ = x.transposed  # What is captured must not be the first to ask for it.

    def __call__(self) -> None:
        """Train and score every run, and record the result."""
        if self._replay is None:
            values = self._epoch().cpu().numpy()
        else:
            with torch.cuda.device(self._operator.device):
                values = self._replay(self._epoch).cpu().numpy()
        n, pairs = self._n_curves, zip(self._runs, values.T, strict=True)
        keep_best([run for run, column in pairs if run.update(column[:n], column[n:])])

    def _epoch(self) -> Tensor:
        """Return the curves of this epoch, and the filter's scalars after it: (·, R)."""
        self._set_training(True)
        losses = self._losses()
        self._optimizer.zero_grad(set_to_none=True)
        # Of their sum: given a gradient, torch would import its compiler.
        losses.sum().backward()
        self._optimizer.step()
        self._set_training(False)
        with torch.no_grad():
            scores = self._scored.scores(self._logits([None] * len(self._models)), self._monitor)
            scalars = torch.stack([run.scalars() for run in self._runs], dim=1)
            return torch.cat([losses.detach()[None].double(), scores, scalars.double()])

    def _set_training(self, mode: bool) -> None:
        for module in self._modules:
            # As module.training, without asking whether that is a weight.
            vars(module)["training"] = mode

    def _losses(self) -> Tensor:
        """Return the training loss of each run: (R,)."""
        first = self._models[0]
        if isinstance(first, SideBySide):
            given = self._models, self._operator, self._x, self._generators
            return self._train.mean_loss(*first.training_side_by_side(*given))
        output = first.training_output(self._operator, self._x, self._generators[0])
        losses = self._train.mean_loss(output.logits[:, None], output.vertex_weight)
        return losses if output.penalty is None else losses + output.penalty

    def _logits(self, generators: Sequence[torch.Generator | None]) -> Tensor:
        models, operator, x = self._models, self._operator, self._x
        first = models[0]
        if isinstance(first, SideBySide):
            return first.forward_side_by_side(models, operator, x, generators)
        return first(operator, x, generators[0])[:, None]


class _Replay:
    """Runs a function on a GPU: as it is at first, then captured and replayed."""

    def __init__(self, generators: Sequence[torch.Generator], device: torch.device) -> None:
        self._generators = generators
        self._stream = _stream(device)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._warm = False
        self._result = torch.empty(0)

    def __call__(self, function: Callable[[], Tensor]) -> Tensor:
        if self._graph is None:
            with capturing(self._stream.device):
                self._stream.wait_stream(torch.cuda.current_stream())
                if not self._warm:
                    self._warm = True
                    with torch.cuda.stream(self._stream):
                        result = function()
                    torch.cuda.current_stream().wait_stream(self._stream)
                    return result
                self._graph = self._capture(function)
                # Capturing writes the generators' offsets on its own stream, replaying on this
                # one: unordered, a busy GPU would draw the first epoch's dropout again.
                torch.cuda.current_stream().wait_stream(self._stream)
        self._graph.replay()
        return self._result

    def _capture(self, function: Callable[[], Tensor]) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        for generator in self._generators:
            graph.register_generator_state(generator)
        with torch.cuda.graph(graph, stream=self._stream, capture_error_mode="thread_local"):
            self._result = function()
        return graph


@cache
def _stream(device: torch.device) -> torch.cuda.Stream:
    """Return the one stream epochs run on: each stream keeps its own workspaces forever."""
    return torch.cuda.Stream(device)
