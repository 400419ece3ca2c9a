"""Operators: matrices of a graph that filters are functions of, and sparse features.

``operator @ x`` multiplies with compiled code on a CPU and with Triton kernels on a GPU, where they
are available, and with torch otherwise.
"""

from graphfilter.operators.channels import (
    Channels as Channels,
    channel_names as channel_names,
    without_edges as without_edges,
)
from graphfilter.operators.directed import DirectedOperator as DirectedOperator
from graphfilter.operators.dropout import Drawn as Drawn, draw as draw
from graphfilter.operators.kernels.choice import (
    make_kernel as make_kernel,
    prepare_kernels as prepare_kernels,
)
from graphfilter.operators.kernels.factored_matrix import (
    FactoredMatrix as FactoredMatrix,
    as_shared as as_shared,
    made_to_be_kept as made_to_be_kept,
)
from graphfilter.operators.kernels.native_boosting import (
    Grown as Grown,
    TreeGrower as TreeGrower,
    takes_boosting as takes_boosting,
)
from graphfilter.operators.kernels.native_kernel import NativeKernel as NativeKernel
from graphfilter.operators.kernels.native_layers import (
    head as head,
    head_gradient as head_gradient,
    takes_head as takes_head,
)
from graphfilter.operators.kernels.native_loss import CompiledLoss as CompiledLoss
from graphfilter.operators.kernels.native_residual import (
    residual as residual,
    residual_gradient as residual_gradient,
    takes_residual as takes_residual,
)
from graphfilter.operators.kernels.native_trees import (
    takes_trees as takes_trees,
    tree_leaves as tree_leaves,
)
from graphfilter.operators.kinds import (
    OPERATORS,
    adjacency,
    augmented_adjacency,
    co_citation,
    coupling,
    laplacian,
    make_operator,
)
from graphfilter.operators.operator import NORMALISED as NORMALISED, Operator
from graphfilter.operators.polynomial import (
    Basis as Basis,
    Dropout as Dropout,
    apply_polynomial as apply_polynomial,
    apply_with_dropout as apply_with_dropout,
)
from graphfilter.operators.powers import (
    COLUMNS as COLUMNS,
    stack_powers as stack_powers,
    walk_powers as walk_powers,
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
