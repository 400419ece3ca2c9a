"""Systems: named, trainable methods, and the pipeline that prepares, trains and predicts.

A system is a model's config, an operator and a training config: ``get_system("gcn")``, or in
another setting ``get_system("sgf@dropout=0.5")``. :func:`train_system` trains any of them on a
prepared graph.
"""

from graphfilter.systems.committee import train_system
from graphfilter.systems.networks import Outcome, predict_networks
from graphfilter.systems.outside import system_of
from graphfilter.systems.prepared import Prepared
from graphfilter.systems.registry import SYSTEMS, find_system, get_system
from graphfilter.systems.system import PAPER, System

__all__ = [
    "PAPER",
    "SYSTEMS",
    "Outcome",
    "Prepared",
    "System",
    "find_system",
    "get_system",
    "predict_networks",
    "system_of",
    "train_system",
]
