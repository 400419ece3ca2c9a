"""The features that an estimator is given, checked, and held to the names of the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from graphfilter.errors import GraphError
from graphfilter.estimators.given import given_features
from graphfilter.estimators.state import EstimatorState
from graphfilter.graph import Graph, check_sparse
from graphfilter.wording import count


def take_features(estimator: EstimatorState, X: Any, held: Any, *, reset: bool) -> Any:
    """Return checked features: X, or those of the graph. Keeps or compares the features' names."""
    own = held.features if isinstance(held, Graph) else None
    features = own if X is None else given_features(X)
    if features is None:
        raise GraphError("X must hold the features of the vertices; got None.")
    check_sparse(features, "X")
    if features is not own:
        check_holds_numbers(features)
        features = _in_order_of_the_fit(estimator, features, reset)
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
        if sorted(names) != sorted(known.tolist()) or len(set(names)) < len(names):
            raise GraphError(_other_names(list(names), known.tolist()))
        features = features[:, [names.index(name) for name in known.tolist()]]
    checked = check_array(features, accept_sparse="csr", dtype=np.float32)
    if checked.shape[1] != estimator.n_features_in_:
        raise GraphError(
            f"the graph must have the {estimator.n_features_in_} features of the fit; "
            f"got {checked.shape[1]}."
        )
    return checked


def check_holds_numbers(X: Any) -> None:
    """Raise where a DataFrame has columns of words, dates or gaps: tables understand those."""
    kinds: Any = getattr(X, "dtypes", None)
    columns = getattr(X, "columns", None)
    if columns is None or callable(columns) or not hasattr(kinds, "items"):
        return
    for name, kind in kinds.items():
        values: Any = X[name]
        if kind.kind not in "biufc":
            problem = f"{kind} such as {values.iloc[0]!r}" if len(values) else str(kind)
        elif values.isna().any():
            problem = f"{count(int(values.isna().sum()), 'missing value')}"
        else:
            continue
        raise GraphError(
            f"X must hold numbers; column {str(name)!r} has {problem}. gf.Graph.from_frames("
            "vertices, edges, label=...) understands words, dates and gaps: fit(graph=graph)."
        )


def _in_order_of_the_fit(estimator: EstimatorState, X: Any, reset: bool) -> Any:
    """Return a DataFrame with its columns in the order of the fit, where they are the same ones."""
    known = getattr(estimator, "feature_names_in_", None)
    columns = getattr(X, "columns", None)
    if reset or known is None or columns is None or callable(columns):
        return X
    names, wanted = list(columns), known.tolist()
    if names == wanted or len(set(names)) < len(names) or set(names) != set(wanted):
        return X
    return X[wanted]


def _other_names(found: list[str], known: list[str]) -> str:
    missing = [name for name in known if name not in set(found)]
    new = [name for name in found if name not in set(known)]
    problem = f"got {new[0]!r}, which is new" if new else f"{missing[0]!r} is missing"
    return (
        f"the graph's features must be those of the fit; {problem}. Read the tables "
        "with the encoder of the fit, as graphfilter predict does."
    )
