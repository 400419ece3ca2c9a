"""The features that an estimator is given, checked, and held to the names of the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from graphfilter.errors import GraphError
from graphfilter.estimators.state import EstimatorState
from graphfilter.graph import Graph, check_sparse


def take_features(estimator: EstimatorState, X: Any, held: Any, *, reset: bool) -> Any:
    """Return checked features: X, or those of the graph. Keeps or compares the features' names."""
    own = held.features if isinstance(held, Graph) else None
    features = own if X is None else X
    if features is None:
        raise GraphError("X must hold the features of the vertices; got None.")
    check_sparse(features, "X")
    names = held.feature_names if features is own and isinstance(held, Graph) else None
    if reset:
        checked = validate_data(
            estimator, features, accept_sparse="csr", dtype=np.float32, ensure_min_samples=2
        )
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        return checked
    known = getattr(estimator, "feature_names_in_", None)
    if features is not own or known is None:
        return validate_data(
            estimator, features, accept_sparse="csr", dtype=np.float32, reset=False
        )
    if names is not None and list(names) != known.tolist():
        raise GraphError(_other_names(list(names), known.tolist()))
    checked = check_array(features, accept_sparse="csr", dtype=np.float32)
    if checked.shape[1] != estimator.n_features_in_:
        raise GraphError(
            f"the graph must have the {estimator.n_features_in_} features of the fit; "
            f"got {checked.shape[1]}."
        )
    return checked


def _other_names(found: list[str], known: list[str]) -> str:
    if set(found) == set(known):
        problem = "got the same ones in another order"
    else:
        missing = [name for name in known if name not in set(found)]
        new = [name for name in found if name not in set(known)]
        problem = f"got {new[0]!r}, which is new" if new else f"{missing[0]!r} is missing"
    return (
        f"the graph's features must be those of the fit, in its order; {problem}. Read the tables "
        "with the encoder of the fit, as graphfilter predict does."
    )
