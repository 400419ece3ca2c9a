"""Graphs in files of common formats: read by suffix, and written as two tables.

The suffix says which reader a file has; :data:`GRAPHS` is the one place to register a new one.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

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
    import pyarrow as pa
    from pyarrow import csv

    folder = Path(folder)
    names = range(graph.n_vertices) if graph.vertex_names is None else graph.vertex_names
    check_text(names, "a vertex name")
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
    make_folder(folder)
    with atomic_file(paths[0]) as of_edges, atomic_file(paths[1]) as of_vertices:
        csv.write_csv(pa.table(columns), of_edges)
        _write_vertices(graph, ids, of_vertices)
    return paths


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


def _entries(
    path: AnyPath, lines: Iterable[tuple[int, list[str]]], n_fields: int, remedy: str
) -> Iterator[tuple[int, list[str], float | None]]:
    """Yield the line, the two ends and the weight, if any, of each entry.

    All have as many fields: 2 or 3 as the first has, where ``n_fields`` is 0.
    """
    for i, fields in lines:
        n_fields = n_fields or len(fields)
        if len(fields) != n_fields or n_fields not in (2, 3):
            expected = n_fields if n_fields in (2, 3) else "2 or 3"
            problem = f"must have {expected} fields; got {len(fields)}. {remedy}"
            raise DataFileError(path, problem, line=i)
        weight = None
        if n_fields == 3:
            try:
                weight = float(fields[2])
            except ValueError:
                problem = f"the weight must be a number; got {fields[2][:40]!r}. {remedy}"
                raise DataFileError(path, problem, line=i) from None
        yield i, fields[:2], weight


def read_edge_list(path: AnyPath, *, directed: bool = False) -> Graph:
    """Read lines of two vertices and perhaps a weight, apart by spaces, tabs, commas or ``;``.

    Lines that start with ``#`` or ``%`` and empty lines are skipped. Vertices may be any words;
    they are numbered in their order (by value where all are whole numbers, so a list that uses
    0..n-1 keeps its numbers) and kept in ``vertex_names``.
    """
    remedy = "Write two vertices per line, and perhaps a weight."
    with reading(path, remedy, (UnicodeDecodeError,)):
        text = Path(path).read_text(encoding="utf-8-sig")
    lines = enumerate(text.replace(",", " ").replace(";", " ").splitlines(), start=1)
    rows = ((i, line.split()) for i, line in lines)
    filled = ((i, fields) for i, fields in rows if fields and fields[0][0] not in "#%")
    entries = list(_entries(path, filled, 0, remedy))
    if not entries:
        raise DataFileError(path, f"must hold at least one edge; it holds none. {remedy}")
    ends = [end for _, pair, _ in entries for end in pair]
    whole = all(end.isascii() and end.isdigit() and len(end) < 19 for end in ends)
    names, number = np.unique(np.array(ends, np.int64 if whole else object), return_inverse=True)
    weights = [weight for _, _, weight in entries if weight is not None]
    with reading(path, remedy):
        return Graph.from_edges(
            number.reshape(-1, 2),
            len(names),
            weights=weights or None,
            vertex_names=names.tolist(),
            name=Path(path).stem,
            directed=directed,
        )


REMEDY = "Write it again as a sparse matrix, for example with scipy.io.mmwrite."
FIELDS = {"pattern": 2, "integer": 3, "real": 3, "double": 3}
SYMMETRIES = ("general", "symmetric")


def read_matrix_market(path: AnyPath, *, directed: bool = False) -> Graph:
    """Read a square sparse matrix in Matrix Market form; its values are the weights.

    A matrix whose values are all 1, or that has none (*pattern*), gives an unweighted graph. Not
    read by ``scipy.io.mmread``, which (scipy 1.17) ends the whole process on some damaged files
    instead of raising.
    """
    with reading(path, REMEDY, (UnicodeDecodeError,)):
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    first = lines[0] if lines else ""
    words = first.lower().split()
    good = len(words) == 5 and words[:3] == ["%%matrixmarket", "matrix", "coordinate"]
    if not good or words[3] not in FIELDS or words[4] not in SYMMETRIES:
        expected = "'%%MatrixMarket matrix coordinate', a real type and 'general' or 'symmetric'"
        raise DataFileError(path, f"must be {expected}; got {first[:80]!r}. {REMEDY}", line=1)
    if directed and words[4] == "symmetric":
        problem = "must be 'general' to have directions; got 'symmetric'. Leave out `directed`."
        raise DataFileError(path, problem, line=1)
    split = ((i, line.split()) for i, line in enumerate(lines[1:], start=2))
    rows = ((i, fields) for i, fields in split if fields and not fields[0].startswith("%"))
    i, size = next(rows, (len(lines), []))
    n_rows, n_columns, n_entries = _numbers(path, i, size, 3)
    if n_rows != n_columns:
        raise DataFileError(path, f"must be square; got {n_rows} x {n_columns}. {REMEDY}", line=i)
    Budget(path).spend(VERTEX_BYTES * n_rows, f"line {i} names {n_rows:,} vertices")
    pairs, weights = [], []
    for i, ends, weight in _entries(path, rows, FIELDS[words[3]], REMEDY):
        pair = _numbers(path, i, ends, 2)
        if not all(1 <= end <= n_rows for end in pair):
            raise DataFileError(path, f"must lie in 1..{n_rows}; got {pair}. {REMEDY}", line=i)
        pairs.append(pair)
        weights.append(1.0 if weight is None else weight)
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


def _numbers(path: AnyPath, line: int, words: list[str], n: int) -> list[int]:
    good = all(word.isascii() and word.isdigit() and len(word) < 10 for word in words)
    if len(words) != n or not good:
        problem = f"must be {n} whole numbers; got {' '.join(words)[:80]!r}. {REMEDY}"
        raise DataFileError(path, problem, line=line)
    return [int(word) for word in words]


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
        check_text([*graph.nodes, *(v for row in table for v in (*row, row.get(label)))], "a name")
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


def read_graph(path: AnyPath, *, directed: bool = False) -> Graph:
    """Read a graph with the reader that the file's suffix names; ``directed`` keeps directions.

    ``.npz`` (the package's own format), ``.mtx``, ``.graphml``, ``.gml``, ``.edges`` and ``.txt``.
    """
    suffix = Path(path).suffix.lower()
    if not suffix and not Path(path).exists():
        raise DataFileError(path, "there is no such file or graph store. Check the path.")
    read = GRAPHS[check_name(f"file type for {str(path)!r}:", suffix, GRAPHS)]
    return read(path, directed=directed)
