"""Readers of other projects' formats, one per file.

Each takes a path and gives a :class:`~graphfilter.Graph`.
"""

from typing import Any

from graphfilter import data
from graphfilter_research.datasets.readers.geom_gcn import (
    read_geom_gcn,
    read_geom_gcn_edges,
    read_geom_gcn_splits,
)
from graphfilter_research.datasets.readers.gnn_benchmark import read_gnn_benchmark
from graphfilter_research.datasets.readers.graphdata import read_graphdata
from graphfilter_research.datasets.readers.heterophilous import read_heterophilous
from graphfilter_research.datasets.readers.planetoid import read_planetoid
from graphfilter_research.datasets.readers.sgf import read_sgf

__all__ = [
    "read_geom_gcn",
    "read_geom_gcn_edges",
    "read_geom_gcn_splits",
    "read_gnn_benchmark",
    "read_graphdata",
    "read_heterophilous",
    "read_planetoid",
    "read_sgf",
]


def __getattr__(name: str) -> Any:
    """Find the readers of the core's own formats, which were here in 0.2; gone with 0.4."""
    if name in data.__all__:
        return getattr(data, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
