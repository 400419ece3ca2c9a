"""What notebooks show of graphs and filters: well-formed, escaped, and with the right curve."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from graphfilter.data.graph import Graph
from graphfilter.filters import ChebyshevFilter, Filter, PowerFilter, StackedFilter
from graphfilter.util.pictures import HEIGHT, WIDTH, Line, bar, card, line_chart


def parsed(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html)


def points(html: str) -> list[tuple[float, float]]:
    """Return the points of the last curve of a picture."""
    curve = parsed(html).findall(".//polyline")[-1]
    pairs = [pair.split(",") for pair in (curve.get("points") or "").split()]
    return [(float(x), float(y)) for x, y in pairs]


def test_curve_rises_where_its_values_do() -> None:
    picture = line_chart([Line([0, 1, 2], [0.0, 1.0, 0.5])], x_range=(0, 2), title="t")
    (_, low), (_, top), (_, end) = points(f"<div>{picture}</div>")
    assert top < end < low


def test_curve_stays_inside_its_picture_whatever_its_values() -> None:
    values = [1e9, -1e9, float("nan"), float("inf"), 3.0]
    picture = line_chart([Line([0, 0.5, 1, 1.5, 2], values)], x_range=(0, 2), title="t")
    shown = points(f"<div>{picture}</div>")
    assert len(shown) == 3
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in shown)


@pytest.mark.parametrize("y", [[0.0, 0.0], [float("nan")] * 2])
def test_curve_of_nothing_is_drawn(y: list[float]) -> None:
    parsed(line_chart([Line([0, 2], y)], x_range=(0, 2), title="t", marks=[1.0]))


def test_text_is_escaped_everywhere() -> None:
    bad = "<script>&'\""
    picture = line_chart([], x_range=(0, 2), title=bad, ends=(bad, bad))
    page = card(bad, [(bad, bad), ("x", bar(0.5, bad))], picture, note=bad)
    assert "<script>" not in page
    assert "".join(parsed(page).itertext()).count("<script>") >= 6


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
def test_filter_shows_its_response_over_its_interval(made: Filter) -> None:
    shown = np.array(points(made._repr_html_()))
    expected = made.response(np.linspace(*made.interval, 101))
    # A straight line from values to heights on the picture.
    slope, offset = np.polyfit(expected, shown[:, 1], 1)
    np.testing.assert_allclose(slope * expected + offset, shown[:, 1], atol=0.06)
    assert slope < 0


def test_interval_of_a_filter_is_where_its_basis_is_bounded() -> None:
    assert StackedFilter().interval == (-1.0, 1.0)
    assert ChebyshevFilter(3, lambda_max=1.5).interval == pytest.approx((0.0, 1.5))
