"""Operators: matrices of a graph that filters are functions of, and sparse features.

``operator @ x`` multiplies with compiled code on a CPU and with Triton kernels on a GPU, where they
are available, and with torch otherwise.
"""

from graphfilter.operators.operator import (
    OPERATORS,
    Operator,
    adjacency,
    augmented_adjacency,
    co_citation,
    coupling,
    laplacian,
    make_operator,
)
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
