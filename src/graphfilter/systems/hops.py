"""The hops of a graph's scaled features: made in memory, or kept in the store it is mapped from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.errors import GraphError
from graphfilter.graph import Graph
from graphfilter.inputs import FeatureScaler
from graphfilter.operators import (
    COLUMNS,
    Operator,
    as_shared,
    made_to_be_kept,
    stack_powers,
    walk_powers,
)
from graphfilter.runtime import blocks, memory_of_process, threads_for
from graphfilter.store import STRUCTURE, WORTH_KEEPING, Recipe, edges_of, kept_powers, store_of
from graphfilter.wording import say_bytes

_ROWS_BYTES = 4 << 20

Array = NDArray[np.float32]


@made_to_be_kept
def make_hops(graph: Graph, scaler: FeatureScaler, operator: Operator, n_hops: int) -> Tensor:
    """Return X, P X, …, P^K X of every vertex (n, K + 1, d), X scaled; ``operator`` on a CPU.

    Those of a store are kept in it and mapped; memory is then that of a few columns.
    """
    shape = graph.n_vertices, n_hops + 1, graph.n_features
    n_bytes = 4 * shape[0] * shape[1] * shape[2]
    folder, rows = store_of(graph), partial(_scaled_rows, graph, scaler)
    with torch.no_grad(), threads_for(len(graph.indices) * COLUMNS):
        if folder is not None and n_bytes >= WORTH_KEEPING:
            made_of = _checksum(folder, graph, rows(), operator, n_hops)
            buffers = torch.empty(2, shape[0], COLUMNS)
            powers = partial(_powers, operator, n_hops, buffers)
            kept = kept_powers(folder, Recipe(made_of, shape, rows, powers, COLUMNS))
            if kept is not None:
                return as_shared(kept)
        if n_bytes > memory_of_process():
            raise GraphError(
                f"the hops of {graph.name} take {say_bytes(n_bytes)}, more than there is "
                "memory; write the graph to a store (graphfilter store), which keeps them on disk."
            )
        return stack_powers(operator, torch.from_numpy(np.concatenate([*rows()])), n_hops)


def _powers(operator: Operator, n_hops: int, buffers: Tensor, columns: Array) -> Iterator[Array]:
    for hop in walk_powers(operator, as_shared(columns), n_hops, buffers):
        yield hop.numpy()


def _scaled_rows(graph: Graph, scaler: FeatureScaler) -> Iterator[Array]:
    """Yield the scaled features of some vertices after another."""
    features: Any = graph.features
    for at in blocks(graph.n_vertices, _ROWS_BYTES // (4 * max(graph.n_features, 1))):
        rows = scaler.transform(features[at])
        dense = rows.toarray() if sp.issparse(rows) else rows
        yield np.ascontiguousarray(dense, dtype=np.float32)


def _checksum(
    folder: Path, graph: Graph, rows: Iterator[Array], operator: Operator, n_hops: int
) -> str:
    """Return the checksum of all that the hops depend on, to the bit."""
    edges = edges_of(folder, (*STRUCTURE, "arcs"))
    kernel = type(operator.kernel).__name__
    about = (edges, graph.directed, operator.kind, kernel, n_hops, graph.n_features)
    digest = hashlib.sha256(repr(about).encode())
    for block in rows:
        digest.update(block.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
