"""Estimators bound to a graph: X holds the numbers of some of its vertices, or their features."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.estimators.alignment import align_target, places_of, row_names
from graphfilter.estimators.features import named_features, take_features
from graphfilter.estimators.state import EstimatorState
from graphfilter.estimators.targets import Target
from graphfilter.splits import check_vertices
from graphfilter.util.errors import ConfigError, GraphError

Index = NDArray[np.int64]


def check_is_bound(vertices: Any) -> None:
    """Raise where an estimator that is bound to no graph is told of vertices."""
    if vertices is not None:
        raise ConfigError(
            "vertices is for an estimator that is bound to a graph, GraphClassifier(graph=g), "
            "where X holds the features of some of its vertices; this one is bound to none."
        )


def take_bound(
    estimator: EstimatorState, X: Any, y: Any, graph: Any, vertices: Any
) -> tuple[Graph, Target]:
    """Return the graph to fit, and what is to be learned of every vertex."""
    bound = estimator.graph
    if graph is not None:
        raise ConfigError("this estimator is bound to a graph; fit takes vertex numbers only.")
    if not isinstance(bound, Graph):
        raise ConfigError(
            "an estimator is bound to a Graph with features: Graph.of(edges, features=X); "
            f"got {type(bound).__name__}. Edges without one go to fit(X, y, graph=edges)."
        )
    if vertices is not None or _holds_features(X):
        return _take_rows(estimator, X, y, bound, vertices)
    if bound.features is None:
        raise GraphError("a graph to bind an estimator to must have features; it has none.")
    index = _vertex_numbers(X, bound)
    target = estimator.read_target(y)
    if len(target) != len(index):
        raise GraphError(f"there must be one label per vertex; got {len(target)}, {len(index)}.")
    estimator.n_features_in_ = 1
    estimator.bound_rows_ = None
    return bound, target.spread(index, bound.n_vertices)


def take_bound_target(
    estimator: EstimatorState, X: Any, vertices: Any
) -> tuple[Graph, Index | None]:
    """Return the graph to predict, and which of its vertices (None: all)."""
    bound = estimator.graph
    assert bound is not None
    if estimator.bound_rows_ is None:
        return bound, None if X is None else _vertex_numbers(X, bound)
    return (estimator.graph_, None) if X is None else _join_rows(estimator, X, bound, vertices)


def _holds_features(X: Any) -> bool:
    """Return whether X holds features of vertices, not the numbers of some."""
    shape = getattr(X, "shape", ())
    return len(shape) == 2 and shape[1] > 1


def _take_rows(
    estimator: EstimatorState, X: Any, y: Any, bound: Graph, vertices: Any
) -> tuple[Graph, Target]:
    """Return the part of the bound graph whose features X holds, as a step of a pipeline has them.

    What preprocessing learned of the training rows says nothing of the others yet: they join when
    they are predicted.
    """
    places = _places(X, bound, vertices, _route_or_name(type(estimator).__name__, bound))
    features = take_features(estimator, X, None, reset=True)
    target = estimator.read_target(align_target(X, y, None))
    if len(target) != len(places):
        raise GraphError(f"X and y must have one row each; got {len(places)}, {len(target)}.")
    estimator.bound_rows_ = places
    own = named_features(estimator, features)
    return bound.subgraph(places).replace(**own, labels=None, splits=()), target


def _join_rows(
    estimator: EstimatorState, X: Any, bound: Graph, vertices: Any
) -> tuple[Graph, Index]:
    """Return the vertices of the fit and those of X as one graph, and the rows of X in it."""
    fitted = estimator.bound_rows_
    old = estimator.graph_.features
    assert fitted is not None
    assert old is not None
    places = _places(X, bound, vertices, _name(bound))
    features = take_features(estimator, X, None, reset=False)
    if sp.issparse(features) != sp.issparse(old):
        features = sp.csr_array(features) if sp.issparse(old) else features.toarray()
    if vertices is None and row_names(X) == list(range(len(places))):
        _check_not_row_numbers(features, old, places, fitted)
    others = np.flatnonzero(~np.isin(fitted, places))
    stack = sp.vstack if sp.issparse(features) else np.vstack
    joined = bound.subgraph(np.concatenate([places, fitted[others]])).replace(
        **named_features(estimator, stack([features, old[others]])), labels=None, splits=()
    )
    return joined, np.arange(len(places))


def _places(X: Any, bound: Graph, vertices: Any, remedy: str) -> Index:
    """Return which vertices of a bound graph the rows of X are: as told, by index, or all."""
    n = bound.n_vertices
    if len(getattr(X, "shape", ())) != 2:
        raise ConfigError(
            "vertices says which vertices the rows of X are: X must then hold their features; "
            f"got {type(X).__name__}."
        )
    if vertices is not None:
        places = check_vertices(vertices, n, "vertices")
        if len(places) != X.shape[0]:
            raise GraphError(
                f"vertices must name one vertex per row of X ({X.shape[0]}); got {len(places)}."
            )
        return places
    rows = row_names(X)
    if rows is None and X.shape[0] == n:
        return np.arange(n)
    if rows is None:
        raise GraphError(
            f"X must say which of the {n} vertices of the bound graph its {X.shape[0]} rows are; "
            f"{type(X).__name__} does not. {remedy}"
        )
    return places_of(rows, bound.vertex_names or range(n))


def _check_not_row_numbers(features: Any, old: Any, places: Index, fitted: Index) -> None:
    """Raise where an index counts rows, as that of a transformer which is given arrays does.

    Then two sets of rows have the same names, and the features of one vertex differ.
    """
    _, here, there = np.intersect1d(places, fitted, return_indices=True)
    if not len(here):
        return
    known = old[there]
    if abs(features[here] - known).max() > 1e-5 * max(1.0, abs(known).max()):
        raise GraphError(
            f"the index of X must name vertices; this one counts its {len(places)} rows from 0, "
            "and these vertices had other features in fit, as where an array went through "
            'set_output(transform="pandas"). Make X a DataFrame whose index names the vertices '
            "before it is divided into folds."
        )


def _route_or_name(estimator: str, bound: Graph) -> str:
    """Return the lines that make cross-validation of a pipeline work on arrays."""
    text = f'params={{"vertices": np.arange({bound.n_vertices})}}'
    return (
        "Route them: sklearn.set_config(enable_metadata_routing=True) and "
        f"cross_val_score(make_pipeline(..., {estimator}(graph=g)), X, y, {text}). {_name(bound)}"
    )


def _name(bound: Graph) -> str:
    """Return the lines that do so for any score: scikit-learn routes nothing to predictions."""
    index = "" if bound.vertex_names is None else ", index=g.vertex_names"
    return (
        f"Name them, also where scoring= or predictions are asked for: X = pd.DataFrame(X{index}) "
        'and sklearn.set_config(transform_output="pandas").'
    )


def _vertex_numbers(X: Any, bound: Graph) -> Index:
    index = np.asanyarray(X)
    if index.ndim == 2 and index.shape[1] == 1:
        index = index[:, 0]
    what = "X, as the estimator is bound to a graph,"
    return check_vertices(index, bound.n_vertices, what, repeats=True)
