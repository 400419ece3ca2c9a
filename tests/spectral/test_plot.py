"""Pictures of filters and spectra, and the density of a large one."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import graphfilter as gf
from graphfilter.data.graph import Graph
from graphfilter.filters import ChebyshevFilter, PowerFilter, StackedFilter
from graphfilter.spectral import label_energy, label_frequency, spectral_density
from graphfilter.util.errors import ConfigError

KARATE = gf.load_dataset("karate")
CALLS = {
    "response": lambda ax=None: gf.plot.response(StackedFilter(3), ax),
    "spectrum": lambda ax=None: gf.spectral.plot_spectrum(KARATE, ax),
}
calls = pytest.mark.parametrize("name", CALLS)


@pytest.fixture
def ax() -> Axes:
    return Figure(layout="constrained").subplots()


@pytest.fixture
def closing() -> Iterator[None]:
    """Close what pyplot has open afterwards."""
    from matplotlib import pyplot

    yield
    pyplot.close("all")


@calls
def test_picture_is_drawn_on_the_axes_it_is_given(name: str, ax: Axes) -> None:
    settings = dict(mpl.rcParams)
    assert CALLS[name](ax) is ax
    assert ax.has_data()
    ax.figure.canvas.draw()
    assert dict(mpl.rcParams) == settings


@calls
@pytest.mark.usefixtures("closing")
def test_picture_without_axes_is_a_figure_of_its_own(name: str) -> None:
    first, second = CALLS[name](), CALLS[name]()
    assert first is not second
    assert first.figure is not second.figure


@pytest.mark.parametrize("operator", [None, "augmented_adjacency", "laplacian"])
def test_response_is_that_of_the_filter_at_each_frequency(operator: str | None, ax: Axes) -> None:
    gf.plot.response(PowerFilter(3), ax, operator=operator)
    x, y = (np.asarray(part) for part in ax.lines[-1].get_data())
    expected = x**3 if operator == "laplacian" else (1 - x) ** 3
    np.testing.assert_allclose(y, expected, atol=1e-12)


def test_response_of_a_chebyshev_filter_is_over_the_laplacian(ax: Axes) -> None:
    made = ChebyshevFilter(3)
    gf.plot.response(made, ax)
    x, y = (np.asarray(part) for part in ax.lines[-1].get_data())
    np.testing.assert_allclose(y, made.response(x))


def test_responses_on_one_picture_have_colours_of_their_own(ax: Axes) -> None:
    for k in range(3):
        gf.plot.response(PowerFilter(k), ax, label=str(k))
    shown = [line for line in ax.lines if line.get_gid() == "response"]
    assert len({line.get_color() for line in shown}) == 3
    assert ax.get_legend_handles_labels()[1] == ["0", "1", "2"]


def test_spectrum_holds_the_density_of_the_graph(ax: Axes) -> None:
    gf.spectral.plot_spectrum(KARATE, ax, n_bins=10)
    heights = [bar.get_height() for bar in ax.patches[:10]]  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_allclose(heights, spectral_density(KARATE, 10).values)


def test_spectrum_of_a_graph_without_labels_has_no_lines(ax: Axes) -> None:
    gf.spectral.plot_spectrum(Graph.from_edges([[0, 1], [1, 2]]), ax)
    assert ax.get_legend_handles_labels()[1] == ["all frequencies of the graph"]


def test_spectrum_shows_three_classes_apart(ax: Axes) -> None:
    graph = Graph.from_edges([[0, 1], [1, 2], [2, 3], [3, 4], [4, 5]], labels=[0, 0, 1, 1, 2, 2])
    gf.spectral.plot_spectrum(graph, ax)
    labels = ax.get_legend_handles_labels()[1]
    assert {"labels: 0", "labels: 1", "labels: 2"} <= set(labels)


def parsed(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html)


def test_graph_shows_its_sizes_and_notes() -> None:
    graph = Graph.from_edges(
        [[0, 1], [1, 2], [2, 2]], n_vertices=4, labels=["<a>", "b", "b", None], name="<x>"
    )
    text = "".join(parsed(graph._repr_html_()).itertext())
    for expected in ("Graph('<x>', 4 vertices, 2 edges, 2 classes)", "1 self loop dropped."):
        assert expected in text


def test_graph_without_edges_is_shown() -> None:
    parsed(Graph.from_edges(np.empty((0, 2), dtype=int), 3)._repr_html_())


def test_interval_of_a_filter_is_where_its_basis_is_bounded() -> None:
    assert StackedFilter().interval == (-1.0, 1.0)
    assert ChebyshevFilter(3, lambda_max=1.5).interval == pytest.approx((0.0, 1.5))


SWITCH = "graphfilter.spectral.plot._EXACT_UP_TO"


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Two classes, mean degree 6, some isolated vertices."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 600)
    pairs = rng.integers(0, 600, (4000, 2))
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    kept = rng.random(4000) < np.where(same, 0.9, 0.1)
    return Graph.from_edges(pairs[kept][:1800], 610, labels=np.append(labels, [0] * 10))


def wasserstein(a, b) -> float:
    """Area between the two cumulative distributions: the mean distance energy has to move."""
    return float(np.abs(np.cumsum(a.values - b.values, axis=-1)).sum(axis=-1).max() * a.width**2)


def test_density_of_complete_graph_is_two_peaks():
    n = 9
    complete = Graph.from_edges(np.argwhere(np.triu(np.ones((n, n)), 1)))
    density = spectral_density(complete, n_bins=10)
    expected = np.zeros(10)
    expected[0] = 1 / n  # the eigenvalue 0
    expected[int(n / (n - 1) / 0.2)] = (n - 1) / n  # n/(n-1), n-1 times
    np.testing.assert_allclose(density.values * density.width, expected, atol=1e-12)
    assert density.exact


@pytest.mark.parametrize("exact_up_to", [0, 10_000])
def test_densities_integrate_to_one(small_graph, monkeypatch, exact_up_to):
    monkeypatch.setattr(SWITCH, exact_up_to)
    labelled = small_graph.replace(labels=np.arange(small_graph.n_vertices) % 2)
    for density in (spectral_density(labelled), label_energy(labelled, "onehot", n_bins=7)):
        assert density.exact == bool(exact_up_to)
        assert (density.values >= 0).all()
        np.testing.assert_allclose(density.values.sum(axis=-1) * density.width, 1)


def test_estimated_density_moves_mass_by_less_than_a_bin(graph, monkeypatch):
    exact = spectral_density(graph)
    monkeypatch.setattr(SWITCH, 0)
    estimated = spectral_density(graph)
    assert exact.exact
    assert not estimated.exact
    assert wasserstein(exact, estimated) < exact.width


@pytest.mark.parametrize("encoding", ["signed", "onehot"])
def test_estimated_energy_moves_mass_by_less_than_a_bin(graph, monkeypatch, encoding):
    exact = label_energy(graph, encoding)
    monkeypatch.setattr(SWITCH, 0)
    assert wasserstein(exact, label_energy(graph, encoding)) < exact.width


@pytest.mark.parametrize("exact_up_to", [0, 10_000])
def test_mean_of_label_energy_is_the_label_frequency(graph, monkeypatch, exact_up_to):
    monkeypatch.setattr(SWITCH, exact_up_to)
    energy = label_energy(graph, n_bins=100)
    mean = energy.values @ energy.centres * energy.width
    np.testing.assert_allclose(mean, label_frequency(graph), atol=0.01)


def test_density_depends_on_its_seed_only(graph, monkeypatch):
    monkeypatch.setattr(SWITCH, 0)
    first, again, other = (spectral_density(graph, seed=s).values for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_energy_of_an_absent_class_is_nan(monkeypatch):
    path = Graph.from_edges([[0, 1], [1, 2]], labels=["a", "b", "b"]).subgraph([1, 2])
    for exact_up_to in (0, 10):
        monkeypatch.setattr(SWITCH, exact_up_to)
        values = label_energy(path, "onehot", n_bins=4).values
        assert np.isnan(values).all(axis=1).tolist() == [True, False]


def test_density_needs_a_bin():
    with pytest.raises(ConfigError, match="at least 1; got 0"):
        spectral_density(Graph.from_edges([[0, 1]]), n_bins=0)
