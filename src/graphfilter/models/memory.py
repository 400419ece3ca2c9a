"""What training a network takes: the sizes it depends on, and its bytes by part.

The factors were measured: ``benchmarks/dry_run.py`` compares an estimate with the peak of a process
that then trains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import scipy.sparse as sp

from graphfilter.graph import Graph
from graphfilter.store import store_of

# Numbers of four bytes per vertex that a training step holds at its peak: of each hidden column
# what is kept for the gradient, of each further layer, and while gradients are made; of each
# feature; of each column that is filtered after the head.
KEPT, KEPT_PER_LAYER, GRADIENTS, PER_FEATURE, PER_LOGIT = 3.0, 3.25, 2.5, 2.75, 7.0
# Bytes of a stored value of sparse features, which are kept by rows and by columns.
SPARSE_VALUE = 66
# Bytes of a row and column that trees are grown on.
GROWN = 16


@dataclass(frozen=True)
class Sizes:
    """The sizes that costs depend on; ``n_values`` of sparse features, 0 where they are dense.

    ``stored`` says whether the graph is mapped from a store.
    """

    n_vertices: int
    n_entries: int
    n_features: int
    n_values: int
    n_classes: int
    n_train: int
    weighted: bool = False
    stored: bool = False

    @classmethod
    def of(cls, graph: Graph, n_train: int) -> Self:
        x: Any = graph.features
        n_values = x.nnz if sp.issparse(x) else 0
        return cls(
            graph.n_vertices, len(graph.indices), graph.n_features, n_values,
            graph.n_classes, n_train, graph.weights is not None, store_of(graph) is not None,
        )  # fmt: skip


@dataclass(frozen=True)
class Working:
    """Bytes that training a network takes at its peak, beside the graph and what is seen of it.

    Attributes
    ----------
    hidden, gradients, optimizer : int
        What is kept for the gradient, what gradients take, and weights with their moments.
    columns : int
        Hidden columns that are computed at a time; 0 where there are none.
    features : int or None
        Of what it sees of the vertices, where that is not what its view makes.
    kept : int
        Of what it keeps in the graph's store.
    """

    hidden: int = 0
    gradients: int = 0
    optimizer: int = 0
    columns: int = 0
    features: int | None = None
    kept: int = 0


def layered(
    sizes: Sizes, width: int, layers: int, *, own: int, at_once: int, filtered: bool
) -> Working:
    """Return what a network of hidden layers takes.

    Parameters
    ----------
    width, layers : int
        Of the whole network.
    own, at_once : int
        Columns that this process has, and those that it computes at a time.
    filtered : bool
        Whether hidden columns are filtered, not logits.
    """
    last = GRADIENTS * at_once if filtered else PER_LOGIT * sizes.n_classes
    kept = (KEPT + KEPT_PER_LAYER * (layers - 1)) * at_once
    # Parts of the columns draw the dropout of dense features again, and keep no copy of them.
    copied = not sizes.n_values and at_once == width
    inputs = PER_FEATURE * sizes.n_features if copied else 0
    weights = (sizes.n_features + width * (layers - 1) + sizes.n_classes) * own
    n = sizes.n_vertices
    return Working(int(4 * n * kept), int(4 * n * (last + inputs)), 16 * weights, at_once)
