"""Writing a graph in the package's own format, which :mod:`.npz` describes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.readers.npz import CSR_KEYS, PARTS, SINGLE_RULES
from graphfilter.errors import GraphError
from graphfilter.graph import Graph
from graphfilter.storage import AnyPath, atomic_file, check_text


def write_npz(graph: Graph, path: AnyPath) -> None:
    """Write a graph in the package's own format, atomically.

    Reading it gives an equal graph, with splits of the rules *public* and *sgf* after the others.
    """
    arrays = _arrays(graph)
    with atomic_file(path) as temporary, temporary.open("wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **arrays)


def _arrays(graph: Graph) -> dict[str, NDArray[Any]]:
    arrays: dict[str, Any] = {"edges": graph.edges, "n_vertices": np.int64(graph.n_vertices)}
    weights = graph.edge_weights
    if graph.directed:
        links = graph.out_links().tocoo()
        arrays["edges"] = np.stack([links.row, links.col], axis=1)
        arrays["directed"] = np.bool_(True)
        weights = None if weights is None else links.data
    if weights is not None:
        arrays["weights"] = weights
    if graph.kinds is not None:
        rows = np.repeat(np.arange(graph.n_vertices), np.diff(graph.indptr))
        arrays["kinds"] = np.array(graph.kinds.names)
        arrays["kind_weights"] = graph.kinds.values[:, rows < graph.indices]
    x = graph.features
    if isinstance(x, np.ndarray):
        arrays["x"] = x
    elif x is not None:
        arrays |= dict(zip(CSR_KEYS, (x.data, x.indices, x.indptr), strict=False))
        arrays["x_shape"] = np.array(x.shape)
    if graph.labels is not None:
        arrays["y"] = graph.labels
        arrays["classes"] = _plain(graph.classes, "classes")
    for key in ("vertex_names", "feature_names"):
        if getattr(graph, key) is not None:
            arrays[key] = _plain(np.array(getattr(graph, key), dtype=object), key)
    if graph.notes:
        arrays["notes"] = np.array(graph.notes)
    arrays["name"] = np.array(graph.name)
    return arrays | _split_arrays(graph)


def _split_arrays(graph: Graph) -> dict[str, Any]:
    rules = [split.rule for split in graph.splits]
    alone = {rule for rule in SINGLE_RULES if rules.count(rule) == 1}
    rows = [split for split in graph.splits if split.rule not in alone]
    arrays: dict[str, Any] = {}
    for part in PARTS:
        masks = np.zeros((len(rows), graph.n_vertices), dtype=bool)
        for mask, split in zip(masks, rows, strict=True):
            mask[getattr(split, part)] = True
        if rows:
            arrays[f"{part}_masks"] = masks
    if any(split.rule != "fixed" for split in rows):
        arrays["split_rules"] = np.array([split.rule for split in rows])
    for split in graph.splits:
        if split.rule in alone:
            for part in PARTS:
                mask = np.zeros(graph.n_vertices, dtype=bool)
                mask[getattr(split, part)] = True
                arrays[f"{split.rule}_{part}"] = mask
    return arrays


def _plain(names: NDArray[Any], what: str) -> NDArray[Any]:
    """Turn names into an array that needs no pickle; without any, of strings if of objects."""
    if names.dtype != object:
        return names
    check_text(names.tolist(), what)
    array = np.array(names.tolist()) if len(names) else np.empty(0, dtype="U1")
    if names.ndim != 1 or array.dtype.kind not in "biufU" or array.tolist() != names.tolist():
        raise GraphError(
            f"{what} must be all strings or all numbers to be written; convert them first."
        )
    return array
