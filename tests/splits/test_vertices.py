"""The one check of vertex numbers."""

from __future__ import annotations

import numpy as np
import pytest

from graphfilter.data.graph import Graph
from graphfilter.splits import Split, check_vertices
from graphfilter.util.errors import GraphError

PATH = [[0, 1], [1, 2]]


def test_check_vertices_takes_numbers_in_order_and_masks() -> None:
    assert check_vertices([3, 0], 4).tolist() == [3, 0]
    assert check_vertices([True, False, False, True], 4).tolist() == [0, 3]
    assert check_vertices(np.array([3], dtype=np.uint8), 4).dtype == np.int64
    assert check_vertices([], 4).tolist() == []
    assert check_vertices([2, 2], 3, repeats=True).tolist() == [2, 2]


def test_check_vertices_of_an_unknown_graph_takes_any_number_from_zero() -> None:
    assert check_vertices([10**9], None).tolist() == [10**9]
    with pytest.raises(GraphError, match="not be negative; got -1"):
        check_vertices([-1], None)


@pytest.mark.parametrize(
    ("index", "problem"),
    [
        ([0.0, 1.0], "must be a list of vertex numbers"),
        ([[0, 1]], r"shape \(1, 2\)"),
        ([[0], [0, 1]], "unequal length"),
        ("ab", "must be a list of vertex numbers"),
        ([True, False], r"must have 3 entries; got 2"),
        ([-1, 0], r"0\.\.2; got -1\.\.0"),
        ([0, 3], r"0\.\.2; got 0\.\.3"),
        ([1, 1], "once each"),
    ],
)
def test_check_vertices_refuses_what_is_no_choice_of_vertices(index: object, problem: str) -> None:
    with pytest.raises(GraphError, match=problem):
        check_vertices(index, 3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(GraphError, match=problem):
        Graph.from_edges(PATH).subgraph(index)  # pyright: ignore[reportArgumentType]


def test_subgraph_of_no_vertices_is_refused() -> None:
    with pytest.raises(GraphError, match="at least one"):
        Graph.from_edges(PATH).subgraph([False, False, False])


def test_split_names_the_part_that_is_wrong() -> None:
    with pytest.raises(GraphError, match=r"the split's val vertices must lie in 0\.\.2; got 7"):
        Split([0], [7], [1]).check(3)  # pyright: ignore[reportArgumentType]
