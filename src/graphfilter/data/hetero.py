"""PyTorch Geometric's ``HeteroData``, with several kinds of vertices, as the parts of one graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data.attributes import as_array, on_host
from graphfilter.splits import Split
from graphfilter.util.errors import GraphError


def is_hetero(data: Any) -> bool:
    """Return whether this has several kinds of vertices and of edges, as ``HeteroData`` has."""
    return hasattr(data, "node_types") and hasattr(data, "edge_types")


def hetero_parts(data: Any) -> dict[str, Any]:
    """Return the parts of a graph of all kinds of vertices, one kind after the other.

    Each kind has columns of its own, and one that says so; a vertex is called ``paper:3``. Edges
    have the type of their relation; reverse ones (``rev_…``) are left out where those that they
    reverse are there. Labels and masks are those of the one kind that has them.
    """
    kinds = list(data.node_types)
    sizes = [int(data[kind].num_nodes) for kind in kinds]
    starts = dict(zip(kinds, np.cumsum([0, *sizes]).tolist(), strict=False))
    n, pairs, names, weights = sum(sizes), list[Any](), list[str](), list[Any]()
    relations = [tuple(each) for each in data.edge_types]
    for source, relation, target in relations:
        if (target, relation.removeprefix("rev_"), source) in relations and "rev_" in relation:
            continue
        store = data[source, relation, target]
        shift = np.array([[starts[source]], [starts[target]]])
        ends = as_array(store.edge_index, "edge_index") + shift
        alike = sum(each[1] == relation for each in relations) > 1
        name = f"{source} {relation} {target}" if alike else relation
        pairs.append(ends.T)
        names += [name] * ends.shape[1]
        given = on_host(getattr(store, "edge_weight", None))
        weights.append(np.ones(ends.shape[1]) if given is None else given)
    if not pairs:
        raise GraphError("the HeteroData must have edges; it has no type of edges.")
    columns = [on_host(getattr(data[kind], "x", None)) for kind in kinds]
    columns = [
        np.ones((size, 1)) if x is None else np.column_stack([np.ones(size), x])
        for x, size in zip(columns, sizes, strict=True)
    ]
    labelled = [kind for kind in kinds if getattr(data[kind], "y", None) is not None]
    if len(labelled) > 1:
        raise GraphError(
            f"labels must be of one kind of vertex; {' and '.join(labelled)} have some. Remove one."
        )
    labels: NDArray[Any] | None = None
    splits = list[Split]()
    for kind in labelled:
        own = starts[kind] + np.arange(sizes[kinds.index(kind)])
        y = on_host(data[kind].y)
        if y.ndim == 1 and y.dtype.kind in "iu":
            labels = np.full(n, -1, dtype=np.int64)
            labels[own] = y
        masks = [on_host(getattr(data[kind], f"{p}_mask", None)) for p in ("train", "val", "test")]
        if all(mask is not None for mask in masks):
            splits = [Split(*(own[mask] for mask in masks), rule="fixed")]
    return {
        "edges": np.concatenate(pairs),
        "n_vertices": n,
        "kinds": names,
        "weights": None if all((w == 1).all() for w in weights) else np.concatenate(weights),
        "features": sp.csr_array(sp.block_diag(columns, format="csr", dtype=np.float32)),
        "feature_names": [
            f"{kind}: {j - 1}" if j else f"kind={kind}"
            for kind, x in zip(kinds, columns, strict=True)
            for j in range(x.shape[1])
        ],
        "labels": labels,
        "splits": splits,
        "vertex_names": [
            f"{kind}:{i}" for kind, size in zip(kinds, sizes, strict=True) for i in range(size)
        ],
    }
