"""Graphs of other libraries, converted to what :meth:`Graph.from_edges` takes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphfilter.data.attributes import check_sparse
from graphfilter.data.edges import on_host
from graphfilter.splits import Split
from graphfilter.util.errors import DirectionsDroppedWarning, GraphError


def parts_of(source: Any, attributes: Mapping[str, Any]) -> dict[str, Any] | None:
    """Convert a graph of another library, with these attributes on top; None if it is not one."""
    rest = dict(attributes)
    warn_of_directions(source, rest)
    if sp.issparse(source):
        return {**parts_of_scipy(source), **rest}
    if type(source).__module__.partition(".")[0] == "networkx" or (
        hasattr(source, "nodes") and hasattr(source, "edges")
    ):
        weight, labels = rest.pop("weight", "weight"), rest.pop("labels", None)
        check_direction(source, rest.get("directed", False))
        return {**parts_of_networkx(source, weight, labels), **rest}
    if hasattr(source, "edge_index"):
        return {**parts_of_pyg(source), **rest}
    return None


def parts_of_scipy(matrix: Any) -> dict[str, Any]:
    """Convert a square sparse matrix; values that are all 1 are not weights."""
    check_sparse(matrix, "an adjacency matrix")
    if len(getattr(matrix, "shape", ())) != 2:
        raise GraphError(f"an adjacency matrix must be a table; got a {type(matrix).__name__}.")
    if matrix.shape[0] != matrix.shape[1]:
        raise GraphError(f"an adjacency matrix must be square; got shape {matrix.shape}.")
    entries = sp.coo_array(matrix)
    if entries.data.dtype.kind in "iu":  # Repeats are added up: small types would overflow.
        entries = entries.astype(np.float64)
    entries.sum_duplicates()
    if not np.isrealobj(entries.data):
        raise GraphError("an adjacency matrix must be real; got complex values.")
    return {
        "edges": np.stack([entries.row, entries.col], axis=1),
        "n_vertices": matrix.shape[0],
        "weights": None if (entries.data == 1).all() else entries.data,
    }


def parts_of_networkx(graph: Any, weight: str, labels: Any) -> dict[str, Any]:
    """Convert a networkx graph; ``labels`` may name a node attribute or map the nodes."""
    if not hasattr(graph, "nodes"):
        raise GraphError(f"a networkx graph must have nodes; got a {type(graph).__name__}.")
    nodes = list(graph.nodes)
    number = {node: i for i, node in enumerate(nodes)}
    triples = [(number[u], number[v], w) for u, v, w in graph.edges(data=weight, default=1.0)]
    try:
        weights = np.array([t[2] for t in triples], dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise GraphError(f"the edge attribute {weight!r} must be a number on every edge.") from None
    if isinstance(labels, str):
        if not any(labels in graph.nodes[node] for node in nodes):
            raise GraphError(f"no node has the attribute {labels!r} to take labels from.")
        labels = {node: graph.nodes[node].get(labels) for node in nodes}
    if isinstance(labels, Mapping):
        labels = [labels.get(node) for node in nodes]
    return {
        "edges": np.array([t[:2] for t in triples], dtype=np.int64).reshape(-1, 2),
        "n_vertices": len(nodes),
        "weights": None if (weights == 1).all() else weights,
        "labels": labels,
        "vertex_names": nodes,
    }


def warn_of_directions(source: Any, attributes: Mapping[str, Any]) -> None:
    """Warn where a graph has directions, and nothing says whether to keep them.

    A triangular matrix lists every edge once; that says nothing of directions.
    """
    if "directed" in attributes:
        return
    if sp.issparse(source):
        # Before scipy follows its indices.
        check_sparse(source, "an adjacency matrix")
        if source.shape[0] != source.shape[1] or _lists_edges_without_directions(source):
            return
        what = "the matrix is not symmetric: its"
    elif getattr(source, "is_directed", None) is not None and _is_directed_networkx(source):
        what = f"a {type(source).__name__}'s"
    else:
        return
    warnings.warn(
        f"{what} directions are dropped, so that every edge goes both ways. Keep them with "
        "Graph.of(graph, directed=True), or pass directed=False if this is intended.",
        DirectionsDroppedWarning,
        stacklevel=4,
    )


def _is_directed_networkx(source: Any) -> bool:
    return hasattr(source, "nodes") and hasattr(source, "edges") and bool(source.is_directed())


def _lists_edges_without_directions(matrix: Any) -> bool:
    """Return whether a square matrix is symmetric or triangular, whatever its diagonal."""
    entries = sp.coo_array(matrix)
    above = entries.row < entries.col
    below = entries.row > entries.col
    if not above.any() or not below.any():
        return True
    if above.sum() != below.sum():
        return False
    csr = sp.csr_array(matrix)
    return (csr != csr.T).nnz == 0


def check_direction(graph: Any, directed: bool) -> None:
    """Raise where directions are asked of a networkx graph that has none."""
    if directed and not graph.is_directed():
        raise GraphError(
            "directed=True needs a directed networkx graph; got an undirected one. Pass a "
            "DiGraph, or leave out directed=True."
        )


def parts_of_pyg(data: Any) -> dict[str, Any]:
    """Convert a PyTorch Geometric ``Data``: edge_index, x, y, weights and masks."""

    def array(name: str) -> Any:
        return on_host(getattr(data, name, None))

    pairs = array("edge_index")
    if pairs is None:
        raise GraphError("the PyG Data must have an edge_index; it has none.")
    masks = [array(f"{part}_mask") for part in ("train", "val", "test")]
    splits: list[Split] = []
    if all(m is not None for m in masks):
        columns = zip(*(m.reshape(len(m), -1).T for m in masks), strict=True)
        splits = [Split(*split, rule="fixed") for split in columns]
    return {
        "edges": pairs.T,
        "n_vertices": data.num_nodes,
        "weights": array("edge_weight"),
        "features": array("x"),
        "labels": array("y"),
        "splits": splits,
    }
