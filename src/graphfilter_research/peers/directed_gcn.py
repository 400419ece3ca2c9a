"""GCN on directed edges, as Pei et al. (2020) ran it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from graphfilter.data.graph import Graph
from graphfilter.models.base import GraphNetwork, ModelConfig
from graphfilter.models.layers import Draws, Input
from graphfilter.operators import Operator, SparseFeatures
from graphfilter_research.peers.pyg import Projection


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
