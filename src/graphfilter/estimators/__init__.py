"""Estimators with scikit-learn's interface: fit, predict, score, save and load."""

from graphfilter.estimators.graph import (
    GraphClassifier,
    GraphRegressor,
    SGFClassifier,
    SGFRegressor,
    SystemClassifier,
    SystemRegressor,
)

__all__ = [
    "GraphClassifier",
    "GraphRegressor",
    "SGFClassifier",
    "SGFRegressor",
    "SystemClassifier",
    "SystemRegressor",
]
