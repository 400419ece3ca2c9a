"""Estimators with scikit-learn's interface: fit, predict, score, save and load.

``base.py`` does what all of them do, through ``systems.pipeline``; ``inputs.py`` checks what users
pass; ``saving.py`` writes and reads them. May import ``metrics`` and the rooms above it.
"""

from graphfilter.estimators.base import VertexClassifier
from graphfilter.estimators.sgf import SGFClassifier
from graphfilter.estimators.system import FilterClassifier, SystemClassifier

__all__ = ["FilterClassifier", "SGFClassifier", "SystemClassifier", "VertexClassifier"]
