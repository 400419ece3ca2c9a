"""The features that an estimator is given, checked, and held to the names of the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from graphfilter.data.attributes import check_sparse
from graphfilter.data.graph import Graph
from graphfilter.estimators.given import given_features, in_one_line
from graphfilter.estimators.given_tables import encode_table, fit_encoder, odd_column, table_names
from graphfilter.estimators.state import EstimatorState
from graphfilter.util.errors import GraphError


@in_one_line("Give numbers (n, d), or a DataFrame, whose words, dates and gaps are encoded.")
def take_features(estimator: EstimatorState, X: Any, held: Any, *, reset: bool) -> Any:
    """Return checked features: X, or those of the graph. Keeps or compares the features' names.

    Of a table with words, dates or gaps ``encoder_`` keeps how they become numbers.
    """
    if X is None:
        return _features_of(estimator, held, reset)
    features = given_features(X)
    check_sparse(features, "X")
    if reset:
        estimator.encoder_ = fit_encoder(features)
    if estimator.encoder_ is not None:
        encoded = encode_table(estimator.encoder_, features)
        checked = check_array(
            encoded, accept_sparse="csr", dtype=np.float32, ensure_min_samples=2 if reset else 1
        )
        if reset:
            names = table_names(features)
            estimator.n_features_in_ = len(names)
            estimator.feature_names_in_ = np.array(names, dtype=object)
        return checked
    if (odd := odd_column(features)) is not None:
        raise GraphError(
            f"X must hold numbers, as in the fit; column {odd.name!r} has {odd.problem}. Fill it "
            "in, or fit on a table that has such cells too: fit then learns a value to replace "
            "them."
        )
    features = _in_order_of_the_fit(estimator, features, reset)
    return validate_data(
        estimator, features, accept_sparse="csr", dtype=np.float32, reset=reset,
        ensure_min_samples=2 if reset else 1,
    )  # fmt: skip


def named_features(estimator: EstimatorState, features: Any) -> dict[str, Any]:
    """Return features that an estimator took, and their names, as changes of a graph."""
    names = _feature_names(estimator)
    fit = names is not None and len(names) == features.shape[1]
    return {"features": features, "feature_names": names if fit else None}


def _feature_names(estimator: EstimatorState) -> tuple[str, ...] | None:
    """Return what the columns are called that the network sees, where they have names."""
    if estimator.encoder_ is not None:
        return estimator.encoder_.feature_names
    known = getattr(estimator, "feature_names_in_", None)
    return None if known is None else tuple(known.tolist())


def _features_of(estimator: EstimatorState, held: Any, reset: bool) -> Any:
    """Return the checked features of a Graph."""
    features = held.features if isinstance(held, Graph) else None
    if features is None:
        raise GraphError("X must hold the features of the vertices; got None.")
    names = held.feature_names
    if reset:
        estimator.encoder_ = None
        checked = validate_data(
            estimator, features, accept_sparse="csr", dtype=np.float32, ensure_min_samples=2
        )
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        return checked
    known = _feature_names(estimator)
    if names is not None and known is not None and names != known:
        if sorted(names) != sorted(known) or len(set(names)) < len(names):
            raise GraphError(_other_names(list(names), list(known)))
        features = features[:, [names.index(name) for name in known]]
    checked = check_array(features, accept_sparse="csr", dtype=np.float32)
    expected = estimator.n_features_in_ if known is None else len(known)
    if checked.shape[1] != expected:
        raise GraphError(
            f"the graph must have the {expected} features of the fit; got {checked.shape[1]}."
        )
    return checked


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
