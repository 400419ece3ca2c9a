"""EdisonLeeeee/GraphData: npz files whose members are pickled scipy matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphfilter.data.graph import Graph
from graphfilter.data.npz import check_labels
from graphfilter.util.errors import DataFileError
from graphfilter.util.files import AnyPath, Budget, open_archive, open_member, reading
from graphfilter_research.datasets.safe_pickle import read_pickled_array

REMEDY = "Download it again (EdisonLeeeee/GraphData, folder datasets)."


def read_graphdata(path: AnyPath) -> Graph:
    """Read ``adj_matrix``, ``node_attr`` and ``node_label``; they come without splits.

    The pickles inside are read by :mod:`..safe_pickle`: nothing in them is executed.
    """
    members = {key: _read_member(path, key) for key in ("adj_matrix", "node_attr", "node_label")}
    for key in ("adj_matrix", "node_attr"):
        if not isinstance(members[key], sp.csr_array):
            raise DataFileError(path, f"{key!r} must be a sparse matrix; it is not. {REMEDY}")
    if not isinstance(members["node_label"], np.ndarray):
        raise DataFileError(path, f"'node_label' must be an array; it is not. {REMEDY}")
    with reading(path, REMEDY):
        return Graph.from_scipy(
            members["adj_matrix"],
            features=members["node_attr"],
            labels=check_labels(members["node_label"]),
            name=Path(path).stem,
            directed=False,
        )


def _read_member(path: AnyPath, key: str) -> Any:
    with open_archive(path, REMEDY) as archive:
        if f"{key}.npy" not in archive.namelist():
            found = ", ".join(map(repr, sorted(archive.namelist())[:12])) or "nothing"
            raise DataFileError(path, f"must hold {key!r}; it holds {found[:200]}. {REMEDY}")
        # Reading gives no more than the size that the archive states, which is counted first.
        size = archive.getinfo(f"{key}.npy").file_size
        Budget(path).spend(2 * size, f"{key!r} unpacks to {size:,} bytes")
        with open_member(archive, key) as member:
            data = member.read()
    return read_pickled_array(data, path)
