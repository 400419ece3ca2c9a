"""Estimators with scikit-learn's interface: fit, predict, score, save and load.

``vertex.py`` does what all of them do, through ``systems.pipeline``, ``base.py`` what classifiers
do; ``inputs.py`` and ``targets.py`` check what users pass; ``saving.py`` writes and reads them. May
import ``metrics`` and the rooms above it.
"""

from graphfilter.estimators.base import VertexClassifier
from graphfilter.estimators.graph import GraphClassifier
from graphfilter.estimators.regressor import SGFRegressor
from graphfilter.estimators.sgf import SGFClassifier
from graphfilter.estimators.system import SystemClassifier
from graphfilter.estimators.targets import Target, named_target
from graphfilter.estimators.vertex import VertexEstimator

__all__ = [
    "GraphClassifier",
    "SGFClassifier",
    "SGFRegressor",
    "SystemClassifier",
    "Target",
    "VertexClassifier",
    "VertexEstimator",
    "named_target",
]
