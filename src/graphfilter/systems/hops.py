"""The hops of a graph's scaled features: made in memory, or kept in the store it is mapped from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.data.store.hops import STRUCTURE, edges_of, store_of
from graphfilter.data.store.powers import WORTH_KEEPING, kept_powers
from graphfilter.errors import GraphError
from graphfilter.graph import Graph
from graphfilter.graph.scaling import FeatureScaler
from graphfilter.operators import Operator
from graphfilter.operators.kernels.factored_matrix import as_shared, made_to_be_kept
from graphfilter.operators.powers import walk_powers
from graphfilter.runtime.memory import memory_of_process
from graphfilter.runtime.threads import threads_for

# Of the memory there is, for the columns that are multiplied at a time; and how many at least.
SHARE, LEAST_COLUMNS = 0.125, 16
_ROWS_BYTES = 16 << 20


@made_to_be_kept
def make_hops(graph: Graph, scaler: FeatureScaler, operator: Operator, n_hops: int) -> Tensor:
    """Return X, P X, …, P^K X of every vertex (n, K + 1, d), X scaled.

    Those of a store are kept in it and mapped; memory is then that of a few columns.
    """
    n, d = graph.n_vertices, graph.n_features
    shape = n, n_hops + 1, d
    n_bytes = 4 * n * (n_hops + 1) * d
    make = partial(_walk, graph, scaler, operator, n_hops)
    folder = store_of(graph)
    with threads_for(len(graph.indices) * min(d, columns_at_once(n, d))):
        if folder is not None and n_bytes >= WORTH_KEEPING:
            made_of = _checksum(graph, scaler, operator, n_hops)
            if (kept := kept_powers(folder, made_of, shape, make)) is not None:
                return as_shared(kept)
        if n_bytes > memory_of_process():
            raise GraphError(
                f"the hops of {graph.name} take {n_bytes / 2**30:.1f} GiB, more than there is "
                "memory; write the graph to a store (graphfilter store), which keeps them on disk."
            )
        hops, at = torch.empty(shape), 0
        for number, hop in enumerate(make()):
            hops[:, number % (n_hops + 1), at : at + hop.shape[1]] = torch.from_numpy(hop)
            at += hop.shape[1] if number % (n_hops + 1) == n_hops else 0
    return hops


def columns_at_once(n: int, d: int) -> int:
    """Return how many columns of n vertices are multiplied at a time; results do not depend on it.

    >>> columns_at_once(1000, 20)
    20
    """
    fit = int(SHARE * memory_of_process()) // (8 * max(n, 1))
    return min(d, max(fit // LEAST_COLUMNS, 1) * LEAST_COLUMNS)


def _walk(
    graph: Graph, scaler: FeatureScaler, operator: Operator, n_hops: int
) -> Iterator[NDArray[np.float32]]:
    """Yield the hops of some columns after another; each holds until the next is asked for."""
    n, d = graph.n_vertices, graph.n_features
    step = columns_at_once(n, d)
    for start in range(0, d, step):
        columns = torch.empty(n, min(step, d - start))
        for at, rows in _scaled_rows(graph, scaler):
            part = rows[:, start : start + step]
            columns[at : at + part.shape[0]] = torch.from_numpy(_dense(part))
        for hop in walk_powers(operator, columns, n_hops):
            yield hop.numpy()


def _scaled_rows(graph: Graph, scaler: FeatureScaler) -> Iterator[tuple[int, Any]]:
    """Yield the scaled features of some vertices after another, and the first of them."""
    features: Any = graph.features
    step = max(1, _ROWS_BYTES // (4 * max(graph.n_features, 1)))
    for at in range(0, graph.n_vertices, step):
        yield at, scaler.transform(features[at : at + step])


def _dense(part: Any) -> NDArray[np.float32]:
    whole = part.toarray() if sp.issparse(part) else part
    return np.ascontiguousarray(whole, dtype=np.float32)


def _checksum(graph: Graph, scaler: FeatureScaler, operator: Operator, n_hops: int) -> str:
    """Return the checksum of all that the hops depend on, to the bit."""
    folder = store_of(graph)
    assert folder is not None
    edges = edges_of(folder, (*STRUCTURE, "arcs"))
    kernel = type(operator.kernel).__name__
    about = (edges, graph.directed, operator.kind, kernel, n_hops, graph.n_features)
    digest = hashlib.sha256(repr(about).encode())
    for _, rows in _scaled_rows(graph, scaler):
        digest.update(_dense(rows).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
