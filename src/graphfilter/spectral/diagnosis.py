"""What frequencies labels or numbers of a graph have, and what that says to a person.

A frequency is known everywhere, or estimated on a sample (Proposition 3). The sentences of a
diagnosis follow from its numbers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from graphfilter.data.graph import Graph
from graphfilter.splits import check_vertices
from graphfilter.util.errors import ConfigError, GraphError, check_name

__all__ = [
    "Diagnosis",
    "FrequencyEstimate",
    "ValueDiagnosis",
    "diagnose",
    "diagnose_values",
    "estimate_label_frequency",
    "feature_frequency",
    "frequency_gap_bound",
    "frequency_range",
    "homophily",
    "label_frequency",
    "laplacian",
    "rayleigh_quotient",
]

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
    labelled = np.flatnonzero(labels >= 0)
    entries = (np.ones(len(labelled)), (labelled, labels[labelled]))
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


METHODS = ("unbiased", "induced", "naive")

# With fewer sampled edges than this the jackknife's variance is too rough to be used.
_ENOUGH_EDGES = 10


@dataclass(frozen=True, eq=False)
class FrequencyEstimate:
    """Label frequencies estimated from some labels, one per class.

    Attributes
    ----------
    value : float64 array (n_classes,)
        NaN where the sample says nothing. An unbiased estimate may fall outside 0..2: cutting
        it off would bias it.
    low, high : float64 arrays (n_classes,)
        The interval, within 0..2; NaN for the biased methods, which have no meaningful one.
    mean, mean_low, mean_high : float
        The value averaged over the classes that have one, and its interval.
    method, encoding : str

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> estimate = gf.spectral.estimate_label_frequency(g, range(0, 34, 2))
    >>> round(estimate.mean, 2), estimate.method
    (0.46, 'unbiased')
    """

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    mean: float
    mean_low: float
    mean_high: float
    method: str
    encoding: str

    def on_scale(self) -> FrequencyEstimate:
        """Return the estimate to show: values that chance put outside 0..2 at the nearer end."""
        return replace(
            self, value=np.clip(self.value, 0.0, 2.0), mean=float(np.clip(self.mean, 0.0, 2.0))
        )


def estimate_label_frequency(
    graph: Graph,
    index: ArrayLike,
    method: str = "unbiased",
    encoding: str = "signed",
    level: float = 0.95,
) -> FrequencyEstimate:
    r"""Estimate the frequency of all labels from those of the vertices in ``index``.

    Proposition 3, with n of the N vertices drawn uniformly. A vertex is in the sample with
    probability n/N and a pair with n(n-1)/N(N-1); dividing the sampled part of the quadratic form
    by those makes its expectation the whole. With :math:`L_n` the rows and columns of the *whole*
    graph's Laplacian that belong to the sample,

    .. math:: \widehat{y^\top L y} = \frac{N(N-1)}{n(n-1)} \, y_n^\top L_n y_n
        - \Bigl(\frac{N(N-1)}{n(n-1)} - \frac{N}{n}\Bigr) \, y_n^\top \mathrm{diag}(L_n) \, y_n .

    The paper's form has :math:`p^{-2}`, with p = n/N, for the first factor: unbiased over samples
    of random size where p is given, but not where p is counted from the sample, which the form
    above allows.

    Parameters
    ----------
    graph : Graph
    index : array of int or boolean mask
        The vertices whose labels may be used, taken as drawn uniformly from all vertices. No
        other label is looked at.
    method : {"unbiased", "induced", "naive"}
        *unbiased* as above. *induced* puts the Laplacian of the induced subgraph in place of
        :math:`L_n`, as the paper's text says: badly biased. *naive* is the plain Rayleigh
        quotient of the sampled labels: drawn towards 1. The last two are here to be compared with.
    encoding : {"signed", "onehot"}
        The signed estimate divides by N/4 and is unbiased. The size of a one-hot class must
        itself be estimated, so that estimate is a ratio: consistent, not unbiased.
    level : float
        Coverage of the interval.

    Notes
    -----
    The interval comes from the delete-one jackknife with the finite-population factor 1 - n/N,
    computed in closed form in one pass over the sampled edges; nothing in it is random. For a
    quadratic form it errs on the wide side (Efron and Stein 1981): up to 1.4 times the true width
    where n/N is small, exact as n/N grows. Nominal 95 % intervals of signed labels covered the
    truth in 0.93 to 1.00 of samples on Cora, Chameleon, Wisconsin and Texas; those of the mean in
    0.89 to 1.00, least on Texas, whose 183 vertices hang on a few hubs. The plain bootstrap, which
    knows nothing of n/N, was 1.4 to 1.9 times wider still on Cora.

    A class with fewer than ten sampled edges (between its own members, for one-hot) gets the
    interval 0..2.

    Examples
    --------
    >>> cycle = Graph.from_edges([[i, (i + 1) % 200] for i in range(200)], labels=[0, 1] * 100)
    >>> sample = np.random.default_rng(0).permutation(200)[:120]
    >>> e = estimate_label_frequency(cycle, sample)
    >>> e.value.round(2), e.low.round(2), e.high.round(2)
    (array([2.02, 2.02]), array([1.89, 1.89]), array([2., 2.]))
    """
    check_name("method", method, METHODS)
    if not 0 < level < 1:
        raise ConfigError(f"level must lie between 0 and 1; got {level}.")
    index = check_index(graph, index)
    signals = label_signals(graph, encoding)
    y = signals[index].toarray() if isinstance(signals, sp.csr_array) else signals[index]
    if method == "unbiased":
        return _unbiased(graph, index, y, level, encoding)
    if method == "naive":
        signal = np.zeros((graph.n_vertices, y.shape[1]))
        signal[index] = y
        value = rayleigh_quotient(graph, signal)
    else:
        value = _induced(graph, index, y)
    none, nan = np.full(graph.n_classes, np.nan), float("nan")
    return FrequencyEstimate(value, none, none, _mean(value), nan, nan, method, encoding)


def estimate_signal_frequency(
    graph: Graph, index: NDArray[np.int64], signals: NDArray[np.float64], level: float = 0.95
) -> FrequencyEstimate:
    """Estimate the frequency of signals from what they are on some vertices.

    As :func:`estimate_label_frequency` does for labels; ``signals`` (n, T) are those of ``index``.

    Examples
    --------
    >>> cycle = Graph.from_edges([[i, (i + 1) % 100] for i in range(100)])
    >>> wave = np.cos(2 * np.pi * np.arange(100) / 100)
    >>> estimate_signal_frequency(cycle, np.arange(100), wave[:, None]).value.round(3)
    array([0.002])
    """
    return _unbiased(graph, index, signals, level, "signal")


def _unbiased(
    graph: Graph, index: NDArray[np.int64], y: NDArray[np.float64], level: float, encoding: str
) -> FrequencyEstimate:
    """Return the unbiased estimate with its interval; ``y`` holds the signals of ``index``."""
    value, covariance, enough = _sample_moments(graph, index, y)
    width = NormalDist().inv_cdf((1 + level) / 2)
    low, high = _interval(value, width * np.sqrt(np.diag(covariance)), enough)
    has_one = np.isfinite(value)
    variance = max(covariance[np.ix_(has_one, has_one)].sum(), 0.0)
    deviation = np.sqrt(variance) / max(has_one.sum(), 1)
    mean = _mean(value)
    mean_low, mean_high = map(float, _interval(mean, width * deviation, enough[has_one].all()))
    return FrequencyEstimate(value, low, high, mean, mean_low, mean_high, "unbiased", encoding)


def _sample_moments(
    graph: Graph, index: NDArray[np.int64], y: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return the unbiased estimates, their jackknife covariance, and whether it can be trusted.

    ``y`` holds the label signals of ``index``, one per column. The estimates are
    ``(vertex · M + pair · W) / (vertex · X)``, where M, W and X sum over sampled vertices, and
    leaving a vertex out takes its own share from each sum: its pairs count twice in W.
    """
    n, n_all = len(index), graph.n_vertices
    pairs = normalised_adjacency(graph)[index][:, index]
    share_w = -y * (pairs @ y)
    share_x = y**2
    share_m = share_x * (graph.degrees[index] > 0)[:, None]
    m, w, x = share_m.sum(axis=0), share_w.sum(axis=0), share_x.sum(axis=0)
    value = _expand(m, w, x, n, n_all)
    if n < 3:
        return value, np.zeros((len(x), len(x))), np.full(len(x), n == n_all)
    left_out = _expand(m - share_m, w - 2 * share_w, x - share_x, n - 1, n_all)
    # Without the only member of a class there is no ratio: such a class is not trusted.
    whole = np.isfinite(left_out).all(axis=0)
    deviation = np.where(whole, left_out - left_out.mean(axis=0), 0.0)
    covariance = (1 - n / n_all) * (n - 1) / n * (deviation.T @ deviation)
    seen = (y != 0).astype(np.float64)
    n_edges = np.einsum("ij,ij->j", seen, pairs.astype(bool).astype(np.float64) @ seen) / 2
    # Where every vertex is sampled the value is the truth.
    return value, covariance, ((n_edges >= _ENOUGH_EDGES) & whole) | (n == n_all)


def check_index(graph: Graph, index: ArrayLike) -> NDArray[np.int64]:
    """Return vertex indices, checked: in range, each once, all labelled."""
    labels = check_labels(graph)
    vertices = check_vertices(index, graph.n_vertices, "index")
    unlabelled = vertices[labels[vertices] < 0]
    if len(unlabelled):
        raise GraphError(
            f"index must hold labelled vertices only; {len(unlabelled)} have no label (the first "
            f"is {unlabelled[0]}). Leave them out."
        )
    return vertices


def _expand(
    m: NDArray[np.float64], w: NDArray[np.float64], x: NDArray[np.float64], n: int, n_all: int
) -> NDArray[np.float64]:
    """Scale sums over n sampled vertices up to all, and take the quotient."""
    if n < 2:
        return np.full(np.shape(x), np.nan)
    pair_over_vertex = (n_all - 1) / (n - 1)
    return np.divide(m + pair_over_vertex * w, x, out=np.full(np.shape(x), np.nan), where=x > 0)


def _interval(value: Any, half_width: Any, enough: Any) -> tuple[Any, Any]:
    """Return the ends of the interval: within 0..2, and all of it where too little is known."""
    informed = enough & np.isfinite(value)
    low = np.where(informed, np.clip(value - half_width, 0.0, 2.0), 0.0)
    high = np.where(informed, np.clip(value + half_width, 0.0, 2.0), 2.0)
    return low, high


def _mean(value: NDArray[np.float64]) -> float:
    finite = value[np.isfinite(value)]
    return float(finite.mean()) if len(finite) else float("nan")


def _induced(graph: Graph, index: NDArray[np.int64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Proposition 3 as printed: p = n/N, and the Laplacian of the induced subgraph."""
    p = len(index) / graph.n_vertices
    nothing = np.full(y.shape[1], np.nan)
    if p == 0:
        return nothing
    inner = laplacian(graph.subgraph(index))
    diagonal = inner.diagonal()[:, None]
    form = np.einsum("ij,ij->j", y, inner @ y) - (1 - p) * (diagonal * y**2).sum(axis=0)
    size = (y**2).sum(axis=0) / p
    return np.divide(form / p**2, size, out=nothing, where=size > 0)


LOW_BELOW, HIGH_ABOVE = 0.6, 1.3

# A rule of thumb. Of 17 benchmark graphs measured, the citation and co-purchase graphs have an
# adjusted homophily of 0.67 and more, all others of 0.09 and less.
_WEAK_AGREEMENT = 0.2
_ONE_SIDE = (
    "No two labelled vertices are adjacent: the labels are on one side of the graph, so this is "
    "measured two steps away."
)
# Adjusted homophily, or a correlation, nearer to 0 than this is called chance.
_CHANCE = 0.1


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
    return _agreement(graph)[kind]


def _agreement(graph: Graph) -> dict[str, float]:
    """Return every kind of homophily, in one pass over the edges."""
    labels = check_labels(graph)
    rows = np.repeat(np.arange(graph.n_vertices), np.diff(graph.indptr))
    labelled = (labels[rows] >= 0) & (labels[graph.indices] >= 0)
    rows, columns = rows[labelled], graph.indices[labelled]
    weights = np.ones(len(rows)) if graph.weights is None else graph.weights[labelled].astype(float)
    total = weights.sum()
    if total == 0:
        return dict.fromkeys(KINDS, float("nan"))
    agree = weights * (labels[rows] == labels[columns])
    edge = float(agree.sum() / total)
    sums, agreeing = (np.bincount(rows, each, graph.n_vertices) for each in (weights, agree))
    vertex = float(np.mean(agreeing[sums > 0] / sums[sums > 0]))
    shares = np.bincount(labels[rows], weights=weights) / total
    by_chance = float(np.sum(shares**2))
    several = np.count_nonzero(shares) > 1
    adjusted = (edge - by_chance) / (1 - by_chance) if several else float("nan")
    return {"edge": edge, "vertex": vertex, "adjusted": adjusted}


# Pairs of vertices that are looked at; a vertex between k others makes k² of them.
MOST_PAIRS = 50_000_000


def two_steps(
    graph: Graph, index: NDArray[np.int64], most_pairs: int = MOST_PAIRS
) -> tuple[Graph, NDArray[np.int64]] | None:
    r"""Return the graph of those vertices that have labels, or share a neighbour with one that has.

    They are joined by the neighbours they share, :math:`A D^{-1} A` without its diagonal, so that
    one vertex between many others counts as much as one between two.

    Parameters
    ----------
    graph : Graph
    index : int array
        The vertices whose labels are known.
    most_pairs : int
        Vertices between the most others are left out beyond it.

    Returns
    -------
    graph, index : Graph and int array, or None
        None where two vertices of that side are adjacent: the labels are not on one side, or too
        few to tell.

    Examples
    --------
    >>> g = Graph.from_edges([[0, 3], [1, 3], [1, 4], [2, 4]], labels=["a", "a", "b", None, None])
    >>> far, index = two_steps(g, np.array([0, 1, 2]))
    >>> far.edges.tolist(), index.tolist()
    ([[0, 1], [1, 2]], [0, 1, 2])
    >>> two_steps(g, np.array([0, 3])) is None
    True
    """
    links = graph.adjacency
    labelled = np.zeros(graph.n_vertices, dtype=bool)
    labelled[index] = True
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


def frequency_range(value: float) -> str:
    """Name the paper's group of a label frequency: low below 0.6, high above 1.3, else middle.

    >>> [frequency_range(r) for r in (0.2, 1.0, 1.9)]
    ['low', 'middle', 'high']
    """
    if np.isnan(value):
        return "unknown"
    return "low" if value < LOW_BELOW else "high" if value > HIGH_ABOVE else "middle"


def describe_agreement(edge_homophily: float, adjusted_homophily: float, steps: int = 1) -> str:
    """Return how often neighbours share their class, compared with chance.

    At two steps, those that share a neighbour.

    >>> describe_agreement(0.06, -0.29)
    'Neighbours share their class on 6 % of the edges, less often than by chance.'
    """
    if np.isnan(edge_homophily):
        return "No edge joins two vertices whose classes are known."
    chance = "about as often as by chance"
    if abs(adjusted_homophily) > _CHANCE:
        chance = f"{'more' if adjusted_homophily > 0 else 'less'} often than by chance"
    agree = f"share their class on {100 * edge_homophily:.0f} % of the edges, {chance}."
    if steps == 2:
        agree = f"agree in class in {100 * edge_homophily:.0f} % of the pairs, {chance}."
    return f"{'Neighbours' if steps == 1 else 'Vertices that share a neighbour'} {agree}"


def describe_kind(
    range_name: str, confidence: str, n_edges: int, edge: float, adjusted: float, steps: int = 1
) -> str:
    """Return which kind of graph this is, and how often neighbours agree on it.

    Parameters
    ----------
    range_name : str
        Of the mean label frequency.
    confidence : {"exact", "sure", "unsure"}
    n_edges : int
    edge, adjusted : float
        The two homophilies; NaN where no edge joins known labels.
    steps : int
        1, or 2 where these are between vertices that share a neighbour.

    Examples
    --------
    >>> describe_kind("low", "exact", 100, 0.38, 0.29)
    'A low-frequency graph. Neighbours share their class on 38 % of the edges, more often than by
    chance.'
    """
    if not n_edges:
        return "A graph without edges: no vertex has neighbours."
    agreement = describe_agreement(edge, adjusted, steps)
    if steps == 2 and not np.isnan(edge):
        return f"{_ONE_SIDE} {agreement}"
    if confidence == "unsure" or range_name == "unknown" or np.isnan(edge):
        return f"The labels are too few to tell the type of this graph. {agreement}"
    return f"A {range_name}-frequency graph. {agreement}"


def advise(range_name: str, n_edges: int, edge: float, adjusted: float, steps: int = 1) -> str:
    """Return which model the labels need."""
    if not n_edges:
        return "There are no edges: use a model of the features alone."
    agreement = describe_agreement(edge, adjusted, steps)
    use = "Use an adaptive filter, and compare it with a model that ignores the graph."
    if steps == 2:
        if adjusted > _CHANCE:
            use = "A filter that looks two steps away, as an adaptive one does, can use that."
        return f"{_ONE_SIDE} {agreement} {use}"
    if range_name == "high" and edge < 0.5:
        use = "A low-pass model would blur the classes into each other: use an adaptive filter."
    elif range_name == "low" and not adjusted < _WEAK_AGREEMENT:
        use = (
            "A low-pass model (GCN, SGC, APPNP) will do; an adaptive filter should learn the same."
        )
    return f"{agreement} {use}"


def describe_confidence(low: float, high: float, confidence: str) -> str:
    """Return how sure a diagnosis is, given the interval of the mean label frequency."""
    if confidence == "exact":
        return "Every label is known, so this is exact."
    if np.isnan(low) or np.isnan(high):
        few = "the labels are too few to estimate their frequency"
        return f"This is uncertain: {few}. More labels would help."
    interval = f"{low:.2f} to {high:.2f}"
    if confidence == "sure":
        return f"The mean label frequency lies in {interval} (95 %), within one range."
    return (
        f"This is uncertain: the mean label frequency lies in {interval} (95 %), which spans "
        "ranges. More labels would narrow it."
    )


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What :func:`diagnose` found.

    Attributes
    ----------
    n_vertices, n_edges, n_isolated, n_features, n_labelled : int
    class_counts : dict
        Class name to the number of known members.
    label_frequency : FrequencyEstimate
        One per class and their mean, with intervals; signed, within 0..2; NaN without edges.
    ranges : tuple of str
        The name of each class's range: low, middle or high.
    range : str
        The range of the mean.
    edge_homophily, adjusted_homophily : float
        Over edges between known labels; NaN where there are none.
    feature_frequency : tuple of float, or None
        Mean and deviation over the features that are not zero everywhere.
    confidence : {"exact", "sure", "unsure"}
        *exact*: every label is known. *sure*: the whole interval of the mean lies in one range.
    kind : str
        Which kind of graph this is, and how often neighbours agree.
    advice : str
        Whether a low-pass model will do or an adaptive filter is needed, and how sure that is.
    steps : int
        2 where the labels are on one side of the graph, so that no two labelled vertices are
        adjacent: frequency and homophily are then those between vertices that share a neighbour
        (:func:`~graphfilter.spectral.diagnosis.two_steps`). 1 otherwise.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> diagnosis = gf.spectral.diagnose(g)
    >>> diagnosis.range, round(diagnosis.label_frequency.mean, 2)
    ('low', 0.37)
    """

    n_vertices: int
    n_edges: int
    n_isolated: int
    n_features: int
    n_labelled: int
    class_counts: dict[Any, int]
    label_frequency: FrequencyEstimate
    ranges: tuple[str, ...]
    range: str
    edge_homophily: float
    adjusted_homophily: float
    feature_frequency: tuple[float, float] | None
    confidence: str
    kind: str
    advice: str
    steps: int = 1


def diagnose(graph: Graph, index: ArrayLike | None = None) -> Diagnosis:
    """Return what frequencies the labels have and which kind of model they need.

    Parameters
    ----------
    graph : Graph
        With labels.
    index : array of int or boolean mask, optional
        The vertices whose labels may be looked at; all labelled ones where not given. Taken as a
        uniform sample of all vertices.

    Examples
    --------
    >>> cycle = Graph.from_edges([[i, (i + 1) % 100] for i in range(100)], labels=[0, 1] * 50)
    >>> d = diagnose(cycle)
    >>> d.range, d.confidence, d.edge_homophily
    ('high', 'exact', 0.0)
    >>> d.advice
    'Neighbours share their class on 0 % of the edges, less often than by chance. A low-pass model
    would blur the classes into each other: use an adaptive filter. Every label is known, so this is
    exact.'
    """
    labels = check_labels(graph)
    sample = check_index(graph, labels >= 0 if index is None else index)
    counts = np.bincount(labels[sample], minlength=graph.n_classes)
    if len(sample) < 2:
        raise GraphError(f"a diagnosis needs at least 2 labelled vertices; got {len(sample)}.")
    if np.count_nonzero(counts) < 2:
        raise GraphError("a diagnosis needs labels of at least two classes; got one.")
    near, place, steps = graph, sample, 1
    if index is not None:
        seen = np.full(graph.n_vertices, -1)
        seen[sample] = labels[sample]
        near = replace(graph, labels=seen)
    agreement = _agreement(near)
    if graph.n_edges and np.isnan(agreement["edge"]) and (far := two_steps(near, sample)):
        (near, place), steps = far, 2
        agreement = _agreement(near)
    edge, adjusted = agreement["edge"], agreement["adjusted"]
    frequency = known_frequency(near, place)
    ends = frequency_range(frequency.mean_low), frequency_range(frequency.mean_high)
    confidence = "sure" if ends[0] == ends[1] != "unknown" else "unsure"
    if len(place) == near.n_vertices:
        confidence = "exact"
    range_name = frequency_range(frequency.mean)
    advice = advise(range_name, graph.n_edges, edge, adjusted, steps)
    if graph.n_edges:
        how_sure = describe_confidence(frequency.mean_low, frequency.mean_high, confidence)
        if confidence == "unsure":  # That comes first where the labels are too few to tell.
            advice = f"{how_sure} As far as the estimate goes: {advice}"
        else:
            advice = f"{advice} {how_sure}"
    of_features = np.empty(0) if graph.features is None else feature_frequency(graph)
    of_features = of_features[np.isfinite(of_features)]
    return Diagnosis(
        n_vertices=graph.n_vertices,
        n_edges=graph.n_edges,
        n_isolated=int(np.count_nonzero(np.diff(graph.indptr) == 0)),
        n_features=graph.n_features,
        n_labelled=len(sample),
        class_counts=dict(zip(graph.classes.tolist(), counts.tolist(), strict=True)),
        label_frequency=frequency,
        ranges=tuple(map(frequency_range, frequency.value)),
        range=range_name,
        edge_homophily=edge,
        adjusted_homophily=adjusted,
        feature_frequency=(float(of_features.mean()), float(of_features.std()))
        if len(of_features)
        else None,
        confidence=confidence,
        kind=describe_kind(range_name, confidence, graph.n_edges, edge, adjusted, steps),
        advice=advice,
        steps=steps,
    )


def known_frequency(graph: Graph, index: ArrayLike) -> FrequencyEstimate:
    """Estimate the label frequency on its scale, 0 to 2; NaN where there are no edges at all."""
    estimate = estimate_label_frequency(graph, index).on_scale()
    if graph.n_edges:
        return estimate
    none, nan = np.full(graph.n_classes, np.nan), float("nan")
    return replace(estimate, value=none, low=none, high=none, mean=nan, mean_low=nan, mean_high=nan)


@dataclass(frozen=True, eq=False)
class ValueDiagnosis:
    """What :func:`diagnose_values` found.

    Attributes
    ----------
    names : tuple of str
    n_known : int
        Vertices whose values are known.
    frequency : FrequencyEstimate
        One per column, of its deviation from its mean, in units of its deviation.
    ranges : tuple of str
        Low, middle or high.
    correlation : float64 array (T,)
        Of the values of neighbours; NaN where no edge joins two that are known.
    steps : int
        2 where no two known vertices are adjacent, and these are between those that share a
        neighbour.
    advice : str

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.Graph.from_edges([[i, (i + 1) % 60] for i in range(60)])
    >>> wave = np.cos(2 * np.pi * np.arange(60) / 60)
    >>> found = gf.spectral.diagnose_values(g, wave[:, None], ["height"])
    >>> found.ranges, found.correlation.round(2)
    (('low',), array([0.99]))
    """

    names: tuple[str, ...]
    n_known: int
    frequency: FrequencyEstimate
    ranges: tuple[str, ...]
    correlation: NDArray[np.float64]
    steps: int
    advice: str


def diagnose_values(
    graph: Graph, values: NDArray[np.float64], names: Sequence[str]
) -> ValueDiagnosis:
    """Return what frequencies numbers of the vertices have, and whether neighbours resemble.

    Parameters
    ----------
    graph : Graph
    values : array (n, T)
        Numbers, or 0 and 1 for labels; a row of NaN where unknown.
    names : sequence of str
        Of the columns.

    Examples
    --------
    >>> path = Graph.from_edges([[0, 1], [1, 2], [2, 3]])
    >>> diagnose_values(path, np.array([[1.0], [2.0], [3.0], [4.0]]), ["size"]).n_known
    4
    """
    index = np.flatnonzero(np.isfinite(values).all(axis=1))
    if len(index) < 2:
        raise GraphError(f"a diagnosis needs at least 2 known vertices; got {len(index)}.")
    numbers = values[index].astype(np.float64)
    deviation = numbers.std(axis=0)
    signals = (numbers - numbers.mean(axis=0)) / np.where(deviation == 0, 1, deviation)
    near, place, steps = graph, index, 1
    correlation = _correlation(graph, index, signals)
    if graph.n_edges and np.isnan(correlation).all():
        codes = np.full(graph.n_vertices, -1)
        codes[index] = 0
        if far := two_steps(graph.replace(labels=codes), index):
            (near, place), steps = far, 2
            correlation = _correlation(near, place, signals)
    frequency = estimate_signal_frequency(near, place, signals).on_scale()
    ranges = tuple(map(frequency_range, frequency.value))
    advice = _advise(correlation, steps, graph.n_edges)
    return ValueDiagnosis(tuple(names), len(index), frequency, ranges, correlation, steps, advice)


def _correlation(
    graph: Graph, index: NDArray[np.int64], signals: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the correlation, over edges by weight, of the signals at their ends."""
    between = graph.adjacency[index][:, index].tocoo()
    total = between.data.sum()
    if not total:
        return np.full(signals.shape[1], np.nan)
    weights = between.data / total
    first, second = signals[between.row], signals[between.col]
    mean = weights @ first
    spread = weights @ (first - mean) ** 2
    shared = weights @ ((first - mean) * (second - mean))
    return np.divide(shared, spread, out=np.full(len(mean), np.nan), where=spread > 0)


def _advise(correlation: NDArray[np.float64], steps: int, n_edges: int) -> str:
    if not n_edges:
        return "There are no edges: use a model of the features alone."
    if np.isnan(correlation).all():
        return (
            "No edge joins two vertices whose values are known: compare with a model that ignores "
            "the graph."
        )
    mean = float(np.nanmean(correlation))
    who = "Neighbours" if steps == 1 else "Vertices that share a neighbour"
    start = "" if steps == 1 else "No two vertices whose values are known are adjacent. "
    if mean > _CHANCE:
        text = f"{who} have similar values (correlation {mean:.2f}): the graph should help."
    elif mean < -_CHANCE:
        text = f"{who} have opposite values (correlation {mean:.2f}): an adaptive filter is needed."
    else:
        text = (
            f"{who} hardly resemble each other (correlation {mean:.2f}): compare with a model that "
            "ignores the graph."
        )
    return start + text
