"""Graph operators and what runs on them: products, polynomials, sparse features, kernels.

Takes a :class:`~graphfilter.graph.Graph`, knows no filter and no network.
"""

from graphfilter.operators.kinds import (
    OPERATORS,
    adjacency,
    augmented_adjacency,
    co_citation,
    coupling,
    laplacian,
    make_operator,
)
from graphfilter.operators.operator import Operator
from graphfilter.operators.sparse import SparseFeatures, to_tensor

__all__ = [
    "OPERATORS",
    "Operator",
    "SparseFeatures",
    "adjacency",
    "augmented_adjacency",
    "co_citation",
    "coupling",
    "laplacian",
    "make_operator",
    "to_tensor",
]
