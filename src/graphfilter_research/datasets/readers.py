"""Readers of other projects' formats: each takes a path and gives a :class:`~graphfilter.Graph`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter import data
from graphfilter.data.files import (
    check_edges,
    check_labels,
    make_csr,
    note_unlabelled,
    splits_from_masks,
)
from graphfilter.data.from_tables import read_tables
from graphfilter.data.graph import Graph
from graphfilter.splits import Split
from graphfilter.util.errors import DataFileError, GraphError, check_name, import_extra
from graphfilter.util.files import AnyPath, Budget, load_arrays, open_archive, open_member, reading
from graphfilter_research.datasets.safe_pickle import (
    edges_of_lists,
    read_pickle,
    read_pickled_array,
)

__all__ = [
    "read_geom_gcn",
    "read_geom_gcn_edges",
    "read_geom_gcn_splits",
    "read_gnn_benchmark",
    "read_graphdata",
    "read_graphland",
    "read_graphland_numbers",
    "read_heterophilous",
    "read_planetoid",
    "read_sgf",
]

N_VALIDATION = 500
_PLANETOID = "Download the eight ind.NAME.* files again (kimiyoung/planetoid, folder data)."


def read_planetoid(folder: AnyPath, name: str) -> Graph:
    """Read ``ind.NAME.{x,tx,allx,y,ty,ally,graph,test.index}``, with the public split.

    The public split is the first vertices (20 per class) for training, the next 500 for validation
    and those of ``test.index`` for testing. ``tx`` and ``ty`` have their rows in the order of
    ``test.index``. Vertices between its smallest and largest number that it does not list
    (Citeseer has 15) have no features and no label; they keep their edges and are unlabelled.
    """
    files = {part: Path(folder) / f"ind.{name}.{part}" for part in ("graph", "test.index")}
    test = _read_test_index(files["test.index"])
    allx, tx, x = (_read_matrix(folder, name, part) for part in ("allx", "tx", "x"))
    ally, ty, y = (_read_labels(folder, name, part) for part in ("ally", "ty", "y"))
    _check_sizes(files["test.index"], allx, tx, ally, ty, y, test)
    if (
        x.shape != (len(y), allx.shape[1])
        or (x != allx[: len(y)]).nnz
        or (y != ally[: len(y)]).any()
    ):
        path = Path(folder) / f"ind.{name}.x"
        raise DataFileError(path, f"x and y must be the first rows of allx and ally. {_PLANETOID}")
    n, n_known = int(test.max()) + 1, allx.shape[0]
    row_of = np.full(n, -1)
    row_of[:n_known] = np.arange(n_known)
    row_of[test] = n_known + np.arange(len(test))
    n_missing = int((row_of < 0).sum())
    # A missing vertex takes the row after the last: empty, and without a label.
    empty = sp.csr_array((1, allx.shape[1]), dtype=np.float32)
    stacked: Any = sp.vstack([allx, tx, empty], format="csr")
    labels = np.concatenate([ally, ty, [-1]])[row_of]
    public = Split(np.arange(len(y)), np.arange(len(y), len(y) + N_VALIDATION), test, rule="public")
    table = read_pickle(files["graph"])
    with reading(files["graph"], _PLANETOID):
        graph = Graph.from_edges(
            edges_of_lists(table),
            n,
            features=stacked[row_of],
            labels=labels,
            splits=[public],
            name=name,
        )
    return graph.replace(notes=(*graph.notes, *note_unlabelled(n_missing, 0)))


def _read_test_index(path: Path) -> NDArray[np.int64]:
    numbers = []
    with reading(path, _PLANETOID, (UnicodeDecodeError,)):
        lines = path.read_text(encoding="ascii").splitlines()
    for i, line in enumerate(lines, start=1):
        word = line.strip()
        if not word.isdigit() or len(word) > 9:
            raise DataFileError(path, f"must hold a vertex number; got {word[:40]!r}.", line=i)
        numbers.append(int(word))
    if not numbers or len(set(numbers)) != len(numbers):
        raise DataFileError(path, f"must list test vertices, each once; it does not. {_PLANETOID}")
    return np.array(numbers, dtype=np.int64)


# scipy's inferred types know neither shapes nor indexing, hence Any for sparse matrices.
def _read_matrix(folder: AnyPath, name: str, part: str) -> Any:
    path = Path(folder) / f"ind.{name}.{part}"
    matrix: Any = read_pickle(path)
    if not isinstance(matrix, sp.csr_array):
        raise DataFileError(path, f"must hold a sparse matrix; it does not. {_PLANETOID}")
    return matrix.astype(np.float32)


def _read_labels(folder: AnyPath, name: str, part: str) -> NDArray[np.int64]:
    path = Path(folder) / f"ind.{name}.{part}"
    onehot: Any = read_pickle(path)
    if not (isinstance(onehot, np.ndarray) and onehot.ndim == 2 and onehot.dtype.kind in "biuf"):
        raise DataFileError(
            path, f"must hold a table of labels, one column per class. {_PLANETOID}"
        )
    if not (((onehot == 0) | (onehot == 1)).all() and (onehot.sum(axis=1) == 1).all()):
        raise DataFileError(path, f"must have a single 1 in every row of labels. {_PLANETOID}")
    return onehot.argmax(axis=1)


def _check_sizes(
    path: Path,
    allx: Any,
    tx: Any,
    ally: NDArray[np.int64],
    ty: NDArray[np.int64],
    y: NDArray[np.int64],
    test: NDArray[np.int64],
) -> None:
    n_known = allx.shape[0]
    if n_known != len(ally) or not tx.shape[0] == len(ty) == len(test):
        sizes = f"{n_known}/{len(ally)} and {tx.shape[0]}/{len(ty)}/{len(test)}"
        problem = f"allx/ally and tx/ty/test.index must have as many rows each; got {sizes}"
        raise DataFileError(path, f"{problem}. {_PLANETOID}")
    if allx.shape[1] != tx.shape[1]:
        problem = f"allx and tx must have as many columns; got {allx.shape[1]} and {tx.shape[1]}"
        raise DataFileError(path, f"{problem}. {_PLANETOID}")
    # Every skipped number is a vertex without data, so a stray large one would invent millions.
    if test.min() != n_known or test.max() - test.min() >= 2 * len(test):
        problem = f"test vertices must follow on the {n_known} of allx; got {test.min()}.."
        raise DataFileError(path, f"{problem}{test.max()}. {_PLANETOID}")
    if len(y) + N_VALIDATION > n_known:
        problem = f"there must be {N_VALIDATION} validation vertices after the {len(y)} of y"
        raise DataFileError(path, f"{problem}, among {n_known}. {_PLANETOID}")


_GEOM_GCN = "Download it again (graphdml-uiuc-jlu/geom-gcn)."


def read_geom_gcn(folder: AnyPath, name: str, splits_folder: AnyPath | None = None) -> Graph:
    """Read ``FOLDER/NAME/out1_graph_edges.txt`` and ``out1_node_feature_label.txt``.

    Parameters
    ----------
    folder : path
        The folder that holds one folder per dataset (``new_data`` in the source repository).
    splits_folder : path, optional
        Where ``NAME_split_0.6_0.2_I.npz`` are; ``FOLDER/splits`` if not given, and there no
        splits are needed.
    """
    home = Path(folder) / name
    vertices = home / "out1_node_feature_label.txt"
    features, labels = _read_vertices(vertices)
    edges = read_geom_gcn_edges(home / "out1_graph_edges.txt", len(labels))
    with reading(vertices, _GEOM_GCN):
        graph = Graph.from_edges(
            edges, len(labels), features=features, labels=check_labels(labels), name=name
        )
    where = Path(folder) / "splits" if splits_folder is None else splits_folder
    splits = read_geom_gcn_splits(where, name, len(labels), must_exist=splits_folder is not None)
    return graph.replace(splits=splits)


def read_geom_gcn_splits(
    folder: AnyPath, name: str, n_vertices: int, *, must_exist: bool = True
) -> list[Split]:
    """Read ``NAME_split_0.6_0.2_I.npz`` for I = 0, 1, ... as long as there are such files.

    Despite their name they divide 48/32/20, and some leave vertices out.
    """
    splits: list[Split] = []
    path = Path(folder) / f"{name}_split_0.6_0.2_0.npz"
    if must_exist and not path.is_file():
        raise DataFileError(path, f"there is no such file. {_GEOM_GCN}")
    while path.is_file():
        masks = load_arrays(path, ["train_mask", "val_mask", "test_mask"], remedy=_GEOM_GCN)
        with reading(path, _GEOM_GCN):
            rows = [mask.astype(bool)[None] for mask in masks.values()]
            splits += splits_from_masks(rows, n_vertices)
        path = Path(folder) / f"{name}_split_0.6_0.2_{len(splits)}.npz"
    return splits


def _rows(path: Path, n_fields: int) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and fields of each line after the header."""
    with reading(path, _GEOM_GCN, (UnicodeDecodeError,)):
        lines = path.read_text(encoding="ascii").splitlines()
    if not lines or not lines[0].startswith("node_id"):
        raise DataFileError(path, f"must start with a header 'node_id'. {_GEOM_GCN}", line=1)
    for i, line in enumerate(lines[1:], start=2):
        fields = line.split("\t")
        if len(fields) != n_fields:
            problem = (
                f"must have {n_fields} fields separated by tabs; got {len(fields)}. {_GEOM_GCN}"
            )
            raise DataFileError(path, problem, line=i)
        yield i, fields


def _number(path: Path, line: int, word: str) -> int:
    digits = word.strip()
    if not digits.isdigit() or len(digits) > 9:
        problem = f"must be a whole number; got {word[:40]!r}. {_GEOM_GCN}"
        raise DataFileError(path, problem, line=line)
    return int(digits)


def _read_vertices(path: Path) -> tuple[sp.csr_array, np.ndarray]:
    rows: dict[int, np.ndarray] = {}
    labels: dict[int, int] = {}
    width = None
    for i, (vertex_word, feature_word, label_word) in _rows(path, 3):
        vertex = _number(path, i, vertex_word)
        if vertex in rows:
            raise DataFileError(path, f"vertex {vertex} must be listed once. {_GEOM_GCN}", line=i)
        try:
            rows[vertex] = np.array(feature_word.split(","), dtype=np.float32)
        except ValueError:
            problem = f"features must be numbers separated by commas. {_GEOM_GCN}"
            raise DataFileError(path, problem, line=i) from None
        width = len(rows[vertex]) if width is None else width
        if len(rows[vertex]) != width:
            problem = f"must have {width} features like the first vertex; got {len(rows[vertex])}"
            raise DataFileError(path, f"{problem}. {_GEOM_GCN}", line=i)
        labels[vertex] = _number(path, i, label_word)
    n = len(rows)
    if not n or set(rows) != set(range(n)):
        raise DataFileError(path, f"vertices must be numbered 0..n-1, each once. {_GEOM_GCN}")
    features = sp.csr_array(np.stack([rows[v] for v in range(n)]))
    return features, np.array([labels[v] for v in range(n)], dtype=np.int64)


def read_geom_gcn_edges(path: Path, n_vertices: int) -> np.ndarray:
    """Read ``out1_graph_edges.txt``: one link per line, from the first vertex to the second."""
    pairs = []
    for i, fields in _rows(path, 2):
        pair = [_number(path, i, field) for field in fields]
        if max(pair) >= n_vertices:
            problem = f"vertices must lie in 0..{n_vertices - 1}; got {max(pair)}. {_GEOM_GCN}"
            raise DataFileError(path, problem, line=i)
        pairs.append(pair)
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


_HETEROPHILOUS = "Download it again (yandex-research/heterophilous-graphs, folder data)."


def read_heterophilous(path: AnyPath) -> Graph:
    """Read ``node_features``, ``node_labels``, ``edges`` and ``{train,val,test}_masks``.

    Features are dense in the file and mostly zero in these datasets, so they become sparse.
    """
    masks = ("train_masks", "val_masks", "test_masks")
    required = ("node_features", "node_labels", "edges", *masks)
    arrays = load_arrays(path, required, remedy=_HETEROPHILOUS)
    features = arrays["node_features"]
    with reading(path, _HETEROPHILOUS):
        if features.ndim != 2 or features.dtype.kind not in "biuf":
            got = f"shape {features.shape} of {features.dtype}"
            raise GraphError(f"node_features must be a table of numbers; got {got}.")
        return Graph.from_edges(
            check_edges(arrays["edges"]),
            len(features),
            features=sp.csr_array(features.astype(np.float32)),
            labels=check_labels(arrays["node_labels"]),
            splits=splits_from_masks([arrays[key] for key in masks], len(features)),
            name=Path(path).stem,
        )


_GNN_BENCHMARK = "Download it again (shchur/gnn-benchmark, folder data/npz)."
_CSR = ("data", "indices", "indptr", "shape")


def read_gnn_benchmark(path: AnyPath, *, directed: bool = False) -> Graph:
    """Read ``adj_*``, ``attr_*`` and ``labels``; also ``node_names`` and ``class_names``.

    Links are directed in these files; ``directed`` keeps that. They come without splits.
    """
    required = [f"{kind}_{part}" for kind in ("adj", "attr") for part in _CSR]
    names = ("node_names", "class_names")
    arrays = load_arrays(path, [*required, "labels"], names, remedy=_GNN_BENCHMARK)
    with reading(path, _GNN_BENCHMARK):
        adjacency, features = (
            make_csr(*(arrays[f"{kind}_{part}"] for part in _CSR)) for kind in ("adj", "attr")
        )
        labels = check_labels(arrays["labels"])
        if "class_names" in arrays:
            classes = arrays["class_names"].astype(object)
            if classes.ndim != 1 or len(classes) <= labels.max(initial=-1):
                raise GraphError("class_names must name every class; they do not.")
            labels = np.array([None if code < 0 else classes[code] for code in labels])
        return Graph.from_scipy(
            adjacency,
            features=features,
            labels=labels,
            vertex_names=arrays["node_names"].tolist() if "node_names" in arrays else None,
            name=Path(path).stem,
            directed=directed,
        )


_GRAPHDATA = "Download it again (EdisonLeeeee/GraphData, folder datasets)."


def read_graphdata(path: AnyPath) -> Graph:
    """Read ``adj_matrix``, ``node_attr`` and ``node_label``; they come without splits.

    The pickles inside are read by :mod:`..safe_pickle`: nothing in them is executed.
    """
    members = {key: _read_member(path, key) for key in ("adj_matrix", "node_attr", "node_label")}
    for key in ("adj_matrix", "node_attr"):
        if not isinstance(members[key], sp.csr_array):
            raise DataFileError(path, f"{key!r} must be a sparse matrix; it is not. {_GRAPHDATA}")
    if not isinstance(members["node_label"], np.ndarray):
        raise DataFileError(path, f"'node_label' must be an array; it is not. {_GRAPHDATA}")
    with reading(path, _GRAPHDATA):
        return Graph.from_scipy(
            members["adj_matrix"],
            features=members["node_attr"],
            labels=check_labels(members["node_label"]),
            name=Path(path).stem,
            directed=False,
        )


def _read_member(path: AnyPath, key: str) -> Any:
    with open_archive(path, _GRAPHDATA) as archive:
        if f"{key}.npy" not in archive.namelist():
            found = ", ".join(map(repr, sorted(archive.namelist())[:12])) or "nothing"
            raise DataFileError(path, f"must hold {key!r}; it holds {found[:200]}. {_GRAPHDATA}")
        # Reading gives no more than the size that the archive states, which is counted first.
        size = archive.getinfo(f"{key}.npy").file_size
        Budget(path).spend(2 * size, f"{key!r} unpacks to {size:,} bytes")
        with open_member(archive, key) as member:
            data = member.read()
    return read_pickled_array(data, path)


_SGF = "Download it again (gear/sgf, folder data)."


def read_sgf(folder: AnyPath, name: str) -> Graph:
    """Read a networkx graph on 0..n-1, a feature table, labels and one split."""
    paths = {part: Path(folder) / f"{name}.{part}" for part in ("graph", "X", "y", "split")}
    content = {part: read_pickle(path) for part, path in paths.items()}
    for part, kind, n_dims in (("graph", "iu", 2), ("X", "biuf", 2), ("y", "iu", 1)):
        array: Any = content[part]
        if (
            not isinstance(array, np.ndarray)
            or array.ndim != n_dims
            or array.dtype.kind not in kind
        ):
            raise DataFileError(paths[part], f"does not hold the data that its name says. {_SGF}")
    with reading(paths["split"], _SGF):
        split = _split(content["split"], paths["split"])
        split.check(len(content["X"]))
    with reading(paths["graph"], _SGF):
        return Graph.from_edges(
            check_edges(content["graph"]),
            len(content["X"]),
            features=sp.csr_array(content["X"].astype(np.float32)),
            labels=check_labels(content["y"]),
            splits=[split],
            name=name,
        )


_GRAPHLAND = "Unpack the dataset's archive again (GraphLand, Zenodo record 16895532)."
_ID = "(id)"


def read_graphland(folder: AnyPath, split: str = "RL", *, directed: bool = False) -> Graph:
    """Read a dataset of GraphLand, the folder that its archive or PyTorch Geometric unpacks.

    Features are encoded as those of any other table: numbers with what is missing counted,
    categories one column per value. Classes are labels, and vertices without one are unlabelled;
    of a number the graph has none: see :func:`read_graphland_numbers`.

    Parameters
    ----------
    split : {'RL', 'RH', 'TH'}
        10/10/80 at random, 50/25/25 at random, or 50/25/25 by time.
    """
    home = Path(folder)
    check_name("split of GraphLand", split, ("RL", "RH", "TH"))
    info = _graphland_info(home)
    table = _graphland_table(home / "features.csv")
    target = _graphland_target(home, info, len(table))
    path = home / f"split_masks_{split}.csv"
    parts, known = _graphland_table(path), np.asarray(target.is_valid())
    edges = _graphland_table(home / "edgelist.csv", named=False)
    is_number, name = info["task"] == "regression", str(info["target_name"])
    with reading(home, _GRAPHLAND, (pa.ArrowException, KeyError, TypeError)):
        kinds = [(str(n), "category") for n in info["categorical_features_names"]]
        kinds += [(str(n), "number") for n in info["numerical_features_names"]]
        if not is_number:
            table = table.append_column(name, target.cast(pa.int64()))
        graph, _ = read_tables(
            edges, table, id=_ID, label=None if is_number else name, kinds=tuple(kinds),
            features=tuple(n for n, _ in kinds), label_anyway=True, directed=directed,
            source=edges.column_names[0], target=edges.column_names[1],
            predicted=(name,) if is_number else (),
        )  # fmt: skip
    with reading(path, _GRAPHLAND, (pa.ArrowException, KeyError, ValueError)):
        masks = (np.asarray(parts[p]).astype(bool) for p in ("train", "val", "test"))
        found = Split(*(np.flatnonzero(m & known) for m in masks), rule=f"GraphLand {split}")
        return graph.replace(splits=[found], name=home.name)


def read_graphland_numbers(folder: AnyPath) -> NDArray[np.float64]:
    """Return the target of every vertex (n,), NaN where it is not known."""
    target = _graphland_target(Path(folder), _graphland_info(Path(folder)))
    return target.cast(pa.float64()).to_numpy(zero_copy_only=False)


def _graphland_target(home: Path, info: dict[str, Any], n: int | None = None) -> pa.Array:
    path, name = home / "targets.csv", str(info["target_name"])
    table = _graphland_table(path)
    if name not in table.column_names or n not in (None, len(table)):
        raise DataFileError(path, f"must have a row per vertex and a column {name!r}. {_GRAPHLAND}")
    return table[name].combine_chunks()


def _graphland_table(path: Path, *, named: bool = True) -> pa.Table:
    from pyarrow import csv

    with reading(path, _GRAPHLAND, (pa.ArrowException, UnicodeDecodeError)):
        table = csv.read_csv(path)
        names = [_ID, *table.column_names[1:]] if named else table.column_names
    if len(names) < 2:
        raise DataFileError(path, f"must have at least two columns. {_GRAPHLAND}")
    return table.rename_columns(names)


def _graphland_info(home: Path) -> dict[str, Any]:
    yaml = import_extra("yaml", "data", "reading GraphLand")
    path = home / "info.yaml"
    with reading(path, _GRAPHLAND, (yaml.YAMLError, UnicodeDecodeError, RecursionError)):
        info = yaml.safe_load(path.read_text(encoding="utf-8"))
    needed = ("task", "target_name", "numerical_features_names", "categorical_features_names")
    if not isinstance(info, dict) or any(key not in info for key in needed):
        raise DataFileError(path, f"must have {', '.join(needed)}. {_GRAPHLAND}")
    return info


def _split(content: Any, path: Path) -> Split:
    parts = []
    for key in ("train", "valid", "test"):
        part = content.get(key) if isinstance(content, dict) else None
        if not isinstance(part, list) or not all(type(v) is int and abs(v) < 1 << 62 for v in part):
            raise DataFileError(path, f"must list the {key!r} vertices; it does not. {_SGF}")
        parts.append(np.array(part, dtype=np.int64))
    return Split(*parts, rule="fixed")


def __getattr__(name: str) -> Any:
    """Find the readers of the core's own formats, which were here in 0.2; gone with 0.4."""
    if name in data.__all__:
        return getattr(data, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
