"""Writing a graph as two CSV tables, one of edges and one of vertices."""

from __future__ import annotations

from contextlib import ExitStack
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from graphfilter.errors import GraphError
from graphfilter.graph import Graph
from graphfilter.storage import atomic_file, make_folder
from graphfilter.tables import ID_NAMES, LABEL_NAMES, SPLIT_NAMES

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
