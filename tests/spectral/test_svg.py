"""What notebooks show of graphs and filters: well-formed, escaped, and with the right curve."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure

from graphfilter.data.graph import Graph
from graphfilter.filters import ChebyshevFilter, Filter, PowerFilter, StackedFilter
from graphfilter.util import pictures
from graphfilter.util.pictures import card


def parsed(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html)


def test_text_is_escaped_everywhere() -> None:
    bad = "<script>&'\""
    figure = Figure()
    figure.text(0.5, 0.5, bad)
    page = card(bad, [(bad, bad)], figure, note=bad)
    assert "<script>" not in page
    assert "".join(parsed(page).itertext()).count("<script>") >= 4


def test_graph_shows_its_sizes_classes_and_notes() -> None:
    graph = Graph.from_edges(
        [[0, 1], [1, 2], [2, 2]], n_vertices=4, labels=["<a>", "b", "b", None], name="<x>"
    )
    html = graph._repr_html_()
    text = " ".join(parsed(html).itertext())
    for expected in ("Graph '<x>'", "4", "<a>", "3 vertices, 2 classes", "1 self loop dropped."):
        assert expected in text


def test_graph_with_many_classes_shows_some() -> None:
    html = Graph.from_edges([[0, 1]], n_vertices=40, labels=list(range(40)))._repr_html_()
    assert "and 28 more classes" in html


def test_graph_without_edges_is_shown() -> None:
    parsed(Graph.from_edges(np.empty((0, 2), dtype=int), 3)._repr_html_())


@pytest.mark.parametrize("made", [StackedFilter(4), ChebyshevFilter(3), PowerFilter(2)])
def test_filter_shows_its_response_over_its_interval(
    made: Filter, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert parsed(made._repr_html_()).find(".//{http://www.w3.org/2000/svg}svg") is not None
    shown: list[Figure] = []
    monkeypatch.setattr(pictures, "card", lambda title, rows, figure: shown.append(figure))
    made._repr_html_()
    (line,) = shown[0].axes[0].lines
    x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    assert (x[0], x[-1]) == made.interval
    np.testing.assert_allclose(y, made.response(x))


def test_interval_of_a_filter_is_where_its_basis_is_bounded() -> None:
    assert StackedFilter().interval == (-1.0, 1.0)
    assert ChebyshevFilter(3, lambda_max=1.5).interval == pytest.approx((0.0, 1.5))
