"""Pictures with matplotlib: axes in, the same axes out, and nothing else touched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import graphfilter as gf
from graphfilter.data.graph import Graph
from graphfilter.filters import ChebyshevFilter, PowerFilter, StackedFilter
from graphfilter.spectral import spectral_density
from graphfilter.util.errors import GraphFilterError

KARATE = gf.load_dataset("karate")
HISTORY = {
    "loss": np.arange(5.0),
    "alpha": np.linspace(-2, 1, 18).reshape(6, 3),
    "beta": np.zeros((6, 3)),
}
CALLS = {
    "response": lambda ax=None: gf.plot.response(StackedFilter(3), ax),
    "spectrum": lambda ax=None: gf.spectral.plot_spectrum(KARATE, ax),
    "dynamics": lambda ax=None: gf.plot.dynamics(HISTORY, ax),
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


def test_dynamics_shows_one_row_per_scalar_and_one_column_per_epoch(ax: Axes) -> None:
    gf.plot.dynamics(HISTORY, ax)
    shown = np.asarray(ax.images[0].get_array())
    np.testing.assert_array_equal(shown[:3], HISTORY["alpha"].T)
    assert shown.shape == (6, 6)
    low, high = ax.images[0].get_clim()
    assert (low, high) == (-2, 2)
    assert [text.get_text() for text in ax.get_yticklabels()] == [
        *("α₁", "α₂", "α₃"),
        *("β₁", "β₂", "β₃"),
    ]


def test_dynamics_of_many_layers_names_some(ax: Axes) -> None:
    gf.plot.dynamics({"theta": np.zeros((4, 33))}, ax)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["θ₀", "θ₉", "θ₁₈", "θ₂₇"]


@pytest.mark.parametrize("history", [{}, {"loss": np.zeros(3)}])
def test_dynamics_of_a_fixed_filter_is_refused(history: Any, ax: Axes) -> None:
    with pytest.raises(GraphFilterError, match="scalars of a filter by epoch"):
        gf.plot.dynamics(history, ax)
