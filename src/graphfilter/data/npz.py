"""Arrays of unknown origin, checked: sparse matrices, edges, labels, masks.

The package's own format: one npz file per graph, without pickles.

=====================================  ==========================================================
``edges`` (m, 2)                       every undirected edge once; every arc where ``directed``
``x_indptr, x_indices, x_data,``       sparse features in CSR form; or ``x`` (n, d), dense
``x_shape``
``y`` (n,)                             class numbers 0..c-1, -1 for unlabelled
``train_masks, val_masks,``            boolean (k, n), one row per fixed split;
``test_masks``                         ``split_rules`` (k,) names their rules, otherwise *fixed*
``public_train, ..._val, ..._test``    boolean (n,): the public Planetoid split
``sgf_train, ..._val, ..._test``       boolean (n,): the split of the paper's code
``unlabelled`` (n,)                    boolean: vertices whose ``y`` is a placeholder
``weights`` (m,), ``n_vertices``,      optional; ``directed`` is one boolean
``vertex_names, feature_names,``
``classes, name, notes, directed``
``kinds`` (k,), ``kind_weights`` (k, m)  edge types, and what each of u < v weighs in each
=====================================  ==========================================================

All but ``edges`` may be absent, as long as something says how many vertices there are.

Writing a graph in the package's own format, which :mod:`.npz` describes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from graphfilter.data.edge_attributes import EdgeKinds
from graphfilter.data.edges import check_weights
from graphfilter.data.graph import Graph
from graphfilter.splits import Split
from graphfilter.tables.columns import Features
from graphfilter.util.errors import GraphError
from graphfilter.util.files import (
    VERTEX_BYTES,
    AnyPath,
    Budget,
    atomic_file,
    check_text,
    load_arrays,
    open_archive,
    reading,
)
from graphfilter.util.words import count, listed_names

# A sparse matrix may have this many columns whatever it holds, and so many per entry beyond.
MOST_COLUMNS = 1 << 20
MOST_COLUMNS_PER_ENTRY = 100


def make_csr(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: ArrayLike
) -> sp.csr_array:
    """Build a CSR matrix from parts of unknown origin; every index is checked.

    scipy's compiled routines trust the index arrays, so a wrong one would read beyond the end.
    """
    size = np.asarray(shape)
    if size.shape != (2,) or size.dtype.kind not in "iu" or (size < 0).any():
        raise GraphError("a sparse matrix must have a shape of two whole numbers.")
    n_rows, n_columns = size.tolist()
    if any(part.ndim != 1 for part in (data, indices, indptr)):
        raise GraphError("the parts of a sparse matrix must be one-dimensional.")
    # A wide matrix has columns that its entries name: every column takes memory in a model.
    most = max(MOST_COLUMNS, MOST_COLUMNS_PER_ENTRY * len(data))
    if n_columns > min(most, np.iinfo(np.int32).max):
        got = f"got {n_columns} with {len(data)} entries"
        raise GraphError(f"a sparse matrix must not have that many empty columns; {got}.")
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        raise GraphError("the indices of a sparse matrix must be whole numbers.")
    if data.dtype.kind not in "biuf":
        raise GraphError(f"the values of a sparse matrix must be numbers; got {data.dtype}.")
    if len(indptr) != n_rows + 1 or len(data) != len(indices):
        raise GraphError("the parts of a sparse matrix must fit its shape; they do not.")
    if indptr[0] != 0 or indptr[-1] != len(indices) or (indptr[1:] < indptr[:-1]).any():
        raise GraphError("the row pointers of a sparse matrix must rise from 0 to its size.")
    if len(indices) and not 0 <= indices.min() <= indices.max() < n_columns:
        raise GraphError(f"the columns of a sparse matrix must lie in 0..{n_columns - 1}.")
    if data.dtype == np.float16:
        data = data.astype(np.float32)  # scipy has no sparse matrices of half precision
    return sp.csr_array((data, indices, indptr), shape=(n_rows, n_columns))


def check_edges(edges: NDArray[Any]) -> NDArray[Any]:
    """Require whole vertex numbers in two columns."""
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        got = f"shape {edges.shape} of {edges.dtype}"
        raise GraphError(f"edges must be whole numbers of shape (m, 2); got {got}.")
    return edges


def check_labels(labels: NDArray[Any], n_classes: int | None = None) -> NDArray[np.int64]:
    """Require class numbers 0..c-1, -1 for unlabelled.

    Where ``n_classes`` is not given it is the number of different labels, so that a stray large
    number is found: every class then has at least one vertex.
    """
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        got = f"shape {labels.shape} of {labels.dtype}"
        raise GraphError(f"labels must be one whole number per vertex; got {got}.")
    if n_classes is None:
        n_classes = len(np.unique(labels[labels >= 0]))
    if len(labels) and (labels.min() < -1 or labels.max() >= n_classes):
        raise GraphError(
            f"labels must lie in 0..{n_classes - 1} (or be -1 for unlabelled), as there are "
            f"{n_classes} classes; got {labels.min()}..{labels.max()}."
        )
    return labels.astype(np.int64)


def splits_from_masks(
    masks: Sequence[NDArray[Any]], n_vertices: int, rules: Sequence[str] | None = None
) -> list[Split]:
    """Turn boolean train, val and test masks of shape (k, n) into k splits."""
    for part, mask in zip(("train", "val", "test"), masks, strict=True):
        if mask.ndim != 2 or mask.dtype != bool or mask.shape[1] != n_vertices:
            raise GraphError(
                f"the {part} masks must be boolean of shape (k, {n_vertices}), one column per "
                f"vertex; got {mask.shape} of {mask.dtype}."
            )
    if len({len(mask) for mask in masks}) != 1:
        raise GraphError("there must be as many train as val and test masks.")
    if rules is None:
        rules = ["fixed"] * len(masks[0])
    if len(rules) != len(masks[0]):
        raise GraphError(f"there must be one rule per split ({len(masks[0])}); got {len(rules)}.")
    return [Split(*rows, rule=rule) for *rows, rule in zip(*masks, rules, strict=True)]


REMEDY = "Write it again with graphfilter.data.npz.write_npz, or get it again."
PARTS = ("train", "val", "test")
CSR_KEYS = ("x_data", "x_indices", "x_indptr", "x_shape")
SINGLE_RULES = ("public", "sgf")
# The largest component, in the files of two public datasets: all vertices are kept.
_OF_DATASETS = ("lcc",)
_NAMES = ("vertex_names", "feature_names", "classes", "notes", "split_rules", "kinds")
_OPTIONAL = (
    *CSR_KEYS,
    *("x", "y", "weights", "n_vertices", "unlabelled", "name", "directed", "kind_weights"),
    *_NAMES,
    *(f"{part}_masks" for part in PARTS),
    *(f"{rule}_{part}" for rule in SINGLE_RULES for part in PARTS),
)


def read_npz(path: AnyPath, *, directed: bool = False) -> Graph:
    """Read a graph in the package's own format, which says itself whether it is directed.

    Vertices marked ``unlabelled`` get the label -1 and leave the fixed splits; the notes say so.
    ``directed`` raises where the file holds no directions.
    """
    arrays = load_arrays(path, ["edges"], _OPTIONAL, remedy=REMEDY)
    with reading(path, REMEDY):
        if directed and not _is_directed(arrays):
            raise GraphError("it has no directions. Leave out `directed`.")
        graph = _graph(arrays, path)
    with open_archive(path, REMEDY) as archive:
        names = {name.removesuffix(".npy") for name in archive.namelist()}
    if unknown := sorted(names - {"edges", *_OPTIONAL, *_OF_DATASETS}):
        what = count(len(unknown), "array is", "arrays are")
        note = f"{what} ignored, of no name that a graph file has: {listed_names(unknown)}."
        return graph.replace(notes=(*graph.notes, note))
    return graph


def _graph(arrays: dict[str, NDArray[Any]], path: AnyPath) -> Graph:
    features = _features(arrays)
    n = _n_vertices(arrays, features, path)
    graph = Graph.from_edges(
        check_edges(arrays["edges"]),
        n,
        features=features,
        weights=_numbers(arrays, "weights"),
        name=_name(arrays, Path(path).stem),
        vertex_names=_strings(arrays, "vertex_names"),
        feature_names=_strings(arrays, "feature_names"),
        directed=_is_directed(arrays),
    )
    graph = _with_kinds(graph, arrays)
    notes = [*map(str, _strings(arrays, "notes") or ()), *graph.notes]
    splits = _splits(arrays, graph.n_vertices)
    y = arrays.get("y")
    if y is not None:
        unlabelled = arrays.get("unlabelled", np.zeros(y.shape, dtype=bool))
        if unlabelled.dtype != bool or unlabelled.shape != y.shape:
            raise GraphError("'unlabelled' must be one boolean per vertex; it is not.")
        y = np.where(unlabelled, -1, check_labels(y, np.iinfo(np.int64).max))
        splits, dropped = drop_from_splits(splits, np.flatnonzero(unlabelled))
        notes += note_unlabelled(int(unlabelled.sum()), dropped)
        graph = _with_labels(graph, y, arrays.get("classes"))
    return graph.replace(splits=splits, notes=tuple(dict.fromkeys(notes)))


def _with_kinds(graph: Graph, arrays: dict[str, NDArray[Any]]) -> Graph:
    names, weights = _strings(arrays, "kinds"), _numbers(arrays, "kind_weights")
    if names is None and weights is None:
        return graph
    shape = (len(names or ()), graph.n_edges)
    if weights is None or weights.shape != shape or len(set(names or ())) != len(names or ()):
        raise GraphError(f"'kinds' must be different names, 'kind_weights' of shape {shape}.")
    checked = check_weights(weights.ravel(), weights.size).reshape(shape)
    n, ends = graph.n_vertices, tuple(graph.edges.T)
    upper = [sp.coo_array((row, ends), shape=(n, n)).tocsr() for row in checked]
    matrices = [one + one.T for one in upper]
    kinds = EdgeKinds.from_matrices(
        tuple(map(str, names or ())), matrices, graph.indptr, graph.indices
    )
    return replace(graph, kinds=kinds)


def _is_directed(arrays: dict[str, NDArray[Any]]) -> bool:
    flag = arrays.get("directed", np.array(False))
    if flag.shape != () or flag.dtype != bool:
        raise GraphError("'directed' must be one boolean; it is not.")
    return bool(flag)


def _n_vertices(arrays: dict[str, NDArray[Any]], features: Any, path: AnyPath) -> int | None:
    if features is not None:
        return features.shape[0]
    if "n_vertices" in arrays:
        if arrays["n_vertices"].shape != () or arrays["n_vertices"].dtype.kind not in "iu":
            raise GraphError("'n_vertices' must be one whole number; it is not.")
        n = int(arrays["n_vertices"])
        Budget(path).spend(VERTEX_BYTES * max(n, 0), f"a graph of {n:,} vertices")
        return n
    return len(arrays["y"]) if "y" in arrays and arrays["y"].ndim == 1 else None


def _numbers(arrays: dict[str, NDArray[Any]], key: str) -> NDArray[Any] | None:
    if key in arrays and arrays[key].dtype.kind not in "biuf":
        raise GraphError(f"{key!r} must be numbers; got {arrays[key].dtype}.")
    return arrays.get(key)


def _name(arrays: dict[str, NDArray[Any]], stem: str) -> str:
    name = arrays.get("name")
    if name is None:
        return stem
    if name.shape != () or name.dtype.kind != "U":
        raise GraphError(f"'name' must be one text; got shape {name.shape} of {name.dtype}.")
    check_text([name.item()], "'name'")
    return name.item()


def _features(arrays: dict[str, NDArray[Any]]) -> Features | None:
    if (x := _numbers(arrays, "x")) is not None:
        if x.ndim != 2:
            raise GraphError(f"'x' must be a table (n, d); got shape {x.shape}.")
        return x
    found = [key for key in CSR_KEYS if key in arrays]
    if not found:
        return None
    if len(found) < len(CSR_KEYS):
        raise GraphError(f"sparse features must have {', '.join(CSR_KEYS)}; got {found} only.")
    data, indices, indptr, shape = (arrays[key] for key in CSR_KEYS)
    return make_csr(data, indices, indptr, shape)


def _with_labels(graph: Graph, y: NDArray[Any], classes: NDArray[Any] | None) -> Graph:
    if y.shape != (graph.n_vertices,):
        raise GraphError(f"'y' must have {graph.n_vertices} entries; got shape {y.shape}.")
    if classes is None:
        codes = check_labels(y)
        classes = np.arange(codes.max(initial=-1) + 1)
    else:
        if classes.ndim != 1 or len(set(classes.tolist())) != len(classes):
            raise GraphError("'classes' must be a list of different names; it is not.")
        check_text(classes.tolist(), "'classes'")
        codes = check_labels(y, len(classes))
        if classes.dtype.kind == "U":  # as encode_labels gives them
            classes = classes.astype(object)
    # Classes without a vertex must survive, so the codes are set as they are, not encoded again.
    return replace(graph, labels=codes, classes=classes)


def _splits(arrays: dict[str, NDArray[Any]], n: int) -> list[Split]:
    splits = []
    for keys, rule in (
        ([f"{part}_masks" for part in PARTS], None),
        *(([f"{rule}_{part}" for part in PARTS], rule) for rule in SINGLE_RULES),
    ):
        found = [arrays[key] for key in keys if key in arrays]
        if not found:
            continue
        if len(found) < len(keys):
            raise GraphError(f"a split must have {', '.join(keys)}; one is missing.")
        if rule is None:
            splits += splits_from_masks(found, n, _strings(arrays, "split_rules"))
        else:
            splits += splits_from_masks([mask[None] for mask in found], n, [rule])
    return splits


def drop_from_splits(splits: Sequence[Split], vertices: NDArray[Any]) -> tuple[list[Split], int]:
    """Take these vertices out of every split; also count the splits that change."""
    if not len(vertices):
        return list(splits), 0
    kept, changed = [], 0
    for split in splits:
        parts = [getattr(split, part) for part in PARTS]
        masks = [~np.isin(part, vertices) for part in parts]
        changed += not all(mask.all() for mask in masks)
        rest = [part[mask] for part, mask in zip(parts, masks, strict=True)]
        kept.append(Split(*rest, rule=split.rule))
    return kept, changed


def note_unlabelled(n_unlabelled: int, n_splits: int) -> list[str]:
    """Note that vertices have no label in the source, and how that changes the splits."""
    if not n_unlabelled:
        return []
    vertices = count(n_unlabelled, "vertex", "vertices")
    notes = [f"{vertices} without a label in the source: unlabelled here."]
    if n_splits:
        notes.append(f"Those were taken out of {count(n_splits, 'fixed split')} that held them.")
    return notes


def _strings(arrays: dict[str, NDArray[Any]], key: str) -> list[Any] | None:
    if key not in arrays:
        return None
    if arrays[key].ndim != 1:
        raise GraphError(f"{key!r} must be a list of names; got shape {arrays[key].shape}.")
    names = arrays[key].tolist()
    check_text(names, repr(key))
    return names


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
