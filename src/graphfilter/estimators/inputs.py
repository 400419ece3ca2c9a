"""X, y and a graph, as they are given to an estimator, made into one Graph and its target.

Rows of X are matched with the vertices of a graph by name, or refused: never paired by luck. An
estimator that is bound to a graph takes the numbers of some of its vertices, or their features.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import validate_data

from graphfilter.data.attributes import check_real, check_sparse, named_pairs, narrowed, on_host
from graphfilter.data.graph import Graph
from graphfilter.estimators.earlier import FittedEstimator
from graphfilter.estimators.targets import Target, detached, in_one_line
from graphfilter.splits import Split, check_vertices
from graphfilter.tables.encoder import TableEncoder
from graphfilter.tables.formats import frame_table
from graphfilter.tables.roles import ID_NAMES, find_name
from graphfilter.training import CLASSIFICATION
from graphfilter.util.errors import ConfigError, DataFileError, GraphError, NoGraphWarning
from graphfilter.util.words import count

Index = NDArray[np.int64]
# What a table is called that X is.
_NAME = "X"
_NO_ROWS = "vertices says which the rows of X are: X must then hold their features."
_CHECKED: Any = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}


def take_training(
    estimator: FittedEstimator, X: Any, y: Any, graph: Any, vertices: Any = None
) -> tuple[Graph, Target]:
    """Return the graph with its features, and what is to be learned of every vertex.

    Sets ``n_features_in_``, as scikit-learn's ``validate_data`` does.
    """
    estimator.whole_ = estimator.bound_rows_ = None
    if estimator.graph is not None and graph is not None:
        raise ConfigError("this estimator is bound to a graph; fit takes vertex numbers only.")
    if isinstance(estimator.graph, Graph):
        return take_bound(estimator, X, y, vertices)
    graph = estimator.graph if graph is None else graph
    held = _read_graph(graph, X, bound=estimator.graph is not None)
    if graph is None:
        warnings.warn(_WITHOUT_GRAPH, NoGraphWarning, stacklevel=3)
    names, among = row_names(X), getattr(held, "vertex_names", None)
    if vertices is not None or (names and among and len(names) < len(among)):
        if not isinstance(held, Graph):
            raise ConfigError("vertices says which vertices of a Graph the rows of X are.")
        estimator.whole_ = held
        return _take_rows(estimator, X, y, held, vertices)
    y = align_target(X, y, held)
    features = take_features(estimator, X, held, reset=True)
    n = features.shape[0]
    fitted = _join(estimator, X, features, graph, held)
    if estimator.encoder_ is not None:
        fitted = fitted.replace(notes=(*fitted.notes, *estimator.encoder_.notes))
    if y is None:
        if (labelled := estimator.target_of(fitted)) is not None:
            return fitted, labelled
        name = type(estimator).__name__
        raise GraphError(f"{name} requires y to be passed, but the target y is None.")
    target = estimator.read_target(y)
    if len(target) != n:
        raise GraphError(f"X and y must have one row per vertex; got {n} and {len(target)}.")
    labels, names = fitted.labels, target.names
    if target.task is not CLASSIFICATION or labels is None:
        return fitted, target
    # ``score()`` compares like with like: a graph's own labels are kept where they are of the same
    # classes, or where y holds their numbers; of something else, those of y take their place.
    if not set(names.tolist()) & set(fitted.classes.tolist()):
        known = target.codes >= 0
        numbers = names.dtype.kind in "iu" and (names[target.codes[known]] == labels[known]).all()
        changes = {"labels": labels if numbers else target.codes.copy()}
        changes["classes"] = np.arange(fitted.n_classes) if numbers else names
        fitted = dataclasses.replace(fitted, **changes)
    return fitted, target


def take_weights(
    estimator: FittedEstimator, sample_weight: Any, X: Any, target: Target
) -> NDArray[np.float64]:
    """Return what each vertex weighs; 1 on average of those with a label."""
    given = align_target(X, sample_weight, None)
    given = check_array(given, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    index = np.arange(len(target))
    if isinstance(estimator.graph, Graph) and estimator.bound_rows_ is None:
        index = _vertex_numbers(X, estimator.graph)
    known = np.zeros(0, dtype=bool)
    if given.shape == index.shape:
        known = (target.codes[index] >= 0) & (given > 0)
    if (given < 0).any() or not known.any():
        raise GraphError(
            "sample_weight must hold one number per row of y, none negative and not all zero; "
            f"got shape {given.shape} for {len(index)} rows."
        )
    weights = np.zeros(len(target))
    weights[index] = given / given[known].mean()
    return weights


def take_target(
    estimator: FittedEstimator, X: Any, graph: Any, vertices: Any = None
) -> tuple[Graph, Index | None]:
    """Return the graph to predict, and which of its vertices (None: all)."""
    if X is None and vertices is not None:
        raise ConfigError(_NO_ROWS)
    whole = estimator.graph if isinstance(estimator.graph, Graph) else estimator.whole_
    if whole is not None and graph is None:
        if estimator.bound_rows_ is None:
            return whole, None if X is None else _vertex_numbers(X, whole)
        if X is None:
            return estimator.graph_, None
        return _join_rows(estimator, X, whole, vertices, estimator.bound_rows_)
    fitted: Graph | None = getattr(estimator, "graph_", None)
    held = _read_graph(graph, X)
    if X is None and (not isinstance(held, Graph) or held.features is None):
        if graph is None and fitted is not None:
            return fitted, None
        raise GraphError("a loaded model holds no graph; pass X and graph to predict.")
    if not isinstance(estimator.graph, Graph) or estimator.bound_rows_ is not None:
        features = take_features(estimator, X, held, reset=False)
    else:
        # Bound to a graph, the estimator's own X are vertex numbers; these are features.
        features = held.features if X is None and isinstance(held, Graph) else X
        check_sparse(features, "X")
        features = narrowed(check_array(features, **_CHECKED))
    if graph is None and fitted is None and estimator.has_edges_:
        raise GraphError("a loaded model holds no graph; pass the graph of X too.")
    if graph is None and fitted is not None and fitted.n_edges:
        names, known = row_names(X), fitted.vertex_names
        if estimator.graph is not None and names and known and set(names).difference(known):
            # Bound to edges: those among the rows of X and of the fit.
            rest = set(known).difference(names)
            names = [*names, *(name for name in known if name in rest)]
            both = _read_graph(estimator.graph, X, names, bound=True)
            return _join_rows(estimator, X, both, None, places_of(known, names))
        if vertices is not None or features.shape[0] != fitted.n_vertices:
            return _among_fitted(estimator, X, features, fitted, vertices)
        graph = held = fitted
    return _join(estimator, X, features, graph, held), None


def take_split(split: Any, fitted: Graph, graph: Any) -> Split | None:
    """Return the split of a fit of the graph as given, from a Split or the three parts of one."""
    if split is None:
        return None
    if isinstance(graph, Graph) and graph.vertex_names != fitted.vertex_names:
        raise GraphError(
            "a split numbers vertices, and the rows of X are not in the order of the graph. Pass "
            "X.loc[list(graph.vertex_names)], and y in the same order."
        )
    if isinstance(split, tuple | list) and len(split) == 3:
        split = Split(*(on_host(part) for part in split))
    if not isinstance(split, Split):
        raise ConfigError("split must be a Split, or three arrays (train, val, test).")
    split.check(fitted.n_vertices)
    return split


def draw_seed(random_state: Any) -> int:
    """Return the seed of a fit from an int, a RandomState or None."""
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError as error:
        raise ConfigError(f"random_state must be a seed, a RandomState or None: {error}") from None


_WITHOUT_GRAPH = (
    "fit was given no graph, so no vertex has neighbours and the network is an MLP. Pass "
    "graph=edges; if there are no edges, pass an empty list, np.empty((0, 2), int)."
)


def _is_graph(source: Any) -> bool:
    """Return whether this is a graph of networkx or PyG, not a table with columns so named."""
    if hasattr(source, "shape"):
        return False
    of_pyg = hasattr(source, "edge_index") or hasattr(source, "edge_types")
    return of_pyg or (hasattr(source, "nodes") and hasattr(source, "edges"))


def _read_graph(graph: Any, X: Any, names: Any = None, *, bound: bool = False) -> Any:
    """Return a graph of another library as a Graph; edges and matrices as they are.

    Those have no features, labels or names, and their size depends on X. A DataFrame of edges is
    read as a table is, between the rows of X, or others with these names; an estimator that is
    ``bound`` to it leaves edges to others out.
    """
    if isinstance(X, Graph) or _is_graph(X):
        raise GraphError(f"X must hold features; got a {type(X).__name__}. Pass it as graph=.")
    if not (hasattr(graph, "columns") and not callable(graph.columns) and hasattr(X, "shape")):
        return Graph.of(graph) if not isinstance(graph, Graph) and _is_graph(graph) else graph
    names = names or row_names(X) or list(range(X.shape[0]))
    try:
        return Graph.from_frames({"id": names}, graph, id="id", allow_missing=bound)
    except DataFileError as error:
        edge, unknown, _ = str(error).partition(" is not in vertices")
        if not unknown:
            raise
        raise GraphError(
            f"{edge} is no row of X, whose index names the vertices ({names[0]!r}, ...). Set it "
            'to the ids that the edges name: X.set_index("the column of the ids").'
        ) from None


def _join(estimator: FittedEstimator, X: Any, features: Any, graph: Any, held: Any) -> Graph:
    """Return the graph with these features, its vertices in the order of the rows of X."""
    made = held
    if X is not None:
        # Edges between names say nothing of the order of the rows: X does.
        rows = row_names(X) if named_pairs(held) else None
        names = {} if rows is None else {"vertex_names": rows}
        made = Graph.of(held, features.shape[0], **names)
        made = made if graph is None else align(X, made, has_names=graph is not held)
    # Its own are neither copied nor read once more: they may be mapped from a store.
    if features is made.features:
        return made
    return made.replace(**named_features(estimator, features))


def take_bound(estimator: FittedEstimator, X: Any, y: Any, vertices: Any) -> tuple[Graph, Target]:
    """Return the graph to fit, and what is to be learned of every vertex."""
    bound = estimator.graph
    shape = getattr(X, "shape", ())
    if vertices is not None or (len(shape) == 2 and shape[1] > 1):
        return _take_rows(estimator, X, y, bound, vertices)
    if bound.features is None:
        raise GraphError("a graph to bind an estimator to must have features; it has none.")
    index = _vertex_numbers(X, bound)
    target = estimator.read_target(y)
    if len(target) != len(index):
        raise GraphError(f"there must be one label per vertex; got {len(target)}, {len(index)}.")
    estimator.n_features_in_ = 1
    return bound, target.spread(index, bound.n_vertices)


def _take_rows(
    estimator: FittedEstimator, X: Any, y: Any, bound: Graph, vertices: Any
) -> tuple[Graph, Target]:
    """Return the part of the bound graph whose features X holds, as a step of a pipeline has them.

    What preprocessing learned of the training rows says nothing of the others yet: they join when
    they are predicted.
    """
    places = _places(X, bound, vertices, _remedy(bound, in_fit=True))
    features = take_features(estimator, X, None, reset=True)
    target = estimator.read_target(align_target(X, y, None))
    if len(target) != len(places):
        raise GraphError(f"X and y must have one row each; got {len(places)}, {len(target)}.")
    estimator.bound_rows_ = places
    named = named_features(estimator, features)
    return bound.subgraph(places).replace(**named, labels=None, splits=()), target


def _among_fitted(
    estimator: FittedEstimator, X: Any, features: Any, fitted: Graph, vertices: Any
) -> tuple[Graph, Index]:
    """Return the fitted graph, with the features of some rows as X has them, and these rows."""
    old, names = fitted.features, row_names(X)
    assert old is not None
    if vertices is None and (names is None or fitted.vertex_names is None):
        sizes = f"X has {features.shape[0]} rows, the fitted graph {fitted.n_vertices} vertices"
        raise GraphError(
            f"{sizes}; pass the graph of X to predict another one, or rows of the DataFrame that "
            "was fitted, whose index names them."
        )
    places = _places(X, fitted, vertices, "")
    if vertices is None and names == list(range(len(places))):
        _check_not_row_numbers(features, old, places, places)
    if not abs(features - old[places]).max() > 0:
        return fitted, places
    order = np.arange(fitted.n_vertices)
    order[places] = fitted.n_vertices + np.arange(len(places))
    rows: Any = sp.vstack([old, features], format="csr") if sp.issparse(old) else None
    changed = np.vstack([np.asarray(old), features]) if rows is None else rows
    changed = named_features(estimator, changed[order])
    return fitted.replace(**changed), places


def _join_rows(
    estimator: FittedEstimator, X: Any, bound: Graph, vertices: Any, fitted: Index
) -> tuple[Graph, Index]:
    """Return the vertices of the fit and those of X as one graph, and the rows of X in it.

    ``fitted`` are the vertices of the fit among those of the bound graph.
    """
    old = estimator.graph_.features
    assert old is not None
    places = _places(X, bound, vertices, _remedy(bound))
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
        raise ConfigError(_NO_ROWS)
    if vertices is not None:
        places = check_vertices(vertices, n, "vertices")
        if len(places) != X.shape[0]:
            n, got = X.shape[0], len(places)
            raise GraphError(f"vertices must name one vertex per row of X ({n}); got {got}.")
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
            f"the index of X must name vertices; this one counts its {len(places)} rows from 0. "
            "Make X a DataFrame whose index names the vertices before it is divided into folds."
        )


def _remedy(bound: Graph, *, in_fit: bool = False) -> str:
    """Return the lines that make cross-validation of a pipeline work on arrays.

    To name the vertices is enough for any score: scikit-learn routes nothing to predictions.
    """
    index = "" if bound.vertex_names is None else ", index=g.vertex_names"
    options = 'sklearn.set_config(transform_output="pandas")'
    text = f"Name them, for scoring= too: X = pd.DataFrame(X{index}) and {options}."
    if not in_fit:
        return text
    routed = f'cross_val_score(..., params={{"vertices": np.arange({bound.n_vertices})}})'
    return f"Route them: sklearn.set_config(enable_metadata_routing=True), {routed}. {text}"


def _vertex_numbers(X: Any, bound: Graph) -> Index:
    index = np.asanyarray(X)
    if index.ndim == 2 and index.shape[1] == 1:
        index = index[:, 0]
    what = "X, as the estimator is bound to a graph,"
    return check_vertices(index, bound.n_vertices, what, repeats=True)


def row_names(table: Any) -> list[Any] | None:
    """Return the index of a DataFrame or Series, or its column of ids; None of unnamed rows."""
    index = getattr(table, "index", None)
    # ``list.index`` and ``tuple.index`` are methods.
    if index is not None and not callable(index):
        return list(index)
    return None if (name := _id_column(table)) is None else list(_values(table[name]))


def in_frame(
    estimator: FittedEstimator, method: str, values: Any, X: Any, graph: Any, names: Any = None
) -> Any:
    """Return answers of a method as ``set_output`` says: an array, or a frame with the names."""
    kind = estimator.output_of(method)
    if kind == "default":
        return values
    known = row_names(X)
    if known is None and X is None:
        known = (estimator.graph_ if graph is None else Graph.of(graph)).vertex_names
    known = np.arange(len(values)) if known is None else list(known)
    names = [method] if values.ndim == 1 else [str(name) for name in names]
    columns = dict(zip(names, values[:, None].T if values.ndim == 1 else values.T, strict=True))
    if kind == "polars":
        import polars as pl

        return pl.DataFrame({"id": known, **columns})
    import pandas as pd

    return (
        pd.DataFrame(columns, index=pd.Index(known))
        if values.ndim > 1
        else (pd.Series(values, index=pd.Index(known), name=method))
    )


def _values(column: Any) -> list[Any]:
    return column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()


def _id_column(X: Any) -> str | None:
    """Return the column that names the rows of a table without an index, of polars or pyarrow."""
    if not _is_table(X) or hasattr(X, "index"):
        return None
    name = find_name(_names(X), [name for name in ID_NAMES if name != "name"])
    ids = [] if name is None else _values(X[name])
    named = not any(isinstance(value, float) for value in ids) and len(set(ids)) == len(ids)
    return name if named else None


def align(X: Any, graph: Graph, *, has_names: bool) -> Graph:
    """Return the graph with its vertices in the order of the rows of X.

    Rows that have names (the index of a DataFrame) and vertices that have names (the nodes of a
    networkx graph) are matched by them; rows without names are in the order of the vertices.

    Parameters
    ----------
    X : features as the user gave them
    graph : Graph
    has_names : bool
        Whether rows without names are ambiguous where the vertices are numbers out of order, as
        in a networkx graph: is row 0 that of vertex 0, or of the vertex that was added first?
    """
    rows, n = row_names(X), graph.n_vertices
    vertices = None if graph.vertex_names is None else list(graph.vertex_names)
    if rows is None:
        if vertices is None or vertices == list(range(n)):
            return graph
        if hasattr(X, "columns"):
            raise GraphError(
                f"X must name the vertices of its rows; a {type(X).__name__} has no index. Pass a "
                "pandas DataFrame with the names as its index, a column called id, or an array in "
                "the graph's order."
            )
        if has_names and _are_numbers(vertices, n):
            raise GraphError(
                f"the vertices of the graph are the numbers 0..{n - 1} in another order. Pass "
                "graph=Graph.from_networkx(graph) for rows in the order of its nodes, or a "
                "DataFrame with the nodes as its index."
            )
        return graph
    if len(rows) != n:
        raise GraphError(f"the graph must have {len(rows)} vertices, one per row of X; got {n}.")
    if vertices is None:
        if rows != list(range(n)) and _are_numbers(rows, n):
            raise GraphError(
                f"the index of X must be in order where it is the numbers 0..{n - 1}. Pass "
                "X.sort_index() (and y in the same order), or X.reset_index(drop=True)."
            )
        # Kept, so that a later X in another order is matched too.
        return graph.replace(vertex_names=rows) if len(set(rows)) == n else graph
    if rows == vertices:
        return graph
    return graph.subgraph(places_of(rows, vertices))


def align_target(X: Any, y: Any, graph: Any) -> Any:
    """Return y in the order of the rows of X, or of the vertices, where both have names.

    Rows that the index of y does not name have no label. Without common names, labels are paired
    with rows by their position, as scikit-learn does.
    """
    names, expected = row_names(y), row_names(X)
    if X is None and isinstance(graph, Graph) and graph.vertex_names is not None:
        expected = list(graph.vertex_names)
    if names is None or expected is None or names == expected:
        return y
    try:
        # Numbers from 0 only say that y has rows.
        numbers = names == list(range(len(names))) and len(names) != len(expected)
        if numbers or len(set(names)) < len(names) or not set(names) <= set(expected):
            return y
    except TypeError:
        return y
    return y.reindex(expected)


def places_of(rows: Sequence[Any], vertices: Sequence[Any]) -> NDArray[np.int64]:
    """Return the position among the vertices of each row's name."""
    place = {name: i for i, name in enumerate(vertices)}
    missing = [row for row in rows if row not in place]
    if missing:
        raise GraphError(
            f"the index of X must name the vertices of the graph; {missing[0]!r} is none (vertices "
            f"are called {vertices[0]!r}, ...). Set it with X.set_index(...)."
        )
    if len(set(rows)) != len(rows):
        twice = next(row for i, row in enumerate(rows) if row in rows[:i])
        raise GraphError(f"the index of X must name every vertex once; got {twice!r} twice.")
    return np.array([place[row] for row in rows])


def _are_numbers(names: Sequence[Any], n: int) -> bool:
    """Return whether names are the numbers from 0 to n - 1, in any order."""
    try:
        return set(names) == set(range(n))
    except TypeError:
        return False


@in_one_line("Give numbers (n, d), or a DataFrame, whose words, dates and gaps are encoded.")
def take_features(estimator: FittedEstimator, X: Any, held: Any, *, reset: bool) -> Any:
    """Return checked features: X, or those of the graph. Keeps or compares the features' names.

    Of a table with words, dates or gaps ``encoder_`` keeps how they become numbers.
    """
    if X is None:
        return _features_of(estimator, held, reset)
    features = plain_features(X)
    if (name := _id_column(features)) is not None and (
        reset or name not in getattr(estimator, "feature_names_in_", ())
    ):
        features = features.drop([name])
    check_sparse(features, "X")
    options: Any = {**_CHECKED, "ensure_min_samples": 2 if reset else 1}
    odd = _odd_column(features)
    if reset:
        estimator.encoder_ = None if odd is None else TableEncoder.fit(_arrow(features), _NAME)
        if (encoder := estimator.encoder_) is not None and not encoder.columns:
            raise GraphError(f"X must have a column to learn from: {' '.join(encoder.notes)}")
    encoder = estimator.encoder_
    if encoder is not None:
        if not _is_table(features):
            some, got = [column.name for column in encoder.columns[:3]], type(X).__name__
            raise GraphError(f"X must be a table with the columns of the fit, {some}; got {got}.")
        checked = check_array(encoder.transform(_arrow(features), _NAME), **options)
        if reset:
            names = _names(features)
            estimator.n_features_in_ = len(names)
            estimator.feature_names_in_ = np.array(names, dtype=object)
        return checked
    if odd is not None:
        raise GraphError(f"X must hold numbers, as in the fit; column {odd}. Fill it in.")
    features = _in_order_of_the_fit(estimator, features, reset)
    return narrowed(validate_data(estimator, features, reset=reset, **options))


def _in_order_of_the_fit(estimator: FittedEstimator, X: Any, reset: bool) -> Any:
    """Return a DataFrame with its columns in the order of the fit, where they are the same ones."""
    known, columns = getattr(estimator, "feature_names_in_", None), getattr(X, "columns", None)
    if reset or known is None or columns is None or callable(columns):
        return X
    names, wanted = list(columns), known.tolist()
    same = len(set(names)) == len(names) and set(names) == set(wanted)
    return X[wanted] if same and names != wanted else X


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
        about = {"estimator": estimator, "input_name": "X"}
        checked = check_array(features, **_CHECKED, ensure_min_samples=2, **about)
        estimator.n_features_in_ = checked.shape[1]
        vars(estimator).pop("feature_names_in_", None)
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        return checked
    known = _feature_names(estimator)
    if names is not None and known is not None and names != known:
        if sorted(names) != sorted(known) or len(set(names)) < len(names):
            odd = [n for n in (*names, *known) if names.count(n) != known.count(n)] or names
            raise GraphError(f"the graph's features must be those of the fit; see {odd[0]!r}.")
        features = features[:, [names.index(name) for name in known]]
    checked = check_array(features, **_CHECKED)
    expected = estimator.n_features_in_ if known is None else len(known)
    if checked.shape[1] != expected:
        raise GraphError(
            f"the graph must have the {expected} features of the fit; got {checked.shape[1]}."
        )
    return checked


def plain_features(X: Any) -> Any:
    """Return X without a gradient; masked cells and numbers beyond any float are refused."""
    features = detached(X, "X")
    check_real(features, "X")
    if not isinstance(features, np.ma.MaskedArray):
        return features
    if n := int(np.ma.count_masked(features)):
        raise GraphError(f"X must hold a number in every cell; {n:,} are masked. Fill them in.")
    return features.data


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
    numbers = hasattr(X, "iloc") and all(kind.kind in "biufc" for kind in X.dtypes)
    if numbers and not X.isna().any(axis=None):
        return None
    import pyarrow.types as is_type

    table = _arrow(X)
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind, n = column.type, column.null_count
        if is_type.is_floating(kind):
            n = int(np.isnan(np.asarray(column)).sum())
        elif not (is_type.is_integer(kind) or is_type.is_boolean(kind)):
            # Not every date is one of Python's.
            with suppress(OverflowError, IndexError):
                return f"{name!r} has {kind} such as {column[0].as_py()!r}"
            return f"{name!r} has {kind}"
        if n:
            return f"{name!r} has {count(n, 'missing value')}"
    return None


def _arrow(X: Any) -> Any:
    # The index of pandas names vertices; Arrow would make it one more column.
    frame = X.reset_index(drop=True) if hasattr(X, "reset_index") else X
    table = frame_table(frame, _NAME)
    return table.read(table.names)
