"""The file formats of graphs, by suffix: the one place to register a new one.

A reader takes the path of a graph in one file; each format has its own file in this folder.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from graphfilter.data.readers.edge_list import read_edge_list
from graphfilter.data.readers.matrix_market import read_matrix_market
from graphfilter.data.readers.networkx_files import read_networkx
from graphfilter.data.readers.npz import read_npz
from graphfilter.errors import DataFileError, check_name
from graphfilter.graph import Graph
from graphfilter.storage import AnyPath

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
