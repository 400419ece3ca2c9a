"""Graphs in files: common formats read by suffix, two tables, and a format of the package's own.

The suffix says which reader a file has; :data:`GRAPHS` is the one place to register a new one.

The package's own is one npz file per graph, without pickles:

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

import io
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from graphfilter.data.attributes import check_sparse, check_weights
from graphfilter.data.edges import EdgeKinds
from graphfilter.data.graph import Graph
from graphfilter.splits import Split
from graphfilter.tables.roles import ID_NAMES, LABEL_NAMES, SPLIT_NAMES
from graphfilter.util import files
from graphfilter.util.arrow import csv, pa
from graphfilter.util.errors import DataFileError, GraphError, check_name, import_extra
from graphfilter.util.words import count, listed_names

__all__ = [
    "read_edge_list", "read_graph", "read_matrix_market", "read_networkx", "read_npz",
    "write_npz", "write_tables",
]  # fmt: skip

# A sparse matrix may have this many columns whatever it holds, and so many per entry beyond.
MOST_COLUMNS = 1 << 20
MOST_COLUMNS_PER_ENTRY = 100

NPZ_REMEDY = "Write it again with graphfilter.data.write_npz, or get it again."
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


def read_npz(path: files.AnyPath, *, directed: bool = False) -> Graph:
    """Read a graph in the package's own format, which says itself whether it is directed.

    Vertices marked ``unlabelled`` get the label -1 and leave the fixed splits; the notes say so.
    ``directed`` raises where the file holds no directions.
    """
    arrays = files.load_arrays(path, ["edges"], _OPTIONAL, remedy=NPZ_REMEDY)
    with files.reading(path, NPZ_REMEDY):
        has_directions = bool(_checked(arrays, "directed", "b", (), "one boolean"))
        if directed and not has_directions:
            raise GraphError("it has no directions. Leave out `directed`.")
        name = _checked(arrays, "name", "U", (), "one text")
        files.check_text([] if name is None else [name.item()], "'name'")
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
    with files.open_archive(path, NPZ_REMEDY) as archive:
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
    files.check_text(names, repr(key))
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


def _n_vertices(arrays: dict[str, NDArray[Any]], features: Any, path: files.AnyPath) -> int | None:
    if features is not None:
        return features.shape[0]
    n = _checked(arrays, "n_vertices", "iu", (), "one whole number")
    if n is not None:
        files.Budget(path).spend(
            files.VERTEX_BYTES * max(int(n), 0), f"a graph of {int(n):,} vertices"
        )
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
            files.check_text(classes.tolist(), "'classes'")
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


def write_npz(graph: Graph, path: files.AnyPath) -> None:
    """Write a graph in the package's own format, atomically.

    Reading it gives an equal graph.
    """
    arrays = _arrays(graph)
    with files.atomic_file(path) as temporary, temporary.open("wb") as stream:
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
    files.check_text(names.tolist(), what)
    array = np.array(names.tolist()) if len(names) else np.empty(0, dtype="U1")
    if names.ndim != 1 or array.dtype.kind not in "biufU" or array.tolist() != names.tolist():
        raise GraphError(
            f"{what} must be all strings or all numbers to be written; convert them first."
        )
    return array


_RESERVED = frozenset({"", *ID_NAMES, *LABEL_NAMES, *SPLIT_NAMES})
_CELLS_AT_ONCE = 1 << 22


def write_tables(graph: Graph, folder: str | PathLike[str]) -> tuple[Path, Path]:
    """Write ``edges.csv`` and ``vertices.csv``, which :func:`read_tables` reads back.

    Edges are source, target and, in a weighted graph, weight; those of a directed graph are its
    arcs, to be read with ``directed=True``. Edge types are not written. Vertices are id, label
    if there are any, split if there is a fixed one (the first), then one column per feature: its
    name, or ``f0``, ``f1``, ... A feature with a name that reading would take for something else,
    such as ``label``, is written as ``feature_label``. Ids and classes come back as strings.

    Both files are written aside and renamed at the end, so that neither is ever half there.

    Returns
    -------
    edges, vertices : Path

    Examples
    --------
    >>> import tempfile
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in gf.data.write_tables(g, folder)]
    ['edges.csv', 'vertices.csv']
    """
    folder = Path(folder)
    names = range(graph.n_vertices) if graph.vertex_names is None else graph.vertex_names
    files.check_text(names, "a vertex name")
    ids = pa.array([str(name) for name in names], type=pa.string())
    if len(ids.unique()) < len(ids) or "" in ids.unique().to_pylist():
        raise GraphError(
            "vertex names must differ as text, and none may be empty, to be written to a table. "
            "Rename them with graph.replace(vertex_names=...)."
        )
    edges, weights = graph.edges, graph.edge_weights
    if graph.directed:
        links = graph.out_links().tocoo()
        edges = np.stack([links.row, links.col], axis=1)
        weights = None if weights is None else links.data
    columns = {"source": ids.take(pa.array(edges[:, 0])), "target": ids.take(pa.array(edges[:, 1]))}
    if weights is not None:
        columns["weight"] = pa.array(weights)
    paths = folder / "edges.csv", folder / "vertices.csv"
    files.make_folder(folder)
    with files.atomic_file(paths[0]) as of_edges, files.atomic_file(paths[1]) as of_vertices:
        csv.write_csv(pa.table(columns), of_edges)
        _write_vertices(graph, ids, of_vertices)
    return paths


def _write_vertices(graph: Graph, ids: pa.Array, path: Path) -> None:
    """Write in slices of rows: sparse features are made dense a few at a time."""
    fixed: dict[str, pa.Array] = {"id": ids}
    if graph.labels is not None:
        names = np.array([*map(str, graph.classes), ""], dtype=object)
        fixed["label"] = pa.array(names[graph.labels], type=pa.string())
    if graph.splits:
        fixed["split"] = pa.array(graph.splits[0].part_of(graph.n_vertices), type=pa.string())
    names = list(fixed)
    # All differ, and none reads as something else.
    for i, name in enumerate(graph.feature_names or [f"f{i}" for i in range(graph.n_features)]):
        column = f"feature_{name}" if name.strip().lower() in _RESERVED else name
        names.append(column if column not in names[len(fixed) :] else f"{column}_{i}")
    n_rows = max(1, _CELLS_AT_ONCE // len(names))
    kinds = [pa.string()] * len(fixed) + [pa.float32()] * graph.n_features
    schema = pa.schema(list(zip(names, kinds, strict=True)))
    with csv.CSVWriter(path, schema) as writer:
        for start in range(0, graph.n_vertices, n_rows):
            arrays = [column.slice(start, n_rows) for column in fixed.values()]
            if graph.features is not None:
                block = graph.features[start : start + n_rows]
                dense = block if isinstance(block, np.ndarray) else block.toarray()
                arrays += [pa.array(column) for column in np.ascontiguousarray(dense.T)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def read_edge_list(path: files.AnyPath, *, directed: bool = False) -> Graph:
    """Read lines of two vertices and perhaps a weight, apart by spaces, tabs, commas or ``;``.

    Lines that start with ``#`` or ``%`` and empty lines are skipped. Vertices may be any words;
    they are numbered in their order (by value where all are whole numbers, so a list that uses
    0..n-1 keeps its numbers) and kept in ``vertex_names``.
    """
    remedy = "Write two vertices per line, and perhaps a weight."
    with files.reading(path, remedy, (UnicodeDecodeError,)):
        text = Path(path).read_text(encoding="utf-8-sig")
    lines = enumerate(text.replace(",", " ").replace(";", " ").splitlines(), start=1)
    rows = {i: fields for i, line in lines if (fields := line.split()) and fields[0][0] not in "#%"}
    if not rows:
        raise DataFileError(path, f"must hold at least one edge; it holds none. {remedy}")
    ends, weights = list[str](), list[float]()
    n_fields = len(next(iter(rows.values())))
    for i, fields in rows.items():
        if len(fields) != n_fields or n_fields not in (2, 3):
            expected = n_fields if n_fields in (2, 3) else "2 or 3"
            problem = f"must have {expected} fields; got {len(fields)}. {remedy}"
            raise DataFileError(path, problem, line=i)
        ends += fields[:2]
        try:
            weights += map(float, fields[2:])
        except ValueError:
            problem = f"the weight must be a number; got {fields[2][:40]!r}. {remedy}"
            raise DataFileError(path, problem, line=i) from None
    whole = all(end.isascii() and end.isdigit() and len(end) < 19 for end in ends)
    names, number = np.unique(np.array(ends, np.int64 if whole else object), return_inverse=True)
    with files.reading(path, remedy):
        return Graph.from_edges(
            number.reshape(-1, 2), len(names), weights=weights or None,
            vertex_names=names.tolist(), name=Path(path).stem, directed=directed,
        )  # fmt: skip


def read_matrix_market(path: files.AnyPath, **_: Any) -> Graph:
    """Say what reads Matrix Market, which this package did until 0.3."""
    read = "Graph.from_scipy(scipy.io.mmread(path)) does, and graphfilter.data.write_npz writes it"
    raise DataFileError(path, f"Matrix Market is not read since 0.3: {read} as .npz.")


def read_networkx(path: files.AnyPath, label: str = "label", *, directed: bool = False) -> Graph:
    """Read GraphML or GML with networkx.

    Parameters
    ----------
    label : str
        The vertex attribute that is the label; vertices without it are unlabelled.
    directed : bool
        Keep which way the edges go, which the file must say.

    Notes
    -----
    Attributes that are numbers on every vertex become features; others are left out, and the
    notes say so. GraphML with a document type or entities is refused: those can make a small
    file expand without limit, and GraphML needs neither.
    """
    nx = import_extra("networkx", "formats", "reading GraphML or GML")
    suffix = Path(path).suffix.lower()
    check_name(f"file type for {str(path)!r}:", suffix, (".graphml", ".gml"))
    remedy = f"Write it again, for example with networkx.write_{suffix[1:]}."
    with files.reading(path, remedy, (*files.PARSE_ERRORS, nx.NetworkXException)):
        data = Path(path).read_bytes()
        if suffix == ".graphml":
            # Without zero bytes it is not UTF-16, so the markup is ASCII and cannot hide.
            if b"\0" in data:
                raise DataFileError(path, "must be UTF-8 text. Convert it first.")
            if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
                problem = "must not have a document type or entities (<!DOCTYPE, <!ENTITY)"
                raise DataFileError(path, f"{problem}. Remove them: GraphML needs neither.")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            content = io.BytesIO(data)
            gml = suffix == ".gml"
            graph = nx.read_gml(content, label="id") if gml else nx.read_graphml(content)
        table = [attributes for _, attributes in graph.nodes(data=True)]
        files.check_text(
            [*graph.nodes, *(v for row in table for v in (*row, row.get(label)))], "a name"
        )
        keys = [key for key in dict.fromkeys(k for row in table for k in row) if key != label]
        numeric = [k for k in keys if all(isinstance(row.get(k), int | float) for row in table)]
        result = Graph.from_networkx(
            graph,
            labels=label if any(label in row for row in table) else None,
            features=[[row[key] for key in numeric] for row in table] if numeric else None,
            feature_names=list(map(str, numeric)) if numeric else None,
            name=Path(path).stem,
            directed=directed,
        )
    notes = [f"networkx: {warning.message}" for warning in caught]
    words = (str(key) for key in keys if key not in numeric)
    notes += [f"Vertex attribute {word!r} left out: not a number everywhere." for word in words]
    return result.replace(notes=(*result.notes, *notes))


GRAPHS: dict[str, Callable[..., Graph]] = {
    ".npz": read_npz,
    ".mtx": read_matrix_market,
    ".graphml": read_networkx,
    ".gml": read_networkx,
    ".edges": read_edge_list,
    ".txt": read_edge_list,
}


def read_graph(path: files.AnyPath, *, directed: bool = False) -> Graph:
    """Read a graph with the reader that the file's suffix names; ``directed`` keeps directions.

    ``.npz`` (the package's own format), ``.graphml``, ``.gml``, ``.edges`` and ``.txt``.
    """
    suffix = Path(path).suffix.lower()
    if not suffix and not Path(path).exists():
        raise DataFileError(path, "there is no such file or graph store. Check the path.")
    read = GRAPHS[check_name(f"file type for {str(path)!r}:", suffix, GRAPHS)]
    return read(path, directed=directed)
