"""GCNII and GCNII* (Chen et al. 2020)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from graphfilter.models.deep import DeepConfig, DeepNetwork
from graphfilter.models.layers import Generators, matmul_side_by_side
from graphfilter.operators import Operator
from graphfilter_research.peers.pieces import draw_kept


@dataclass(frozen=True)
class GCNIIConfig(DeepConfig):
    """Of :class:`GCNII`.

    Parameters
    ----------
    n_layers, hidden_size : int
    alpha, theta : float
        Weight of the initial residual and strength of the identity mapping.
    dropout : float
        On the input of every layer.
    """

    n_layers: int = 64
    alpha: float = 0.5
    theta: float = 0.5


class GCNII(DeepNetwork[GCNIIConfig], config=GCNIIConfig):
    r"""*Simple and Deep Graph Convolutional Networks* (ICML 2020).

    .. math:: H_{\ell+1} = \mathrm{relu}\bigl(((1-\alpha) P H_\ell + \alpha H_0)
              ((1-\beta_\ell) I + \beta_\ell W_\ell)\bigr), \qquad
              \beta_\ell = \log(\theta / \ell + 1)

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="gcnii@n_layers=8", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    n_parts: ClassVar[int] = 1
    spread: ClassVar[float] = 3

    @classmethod
    def apply_layers(
        cls,
        models: Sequence[GCNII],
        operator: Operator,
        hidden: Tensor,
        weights: Tensor,
        generators: Generators,
    ) -> Tensor:
        config, (n, _, width) = models[0].config, hidden.shape
        kept, scale = draw_kept((len(weights), n, width), models[0].rate, generators, hidden.device)
        # Every factor is moved into the weights (relu lets positive ones pass): what is left of a
        # layer is a product with the graph, a sum and a product with a matrix.
        scale *= 1 - config.alpha
        start, hidden = config.alpha * hidden, scale * hidden
        eye = torch.eye(width, dtype=hidden.dtype, device=hidden.device)
        for layer, weight in enumerate(weights):
            last = layer == len(weights) - 1
            dropped = hidden if kept is None else hidden * kept[:, layer].transpose(0, 1)
            mapping = torch.lerp(eye, weight, math.log(config.theta / (layer + 1) + 1))
            mapping = mapping if last else scale * mapping
            hidden = torch.relu(matmul_side_by_side(operator @ dropped + start, mapping))
        return hidden


@dataclass(frozen=True)
class GCNIIStarConfig(GCNIIConfig):
    """Of :class:`GCNIIStar`; the fields are those of GCNII."""


class GCNIIStar(DeepNetwork[GCNIIStarConfig], config=GCNIIStarConfig):
    r"""GCNII\* of *Simple and Deep Graph Convolutional Networks* (ICML 2020).

    .. math:: H_{\ell+1} = \mathrm{relu}\bigl((1-\beta_\ell)((1-\alpha) P H_\ell + \alpha H_0) +
              \beta_\ell (P H_\ell W_\ell + H_0 V_\ell)\bigr), \qquad
              \beta_\ell = \log(\theta / \ell + 1)

    with matrices of their own for the propagated and the initial columns: as the authors' code has
    it, which made their numbers. (Their equation 6 has α before W and V as well.)

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="gcnii-star@n_layers=8", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    # [W, V] of every layer, one above the other.
    n_parts: ClassVar[int] = 2
    spread: ClassVar[float] = 1

    @classmethod
    def apply_layers(
        cls,
        models: Sequence[GCNIIStar],
        operator: Operator,
        hidden: Tensor,
        weights: Tensor,
        generators: Generators,
    ) -> Tensor:
        config, start, (n, _, width) = models[0].config, hidden, hidden.shape
        kept, scale = draw_kept((len(weights), n, width), models[0].rate, generators, hidden.device)
        eye = torch.eye(width, dtype=hidden.dtype, device=hidden.device)
        shares = torch.cat([(1 - config.alpha) * eye, config.alpha * eye])
        for layer, weight in enumerate(weights):
            if kept is not None:
                hidden = hidden * kept[:, layer].transpose(0, 1) * scale
            beta = math.log(config.theta / (layer + 1) + 1)
            both = torch.cat([operator @ hidden, start], dim=2)
            mapping = (1 - beta) * shares + beta * weight
            hidden = torch.relu(matmul_side_by_side(both, mapping))
        return hidden
