"""Learn the graph filter your labels need.

Everything below is imported when it is first used, so that ``import graphfilter`` and
``graphfilter --help`` do not wait for torch.

Examples
--------
>>> import graphfilter as gf
>>> g = gf.Graph.from_edges([[0, 1], [1, 2]], labels=["a", "b", None])
>>> g.n_edges
2
"""

from __future__ import annotations

from importlib import import_module

from graphfilter.version import __version__

# Not from typing, which takes longer to import than all the rest: a command line that is
# interrupted before its first line ends in a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from graphfilter import (
        data,
        filters,
        metrics,
        models,
        operators,
        plot,
        pyg,
        spectral,
        splits,
        systems,
        training,
    )
    from graphfilter.data import load_dataset, open_store, read_tables
    from graphfilter.data.graph import Graph
    from graphfilter.estimators import (
        GraphClassifier,
        GraphRegressor,
        SGFClassifier,
        SGFRegressor,
        SystemClassifier,
        SystemRegressor,
    )
    from graphfilter.large.build import build_store
    from graphfilter.splits import Split
    from graphfilter.util.errors import GraphFilterError

# The room each public name is imported from; a room is imported as itself.
_ROOMS = {
    "Graph": "data.graph",
    "GraphClassifier": "estimators",
    "GraphRegressor": "estimators",
    "GraphFilterError": "util.errors",
    "SGFClassifier": "estimators",
    "SGFRegressor": "estimators",
    "Split": "splits",
    "SystemClassifier": "estimators",
    "SystemRegressor": "estimators",
    "build_store": "large.build",
    "data": "data",
    "filters": "filters",
    "load_dataset": "data.datasets",
    "metrics": "metrics",
    "models": "models",
    "open_store": "data.store",
    "operators": "operators",
    "plot": "plot",
    "pyg": "pyg",
    "read_tables": "data.from_tables",
    "spectral": "spectral",
    "splits": "splits",
    "systems": "systems",
    "training": "training",
}

__all__ = [
    "Graph",
    "GraphClassifier",
    "GraphFilterError",
    "GraphRegressor",
    "SGFClassifier",
    "SGFRegressor",
    "Split",
    "SystemClassifier",
    "SystemRegressor",
    "__version__",
    "build_store",
    "data",
    "filters",
    "load_dataset",
    "metrics",
    "models",
    "open_store",
    "operators",
    "plot",
    "pyg",
    "read_tables",
    "spectral",
    "splits",
    "systems",
    "training",
]


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = import_module(f"{__name__}.{_ROOMS[name]}")
    value = room if name == _ROOMS[name] else getattr(room, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_ROOMS})
