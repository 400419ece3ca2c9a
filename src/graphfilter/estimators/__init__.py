"""Estimators with scikit-learn's interface: fit, predict, score, save and load."""

from graphfilter.estimators.graph import GraphClassifier, GraphRegressor
from graphfilter.estimators.sgf import SGFClassifier, SGFRegressor
from graphfilter.estimators.system import SystemClassifier, SystemRegressor

__all__ = [
    "GraphClassifier",
    "GraphRegressor",
    "SGFClassifier",
    "SGFRegressor",
    "SystemClassifier",
    "SystemRegressor",
]
