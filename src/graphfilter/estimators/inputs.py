"""X, y and a graph, as they are given to an estimator, made into one Graph and class numbers."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state

from graphfilter.data.attributes import check_sparse, holds_names
from graphfilter.data.edges import on_host
from graphfilter.data.graph import Graph
from graphfilter.estimators.alignment import align, align_target, row_names
from graphfilter.estimators.bound import check_is_bound, take_bound, take_bound_target
from graphfilter.estimators.features import named_features, take_features
from graphfilter.estimators.state import EstimatorState
from graphfilter.estimators.targets import Target
from graphfilter.splits import Split
from graphfilter.training import CLASSIFICATION
from graphfilter.util.errors import ConfigError, DataFileError, GraphError, NoGraphWarning

Index = NDArray[np.int64]


def take_training(
    estimator: EstimatorState, X: Any, y: Any, graph: Any, vertices: Any = None
) -> tuple[Graph, Target]:
    """Return the graph with its features, and what is to be learned of every vertex.

    Sets ``n_features_in_``, as scikit-learn's ``validate_data`` does.
    """
    if estimator.graph is not None:
        return take_bound(estimator, X, y, graph, vertices)
    check_is_bound(vertices)
    _check_is_features(X)
    if graph is None:
        warnings.warn(_WITHOUT_GRAPH, NoGraphWarning, stacklevel=3)
    held = _hold(graph, X)
    y = align_target(X, y, held)
    features = take_features(estimator, X, held, reset=True)
    n = features.shape[0]
    fitted = _join(estimator, X, features, graph, held)
    if estimator.encoder_ is not None:
        fitted = fitted.replace(notes=(*fitted.notes, *estimator.encoder_.notes))
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


def take_target(
    estimator: EstimatorState, X: Any, graph: Any, vertices: Any = None
) -> tuple[Graph, Index | None]:
    """Return the graph to predict, and which of its vertices (None: all)."""
    if estimator.graph is not None and graph is None:
        return take_bound_target(estimator, X, vertices)
    check_is_bound(vertices)
    _check_is_features(X)
    fitted: Graph | None = getattr(estimator, "graph_", None)
    held = _hold(graph, X)
    if X is None and (not isinstance(held, Graph) or held.features is None):
        if graph is None and fitted is not None:
            return fitted, None
        raise GraphError(
            "a loaded model does not hold the graph it was fitted on; pass X and graph to predict."
        )
    if estimator.graph is None or estimator.bound_rows_ is not None:
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
    return _join(estimator, X, features, graph, held), None


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
    "fit was given no graph, so no vertex has neighbours and the network is an MLP. Pass "
    "graph=edges; if there are no edges, pass an empty list, np.empty((0, 2), int)."
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
        return _read_edges(graph, row_names(X) or list(range(X.shape[0])))
    return Graph.of(graph) if not isinstance(graph, Graph) and _is_graph(graph) else graph


def _read_edges(graph: Any, names: list[Any]) -> Graph:
    """Return the graph of a table of edges between vertices of these names, the rows of X."""
    try:
        return Graph.from_frames({"id": names}, graph, id="id")
    except DataFileError as error:
        found, known, _ = str(error).partition(" is not in vertices")
        if not known:
            raise
        raise GraphError(
            f"{found} is no row of X, whose index names the vertices ({names[0]!r}, ...). Set it "
            'to the ids that the edges name: X.set_index("the column of the ids").'
        ) from None


def _join(estimator: EstimatorState, X: Any, features: Any, graph: Any, held: Any) -> Graph:
    """Return the graph with these features, its vertices in the order of the rows of X."""
    n = features.shape[0]
    # Edges between names say nothing of the order of the rows: X does.
    rows = row_names(X) if holds_names(held) else None
    made = Graph.of(held, n) if rows is None else Graph.of(held, n, vertex_names=rows)
    if X is not None and graph is not None:
        made = align(X, made, has_names=graph is not held)
    # Its own are neither copied nor read once more: they may be mapped from a store.
    if features is made.features:
        return made
    return made.replace(**named_features(estimator, features))


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
