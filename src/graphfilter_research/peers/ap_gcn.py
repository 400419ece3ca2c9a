"""AP-GCN (Spinelli, Scardapane & Uncini 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from graphfilter.models.base import ModelConfig, SizedNetwork, TrainingOutput
from graphfilter.models.layers import Draws, Input, Linear, drop
from graphfilter.operators import Operator


@dataclass(frozen=True)
class APGCNConfig(ModelConfig):
    r"""Of :class:`APGCN`.

    Parameters
    ----------
    hidden_size, max_steps : int
    dropout : float
        On the input of both linear layers and of the propagation.
    cost : float
        :math:`\lambda`.
    """

    hidden_size: int = 64
    max_steps: int = 10
    cost: float = 0.005


class APGCN(SizedNetwork[APGCNConfig], config=APGCNConfig):
    r"""*Adaptive Propagation Graph Convolutional Network* (TNNLS 2020).

    An MLP gives :math:`Z_0`; each vertex v then propagates until it halts:

    .. math:: Z_k = P Z_{k-1}, \quad h_k = \sigma(Z_k q + q_0), \quad
              K_v = \min\Bigl\{k : \sum_{j \le k} h_{j,v} \ge 1 - \epsilon\Bigr\},
    .. math:: \hat y_v = \frac{1}{K_v} \sum_{k=1}^{K_v} p_k z_k + (1 - p_k) z_{k-1}, \quad
              p_k = h_k \ (k < K_v), \quad p_{K_v} = R_v = 1 - \sum_{k<K_v} h_k

    with :math:`K_v` at most ``max_steps``. The cost :math:`\lambda\,\mathrm{mean}_v(K_v + R_v)`
    of propagating is part of the training loss; it is taken over all vertices, since the model
    does not know which are trained on. The authors also drop edges and train the halting unit
    every fifth epoch only; neither is done here.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="ap-gcn@max_steps=5", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    epsilon = 0.01

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        config = self.config
        self.encoder = Linear(n_features, config.hidden_size, generator)
        self.head = Linear(config.hidden_size, n_classes, generator)
        self.halt = Linear(n_classes, 1, generator)
        with torch.no_grad():
            # Halting with probability 1 / (max_steps + 1): at first, nearly every step is taken.
            self.halt.bias.fill_(-math.log(config.max_steps))

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        return self._run(operator, x, generator)[0]

    def training_output(self, operator: Operator, x: Input, generator: Draws) -> TrainingOutput:
        logits, steps, rest = self._run(operator, x, generator)
        return TrainingOutput(logits, penalty=self.config.cost * (steps + rest).mean())

    def _run(self, operator: Operator, x: Input, generator: Draws) -> tuple[Tensor, Tensor, Tensor]:
        hidden = torch.relu(self.encoder(x, dropout=self.rate, generator=generator))
        start = self.head(hidden, dropout=self.rate, generator=generator)
        return self.propagate(operator, drop(start, self.rate, generator))

    def propagate(self, operator: Operator, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Propagate until every vertex has halted.

        Returns
        -------
        logits : (n, n_classes)
        steps, rest : (n,)
            :math:`K_v` and :math:`R_v`.
        """
        total = torch.zeros_like(z)
        halted = z.new_zeros(len(z))
        steps = z.new_zeros(len(z))
        going = torch.ones(len(z), dtype=torch.bool, device=z.device)
        for k in range(1, self.config.max_steps + 1):
            previous, z = z, operator @ z
            h = torch.sigmoid(self.halt(z)).squeeze(1)
            last = going & ((halted + h >= 1 - self.epsilon) | (k == self.config.max_steps))
            p = torch.where(last, 1 - halted, h)[:, None]
            total = total + going[:, None] * (p * z + (1 - p) * previous)
            steps = steps + going
            going = going & ~last
            halted = halted + going * h
            if not going.any():
                break
        return total / steps[:, None], steps, 1 - halted
