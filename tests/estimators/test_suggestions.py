"""Suggestions: vertices that stand for others, apart from each other, with truthful reasons."""

from __future__ import annotations

import numpy as np
import pytest

from graphfilter.estimators.suggestions import (
    MOST_CHOSEN,
    MOST_DRAWN,
    Suggestion,
    draw_some,
    suggest_vertices,
)
from graphfilter.util.errors import ConfigError, GraphError

# Three groups on a line, of 6, 3 and 2 vertices; the first vertex is labelled.
LINE = np.array([0, 1, 2, 3, 4, 5, 100, 101, 102, 210, 211], dtype=np.float64)[:, None]
FIRST = np.array([0])
REST = np.arange(1, 11)


def suggest(
    n: int, doubt: np.ndarray | None = None, candidates: np.ndarray = REST
) -> list[Suggestion]:
    return suggest_vertices(
        LINE.__getitem__, FIRST, candidates, n,
        others=np.arange(len(LINE)), doubt=doubt, rng=np.random.default_rng(0),
    )  # fmt: skip


def test_next_vertex_saves_the_largest_sum_of_distances() -> None:
    x = LINE[:, 0].astype(float)
    known, saved = [0], []
    for one in suggest(4):
        near = np.abs(x[:, None] - x[known]).min(axis=1)
        savings = np.maximum(near[:, None] - np.abs(x[:, None] - x), 0).sum(axis=0)
        assert savings[one.vertex] == savings.max()
        saved.append(savings.max())
        assert one.score == pytest.approx(saved[-1] / saved[0])
        known.append(one.vertex)
    # One of each group first.
    assert [sum(a <= v < b for v in known[:3]) for a, b in ((0, 6), (6, 9), (9, 11))] == [1, 1, 1]


def test_vertices_the_model_is_unsure_of_count_up_to_twice() -> None:
    # Either of two points would come to be labelled; the first saves 3, the second 2 (1 + h).
    columns = np.array([[0], [3], [-2]], dtype=np.float64)
    for h, vertex in ((0.4, 1), (0.6, 2)):
        found = suggest_vertices(
            columns.__getitem__, FIRST, np.array([1, 2]), 1,
            others=np.arange(3), doubt=np.array([0, 0, h]), rng=np.random.default_rng(0),
        )  # fmt: skip
        assert found[0].vertex == vertex


def test_reason_counts_the_vertices_that_come_nearer() -> None:
    doubt = np.full(11, 0.5)
    doubt[6:] = 0.25
    # Five of eleven are nearer to it than to 0.
    reason = "would be the nearest labelled vertex of 45.5% of all vertices"
    assert suggest(1)[0].reason == reason
    assert suggest(1, doubt)[0].reason == f"{reason}; the model is 75% sure of those"


def test_equal_vertices_are_suggested_once_each_and_said_to_be_no_better() -> None:
    found = suggest_vertices(
        np.zeros((6, 1)).__getitem__, FIRST, np.arange(1, 6), 9,
        others=np.arange(6), rng=np.random.default_rng(0),
    )  # fmt: skip
    assert sorted(one.vertex for one in found) == [1, 2, 3, 4, 5]
    assert {one.score for one in found} == {0.0}
    assert all("any other would do as well" in one.reason for one in found)


def test_suggestions_do_not_depend_on_the_order_of_candidates() -> None:
    assert suggest(5) == suggest(5, candidates=REST[::-1])


def test_many_are_chosen_from_several_draws_and_never_twice() -> None:
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(MOST_DRAWN + 500, 2))
    candidates, n = np.arange(1, len(columns)), 2 * MOST_CHOSEN + 1
    others = draw_some(np.arange(len(columns)), rng)
    assert len(others) == MOST_DRAWN
    found = suggest_vertices(columns.__getitem__, FIRST, candidates, n, others=others, rng=rng)
    chosen = {one.vertex for one in found}
    assert len(found) == len(chosen) == n
    assert chosen <= set(candidates.tolist())


def test_nothing_to_suggest_is_an_error() -> None:
    with pytest.raises(GraphError, match="all have one"):
        suggest(2, candidates=np.array([], dtype=int))
    with pytest.raises(ConfigError, match="n must be a whole number"):
        suggest(0)
