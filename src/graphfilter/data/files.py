"""Writing a graph as two CSV tables, one of edges and one of vertices.

Edge lists: lines of two vertices and perhaps a weight.

Matrix Market: sparse matrices as text.

Read here and not by ``scipy.io.mmread``, which (scipy 1.17) ends the whole process on some damaged
files instead of raising.

GraphML and GML, parsed by networkx.

The file formats of graphs, by suffix: the one place to register a new one.

A reader takes the path of a graph in one file; each format has its own file in this folder.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphfilter.data.graph import Graph
from graphfilter.data.npz import read_npz
from graphfilter.tables.roles import ID_NAMES, LABEL_NAMES, SPLIT_NAMES
from graphfilter.util.errors import DataFileError, GraphError, check_name
from graphfilter.util.files import (
    PARSE_ERRORS,
    VERTEX_BYTES,
    AnyPath,
    Budget,
    atomic_file,
    check_text,
    make_folder,
    reading,
)

if TYPE_CHECKING:
    import pyarrow as pa

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
    ids = _ids(graph)
    writers = {"edges.csv": _write_edges, "vertices.csv": _write_vertices}
    paths = [folder / name for name in writers]
    make_folder(folder)
    with ExitStack() as stack:
        for path, write in zip(paths, writers.values(), strict=True):
            write(graph, ids, stack.enter_context(atomic_file(path)))
    return paths[0], paths[1]


def _ids(graph: Graph) -> pa.Array:
    """Return the vertex names as strings, or the vertex numbers; they must differ."""
    import pyarrow as pa

    names = range(graph.n_vertices) if graph.vertex_names is None else graph.vertex_names
    try:
        ids = pa.array([str(name) for name in names], type=pa.string())
    except UnicodeEncodeError as error:
        raise GraphError(f"a vertex name must be valid text; got {error.object!r}.") from None
    if len(ids.unique()) < len(ids) or "" in ids.unique().to_pylist():
        raise GraphError(
            "vertex names must differ as text, and none may be empty, to be written to a table. "
            "Rename them with graph.replace(vertex_names=...)."
        )
    return ids


def _write_edges(graph: Graph, ids: pa.Array, path: Path) -> None:
    import pyarrow as pa
    from pyarrow import csv

    edges, weights = graph.edges, graph.edge_weights
    if graph.directed:
        links = graph.out_links().tocoo()
        edges = np.stack([links.row, links.col], axis=1)
        weights = None if weights is None else links.data
    columns = {"source": ids.take(pa.array(edges[:, 0])), "target": ids.take(pa.array(edges[:, 1]))}
    if weights is not None:
        columns["weight"] = pa.array(weights)
    csv.write_csv(pa.table(columns), path)


def _write_vertices(graph: Graph, ids: pa.Array, path: Path) -> None:
    """Write in slices of rows: sparse features are made dense a few at a time."""
    import pyarrow as pa
    from pyarrow import csv

    fixed: dict[str, pa.Array] = {"id": ids}
    if graph.labels is not None:
        names = np.array([*map(str, graph.classes), ""], dtype=object)
        fixed["label"] = pa.array(names[graph.labels], type=pa.string())
    if graph.splits:
        fixed["split"] = pa.array(graph.splits[0].part_of(graph.n_vertices), type=pa.string())
    names = [*fixed, *_feature_columns(graph)]
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


def _feature_columns(graph: Graph) -> list[str]:
    """Name the feature columns so that all differ and none reads as something else."""
    given = graph.feature_names or [f"f{i}" for i in range(graph.n_features)]
    names: list[str] = []
    taken: set[str] = set()
    for i, name in enumerate(given):
        column = f"feature_{name}" if name.strip().lower() in _RESERVED else name
        column = column if column not in taken else f"{column}_{i}"
        names.append(column)
        taken.add(column)
    return names


def read_edge_list(path: AnyPath, *, directed: bool = False) -> Graph:
    """Read lines of two vertices and perhaps a weight, apart by spaces, tabs, commas or ``;``.

    Lines that start with ``#`` or ``%`` and empty lines are skipped. Vertices may be any words;
    they are numbered in their order (by value where all are whole numbers, so a list that uses
    0..n-1 keeps its numbers) and kept in ``vertex_names``.
    """
    remedy = "Write two vertices per line, and perhaps a weight."
    ends: list[str] = []
    weights: list[float] = []
    n_fields = 0
    with reading(path, remedy, (UnicodeDecodeError,)):
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    for i, line in enumerate(lines, start=1):
        fields = line.replace(",", " ").replace(";", " ").split()
        if not fields or fields[0][0] in "#%":
            continue
        n_fields = n_fields or len(fields)
        if len(fields) != n_fields or n_fields not in (2, 3):
            expected = n_fields if n_fields in (2, 3) else "2 or 3"
            problem = f"must have {expected} fields; got {len(fields)}. {remedy}"
            raise DataFileError(path, problem, line=i)
        ends += fields[:2]
        if n_fields == 3:
            try:
                weights.append(float(fields[2]))
            except ValueError:
                problem = f"the weight must be a number; got {fields[2][:40]!r}. {remedy}"
                raise DataFileError(path, problem, line=i) from None
    if not ends:
        raise DataFileError(path, f"must hold at least one edge; it holds none. {remedy}")
    with reading(path, remedy):
        names, number = _number_vertices(ends)
        pairs = number.reshape(-1, 2)
        return Graph.from_edges(
            pairs,
            len(names),
            weights=weights or None,
            vertex_names=names,
            name=Path(path).stem,
            directed=directed,
        )


def _number_vertices(ends: list[str]) -> tuple[list[Any], np.ndarray]:
    if all(end.isascii() and end.isdigit() and len(end) < 19 for end in ends):
        names, number = np.unique(np.array(ends, dtype=np.int64), return_inverse=True)
    else:
        names, number = np.unique(np.array(ends, dtype=object), return_inverse=True)
    return names.tolist(), number


REMEDY = "Write it again as a sparse matrix, for example with scipy.io.mmwrite."
FIELDS = {"pattern": 2, "integer": 3, "real": 3, "double": 3}
SYMMETRIES = ("general", "symmetric")


def read_matrix_market(path: AnyPath, *, directed: bool = False) -> Graph:
    """Read a square sparse matrix in Matrix Market form; its values are the weights.

    A matrix whose values are all 1, or that has none (*pattern*), gives an unweighted graph.
    """
    with reading(path, REMEDY, (UnicodeDecodeError,)):
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    n_fields = _read_header(path, lines[0] if lines else "", directed)
    rows = _rows(lines)
    i, size = next(rows, (len(lines), []))
    n_rows, n_columns, n_entries = _numbers(path, i, size, 3)
    if n_rows != n_columns:
        raise DataFileError(path, f"must be square; got {n_rows} x {n_columns}. {REMEDY}", line=i)
    Budget(path).spend(VERTEX_BYTES * n_rows, f"line {i} names {n_rows:,} vertices")
    pairs, weights = [], []
    for i, words in rows:
        if len(words) != n_fields:
            problem = f"must have {n_fields} fields; got {len(words)}. {REMEDY}"
            raise DataFileError(path, problem, line=i)
        pair = _numbers(path, i, words[:2], 2)
        if not all(1 <= end <= n_rows for end in pair):
            raise DataFileError(path, f"must lie in 1..{n_rows}; got {pair}. {REMEDY}", line=i)
        pairs.append(pair)
        if n_fields == 3:
            weights.append(_weight(path, i, words[2]))
    if len(pairs) != n_entries:
        problem = f"must have {n_entries} entries; got {len(pairs)}. {REMEDY}"
        raise DataFileError(path, problem)
    with reading(path, REMEDY):
        return Graph.from_edges(
            np.array(pairs, dtype=np.int64).reshape(-1, 2) - 1,
            n_rows,
            weights=None if all(w == 1 for w in weights) else weights,
            name=Path(path).stem,
            directed=directed,
        )


def _read_header(path: AnyPath, line: str, directed: bool) -> int:
    """Check the first line; return the number of fields per entry."""
    words = line.lower().split()
    good = len(words) == 5 and words[:3] == ["%%matrixmarket", "matrix", "coordinate"]
    if not good or words[3] not in FIELDS or words[4] not in SYMMETRIES:
        expected = "'%%MatrixMarket matrix coordinate', a real type and 'general' or 'symmetric'"
        raise DataFileError(path, f"must be {expected}; got {line[:80]!r}. {REMEDY}", line=1)
    if directed and words[4] == "symmetric":
        problem = "must be 'general' to have directions; got 'symmetric'. Leave out `directed`."
        raise DataFileError(path, problem, line=1)
    return FIELDS[words[3]]


def _rows(lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    for i, line in enumerate(lines[1:], start=2):
        words = line.split()
        if words and not words[0].startswith("%"):
            yield i, words


def _numbers(path: AnyPath, line: int, words: list[str], n: int) -> list[int]:
    good = all(word.isascii() and word.isdigit() and len(word) < 10 for word in words)
    if len(words) != n or not good:
        problem = f"must be {n} whole numbers; got {' '.join(words)[:80]!r}. {REMEDY}"
        raise DataFileError(path, problem, line=line)
    return [int(word) for word in words]


def _weight(path: AnyPath, line: int, word: str) -> float:
    try:
        weight = float(word)
    except ValueError:
        weight = math.nan
    if not math.isfinite(weight):
        raise DataFileError(path, f"must be a number; got {word[:40]!r}. {REMEDY}", line=line)
    return weight


def read_networkx(path: AnyPath, label: str = "label", *, directed: bool = False) -> Graph:
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
    import networkx as nx

    suffix = Path(path).suffix.lower()
    check_name(f"file type for {str(path)!r}:", suffix, (".graphml", ".gml"))
    remedy = f"Write it again, for example with networkx.write_{suffix[1:]}."
    with reading(path, remedy, (*PARSE_ERRORS, nx.NetworkXException)):
        data = Path(path).read_bytes()
        if suffix == ".graphml":
            _refuse_entities(data, path)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if suffix == ".graphml":
                graph = nx.read_graphml(io.BytesIO(data))
            else:
                graph = nx.read_gml(io.BytesIO(data), label="id")
        features, names, left_out = _numeric_attributes(graph, label)
        has_labels = any(label in attributes for _, attributes in graph.nodes(data=True))
        texts = [v for _, a in graph.nodes(data=True) for v in (*a, a.get(label))]
        check_text([*graph.nodes, *texts], "a name")
        result = Graph.from_networkx(
            graph,
            labels=label if has_labels else None,
            features=features,
            feature_names=names,
            name=Path(path).stem,
            directed=directed,
        )
    notes = [f"networkx: {warning.message}" for warning in caught]
    notes += [f"Vertex attribute {key!r} left out: not a number everywhere." for key in left_out]
    return result.replace(notes=(*result.notes, *notes))


def _refuse_entities(data: bytes, path: AnyPath) -> None:
    # Without zero bytes it is not UTF-16, so the markup is ASCII and cannot hide.
    if b"\0" in data:
        raise DataFileError(path, "must be UTF-8 text. Convert it first.")
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        problem = "must not have a document type or entities (<!DOCTYPE, <!ENTITY)"
        raise DataFileError(path, f"{problem}. Remove them: GraphML needs neither.")


def _numeric_attributes(graph: Any, label: str) -> tuple[Any, list[str] | None, list[str]]:
    table = [attributes for _, attributes in graph.nodes(data=True)]
    keys = [key for key in dict.fromkeys(k for row in table for k in row) if key != label]
    numeric = [key for key in keys if all(isinstance(row.get(key), int | float) for row in table)]
    left_out = [str(key) for key in keys if key not in numeric]
    if not numeric:
        return None, None, left_out
    try:
        features = np.array([[row[key] for key in numeric] for row in table], dtype=np.float32)
    except OverflowError:
        raise GraphError("vertex attributes must be numbers of ordinary size.") from None
    return features, list(map(str, numeric)), left_out


GRAPHS: dict[str, Callable[..., Graph]] = {
    ".npz": read_npz,
    ".mtx": read_matrix_market,
    ".graphml": read_networkx,
    ".gml": read_networkx,
    ".edges": read_edge_list,
    ".txt": read_edge_list,
}


def read_graph(path: AnyPath, *, directed: bool = False) -> Graph:
    """Read a graph with the reader that the file's suffix names; ``directed`` keeps directions.

    ``.npz`` (the package's own format), ``.mtx``, ``.graphml``, ``.gml``, ``.edges`` and ``.txt``.
    """
    suffix = Path(path).suffix.lower()
    if not suffix and not Path(path).exists():
        raise DataFileError(path, "there is no such file or graph store. Check the path.")
    return GRAPHS[check_name(f"file type for {str(path)!r}:", suffix, GRAPHS)](
        path, directed=directed
    )
