"""How fast a signal oscillates over a graph, and how often neighbours carry the same label."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.util.errors import ConfigError, GraphError, check_name

ENCODINGS = ("signed", "onehot")

_ROWS_AT_ONCE = 1 << 16
# Bounds of the memory that a product with many columns takes: columns of a dense signal, and
# multiply-adds between the rows of a sparse one, handled at a time.
_DENSE_COLUMNS = 16
_SPARSE_PRODUCTS = 20_000_000


def laplacian(graph: Graph) -> sp.csr_array:
    r"""Return the symmetric normalised Laplacian (section 2).

    .. math:: L = D^{-1/2} (D - A) D^{-1/2}

    Its eigenvalues, the *frequencies* of the graph, lie in 0..2. The row of an isolated vertex
    is zero, its diagonal entry included (Chung 1997), so that 0 is an eigenvalue once for every
    connected component.

    Examples
    --------
    >>> laplacian(Graph.from_edges([[0, 1]], n_vertices=3)).toarray()
    array([[ 1., -1.,  0.],
           [-1.,  1.,  0.],
           [ 0.,  0.,  0.]])
    """
    diagonal = sp.diags_array(np.where(graph.degrees > 0, 1.0, 0.0))
    return sp.csr_array(diagonal - normalised_adjacency(graph))


def rayleigh_quotient(graph: Graph, signal: Any) -> Any:
    r"""Return the frequency of a signal: its Rayleigh quotient (Equation 1, corrected).

    .. math:: r(x) = \frac{x^\top L x}{x^\top x}
        = \frac{\sum_{u \sim v} A_{uv} (x_u/\sqrt{d_u} - x_v/\sqrt{d_v})^2}{\sum_u x_u^2}

    Parameters
    ----------
    graph : Graph
    signal : array (n,) or (n, d), or scipy sparse (n, d)
        Sparse signals stay sparse.

    Returns
    -------
    float, or float64 array (d,)
        In 0..2. A signal that is zero everywhere has no frequency: NaN.

    Examples
    --------
    >>> edge = Graph.from_edges([[0, 1]])
    >>> rayleigh_quotient(edge, [1, 1]), rayleigh_quotient(edge, [1, -1])
    (0.0, 2.0)
    >>> rayleigh_quotient(edge, [[1, 1, 0], [1, 0, 0]])
    array([ 0.,  1., nan])
    """
    sparse = sp.issparse(signal)
    try:
        values: Any = sp.csr_array(signal) if sparse else np.asarray(signal)
        values = values if values.dtype.kind == "f" else values.astype(np.float64)
    except (TypeError, ValueError):
        raise GraphError("a signal must be numbers, one row per vertex.") from None
    n = graph.n_vertices
    if values.ndim not in (1, 2) or values.shape[0] != n:
        raise GraphError(f"a signal must have one row per vertex ({n}); got shape {values.shape}.")
    if not np.isfinite(values.data if sparse else values).all():
        raise GraphError("a signal must be finite; got NaN or infinity. Fill or drop those first.")
    of_one = values.ndim == 1
    forms = _sparse_forms if sparse else _dense_forms
    norm, form = forms(graph, values[:, None] if of_one else values)
    result = np.divide(form, norm, out=np.full(len(norm), np.nan), where=norm > 0)
    # Rounding may step a hair over the bounds that the theory guarantees.
    result = np.clip(result, 0.0, 2.0)
    return float(result[0]) if of_one else result


def _dense_forms(graph: Graph, signal: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return x'x and x'Lx of each column, but for one factor per column."""
    adjacency, connected = normalised_adjacency(graph), graph.degrees > 0
    made = np.zeros((2, signal.shape[1]))
    for start in range(0, signal.shape[1], _DENSE_COLUMNS):
        some = slice(start, start + _DENSE_COLUMNS)
        x = signal[:, some].astype(np.float64)
        x = np.ldexp(x, -_exponent(np.abs(x).max(axis=0)))
        norm = np.einsum("ij,ij->j", x, x)
        diagonal = norm if connected.all() else np.einsum("i,ij,ij->j", connected, x, x)
        made[:, some] = norm, diagonal - np.einsum("ij,ij->j", x, adjacency @ x)
    return made[0], made[1]


def _sparse_forms(graph: Graph, signal: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return x'x and x'Lx of each sparse column, but for one factor per column."""
    n, d = signal.shape
    x = signal.astype(np.float64)
    x.data = np.ldexp(x.data, -_exponent(abs(x).max(axis=0).toarray().ravel())[x.indices])
    adjacency, squares = normalised_adjacency(graph), x.data**2
    norm = np.bincount(x.indices, squares, d)
    connected = np.repeat(graph.degrees > 0, np.diff(x.indptr))
    form = np.bincount(x.indices, squares * connected, d)
    # Row v of A X costs the stored entries of v's neighbours; blocks of rows bound the sum.
    links = (np.ones(len(graph.indices), dtype=bool), graph.indices, graph.indptr)
    cost = np.cumsum(sp.csr_array(links, shape=(n, n)) @ np.diff(x.indptr))
    start, before = 0, 0
    while start < n:
        reach = np.searchsorted(cost, before + _SPARSE_PRODUCTS, side="right")
        stop = max(int(reach), start + 1)
        block = x[start:stop].multiply(adjacency[start:stop] @ x).tocsr()
        form -= np.bincount(block.indices, block.data, d)
        start, before = stop, cost[stop - 1]
    return norm, form


def _exponent(peak: NDArray[np.float64]) -> NDArray[Any]:
    """Return the power of two above each peak.

    A signal divided by it lies in -1..1, so that its squares do not overflow. The division is
    exact, and does not overflow either where the peak is subnormal and 1/peak infinite.
    """
    return np.frexp(peak)[1]


def label_frequency(graph: Graph, encoding: str = "signed") -> NDArray[np.float64]:
    """Return the frequency of each class's label signal, r(Y) in the paper's Table 1.

    Parameters
    ----------
    graph : Graph
        With labels. An unlabelled vertex has 0 in every signal; where many are unlabelled that
        pulls the frequency towards 1: use :func:`estimate_label_frequency` then.
    encoding : {"signed", "onehot"}
        A vertex has +1/2 in the signal of its own class and -1/2 in the others, or 1 and 0.
        The paper uses both; they give different numbers.

    Returns
    -------
    float64 array (n_classes,)

    Examples
    --------
    >>> path = Graph.from_edges([[0, 1], [1, 2], [2, 3]], labels=["a", "a", "b", "b"])
    >>> label_frequency(path).round(3)
    array([0.543, 0.543])
    >>> label_frequency(path, encoding="onehot").round(3)
    array([0.293, 0.293])
    """
    return rayleigh_quotient(graph, label_signals(graph, encoding))


def feature_frequency(graph: Graph, row_normalise: bool = True) -> NDArray[np.float64]:
    """Return the frequency of each feature, r(X) in the paper's Table 1.

    Parameters
    ----------
    graph : Graph
        With features, dense or sparse.
    row_normalise : bool
        Divide each row by the sum of its absolute values first, as the paper does.

    Returns
    -------
    float64 array (n_features,)
        NaN for a feature that is zero everywhere; ``np.nanmean`` skips it.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.data.make_csbm(n_vertices=200, frequency=0.2, seed=0)
    >>> gf.spectral.feature_frequency(g).shape
    (50,)
    """
    if graph.features is None:
        raise GraphError("feature frequencies need features; this graph has none.")
    features = graph.features
    if row_normalise:
        total = np.asarray(abs(features).sum(axis=1), dtype=np.float64).ravel()
        total[total == 0] = 1.0
        # In float64, where one over a total of float32 numbers is finite, subnormal or not.
        scale = 1 / total
        if isinstance(features, np.ndarray):
            features = features * scale[:, None]
        else:
            features = sp.csr_array(sp.diags_array(scale) @ features)
    return rayleigh_quotient(graph, features)


def frequency_gap_bound(delta: float) -> float:
    r"""Bound the error of a prediction from below by its error in frequency.

    For unit vectors whose frequencies differ by at least δ,

    .. math:: \|\hat y - y\|^2 \ge 2 - \sqrt{4 - \delta^2},

    and no larger bound holds for every graph. It takes the place of δ/4 in the paper's
    Proposition 2, which fails for small δ (see the errata).

    Examples
    --------
    >>> frequency_gap_bound(0.0), frequency_gap_bound(2.0)
    (0.0, 2.0)
    """
    if not 0 <= delta <= 2:
        raise ConfigError(f"a gap between frequencies must lie in 0..2; got {delta}.")
    # The same number, written so that nothing cancels where δ is small.
    return float(delta**2 / (2 + np.sqrt(4 - delta**2)))


def label_signals(graph: Graph, encoding: str = "signed") -> Any:
    """Return one signal per class (n, n_classes): signed and dense, or one-hot and sparse.

    Unlabelled vertices have 0 in every column.
    """
    check_name("encoding", encoding, ENCODINGS)
    labels = check_labels(graph)
    known = np.flatnonzero(labels >= 0)
    entries = (np.ones(len(known)), (known, labels[known]))
    onehot = sp.csr_array(entries, shape=(graph.n_vertices, graph.n_classes))
    if encoding == "onehot":
        return onehot
    return np.where((labels >= 0)[:, None], onehot.toarray() - 0.5, 0.0)


def check_labels(graph: Graph) -> NDArray[np.int64]:
    """Return the class numbers, or raise where there are none."""
    if graph.labels is None or graph.n_classes == 0:
        raise GraphError("label frequencies need labels; this graph has none.")
    return graph.labels


def normalised_adjacency(graph: Graph) -> sp.csr_array:
    """Return D^{-1/2} A D^{-1/2}, zero at isolated vertices."""
    degrees, indptr = graph.degrees, graph.indptr
    scale = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    shape = (graph.n_vertices, graph.n_vertices)
    data = np.empty(len(graph.indices))
    # In blocks of rows: the adjacency may take most of the memory there is.
    for start in range(0, graph.n_vertices, _ROWS_AT_ONCE):
        rows = slice(start, min(start + _ROWS_AT_ONCE, graph.n_vertices))
        block = slice(int(indptr[start]), int(indptr[rows.stop]))
        values = scale[graph.indices[block]]
        if graph.weights is not None:
            values = graph.weights[block].astype(np.float64) * values
        counts = np.diff(indptr[start : rows.stop + 1])
        np.multiply(values, np.repeat(scale[rows], counts), out=data[block])
    return sp.csr_array((data, graph.indices, indptr), shape=shape)


KINDS = ("edge", "vertex", "adjusted")


def homophily(graph: Graph, kind: str = "edge") -> float:
    r"""Return how much neighbours agree in label.

    Only edges between two labelled vertices are counted; a weighted edge counts by its weight.
    NaN where there is no such edge, or, for *adjusted*, only one class on them.

    Parameters
    ----------
    graph : Graph
    kind : {"edge", "vertex", "adjusted"}
        *edge*: the share h of edges whose ends agree. *vertex*: the share of agreeing neighbours,
        averaged over vertices that have any (Pei et al. 2020). *adjusted*: the edge homophily
        against that expected from the classes' degrees :math:`D_k` alone (Platonov et al. 2023),

        .. math:: \frac{h - \sum_k D_k^2 / (2|E|)^2}{1 - \sum_k D_k^2 / (2|E|)^2},

        1 where all neighbours agree and about 0 where labels do not follow the edges, whatever
        the number of classes and their sizes.

    Examples
    --------
    >>> path = Graph.from_edges([[0, 1], [1, 2], [2, 3]], labels=["a", "a", "b", "b"])
    >>> [round(homophily(path, kind), 3) for kind in ("edge", "vertex", "adjusted")]
    [0.667, 0.75, 0.333]
    """
    check_name("homophily", kind, KINDS)
    labels = check_labels(graph)
    rows = np.repeat(np.arange(graph.n_vertices), np.diff(graph.indptr))
    known = (labels[rows] >= 0) & (labels[graph.indices] >= 0)
    rows, columns = rows[known], graph.indices[known]
    weights = np.ones(len(rows)) if graph.weights is None else graph.weights[known].astype(float)
    agree = weights * (labels[rows] == labels[columns])
    total = weights.sum()
    if total == 0:
        return float("nan")
    if kind == "vertex":
        sums, agreeing = (np.bincount(rows, each, graph.n_vertices) for each in (weights, agree))
        return float(np.mean(agreeing[sums > 0] / sums[sums > 0]))
    edge = float(agree.sum() / total)
    if kind == "edge":
        return edge
    shares = np.bincount(labels[rows], weights=weights) / total
    by_chance = float(np.sum(shares**2))
    if np.count_nonzero(shares) < 2:
        return float("nan")
    return (edge - by_chance) / (1 - by_chance)


# Pairs of vertices that are looked at; a vertex between k others makes k² of them.
MOST_PAIRS = 50_000_000


def two_steps(
    graph: Graph, known: NDArray[np.int64], most_pairs: int = MOST_PAIRS
) -> tuple[Graph, NDArray[np.int64]] | None:
    r"""Return the graph of those vertices that have labels, or share a neighbour with one that has.

    They are joined by the neighbours they share, :math:`A D^{-1} A` without its diagonal, so that
    one vertex between many others counts as much as one between two.

    Parameters
    ----------
    graph : Graph
    known : int array
        The vertices whose labels are known.
    most_pairs : int
        Vertices between the most others are left out beyond it.

    Returns
    -------
    graph, known : Graph and int array, or None
        None where two vertices of that side are adjacent: the labels are not on one side, or too
        few to tell.

    Examples
    --------
    >>> g = Graph.from_edges([[0, 3], [1, 3], [1, 4], [2, 4]], labels=["a", "a", "b", None, None])
    >>> far, known = two_steps(g, np.array([0, 1, 2]))
    >>> far.edges.tolist(), known.tolist()
    ([[0, 1], [1, 2]], [0, 1, 2])
    >>> two_steps(g, np.array([0, 3])) is None
    True
    """
    links = graph.adjacency
    labelled = np.zeros(graph.n_vertices, dtype=bool)
    labelled[known] = True
    between = links @ labelled.astype(float) > 0
    side = labelled | (links @ between.astype(float) > 0)
    if (side & between).any() or (links @ side.astype(float) > 0)[side].any():
        return None
    members, middle = np.flatnonzero(side), np.flatnonzero(between)
    n_each = np.diff(graph.indptr)[middle].astype(np.int64)
    order = np.argsort(n_each, kind="stable")
    middle = np.sort(middle[order[np.cumsum(n_each[order] ** 2) <= most_pairs]])
    steps = sp.csr_array(links[members][:, middle])
    back = sp.diags_array(1 / np.maximum(graph.degrees[middle], 1e-30)) @ steps.T
    pairs = sp.coo_array(sp.csr_array(steps @ back))
    other = pairs.row < pairs.col
    far = Graph.from_edges(
        np.stack([pairs.row[other], pairs.col[other]], axis=1), len(members),
        weights=pairs.data[other], name=graph.name,
    )  # fmt: skip
    far = replace(far, labels=check_labels(graph)[members].copy(), classes=graph.classes)
    return far, np.flatnonzero(labelled[members])
