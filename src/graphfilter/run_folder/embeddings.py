"""A table of embeddings: one row per vertex."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import ConfigError
from graphfilter.graph import Graph
from graphfilter.storage import atomic_file, check_target

_SUFFIXES = (".parquet", ".csv")


def check_embeddings_file(path: Path, *, overwrite: bool) -> None:
    """Check before any work that a table can be written there."""
    if path.suffix not in _SUFFIXES:
        raise ConfigError(f"{path}: --embeddings must end in .parquet or .csv.")
    check_target(path)
    if path.exists() and not overwrite:
        raise ConfigError(f"{path}: exists; pass --overwrite to replace it, or another name.")
    if not path.parent.is_dir():
        raise ConfigError(f"{path.parent}: there is no such folder to write {path.name} to.")


def write_embeddings(path: Path, graph: Graph, embedding: NDArray[np.float32]) -> None:
    """Write per vertex: id and the numbers e0, e1, ... of its embedding, atomically."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    ids = graph.vertex_names or range(graph.n_vertices)
    columns = {"id": pa.array([str(name) for name in ids])}
    columns |= {f"e{i}": pa.array(column) for i, column in enumerate(embedding.T)}
    table = pa.table(columns)
    with atomic_file(path) as temporary:
        if path.suffix == ".csv":
            csv.write_csv(table, temporary)
        else:
            parquet.write_table(table, temporary)
