"""Shchur et al. 2018 (shchur/gnn-benchmark): npz files of the parts of CSR matrices."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graphfilter.data.graph import Graph
from graphfilter.data.npz import check_labels, make_csr
from graphfilter.util.errors import GraphError
from graphfilter.util.files import AnyPath, load_arrays, reading

REMEDY = "Download it again (shchur/gnn-benchmark, folder data/npz)."
_CSR = ("data", "indices", "indptr", "shape")


def read_gnn_benchmark(path: AnyPath, *, directed: bool = False) -> Graph:
    """Read ``adj_*``, ``attr_*`` and ``labels``; also ``node_names`` and ``class_names``.

    Links are directed in these files; ``directed`` keeps that. They come without splits.
    """
    required = [f"{kind}_{part}" for kind in ("adj", "attr") for part in _CSR]
    names = ("node_names", "class_names")
    arrays = load_arrays(path, [*required, "labels"], names, remedy=REMEDY)
    with reading(path, REMEDY):
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
