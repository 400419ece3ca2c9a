"""GCN (Kipf & Welling 2017), also as its authors and as Pei et al. (2020) ran it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from graphfilter.data.graph import Graph
from graphfilter.models.base import GraphNetwork, ModelConfig, SizedNetwork
from graphfilter.models.layers import Draws, Input, drop
from graphfilter.operators import Operator, SparseFeatures
from graphfilter_research.peers.pyg import Projection, drawing_from, operator_csr, pyg_nn


@dataclass(frozen=True)
class GCNConfig(ModelConfig):
    """Of :class:`GCN`.

    Parameters
    ----------
    hidden_size, n_layers : int
    dropout : float
        On the input of every layer.
    """

    hidden_size: int = 16
    n_layers: int = 2


@dataclass(frozen=True)
class KipfGCNConfig(GCNConfig):
    """Of :class:`KipfGCN`."""


class GCN(SizedNetwork[GCNConfig], config=GCNConfig):
    r"""Graph convolutional network, *Semi-Supervised Classification with GCNs* (ICLR 2017).

    .. math:: H_{\ell+1} = \mathrm{relu}(P H_\ell W_\ell + b_\ell)

    without the relu in the last layer. The layers are PyTorch Geometric's ``GCNConv``, given the
    operator as it is.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="gcn@n_layers=3", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    def make_layers(self, n_features: int, n_classes: int, generator: Draws) -> None:
        config = self.config
        sizes = [config.hidden_size] * (config.n_layers - 1) + [n_classes]
        self.project = Projection(n_features, sizes[0], generator)
        with drawing_from(generator):
            self.convs = nn.ModuleList(
                pyg_nn().GCNConv(n_in, n_out, normalize=False)
                for n_in, n_out in zip([sizes[0], *sizes], sizes, strict=False)
            )
        # Its weights are those of `project`, which takes sparse features too.
        self.convs[0].lin = nn.Identity()

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        return self.convolve(operator_csr(operator), self.encode(x, generator), generator)

    def encode(self, x: Tensor | SparseFeatures, generator: torch.Generator | None) -> Tensor:
        """Return X W of the first layer, before the graph is seen."""
        return self.project(x, dropout=self.rate, generator=generator)

    def convolve(
        self, adjacency: Tensor, hidden: Tensor, generator: torch.Generator | None
    ) -> Tensor:
        """Run every layer on this sparse adjacency, from what :meth:`encode` gave."""
        hidden = self.convs[0](hidden, adjacency)
        for conv in self.convs[1:]:
            hidden = conv(drop(torch.relu(hidden), self.rate, generator), adjacency)
        return hidden


class KipfGCN(GCN, config=KipfGCNConfig):
    """GCN trained as its authors do: weight decay is on the weights of the first layer only.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> clf = gf.SystemClassifier(model="gcn-authors", max_epochs=2).fit(graph=g)
    >>> clf.predict_proba().shape
    (34, 2)
    """

    def undecayed_parameters(self) -> list[nn.Parameter]:
        return [p for conv in self.convs for p in conv.parameters()]


@dataclass(frozen=True)
class DirectedGCNConfig(ModelConfig):
    """Of :class:`DirectedGCN`.

    Parameters
    ----------
    hidden_size : int
    dropout : float
        On the input of both layers.
    """

    hidden_size: int = 16


class DirectedGCN(GraphNetwork[DirectedGCNConfig], config=DirectedGCNConfig):
    r"""Two layers of GCN in which a vertex receives only from those that point to it.

    .. math:: \hat y = S\, \mathrm{relu}(S X W_1)\, W_2, \qquad
              S_{vu} = 1 / \sqrt{d_v d_u} \text{ where } u \to v \text{ or } u = v

    and d counts the entries of a row of S. The GCN rows of *Geom-GCN* (ICLR 2020) are of this
    model: its code keeps the directions of links, and has no biases. On a graph without
    directions it is GCN.

    Examples
    --------
    >>> import graphfilter as gf
    >>> from graphfilter_research import peers
    >>> links = gf.Graph.from_edges(
    ...     [[0, 1], [1, 2]], features=[[1], [0], [1]], labels=["a", "b", "a"], directed=True
    ... )
    >>> x = gf.operators.to_tensor(links.features)
    >>> operator = gf.operators.augmented_adjacency(links)
    >>> peers.DirectedGCN(links)(operator, x).shape
    torch.Size([3, 2])
    """

    def make_layers(self, graph: Graph, generator: Draws) -> None:
        config = self.config
        self._matrix = incoming(graph)
        self._on: dict[torch.device, SparseFeatures] = {}
        self.first = Projection(graph.n_features, config.hidden_size, generator)
        self.second = Projection(config.hidden_size, graph.n_classes, generator)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made again on first use: sparse tensors cannot be copied."""
        return {**super().__getstate__(), "_on": {}}

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        device = self.first.weight.device
        if device not in self._on:
            self._on[device] = SparseFeatures(self._matrix, device=device)
        spread = self._on[device].project
        hidden = torch.relu(spread(self.first(x, dropout=self.rate, generator=generator)))
        return spread(self.second(hidden, dropout=self.rate, generator=generator))


def incoming(graph: Graph) -> sp.csr_array:
    """Return S: the links into each vertex and itself, normalised by their numbers."""
    links = sp.csr_array(graph.in_links(), dtype=np.float64, copy=True)
    links.data[:] = 1.0
    links = sp.csr_array(links + sp.eye_array(graph.n_vertices, format="csr"))
    scale = sp.dia_array((1 / np.sqrt(links.sum(axis=1))[None], [0]), shape=links.shape)
    return sp.csr_array(scale @ links @ scale)
