"""The paper's own code (gear/sgf): four pickles ``NAME.{graph,X,y,split}`` per dataset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphfilter.data.graph import Graph
from graphfilter.data.npz import check_edges, check_labels
from graphfilter.splits import Split
from graphfilter.util.errors import DataFileError
from graphfilter.util.files import AnyPath, reading
from graphfilter_research.datasets.safe_pickle import read_pickle

REMEDY = "Download it again (gear/sgf, folder data)."


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
            raise DataFileError(paths[part], f"does not hold the data that its name says. {REMEDY}")
    with reading(paths["split"], REMEDY):
        split = _split(content["split"], paths["split"])
        split.check(len(content["X"]))
    with reading(paths["graph"], REMEDY):
        return Graph.from_edges(
            check_edges(content["graph"]),
            len(content["X"]),
            features=sp.csr_array(content["X"].astype(np.float32)),
            labels=check_labels(content["y"]),
            splits=[split],
            name=name,
        )


def _split(content: Any, path: Path) -> Split:
    parts = []
    for key in ("train", "valid", "test"):
        part = content.get(key) if isinstance(content, dict) else None
        if not isinstance(part, list) or not all(type(v) is int and abs(v) < 1 << 62 for v in part):
            raise DataFileError(path, f"must list the {key!r} vertices; it does not. {REMEDY}")
        parts.append(np.array(part, dtype=np.int64))
    return Split(*parts, rule="fixed")
