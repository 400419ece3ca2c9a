"""Platonov et al. 2023 (yandex-research/heterophilous-graphs): npz files of plain arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import scipy.sparse as sp

from graphfilter.data.graph import Graph
from graphfilter.data.npz import check_edges, check_labels, splits_from_masks
from graphfilter.util.errors import GraphError
from graphfilter.util.files import AnyPath, load_arrays, reading

REMEDY = "Download it again (yandex-research/heterophilous-graphs, folder data)."


def read_heterophilous(path: AnyPath) -> Graph:
    """Read ``node_features``, ``node_labels``, ``edges`` and ``{train,val,test}_masks``.

    Features are dense in the file and mostly zero in these datasets, so they become sparse.
    """
    masks = ("train_masks", "val_masks", "test_masks")
    required = ("node_features", "node_labels", "edges", *masks)
    arrays = load_arrays(path, required, remedy=REMEDY)
    features = arrays["node_features"]
    with reading(path, REMEDY):
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
