"""What is connected: the immutable Graph, and where graphs come from.

Edges, features and labels are validated once. Graphs come from tables, scipy, networkx, PyTorch
Geometric, files of many formats, folders that are mapped into memory, and datasets by name.
"""

import typing

from graphfilter.data.datasets import *
from graphfilter.data.files import *
from graphfilter.data.from_tables import *
from graphfilter.data.store import *
from graphfilter.util import plugins


def __getattr__(name: str) -> typing.Any:
    """Return what 0.2 had here: ``build_store`` and readers. They go with 0.4."""
    return plugins.moved(__name__, name, plugins.DATASETS, {"build_store": "graphfilter"})
