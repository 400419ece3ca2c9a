"""ACM-GCN+ (Luan et al. 2022): channels that each vertex mixes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from graphfilter.data.graph import Graph
from graphfilter.models.base import ModelConfig
from graphfilter.models.layers import Draws, Generators, Input, Weights, linear_side_by_side
from graphfilter.operators import Operator
from graphfilter_research.peers.pieces import DegreeNetwork, stacked


@dataclass(frozen=True)
class ACMGCNConfig(ModelConfig):
    """Of :class:`ACMGCN`.

    Parameters
    ----------
    dropout : float
        On the input of both layers.
    hidden_size : int
    structure : bool
        Whether there is a channel of the adjacency alone.
    early_relu : bool
        Whether the filters come after the relu (ACMII) instead of before it (ACM).
    """

    hidden_size: int = 64
    structure: bool = True
    early_relu: bool = False


class _Layer(nn.Module):
    """The weights of one layer."""

    def __init__(
        self, n_vertices: int, n_in: int, n_out: int, structure: bool, generator: Draws
    ) -> None:
        super().__init__()

        def drawn(*shape: int, fan: int) -> nn.Parameter:
            bound = 1 / math.sqrt(fan)
            return nn.Parameter(torch.empty(shape).uniform_(-bound, bound, generator=generator))

        n_channels = 3 + structure
        self.weight = drawn(n_in, 3 * n_out, fan=n_out)
        if structure:
            self.links = drawn(n_vertices, n_out, fan=n_out)
        self.scores = drawn(n_channels, n_out, fan=1)
        self.mix = drawn(n_channels, n_channels, fan=n_channels)


class ACMGCN(DegreeNetwork[ACMGCNConfig], config=ACMGCNConfig):
    r"""*Revisiting Heterophily For Graph Neural Networks* (NeurIPS 2022): ACM-GCN+, two layers.

    .. math:: H' = \kappa \sum_c \mathrm{diag}(\alpha_c) H_c, \qquad
              H_L = \mathrm{relu}(M H W_L), \; H_H = \mathrm{relu}((I - M) H W_H), \;
              H_I = \mathrm{relu}(H W_I), \; H_S = \mathrm{relu}(A W_S)

    with :math:`M = (D+I)^{-1}(A+I)` and, for each vertex,
    :math:`\alpha = \mathrm{softmax}(\sigma([H_c w_c]_c) V / C)` over its C channels. With the
    structure channel :math:`H_S` the factor :math:`\kappa` is 1, without it 3. From the authors'
    code (SitaoLuan/ACM-GNN: ACM-Pytorch/models), whose layer norms before the mixing are never
    reached for this model.

    The structure channel has a row of weights per vertex of the graph it is made for.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="acm-gcn@hidden_size=32", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    def make_layers(self, graph: Graph, generator: Draws) -> None:
        config = self.config
        n, width, structure = graph.n_vertices, config.hidden_size, config.structure
        self.first = _Layer(n, graph.n_features, width, structure, generator)
        self.second = _Layer(n, width, graph.n_classes, structure, generator)

    @classmethod
    def forward_side_by_side(
        cls, models: Sequence[ACMGCN], operator: Operator, x: Input, generators: Generators
    ) -> Tensor:
        first = models[0]
        hidden = first.layer(operator, x, [m.first for m in models], generators)
        return first.layer(operator, hidden, [m.second for m in models], generators)

    def layer(
        self, operator: Operator, x: Input, layers: Sequence[_Layer], generators: Generators
    ) -> Tensor:
        """Apply R layers to the columns of each, or to features that all share."""
        weights = [Weights(layer.weight, torch.zeros_like(layer.weight[0])) for layer in layers]
        made = linear_side_by_side(weights, x, self.rate, generators)
        made = torch.relu(made) if self.config.early_relu else made
        width = made.shape[2] // 3
        mean = self.mean(operator, made[:, :, : 2 * width].contiguous())
        low, high, own = mean[:, :, :width], made[:, :, width : 2 * width], made[:, :, 2 * width :]
        channels = [low, high - mean[:, :, width:], own]
        if not self.config.early_relu:
            channels = [torch.relu(channel) for channel in channels]
        if self.config.structure:
            links = stacked(layers, "links").transpose(0, 1).contiguous()
            channels.append(torch.relu(self.sum(operator, links)))
        columns = torch.stack(channels, dim=2)
        scores = torch.sigmoid((columns * stacked(layers, "scores")).sum(3))
        mixed = torch.einsum("nrc,rcd->nrd", scores, stacked(layers, "mix")) / len(channels)
        factor = 1.0 if self.config.structure else 3.0
        return factor * (mixed.softmax(2)[..., None] * columns).sum(2)
