"""Learn the graph filter your labels need.

Examples
--------
>>> import graphfilter as gf
>>> g = gf.Graph.from_edges([[0, 1], [1, 2]], labels=["a", "b", None])
>>> g.n_edges
2
"""

from graphfilter import data, filters, models, operators, spectral, splits, training
from graphfilter.data import load_dataset
from graphfilter.errors import GraphFilterError
from graphfilter.estimator import SGFClassifier
from graphfilter.graph import Graph
from graphfilter.peers import FilterClassifier
from graphfilter.splits import Split
from graphfilter.version import __version__

__all__ = [
    "FilterClassifier",
    "Graph",
    "GraphFilterError",
    "SGFClassifier",
    "Split",
    "__version__",
    "data",
    "filters",
    "load_dataset",
    "models",
    "operators",
    "spectral",
    "splits",
    "training",
]
