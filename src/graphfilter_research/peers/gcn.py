"""GCN (Kipf & Welling 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from graphfilter.models.base import ModelConfig, SizedNetwork
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
