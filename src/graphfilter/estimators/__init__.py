"""Estimators with scikit-learn's interface: fit, predict, score, save and load."""

from graphfilter.estimators.base import VertexClassifier
from graphfilter.estimators.sgf import SGFClassifier
from graphfilter.estimators.system import FilterClassifier

__all__ = ["FilterClassifier", "SGFClassifier", "VertexClassifier"]
