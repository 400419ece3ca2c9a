"""The package's own format: one npz file per graph, without pickles.

=====================================  ==========================================================
``edges`` (m, 2)                       every undirected edge once; every arc where ``directed``
``x_indptr, x_indices, x_data,``       sparse features in CSR form; or ``x`` (n, d), dense
``x_shape``
``y`` (n,)                             class numbers 0..c-1, -1 for unlabelled
``train_masks, val_masks,``            boolean (k, n), one row per fixed split;
``test_masks``                         ``split_rules`` (k,) names their rules, otherwise *fixed*
``public_train, ..._val, ..._test``    boolean (n,): the public Planetoid split, as datasets of 0.2
``sgf_train, ..._val, ..._test``       have it, and the split of the paper's code
``unlabelled`` (n,)                    boolean: vertices whose ``y`` is a placeholder
``weights`` (m,), ``n_vertices``,      optional; ``directed`` is one boolean
``vertex_names, feature_names,``
``classes, name, notes, directed``
``kinds`` (k,), ``kind_weights`` (k, m)  edge types, and what each of u < v weighs in each
=====================================  ==========================================================

All but ``edges`` may be absent, as long as something says how many vertices there are. Arrays of
unknown origin (sparse matrices, edges, labels, masks) are checked before anything is made of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from graphfilter.data.attributes import check_sparse, check_weights
from graphfilter.data.edges import EdgeKinds
from graphfilter.data.graph import Graph
from graphfilter.splits import Split
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

REMEDY = "Write it again with graphfilter.data.npz.write_npz, or get it again."
PARTS = ("train", "val", "test")
CSR_KEYS = ("x_data", "x_indices", "x_indptr", "x_shape")
SINGLE_RULES = ("public", "sgf")
# The largest component, in the files of two public datasets: all vertices are kept.
_OF_DATASETS = ("lcc",)
_OPTIONAL = (
    *CSR_KEYS,
    *("x", "y", "weights", "n_vertices", "unlabelled", "name", "directed", "kind_weights"),
    *("vertex_names", "feature_names", "classes", "notes", "split_rules", "kinds"),
    *(f"{part}_masks" for part in PARTS),
    *(f"{rule}_{part}" for rule in SINGLE_RULES for part in PARTS),
)


def make_csr(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: ArrayLike
) -> sp.csr_array:
    """Build a CSR matrix from parts of unknown origin; every index is checked.

    scipy's compiled routines trust the index arrays, so a wrong one would read beyond the end.
    """
    size = np.asarray(shape)
    if size.shape != (2,) or size.dtype.kind not in "iu" or (size < 0).any():
        raise GraphError("a sparse matrix must have a shape of two whole numbers.")
    if any(part.ndim != 1 for part in (data, indices, indptr)):
        raise GraphError("the parts of a sparse matrix must be one-dimensional.")
    n_rows, n_columns = size.tolist()
    # A wide matrix has columns that its entries name: every column takes memory in a model.
    most = max(MOST_COLUMNS, MOST_COLUMNS_PER_ENTRY * len(data))
    if n_columns > min(most, np.iinfo(np.int32).max):
        got = f"got {n_columns} with {len(data)} entries"
        raise GraphError(f"a sparse matrix must not have that many empty columns; {got}.")
    if data.dtype.kind not in "biuf":
        raise GraphError(f"the values of a sparse matrix must be numbers; got {data.dtype}.")
    if len(indptr) != n_rows + 1:
        raise GraphError("the parts of a sparse matrix must fit its shape; they do not.")
    # What scipy would look at is set aside of its checks, which are not enough.
    bare = sp.csr_array((n_rows, n_columns))
    bare.data, bare.indices, bare.indptr = data, indices, indptr
    check_sparse(bare, "the features")
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
    for part, mask in zip(PARTS, masks, strict=True):
        if mask.ndim != 2 or mask.dtype != bool or mask.shape[1] != n_vertices:
            raise GraphError(
                f"the {part} masks must be boolean of shape (k, {n_vertices}), one column per "
                f"vertex; got {mask.shape} of {mask.dtype}."
            )
    if len({len(mask) for mask in masks}) != 1:
        raise GraphError("there must be as many train as val and test masks.")
    rules = ["fixed"] * len(masks[0]) if rules is None else rules
    if len(rules) != len(masks[0]):
        raise GraphError(f"there must be one rule per split ({len(masks[0])}); got {len(rules)}.")
    return [Split(*rows, rule=rule) for *rows, rule in zip(*masks, rules, strict=True)]


def read_npz(path: AnyPath, *, directed: bool = False) -> Graph:
    """Read a graph in the package's own format, which says itself whether it is directed.

    Vertices marked ``unlabelled`` get the label -1 and leave the fixed splits; the notes say so.
    ``directed`` raises where the file holds no directions.
    """
    arrays = load_arrays(path, ["edges"], _OPTIONAL, remedy=REMEDY)
    with reading(path, REMEDY):
        has_directions = bool(_checked(arrays, "directed", "b", (), "one boolean"))
        if directed and not has_directions:
            raise GraphError("it has no directions. Leave out `directed`.")
        name = _checked(arrays, "name", "U", (), "one text")
        check_text([] if name is None else [name.item()], "'name'")
        features = _features(arrays)
        graph = Graph.from_edges(
            check_edges(arrays["edges"]),
            _n_vertices(arrays, features, path),
            features=features,
            weights=_checked(arrays, "weights", "biuf", None, "numbers"),
            name=Path(path).stem if name is None else name.item(),
            vertex_names=_strings(arrays, "vertex_names"),
            feature_names=_strings(arrays, "feature_names"),
            directed=has_directions,
        )
        graph = _with_labels(_with_kinds(graph, arrays), arrays)
    with open_archive(path, REMEDY) as archive:
        names = {name.removesuffix(".npy") for name in archive.namelist()}
    if unknown := sorted(names - {"edges", *_OPTIONAL, *_OF_DATASETS}):
        what = count(len(unknown), "array is", "arrays are")
        note = f"{what} ignored, of no name that a graph file has: {listed_names(unknown)}."
        return graph.replace(notes=(*graph.notes, note))
    return graph


def _checked(
    arrays: dict[str, NDArray[Any]], key: str, kinds: str, shape: tuple[int, ...] | None, what: str
) -> NDArray[Any] | None:
    """Return an array, if it is there; raise unless it is of these kinds and of this shape."""
    array = arrays.get(key)
    if array is None or (array.dtype.kind in kinds and shape in (None, array.shape)):
        return array
    raise GraphError(f"{key!r} must be {what}; got shape {array.shape} of {array.dtype}.")


def _strings(arrays: dict[str, NDArray[Any]], key: str) -> list[Any] | None:
    if key not in arrays:
        return None
    if arrays[key].ndim != 1:
        raise GraphError(f"{key!r} must be a list of names; got shape {arrays[key].shape}.")
    names = arrays[key].tolist()
    check_text(names, repr(key))
    return names


def _features(arrays: dict[str, NDArray[Any]]) -> Any:
    if (x := _checked(arrays, "x", "biuf", None, "numbers")) is not None:
        if x.ndim != 2:
            raise GraphError(f"'x' must be a table (n, d); got shape {x.shape}.")
        return x
    present = [key for key in CSR_KEYS if key in arrays]
    if 0 < len(present) < len(CSR_KEYS):
        raise GraphError(f"sparse features must have {', '.join(CSR_KEYS)}; got {present} only.")
    return make_csr(*(arrays[key] for key in CSR_KEYS)) if present else None


def _n_vertices(arrays: dict[str, NDArray[Any]], features: Any, path: AnyPath) -> int | None:
    if features is not None:
        return features.shape[0]
    n = _checked(arrays, "n_vertices", "iu", (), "one whole number")
    if n is not None:
        Budget(path).spend(VERTEX_BYTES * max(int(n), 0), f"a graph of {int(n):,} vertices")
        return int(n)
    return len(arrays["y"]) if "y" in arrays and arrays["y"].ndim == 1 else None


def _with_kinds(graph: Graph, arrays: dict[str, NDArray[Any]]) -> Graph:
    names = _strings(arrays, "kinds")
    weights = _checked(arrays, "kind_weights", "biuf", None, "numbers")
    if names is None and weights is None:
        return graph
    shape = (len(names or ()), graph.n_edges)
    if weights is None or weights.shape != shape or len(set(names or ())) != len(names or ()):
        raise GraphError(f"'kinds' must be different names, 'kind_weights' of shape {shape}.")
    rows = np.repeat(np.arange(graph.n_vertices), np.diff(graph.indptr))
    values = np.zeros((shape[0], len(graph.indices)), dtype=np.float32)
    values[:, rows < graph.indices] = check_weights(weights.ravel(), weights.size).reshape(shape)
    # The entry (v, u) of every entry (u, v).
    square = (graph.n_vertices, graph.n_vertices)
    places = sp.csr_array((np.arange(len(rows)), graph.indices, graph.indptr), square)
    values += values[:, places.T.tocsr().data]
    return replace(graph, kinds=EdgeKinds(tuple(map(str, names or ())), values))


def _with_labels(graph: Graph, arrays: dict[str, NDArray[Any]]) -> Graph:
    """Return the graph with its labels, and the splits that hold labelled vertices."""
    notes = [*map(str, _strings(arrays, "notes") or ()), *graph.notes]
    n, splits, y = graph.n_vertices, _splits(arrays, graph.n_vertices), arrays.get("y")
    if y is not None:
        y = check_labels(y, np.iinfo(np.int64).max)
        if y.shape != (n,):
            raise GraphError(f"'y' must have {n} entries; got shape {y.shape}.")
        mask = _checked(arrays, "unlabelled", "b", y.shape, "one boolean per vertex")
        unlabelled = np.flatnonzero([] if mask is None else mask)
        y[unlabelled] = -1
        splits, dropped = drop_from_splits(splits, unlabelled)
        notes += note_unlabelled(len(unlabelled), dropped)
        classes = arrays.get("classes")
        if classes is None:
            classes = np.arange(check_labels(y).max(initial=-1) + 1)
        else:
            if classes.ndim != 1 or len(set(classes.tolist())) != len(classes):
                raise GraphError("'classes' must be a list of different names; it is not.")
            check_text(classes.tolist(), "'classes'")
            check_labels(y, len(classes))
            if classes.dtype.kind == "U":  # as encode_labels gives them
                classes = classes.astype(object)
        # Classes without a vertex must survive: the codes are set as they are, not encoded again.
        graph = replace(graph, labels=y, classes=classes)
    return graph.replace(splits=splits, notes=tuple(dict.fromkeys(notes)))


def _splits(arrays: dict[str, NDArray[Any]], n: int) -> list[Split]:
    splits = []
    for keys, rule in (
        ([f"{part}_masks" for part in PARTS], None),
        *(([f"{rule}_{part}" for part in PARTS], rule) for rule in SINGLE_RULES),
    ):
        masks = [arrays[key] for key in keys if key in arrays]
        if not masks:
            continue
        if len(masks) < len(keys):
            raise GraphError(f"a split must have {', '.join(keys)}; one is missing.")
        if rule is None:
            splits += splits_from_masks(masks, n, _strings(arrays, "split_rules"))
        else:
            splits += splits_from_masks([mask[None] for mask in masks], n, [rule])
    return splits


def drop_from_splits(splits: Sequence[Split], vertices: NDArray[Any]) -> tuple[list[Split], int]:
    """Take these vertices out of every split; also count the splits that change."""
    if not len(vertices):
        return list(splits), 0
    kept, n_changed = [], 0
    for split in splits:
        rest = [np.setdiff1d(getattr(split, part), vertices) for part in PARTS]
        kept.append(Split(*rest, rule=split.rule))
        n_changed += any(len(getattr(split, part)) > len(getattr(kept[-1], part)) for part in PARTS)
    return kept, n_changed


def note_unlabelled(n_unlabelled: int, n_splits: int) -> list[str]:
    """Note that vertices have no label in the source, and how that changes the splits."""
    if not n_unlabelled:
        return []
    vertices = count(n_unlabelled, "vertex", "vertices")
    notes = [f"{vertices} without a label in the source: unlabelled here."]
    if n_splits:
        notes.append(f"Those were taken out of {count(n_splits, 'fixed split')} that held them.")
    return notes


def write_npz(graph: Graph, path: AnyPath) -> None:
    """Write a graph in the package's own format, atomically.

    Reading it gives an equal graph.
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
        parts = x.data, x.indices, x.indptr, np.array(x.shape)
        arrays |= zip(CSR_KEYS, parts, strict=True)
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
    arrays: dict[str, Any] = {}
    for part in PARTS if rules else ():
        masks = arrays[f"{part}_masks"] = np.zeros((len(rules), graph.n_vertices), dtype=bool)
        for mask, split in zip(masks, graph.splits, strict=True):
            mask[getattr(split, part)] = True
    if any(rule != "fixed" for rule in rules):
        arrays["split_rules"] = np.array(rules)
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
