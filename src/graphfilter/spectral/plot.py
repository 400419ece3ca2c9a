"""Pictures of filters and frequencies, and the densities over 0..2 that they show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.spectral.diagnosis import label_signals, laplacian
from graphfilter.util.errors import ConfigError
from graphfilter.util.pictures import (
    COLOURS,
    FAINT,
    FREQUENCY_AXIS,
    FREQUENCY_GRID,
    GREY,
    shorten,
    take_axes,
    unframe,
)

__all__ = ["Density", "label_energy", "plot_spectrum", "spectral_density"]

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Up to here all eigenvectors take about a second; beyond, moments are estimated.
_EXACT_UP_TO = 1500
# A probe's moments have variance about 2/n: n times the probes are kept near this number.
_PROBE_ENTRIES = 500_000
_MAX_PROBES = 64


@dataclass(frozen=True, eq=False)
class Density:
    """A density on equal bins of 0..2: ``values`` times the bin width sums to 1.

    Attributes
    ----------
    centres : float64 array (n_bins,)
    values : float64 array (n_bins,) or (n_classes, n_bins)
        NaN for a class without members.
    exact : bool
        Whether it is the histogram of all eigenvalues, or the kernel polynomial estimate.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> density = gf.spectral.spectral_density(g)
    >>> density.exact, len(density.centres)
    (True, 40)
    """

    centres: NDArray[np.float64]
    values: NDArray[np.float64]
    exact: bool

    @property
    def width(self) -> float:
        return 2.0 / len(self.centres)


def spectral_density(graph: Graph, n_bins: int = 40, seed: int = 0) -> Density:
    r"""Return the density of the Laplacian's eigenvalues.

    Up to 1500 vertices, their histogram. Beyond, the kernel polynomial method (Weiße et al.
    2006): the Chebyshev moments :math:`\mu_k = \mathrm{tr}\, T_k(L - I) / n` are estimated from
    random vectors of signs, damped with Jackson's kernel, which keeps the density non-negative,
    and integrated over each bin. It blurs by about one bin.

    Parameters
    ----------
    graph : Graph
    n_bins : int
        The method uses twice as many moments, at one product with L for two of them.
    seed : int
        Of the random vectors.

    Examples
    --------
    >>> edge = Graph.from_edges([[0, 1]])
    >>> spectral_density(edge, n_bins=4).values
    array([1., 0., 0., 1.])
    """
    edges = _bin_edges(n_bins)
    if graph.n_vertices <= _EXACT_UP_TO:
        eigenvalues = np.linalg.eigvalsh(laplacian(graph).toarray()).astype(np.float64)
        mass = _histogram(eigenvalues, np.full((1, len(eigenvalues)), 1.0), edges)
        return _density(mass, edges, exact=True, flat=True)
    n = graph.n_vertices
    n_probes = int(np.clip(_PROBE_ENTRIES // n, 1, _MAX_PROBES))
    rng = np.random.default_rng(seed)
    shifted = _shifted_laplacian(graph)
    probes = (rng.choice(np.array([-1.0, 1.0]), size=n) for _ in range(n_probes))
    moments = np.mean([_moments(shifted, x, 2 * n_bins) for x in probes], axis=0, keepdims=True)
    return _density(_integrate(moments, edges), edges, exact=False, flat=True)


def label_energy(graph: Graph, encoding: str = "signed", n_bins: int = 40) -> Density:
    r"""Return how the energy of each class's label signal spreads over the spectrum.

    A signal :math:`y = \sum_i c_i u_i` in eigenvectors has energy :math:`c_i^2 / \|y\|^2` at
    frequency :math:`\lambda_i`; the mean of this density is the label frequency. Exact up to 1500
    vertices; beyond, from the moments :math:`\langle y, T_k(L - I)\, y \rangle / \|y\|^2`, as in
    :func:`spectral_density` but with nothing random.

    Parameters
    ----------
    graph : Graph
        Unlabelled vertices have 0 in every signal.
    encoding : {"signed", "onehot"}
    n_bins : int

    Returns
    -------
    Density
        With one row of values per class.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> energy = gf.spectral.label_energy(g)
    >>> energy.values.shape  # one row per class, one column per band of frequencies
    (2, 40)
    """
    edges = _bin_edges(n_bins)
    signals = label_signals(graph, encoding)
    if graph.n_vertices <= _EXACT_UP_TO:
        eigenvalues, vectors = np.linalg.eigh(laplacian(graph).toarray())
        energy = (signals.T @ vectors) ** 2
        return _density(_histogram(eigenvalues, energy, edges), edges, exact=True)
    shifted = _shifted_laplacian(graph)
    columns = (signals[:, [c]] for c in range(graph.n_classes))
    dense = (c.toarray() if isinstance(c, sp.csr_array) else c for c in columns)
    moments = [_moments(shifted, c.ravel(), 2 * n_bins) for c in dense]
    return _density(_integrate(np.stack(moments), edges), edges, exact=False)


def _bin_edges(n_bins: int) -> NDArray[np.float64]:
    if n_bins < 1:
        raise ConfigError(f"n_bins must be at least 1; got {n_bins}.")
    return np.linspace(0.0, 2.0, n_bins + 1)


def _histogram(
    eigenvalues: NDArray[np.float64], energy: NDArray[np.float64], edges: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Sum the energy (rows of it) at the eigenvalues of each bin."""
    # Multiple eigenvalues come with rounding errors of either sign: keep those that belong on
    # the edge of a bin together.
    tidy = np.clip(np.round(eigenvalues, 9), 0.0, 2.0)
    return np.stack([np.histogram(tidy, bins=edges, weights=row)[0] for row in energy])


def _shifted_laplacian(graph: Graph) -> sp.csr_array:
    """Return L - I, whose spectrum lies in -1..1, without the stored zeros on its diagonal."""
    shifted = laplacian(graph)
    shifted.setdiag(shifted.diagonal() - 1.0)
    shifted.eliminate_zeros()
    return shifted


def _moments(shifted: sp.csr_array, x: NDArray[np.float64], n_moments: int) -> NDArray[np.float64]:
    r"""Return :math:`\langle x, T_k(L - I) x \rangle` for k < n_moments, an even number.

    Half the products are saved by :math:`T_{2k} = 2 T_k T_k - T_0` and
    :math:`T_{2k+1} = 2 T_{k+1} T_k - T_1`. One signal at a time: on a large graph a single vector
    stays in the cache, and several side by side took longer each.
    """
    moments = np.empty(n_moments)
    before, now = x, shifted @ x
    moments[0], moments[1] = x @ x, x @ now
    for k in range(2, n_moments, 2):
        moments[k] = 2 * (now @ now) - moments[0]
        after = shifted @ now
        after *= 2.0
        after -= before
        before, now = now, after
        moments[k + 1] = 2 * (before @ now) - moments[1]
    return moments


def _integrate(moments: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mass in each bin of the damped Chebyshev series with these rows of moments."""
    n_moments = moments.shape[1]
    k = np.arange(n_moments)
    step = np.pi / (n_moments + 1)
    turn = (n_moments - k + 1) * np.cos(k * step) + np.sin(k * step) / np.tan(step)
    damped = moments * turn / (n_moments + 1)  # Jackson's kernel
    angle = np.arccos(np.clip(edges - 1.0, -1.0, 1.0))
    waves = np.sin(k[1:, None] * angle) / k[1:, None]
    cumulative = (damped[:, :1] * (np.pi - angle) - 2 * damped[:, 1:] @ waves) / np.pi
    return np.diff(cumulative, axis=1)


def _density(
    mass: NDArray[np.float64], edges: NDArray[np.float64], *, exact: bool, flat: bool = False
) -> Density:
    """Normalise rows of mass to integrate to 1."""
    centres = (edges[1:] + edges[:-1]) / 2
    mass = np.maximum(mass, 0.0)
    total = mass.sum(axis=1, keepdims=True) * (2.0 / len(centres))
    values = np.divide(mass, total, out=np.full_like(mass, np.nan), where=total > 0)
    return Density(centres, values[0] if flat else values, exact)


def plot_spectrum(
    graph: Graph, ax: Axes | None = None, *, encoding: str = "signed", n_bins: int = 40
) -> Axes:
    """Draw where a graph's frequencies lie and, where it has labels, their energy by class.

    Parameters
    ----------
    graph : Graph
    ax : matplotlib Axes, optional
        Drawn on, beside what is there; a new figure of pyplot's otherwise.
    encoding : {"signed", "onehot"}
        Of the labels; see :func:`label_energy`.
    n_bins : int
        Of the densities; see :func:`spectral_density`.

    Examples
    --------
    >>> import graphfilter as gf
    >>> from matplotlib.figure import Figure
    >>> ax = gf.spectral.plot_spectrum(gf.load_dataset("karate"), Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['labels: Mr. Hi, Officer', 'all frequencies of the graph']
    """
    density = spectral_density(graph, n_bins)
    energy = label_energy(graph, encoding, n_bins) if graph.n_classes else None
    axes = take_axes(ax, (8, 4.2))
    _draw_densities(axes, density, energy, graph.classes.tolist())
    axes.legend(fontsize="small", ncols=1 if graph.n_classes < 12 else 2)
    return axes


def _draw_densities(
    axes: Axes, density: Density, energy: Density | None, names: Sequence[Any]
) -> None:
    """Draw the density of all frequencies, and one line per class with its energy."""
    label = "all frequencies of the graph"
    axes.bar(density.centres, density.values, density.width, color="#dddddd", label=label, zorder=1)
    curves = [] if energy is None else list(zip(names, np.atleast_2d(energy.values), strict=True))
    if len(curves) == 2 and np.allclose(curves[0][1], curves[1][1]):
        # The signals of two classes are mirror images, unless vertices are unlabelled.
        curves = [(f"{names[0]}, {names[1]}", curves[0][1])]
    for i, (name, of_class) in enumerate(curves):
        axes.stairs(
            of_class,
            np.append(density.centres - density.width / 2, 2.0),
            color=COLOURS[i % len(COLOURS)],
            linestyle="-" if i < len(COLOURS) else "--",
            linewidth=1.6,
            label=f"labels: {shorten(name)}",
            zorder=2,
        )
    axes.set_xlim(0, 2)
    axes.set_xlabel(FREQUENCY_AXIS)
    axes.set_ylabel("density")
    unframe(axes)


# The name of a response among the lines of a picture: each has the next colour.
_RESPONSE = "response"


class Response(Protocol):
    """What has a response: any :class:`~graphfilter.filters.Filter`."""

    @property
    def interval(self) -> tuple[float, float]: ...

    def response(self, lam: Any) -> Any: ...


@dataclass(frozen=True, eq=False)
class FilterView:
    """What a picture of a learned filter shows.

    Attributes
    ----------
    operator : str
        The name of the operator the filters act on.
    start : Filter or None
        The filter before training, where it is known.
    learned : sequence of Filter
        One per run or ensemble member.
    label_frequency : mapping
        Class name to the frequency of its label signal.
    title, corner : str
        Above, and in the top corner.
    """

    operator: str
    start: Response | None
    learned: Sequence[Response]
    label_frequency: Mapping[Any, float]
    title: str = ""
    corner: str = ""


def response(
    filter: Response, ax: Axes | None = None, *, operator: str | None = None, label: str = ""
) -> Axes:
    """Draw the response of a filter over graph frequency, from 0 to 2.

    Parameters
    ----------
    filter : Filter
    ax : matplotlib Axes, optional
        Drawn on, beside what is there; a new figure of pyplot's otherwise.
    operator : str, optional
        The name of the operator the filter runs on, which maps eigenvalues to frequencies:
        1 - λ for adjacencies, λ for the Laplacian. Where not given, the Laplacian for filters of
        an interval that starts at 0 or above (``ChebyshevFilter``), an adjacency for others.
    label : str
        For a legend.

    Examples
    --------
    >>> import graphfilter as gf
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> gf.plot.response(gf.filters.PageRankFilter(), ax, label="APPNP").get_xlabel()[:15]
    'graph frequency'
    """
    axes = take_axes(ax)
    if operator is None:
        operator = "laplacian" if filter.interval[0] >= 0 else "adjacency"
    before = sum(line.get_gid() == _RESPONSE for line in axes.lines)
    lam = _prepare(axes, operator)
    values = filter.response(lam)
    colour = COLOURS[before % len(COLOURS)]
    axes.plot(FREQUENCY_GRID, values, color=colour, linewidth=2, label=label or None, gid=_RESPONSE)
    axes.set_xlabel(FREQUENCY_AXIS)
    axes.set_ylabel("response f")
    return axes


def _prepare(axes: Axes, operator: str) -> NDArray[np.float64]:
    """Prepare axes for responses; return the eigenvalues of an operator by their frequency."""
    if all(line.get_gid() != _RESPONSE for line in axes.lines):
        axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
    axes.set_xlim(-0.02, 2.02)
    axes.spines[["top", "right"]].set_visible(False)
    # Adjacencies run the other way.
    return FREQUENCY_GRID if operator == "laplacian" else 1 - FREQUENCY_GRID


def common_signs(curves: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a column of the signs that turn each response (row) the way of the first.

    The layers after a filter undo its sign, so members may learn the same filter with either.
    """
    return np.where(curves @ curves[0] >= 0, 1.0, -1.0)[:, None]


def plot_view(view: FilterView, ax: Axes | None = None) -> Axes:
    """Draw a filter with its legend and the names of its axes; return the axes."""
    axes = take_axes(ax)
    draw_view(axes, view)
    axes.set_xlabel(FREQUENCY_AXIS)
    axes.set_ylabel("response f")
    axes.legend(fontsize="small")
    return axes


def draw_view(axes: Axes, view: FilterView) -> None:
    """Draw a filter before training and learned, and where the labels are."""
    lam = _prepare(axes, view.operator)
    if view.start is not None:
        start = view.start.response(lam)
        axes.plot(FREQUENCY_GRID, start, color=GREY, linestyle="--", label="before training")
    curves = np.array([f.response(lam) for f in view.learned])
    curves *= common_signs(curves)
    if len(curves) > 1:
        for curve in curves:
            axes.plot(FREQUENCY_GRID, curve, color=COLOURS[0], alpha=0.25, linewidth=1)
    label = "learned" if len(curves) == 1 else "learned (mean and runs)"
    axes.plot(FREQUENCY_GRID, curves.mean(axis=0), color=COLOURS[0], linewidth=2.2, label=label)
    marks = [value for value in view.label_frequency.values() if np.isfinite(value)]
    for i, value in enumerate(marks):
        text = "label frequency of a class" if i == 0 else None
        axes.axvline(
            value, color=COLOURS[1], linewidth=1, linestyle=":", ymax=0.97, label=text, zorder=1
        )
    axes.plot(marks, [0] * len(marks), marker="^", color=COLOURS[1], linestyle="none", zorder=3)
    axes.set_title(view.title)
    if view.corner:
        axes.text(0.98, 0.96, view.corner, transform=axes.transAxes, ha="right", va="top")
