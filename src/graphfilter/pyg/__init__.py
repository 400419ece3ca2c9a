"""Graph filters for users of PyTorch Geometric, with its calling convention.

A layer here takes the place of one of its convolutions: ``conv(x, edge_index, edge_weight)``. It is
a plain ``torch.nn.Module``, so that nothing here needs ``torch_geometric`` to be installed. May
import ``filters`` and the rooms above it.

===================================  ==================================================
in the place of                      a layer
===================================  ==================================================
``GCNConv(in, out)``                 ``StackedFilterConv(in, out)``: learns its frequency
``SGConv(in, out, K=2)``             ``PowerFilterConv(in, out, k=2)``: the same function
``APPNP(K=10, alpha=0.1)``           ``PageRankFilterConv(K=10, alpha=0.1)``: the same
``ChebConv(in, out, K=3)``           ``ChebyshevFilterConv(in, out, degree=2)``
===================================  ==================================================

The operator is prepared from ``edge_index`` in every call, from a cache with ``cached=True``, or
once and handed to every layer: ``conv(x, prepare_operator(edge_index))``.
"""

from graphfilter.pyg.adjacency import prepare_operator
from graphfilter.pyg.conv import FilterConv
from graphfilter.pyg.convs import (
    ChebyshevFilterConv,
    ExactPageRankFilterConv,
    HorizontalFilterConv,
    PageRankFilterConv,
    PowerFilterConv,
    StackedFilterConv,
)
from graphfilter.pyg.transforms import AddLabelFrequency, diagnose

__all__ = [
    "AddLabelFrequency",
    "ChebyshevFilterConv",
    "ExactPageRankFilterConv",
    "FilterConv",
    "HorizontalFilterConv",
    "PageRankFilterConv",
    "PowerFilterConv",
    "StackedFilterConv",
    "diagnose",
    "prepare_operator",
]
