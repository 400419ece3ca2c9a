"""Features: X as it is given, checked, encoded where it has words, held to the names of the fit."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from graphfilter.data.attributes import check_real, check_sparse
from graphfilter.data.graph import Graph
from graphfilter.estimators.members import FittedEstimator
from graphfilter.estimators.targets import detached, in_one_line
from graphfilter.tables.encoder import TableEncoder
from graphfilter.tables.formats import frame_table
from graphfilter.util.errors import GraphError
from graphfilter.util.words import count

_NAME = "X"


@in_one_line("Give numbers (n, d), or a DataFrame, whose words, dates and gaps are encoded.")
def take_features(estimator: FittedEstimator, X: Any, held: Any, *, reset: bool) -> Any:
    """Return checked features: X, or those of the graph. Keeps or compares the features' names.

    Of a table with words, dates or gaps ``encoder_`` keeps how they become numbers.
    """
    if X is None:
        return _features_of(estimator, held, reset)
    features = given_features(X)
    check_sparse(features, "X")
    options: Any = {"accept_sparse": "csr", "dtype": np.float32}
    options["ensure_min_samples"] = 2 if reset else 1
    odd = _odd_column(features)
    if reset:
        estimator.encoder_ = None if odd is None else _fit_encoder(features)
    encoder = estimator.encoder_
    if encoder is not None:
        if not _is_table(features):
            some = ", ".join(repr(column.name) for column in encoder.columns[:3])
            raise GraphError(
                f"X must be a table with the columns of the fit ({some}, ...), whose words, dates "
                f"or gaps are encoded as in the fit; got {type(X).__name__}. Pass a DataFrame."
            )
        checked = check_array(encoder.transform(_arrow(features), _NAME), **options)
        if reset:
            names = _names(features)
            estimator.n_features_in_ = len(names)
            estimator.feature_names_in_ = np.array(names, dtype=object)
        return checked
    if odd is not None:
        raise GraphError(
            f"X must hold numbers, as in the fit; column {odd}. Fill it "
            "in, or fit on a table that has such cells too: fit then learns a value to replace "
            "them."
        )
    features = _in_order_of_the_fit(estimator, features, reset)
    return validate_data(estimator, features, reset=reset, **options)


def named_features(estimator: FittedEstimator, features: Any) -> dict[str, Any]:
    """Return features that an estimator took, and their names, as changes of a graph."""
    names = _feature_names(estimator)
    fit = names is not None and len(names) == features.shape[1]
    return {"features": features, "feature_names": names if fit else None}


def _feature_names(estimator: FittedEstimator) -> tuple[str, ...] | None:
    """Return what the columns are called that the network sees, where they have names."""
    if estimator.encoder_ is not None:
        return estimator.encoder_.feature_names
    known = getattr(estimator, "feature_names_in_", None)
    return None if known is None else tuple(known.tolist())


def _features_of(estimator: FittedEstimator, held: Any, reset: bool) -> Any:
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


def _in_order_of_the_fit(estimator: FittedEstimator, X: Any, reset: bool) -> Any:
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


def given_features(X: Any) -> Any:
    """Return X without a gradient; masked cells and numbers beyond any float are refused."""
    given = detached(X, "X")
    check_real(given, "X")
    if not isinstance(given, np.ma.MaskedArray):
        return given
    if n := int(np.ma.count_masked(given)):
        raise GraphError(
            f"X must hold a number in every cell; {n:,} are masked. Fill them in: X.filled(0)."
        )
    return given.data


def _fit_encoder(X: Any) -> TableEncoder:
    """Return how the columns of a table become numbers."""
    encoder = TableEncoder.fit(_arrow(X), _NAME)
    if not encoder.columns:
        why, n = " ".join(encoder.notes), len(_names(X))
        raise GraphError(f"X must have a column to learn from; none of its {n} is: {why}")
    return encoder


def _is_table(X: Any) -> bool:
    """Return whether X is a DataFrame of pandas, polars or pyarrow."""
    columns = getattr(X, "columns", None)
    return columns is not None and not callable(columns) and hasattr(X, "__arrow_c_stream__")


def _names(X: Any) -> list[str]:
    """Return the names of the columns of a table."""
    names = X.column_names if hasattr(X, "column_names") else X.columns
    return [str(name) for name in names]


def _odd_column(X: Any) -> str | None:
    """Return the first column that is not plain numbers, and why; None of an X that is no table."""
    if not _is_table(X):
        return None
    for name, times in Counter(_names(X)).most_common(1):
        if times > 1:
            raise GraphError(f"X must name each column once; {name!r} is there {times} times.")
    return _odd_in_pandas(X) if hasattr(X, "iloc") else _odd_in_arrow(X)


def _odd_in_pandas(X: Any) -> str | None:
    for i, kind in enumerate(X.dtypes):
        values = X.iloc[:, i]
        if kind.kind not in "biufc":
            problem = f"{kind} such as {values.iloc[0]!r}" if len(values) else str(kind)
        elif n := int(values.isna().sum()):
            problem = count(n, "missing value")
        else:
            continue
        return f"{str(X.columns[i])!r} has {problem}"
    return None


def _odd_in_arrow(X: Any) -> str | None:
    import pyarrow.types as is_type

    table = _arrow(X)
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        plain = is_type.is_integer(kind) or is_type.is_floating(kind) or is_type.is_boolean(kind)
        if not plain:
            problem = f"{kind} such as {column[0].as_py()!r}" if len(column) else str(kind)
        elif n := column.null_count:
            problem = count(n, "missing value")
        elif is_type.is_floating(kind) and np.isnan(np.asarray(column)).any():
            problem = "NaN"
        else:
            continue
        return f"{name!r} has {problem}"
    return None


def _arrow(X: Any) -> Any:
    # The index of pandas names vertices; Arrow would make it one more column.
    frame = X.reset_index(drop=True) if hasattr(X, "reset_index") else X
    table = frame_table(frame, _NAME)
    return table.read(table.names)
