"""X, y and a graph, as they are given to an estimator, made into one Graph and class numbers."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state

from graphfilter.errors import ConfigError, GraphError, NoGraphWarning
from graphfilter.estimators.alignment import align, align_target, places_of, row_names
from graphfilter.estimators.features import take_features
from graphfilter.estimators.state import EstimatorState
from graphfilter.estimators.targets import Target
from graphfilter.graph import Graph, check_sparse, holds_names, on_host
from graphfilter.splits import Split, check_vertices
from graphfilter.training import CLASSIFICATION

Index = NDArray[np.int64]


def take_training(estimator: EstimatorState, X: Any, y: Any, graph: Any) -> tuple[Graph, Target]:
    """Return the graph with its features, and what is to be learned of every vertex.

    Sets ``n_features_in_``, as scikit-learn's ``validate_data`` does.
    """
    if estimator.graph is not None:
        return _take_bound(estimator, X, y, graph)
    _check_is_features(X)
    if graph is None:
        warnings.warn(_WITHOUT_GRAPH, NoGraphWarning, stacklevel=3)
    held = _hold(graph, X)
    y = align_target(X, y, held)
    features = take_features(estimator, X, held, reset=True)
    n = features.shape[0]
    fitted = _join(X, features, graph, held)
    if y is None and (own := estimator.target_of(fitted)) is not None:
        return fitted, own
    if y is None:
        raise GraphError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None. "
            "Give the labels, or a Graph that has some."
        )
    target = estimator.read_target(y)
    if len(target) != n:
        raise GraphError(f"X and y must have one row per vertex; got {n} and {len(target)}.")
    if target.task is CLASSIFICATION:
        fitted = _named_like(fitted, target.codes, target.names)
    return fitted, target


def _take_bound(estimator: EstimatorState, X: Any, y: Any, graph: Any) -> tuple[Graph, Target]:
    bound = estimator.graph
    if graph is not None:
        raise ConfigError("this estimator is bound to a graph; fit takes vertex numbers only.")
    if not isinstance(bound, Graph):
        raise ConfigError(
            "an estimator is bound to a Graph with features: Graph.of(edges, features=X); "
            f"got {type(bound).__name__}. Edges without one go to fit(X, y, graph=edges)."
        )
    if holds_features(X):
        return _take_bound_rows(estimator, X, y, bound)
    if bound.features is None:
        raise GraphError("a graph to bind an estimator to must have features; it has none.")
    index = _vertex_numbers(X, bound)
    target = estimator.read_target(y)
    if len(target) != len(index):
        raise GraphError(f"there must be one label per vertex; got {len(target)}, {len(index)}.")
    estimator.n_features_in_ = 1
    estimator.bound_rows_ = None
    return bound, target.spread(index, bound.n_vertices)


def holds_features(X: Any) -> bool:
    """Return whether X holds features of vertices, not the numbers of some."""
    shape = getattr(X, "shape", ())
    return len(shape) == 2 and shape[1] > 1


def _take_bound_rows(
    estimator: EstimatorState, X: Any, y: Any, bound: Graph
) -> tuple[Graph, Target]:
    """Return the part of the bound graph whose features X holds, as a step of a pipeline has them.

    What preprocessing learned of the training rows says nothing of the others yet: they join when
    they are predicted.
    """
    places = _bound_places(X, bound)
    features = take_features(estimator, X, None, reset=True)
    target = estimator.read_target(align_target(X, y, None))
    if len(target) != len(places):
        raise GraphError(f"X and y must have one row each; got {len(places)}, {len(target)}.")
    estimator.bound_rows_ = places
    return bound.subgraph(places).replace(features=features, labels=None, splits=()), target


def _bound_places(X: Any, bound: Graph) -> Index:
    """Return which vertices of a bound graph the rows of X are: by index, or all in order."""
    rows, n = row_names(X), bound.n_vertices
    if rows is None and X.shape[0] == n:
        return np.arange(n)
    if rows is None:
        raise GraphError(
            f"X must say which vertices of the bound graph its {X.shape[0]} rows are; a "
            f"{type(X).__name__} has no index. Pass a DataFrame with the vertices as its index; "
            'keep it through a pipeline with StandardScaler().set_output(transform="pandas").'
        )
    return places_of(rows, bound.vertex_names or range(n), "graph")


def _join_bound_rows(estimator: EstimatorState, X: Any) -> tuple[Graph, Index]:
    """Return the vertices of the fit and those of X as one graph, and the rows of X in it."""
    bound, fitted = estimator.graph, estimator.graph_
    assert bound is not None
    assert estimator.bound_rows_ is not None
    places = _bound_places(X, bound)
    features = take_features(estimator, X, None, reset=False)
    known = np.setdiff1d(estimator.bound_rows_, places)
    assert fitted.features is not None
    old = fitted.features[np.flatnonzero(np.isin(estimator.bound_rows_, known))]
    order = estimator.bound_rows_[np.isin(estimator.bound_rows_, known)]
    stack = sp.vstack if sp.issparse(features) else np.vstack
    joined = bound.subgraph(np.concatenate([places, order])).replace(
        features=stack([features, old]), labels=None, splits=()
    )
    return joined, np.arange(len(places))


def take_target(estimator: EstimatorState, X: Any, graph: Any) -> tuple[Graph, Index | None]:
    """Return the graph to predict, and which of its vertices (None: all)."""
    if estimator.graph is not None and graph is None and estimator.bound_rows_ is not None:
        return (estimator.graph_, None) if X is None else _join_bound_rows(estimator, X)
    if estimator.graph is not None and graph is None:
        return estimator.graph, None if X is None else _vertex_numbers(X, estimator.graph)
    _check_is_features(X)
    fitted: Graph | None = getattr(estimator, "graph_", None)
    held = _hold(graph, X)
    if X is None and (not isinstance(held, Graph) or held.features is None):
        if graph is None and fitted is not None:
            return fitted, None
        raise GraphError(
            "a loaded model does not hold the graph it was fitted on; pass X and graph to predict."
        )
    if estimator.graph is None:
        features = take_features(estimator, X, held, reset=False)
    else:
        # Bound to a graph, the estimator's own X are vertex numbers; these are features.
        given = held.features if X is None and isinstance(held, Graph) else X
        check_sparse(given, "X")
        features = check_array(given, accept_sparse="csr", dtype=np.float32)
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
        graph = held = fitted
    return _join(X, features, graph, held), None


def take_split(split: Any, fitted: Graph, graph: Any) -> Split | None:
    """Return the split of a fit of the graph as given, from a Split or the three parts of one."""
    if split is None:
        return None
    if isinstance(graph, Graph) and graph.vertex_names != fitted.vertex_names:
        raise GraphError(
            "a split numbers vertices, and the rows of X are in another order than those of the "
            "graph. Pass X.loc[list(graph.vertex_names)], and y in the same order."
        )
    if isinstance(split, tuple | list) and len(split) == 3:
        split = Split(*(on_host(part) for part in split))
    if not isinstance(split, Split):
        got = f"{len(split)} parts" if isinstance(split, tuple | list) else type(split).__name__
        raise ConfigError(
            "split must be a Split, or its three parts (train, val, test) as vertex numbers or "
            f"masks, the last of which may be empty; got {got}."
        )
    split.check(fitted.n_vertices)
    return split


def draw_seed(random_state: Any) -> int:
    """Return the seed of a fit from an int, a RandomState or None."""
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise ConfigError(
            f"random_state must be None, a RandomState or a whole number from 0 to 2**32 - 1; "
            f"got {random_state!r} ({error})."
        ) from None


_WITHOUT_GRAPH = (
    "fit was given no graph, so every vertex stands alone and the network is an MLP. Pass "
    "graph=edges; an empty list of edges, np.empty((0, 2), int), says that there are none."
)


def _check_is_features(X: Any) -> None:
    if isinstance(X, Graph) or _is_graph(X):
        raise GraphError(
            f"X must hold the features of the vertices; got a {type(X).__name__}. "
            "Pass it as graph=: its own features and labels are then used."
        )


def _is_graph(source: Any) -> bool:
    """Return whether this is a graph of networkx or PyG, not a table with columns so named."""
    if hasattr(source, "shape"):
        return False
    return hasattr(source, "edge_index") or (hasattr(source, "nodes") and hasattr(source, "edges"))


def _hold(graph: Any, X: Any) -> Any:
    """Return a graph of another library as a Graph; edges and matrices as they are.

    Those have no features, labels or names, and their size depends on X. A DataFrame of edges is
    read as a table is, between the rows of X.
    """
    if hasattr(graph, "columns") and not callable(graph.columns) and hasattr(X, "shape"):
        names = row_names(X) or list(range(X.shape[0]))
        return Graph.from_frames({"id": names}, graph, id="id")
    return Graph.of(graph) if not isinstance(graph, Graph) and _is_graph(graph) else graph


def _join(X: Any, features: Any, graph: Any, held: Any) -> Graph:
    """Return the graph with these features, its vertices in the order of the rows of X."""
    n = features.shape[0]
    # Edges between names say nothing of the order of the rows: X does.
    rows = row_names(X) if holds_names(held) else None
    made = Graph.of(held, n) if rows is None else Graph.of(held, n, vertex_names=rows)
    if X is not None and graph is not None:
        made = align(X, made, has_names=graph is not held)
    # Its own are neither copied nor read once more: they may be mapped from a store.
    return made if features is made.features else made.replace(features=features)


def _named_like(graph: Graph, codes: Index, classes: NDArray[Any]) -> Graph:
    """Return the graph with labels in the words of y, so that ``score()`` compares like with like.

    A graph's own labels are kept where they are of the same classes, or where y holds their
    numbers; where they are of something else, those of y take their place.
    """
    own = graph.labels
    if own is None or set(classes.tolist()) & set(graph.classes.tolist()):
        return graph
    known = codes >= 0
    if classes.dtype.kind in "iu" and (classes[codes[known]] == own[known]).all():
        return dataclasses.replace(graph, classes=np.arange(graph.n_classes))
    return dataclasses.replace(graph, labels=codes.copy(), classes=classes)


def _vertex_numbers(X: Any, bound: Graph) -> Index:
    index = np.asarray(X)
    if index.ndim == 2 and index.shape[1] == 1:
        index = index[:, 0]
    what = "X, as the estimator is bound to a graph,"
    return check_vertices(index, bound.n_vertices, what, repeats=True)
