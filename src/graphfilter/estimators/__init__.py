"""Estimators with scikit-learn's interface: fit, predict, score, save and load."""

from graphfilter.estimators.graph import GraphClassifier
from graphfilter.estimators.graph_regressor import GraphRegressor
from graphfilter.estimators.regressor import SGFRegressor
from graphfilter.estimators.sgf import SGFClassifier
from graphfilter.estimators.system import SystemClassifier, SystemRegressor

__all__ = [
    "GraphClassifier",
    "GraphRegressor",
    "SGFClassifier",
    "SGFRegressor",
    "SystemClassifier",
    "SystemRegressor",
]
