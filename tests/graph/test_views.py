from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from graphfilter.data import make_csbm
from graphfilter.errors import ConfigError
from graphfilter.graph import Graph, views
from graphfilter.graph.views import VIEWS, averages, beside, see, two_steps_of_links, unit_rows

PATH = Graph.from_edges([[0, 1], [1, 2]], 4, features=np.array([[3.0, 4], [0, 0], [1, 0], [5, 12]]))


def dense(matrix: Any) -> np.ndarray:
    return matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)


def test_unit_rows_have_length_one_and_zeros_stay() -> None:
    expected = [[0.6, 0.8], [0, 0], [1, 0], [5 / 13, 12 / 13]]
    np.testing.assert_allclose(unit_rows(PATH.features), expected, rtol=1e-6)
    np.testing.assert_allclose(dense(unit_rows(sp.csr_array(PATH.features))), expected, rtol=1e-6)


def test_averages_are_those_of_neighbours_step_by_step() -> None:
    found = averages(PATH, PATH.features)
    x = np.asarray(PATH.features)
    log_degrees = np.log1p([[1], [2], [1], [0]])
    mean = np.array([x[1], (x[0] + x[2]) / 2, x[1], [0, 0]])
    twice = np.array([mean[1], (mean[0] + mean[2]) / 2, mean[1], [0, 0]])
    np.testing.assert_allclose(found[:, :7], np.hstack([x, log_degrees, mean, twice]), atol=1e-6)
    assert found.shape == (4, 2 + 1 + 3 * 2)


def test_averages_are_left_out_where_columns_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "MOST_AVERAGED", 5)
    assert averages(PATH, PATH.features).shape == (4, 2 + 1 + 2)


def test_links_say_who_is_connected_to_whom_in_one_step_and_two() -> None:
    found = dense(two_steps_of_links(PATH))
    np.testing.assert_allclose(found[0], [0, 1, 0, 0, *np.array([1, 0, 1, 0]) / np.sqrt(2)])
    np.testing.assert_allclose(found[3], 0)


def test_second_step_is_left_out_where_it_fills_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "MOST_LINKS", 1)
    assert two_steps_of_links(PATH).shape == (4, 4)
    monkeypatch.setattr(views, "MOST_SUMS", 1)
    assert two_steps_of_links(PATH).shape == (4, 4)


def test_columns_beside_each_other_are_sparse_while_few_are_filled() -> None:
    sparse, full = sp.eye_array(20, format="csr"), np.ones((20, 3))
    assert sp.issparse(beside(sparse, full))
    assert isinstance(beside(sp.eye_array(3, format="csr"), np.ones((3, 9))), np.ndarray)


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_has_a_row_per_vertex_and_leaves_the_features(name: str) -> None:
    graph = make_csbm(30, n_features=4)
    before = np.array(graph.features)
    seen = see(graph, graph.features, name)
    assert seen.shape[0] == 30
    assert np.isfinite(dense(seen)).all()
    np.testing.assert_array_equal(graph.features, before)


def test_unknown_view_is_refused() -> None:
    with pytest.raises(ConfigError, match="did you mean 'links'"):
        see(PATH, PATH.features, "link")
