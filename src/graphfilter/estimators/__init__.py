"""Estimators with scikit-learn's interface: fit, predict, score, save and load."""

from graphfilter.estimators.graph import *
