"""X, y and a graph, as they are given to an estimator, made into one Graph and class numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from graphfilter.errors import ConfigError, GraphError
from graphfilter.graph import Graph
from graphfilter.graph.labels import encode_labels
from graphfilter.graph.sparse_checks import check_sparse
from graphfilter.splits import check_vertices

if TYPE_CHECKING:
    from graphfilter.estimators.base import VertexClassifier

Index = NDArray[np.int64]


def take_training(
    estimator: VertexClassifier, X: Any, y: Any, graph: Any
) -> tuple[Graph, Index, NDArray[Any]]:
    """Return the graph with its features, the class number of every vertex, and the classes.

    Sets ``n_features_in_``, as scikit-learn's ``validate_data`` does.
    """
    if estimator.graph is not None:
        return _take_bound(estimator, X, y, graph)
    if isinstance(graph, Graph):
        features = graph.features if X is None else X
    else:
        features = X
    if features is None:
        raise GraphError("X must hold the features of the vertices; got None.")
    check_sparse(features, "X")
    features = validate_data(
        estimator, features, accept_sparse="csr", dtype=np.float32, ensure_min_samples=2
    )
    n = features.shape[0]
    if y is None and isinstance(graph, Graph) and graph.labels is not None:
        return Graph.of(graph, n, features=features), graph.labels, graph.classes
    if y is None:
        raise GraphError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None. "
            "Give the labels, or a Graph that has some."
        )
    codes, classes = _encode(y)
    if len(codes) != n:
        raise GraphError(f"X and y must have one row per vertex; got {n} and {len(codes)}.")
    return Graph.of(graph, n, features=features), codes, classes


def _take_bound(
    estimator: VertexClassifier, X: Any, y: Any, graph: Any
) -> tuple[Graph, Index, NDArray[Any]]:
    bound = estimator.graph
    if graph is not None:
        raise ConfigError("this estimator is bound to a graph; fit takes vertex numbers only.")
    if not isinstance(bound, Graph):
        raise ConfigError(
            "an estimator is bound to a Graph with features: Graph.of(edges, features=X); "
            f"got {type(bound).__name__}. Edges without one go to fit(X, y, graph=edges)."
        )
    if bound.features is None:
        raise GraphError("a graph to bind an estimator to must have features; it has none.")
    index = _vertex_numbers(X, bound)
    found, classes = _encode(y)
    if len(found) != len(index):
        raise GraphError(f"there must be one label per vertex; got {len(found)}, {len(index)}.")
    codes = np.full(bound.n_vertices, -1, dtype=np.int64)
    codes[index] = found
    twice = index[codes[index] != found]
    if len(twice):
        raise GraphError(f"a vertex must have one label; vertex {twice[0]} is given two.")
    estimator.n_features_in_ = 1
    return bound, codes, classes


def take_target(estimator: VertexClassifier, X: Any, graph: Any) -> tuple[Graph, Index | None]:
    """Return the graph to predict, and which of its vertices (None: all)."""
    if estimator.graph is not None and graph is None:
        return estimator.graph, None if X is None else _vertex_numbers(X, estimator.graph)
    fitted: Graph | None = getattr(estimator, "graph_", None)
    features = X
    if features is None:
        if isinstance(graph, Graph) and graph.features is not None:
            features = graph.features
        elif graph is None and fitted is not None:
            return fitted, None
        else:
            raise GraphError(
                "a loaded model does not hold the graph it was fitted on; "
                "pass X and graph to predict."
            )
    check_sparse(features, "X")
    if estimator.graph is None:
        features = validate_data(
            estimator, features, accept_sparse="csr", dtype=np.float32, reset=False
        )
    else:
        # Bound to a graph, the estimator's own X are vertex numbers; these are features.
        features = check_array(features, accept_sparse="csr", dtype=np.float32)
    if graph is None and fitted is None and estimator.has_edges_:
        raise GraphError(
            "a loaded model does not hold the graph it was fitted on; pass the graph of X too."
        )
    if graph is None and fitted is not None and fitted.n_edges:
        if features.shape[0] != fitted.n_vertices:
            raise GraphError(
                f"X has {features.shape[0]} rows but the fitted graph has {fitted.n_vertices} "
                "vertices; pass the graph of X to predict another one."
            )
        graph = fitted
    return Graph.of(graph, features.shape[0], features=features), None


def draw_seed(random_state: Any) -> int:
    """Return the seed of a fit from an int, a RandomState or None."""
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise ConfigError(
            f"random_state must be None, a RandomState or a whole number from 0 to 2**32 - 1; "
            f"got {random_state!r} ({error})."
        ) from None


def _vertex_numbers(X: Any, bound: Graph) -> Index:
    index = np.asarray(X)
    if index.ndim == 2 and index.shape[1] == 1:
        index = index[:, 0]
    what = "X, as the estimator is bound to a graph,"
    return check_vertices(index, bound.n_vertices, what, repeats=True)


def _encode(y: ArrayLike) -> tuple[Index, NDArray[Any]]:
    values = y if isinstance(y, list | tuple) else column_or_1d(np.asarray(y), warn=True)
    codes, classes = encode_labels(values)
    if classes.dtype.kind == "f":
        check_classification_targets(classes)
    return codes, classes
