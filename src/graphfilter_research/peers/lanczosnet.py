"""LanczosNet (Liao et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graphfilter.data.graph import Graph
from graphfilter.models.base import GraphNetwork, ModelConfig
from graphfilter.models.layers import Draws, Input, Linear
from graphfilter.operators import Operator, augmented_adjacency

# Below this a Krylov space is exhausted: its next vector is rounding.
_BREAKDOWN = 1e-10


@dataclass(frozen=True)
class LanczosNetConfig(ModelConfig):
    """Of :class:`LanczosNet`.

    Parameters
    ----------
    short, long : sequences of int
        The scales.
    n_vectors : int
        m.
    hidden_size, n_layers : int
    dropout : float
        On the input of every layer.
    """

    short: tuple[int, ...] = (1, 2, 3)
    long: tuple[int, ...] = (5, 7, 10, 20, 30)
    n_vectors: int = 20
    hidden_size: int = 64
    n_layers: int = 2


class LanczosNet(GraphNetwork[LanczosNetConfig], config=LanczosNetConfig):
    r"""*LanczosNet: Multi-Scale Deep Graph Convolutional Networks* (ICLR 2019).

    The Lanczos algorithm gives :math:`P \approx V R V^\top` with m Ritz values R. Short scales
    are powers of P, long ones go through the low rank, with filters learned from the powers of
    the Ritz values:

    .. math:: H' = \mathrm{relu}\Bigl(\sum_{s} P^s (H W_s + b_s)
              + \sum_{l} V \,\mathrm{diag}(f_l(R^{l_1}, \dots, R^{l_q}))\, V^\top (H W_l + b_l)
              \Bigr)

    (the authors' concatenation of all scales times one matrix, written as a sum).

    The augmented adjacency of the graph is decomposed once. The start of the Lanczos algorithm does
    not depend on the generator, so that saved weights fit the vectors they are loaded beside.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="lanczosnet@n_vectors=10", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    vectors: Tensor
    powers: Tensor

    def make_layers(self, graph: Graph, generator: Draws) -> None:
        config = self.config
        ritz, vectors = lanczos(augmented_adjacency(graph), config.n_vectors)
        powers = ritz[:, None] ** np.array(self.config.long)
        self.register_buffer("vectors", torch.tensor(vectors).float(), persistent=False)
        self.register_buffer("powers", torch.tensor(powers).float(), persistent=False)
        n_scales = len(self.config.short) + len(self.config.long)
        sizes = (
            [graph.n_features] + [config.hidden_size] * (config.n_layers - 1) + [graph.n_classes]
        )
        self.linears = nn.ModuleList(
            Linear(n_in, n_scales * n_out, generator) for n_in, n_out in pairwise(sizes)
        )
        self.filters = nn.ModuleList(
            _SpectralFilter(len(self.config.long), generator) for _ in range(config.n_layers)
        )

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        rate = self.rate
        columns = self.linears[0](x, dropout=rate, generator=generator)
        for linear, spectral in zip(self.linears[1:], self.filters[:-1], strict=True):
            hidden = torch.relu(self._mix(operator, spectral, columns))
            columns = linear(hidden, dropout=rate, generator=generator)
        return self._mix(operator, self.filters[-1], columns)

    def _mix(self, operator: Operator, spectral: nn.Module, columns: Tensor) -> Tensor:
        n_short = len(self.config.short)
        blocks = columns.view(len(columns), n_short + len(self.config.long), -1)
        short = self._short_scales(operator, blocks[:, :n_short])
        return short + self._long_scales(spectral, blocks[:, n_short:])

    def _short_scales(self, operator: Operator, blocks: Tensor) -> Tensor:
        """Return the sum of P^s times block s, by Horner's rule."""
        total = torch.zeros_like(blocks[:, 0])
        for power in range(max(self.config.short, default=0), 0, -1):
            if power in self.config.short:
                total = total + blocks[:, self.config.short.index(power)]
            total = operator @ total.contiguous()
        return total

    def _long_scales(self, spectral: nn.Module, blocks: Tensor) -> Tensor:
        """Return the sum of V diag(f_l) Vᵀ times block l."""
        coordinates = torch.einsum("nm,nlh->mlh", self.vectors, blocks)
        filtered = (spectral(self.powers)[:, :, None] * coordinates).sum(dim=1)
        return self.vectors @ filtered


class _SpectralFilter(nn.Module):
    """From the powers of a Ritz value to the response at it, one per long scale."""

    def __init__(self, n_scales: int, generator: torch.Generator | None, width: int = 32) -> None:
        super().__init__()
        self.first = Linear(n_scales, width, generator)
        self.second = Linear(width, n_scales, generator)

    def forward(self, powers: Tensor) -> Tensor:
        return self.second(torch.relu(self.first(powers)))


def lanczos(
    operator: Operator, n_vectors: int, seed: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""Return m Ritz values and vectors of an operator, :math:`P \approx V R V^\top`.

    The Lanczos algorithm in float64 with every vector made orthogonal to all before it, which
    n_vectors · n · n_vectors operations pay for. Where a Krylov space is exhausted (a small
    component, repeated eigenvalues) it continues from a new random vector. With m = n it is exact.

    Shapes
    ------
    values : (m,);  vectors : (n, m), orthonormal columns
    """
    n, matrix = operator.n, operator.matrix
    m = min(n_vectors, n)
    rng = np.random.default_rng(seed)
    basis = np.zeros((n, m))
    diagonal, beside = np.zeros(m), np.zeros(m - 1)
    vector = rng.standard_normal(n)
    for j in range(m):
        norm = np.linalg.norm(vector)
        if j > 0 and norm >= _BREAKDOWN:
            beside[j - 1] = norm
        if norm < _BREAKDOWN:
            vector = _orthogonal(rng.standard_normal(n), basis[:, :j])
            norm = np.linalg.norm(vector)
        basis[:, j] = vector / norm
        vector = matrix @ basis[:, j]
        diagonal[j] = basis[:, j] @ vector
        vector = _orthogonal(vector, basis[:, : j + 1])
    tridiagonal = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    values, rotation = np.linalg.eigh(tridiagonal)
    return values, basis @ rotation


def _orthogonal(vector: NDArray[np.float64], basis: NDArray[np.float64]) -> NDArray[np.float64]:
    # Twice is enough (Kahan & Parlett).
    for _ in range(2):
        vector = vector - basis @ (basis.T @ vector)
    return vector
