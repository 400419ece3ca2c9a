"""Graph filters for users of PyTorch Geometric, with its calling convention.

A layer here replaces one of its convolutions: ``conv(x, edge_index, edge_weight)``. It is
a plain ``torch.nn.Module``, and ``torch_geometric`` need not be installed.

===================================  ==================================================
replaces                                  a layer
===================================  ==================================================
``GCNConv(in, out)``                 ``StackedFilterConv(in, out)``: learns its frequency
``SGConv(in, out, K=2)``             ``PowerFilterConv(in, out, k=2)``: the same function
``APPNP(K=10, alpha=0.1)``           ``PageRankFilterConv(K=10, alpha=0.1)``: the same
``ChebConv(in, out, K=3)``           ``ChebyshevFilterConv(in, out, degree=2)``
===================================  ==================================================

The operator is prepared from ``edge_index`` in every call, from a cache with ``cached=True``, or
once and handed to every layer: ``conv(x, prepare_operator(edge_index))``. Around a layer:

- Batches of ``DataLoader`` and ``NeighborLoader`` are graphs like any other, directed or not.
- ``torch.compile`` compiles what is around the filter and calls it as it is (a graph break).
- ``torch.export`` takes a layer with its ``edge_index``, also of dynamic sizes. Who loads the
  program imports ``graphfilter.pyg``. The program has no gradient, and cannot become ONNX.
- ``torch.cuda.make_graphed_callables`` takes a module that holds its operator and calls
  ``conv(x, self.operator)``: on small graphs a step is then many times faster, because launching
  the products takes longer than they do.
- ``HeteroConv`` takes a layer for relations within one vertex type. ``to_hetero`` does not: a
  polynomial of a matrix needs a square one.
- ``edge_weight`` gets no gradient, and one that requires it is refused; so explainers that learn a
  mask of edges do not work. Nor are there gradients of gradients.
"""

from graphfilter.filters.pyg import *
