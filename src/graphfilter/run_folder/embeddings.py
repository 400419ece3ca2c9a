"""A table of embeddings: one row per vertex."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import ConfigError
from graphfilter.graph import Graph
from graphfilter.run_folder.row_table import PARQUET, write_rows
from graphfilter.storage import check_target

_SUFFIXES = (PARQUET, ".csv")


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
    width = embedding.shape[1]
    write_rows(path, graph, lambda rows: {f"e{i}": embedding[rows, i].copy() for i in range(width)})
