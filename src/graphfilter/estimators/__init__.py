"""Estimators with scikit-learn's interface: fit, predict, score, save and load."""

__all__ = []
