"""Suggestions: disagreement and reach by their definitions, and vertices that are apart."""

from __future__ import annotations

import numpy as np
import pytest

from graphfilter.data import make_csbm
from graphfilter.errors import ConfigError, GraphError
from graphfilter.explain.suggestions import (
    class_disagreement,
    number_disagreement,
    reach_of,
    suggest_vertices,
)
from graphfilter.graph import Graph

PATH = Graph.from_edges([[i, i + 1] for i in range(5)], 6)
ALL = np.arange(6)


def suggest(product: list[float], n: int, candidates: np.ndarray = ALL) -> list[int]:
    found = suggest_vertices(PATH, np.array(product), np.ones(6), candidates, n)
    return [one.vertex for one in found]


def test_suggested_vertices_are_no_neighbours_while_others_are_left() -> None:
    assert suggest([5, 6, 4, 3, 2, 1], 3) == [1, 3, 5]
    # The fourth has a neighbour that is chosen: there is no other.
    assert suggest([5, 6, 4, 3, 2, 1], 4) == [1, 3, 5, 0]


def test_suggested_vertices_are_candidates_and_never_twice() -> None:
    assert suggest([5, 6, 4, 3, 2, 1], 10, np.array([2, 0, 5])) == [0, 2, 5]
    assert suggest([0, 0, 0, 0, 0, 0], 2) == [0, 2]


def test_suggestions_name_their_reason_and_the_best_scores_one() -> None:
    first, second = suggest_vertices(PATH, np.arange(6.0), np.ones(6), ALL, 2)
    assert (first.vertex, first.score, first.disagreement) == (5, 1.0, pytest.approx(5 / 6))
    assert second.score == pytest.approx(0.6)
    assert "83%" in first.reason
    assert "1 neighbour)" in first.reason


def test_disagreement_of_opposite_members_is_log_two_and_of_equal_ones_zero() -> None:
    one, other = np.array([[1.0, 0.0], [0.3, 0.7]]), np.array([[0.0, 1.0], [0.3, 0.7]])
    found = class_disagreement([one, other], [0.5, 0.5])
    np.testing.assert_allclose(found, [np.log(2), 0], atol=1e-12)


def test_disagreement_of_one_member_is_its_entropy() -> None:
    found = class_disagreement([np.array([[0.5, 0.5], [1.0, 0.0]])], [1.0])
    np.testing.assert_allclose(found, [np.log(2), 0], atol=1e-12)


def test_disagreement_of_numbers_is_the_weighted_variance() -> None:
    members = [np.array([[0.0, 1.0]]), np.array([[4.0, 1.0]])]
    # Mean 1, so 0.75 · 1 + 0.25 · 9.
    np.testing.assert_allclose(number_disagreement(members, [3, 1]), [3.0])


def test_reach_estimates_the_length_of_the_columns() -> None:
    graph = make_csbm(60, mean_degree=4, n_features=2, seed=0)
    dense = graph.adjacency.toarray()
    wanted = np.linspace(0.1, 1, 60)
    found = reach_of(lambda x: dense @ x, wanted, seed=0)
    exact = np.sqrt(np.square(wanted[:, None] * dense).sum(axis=0))
    connected = exact > 0
    ratios = found[connected] / exact[connected]
    assert 0.9 < ratios.mean() < 1.1
    assert (found[~connected] == 0).all()


def test_nothing_to_suggest_is_an_error() -> None:
    with pytest.raises(GraphError, match="all have one"):
        suggest([1] * 6, 2, np.array([], dtype=int))
    with pytest.raises(ConfigError, match="n must be a whole number"):
        suggest([1] * 6, 0)
