"""SGFRegressor: scikit-learn's checks, closed forms, and the same interface as the classifier."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score

from graphfilter import Graph, SGFRegressor
from graphfilter.data import make_csbm
from graphfilter.operators import augmented_adjacency
from graphfilter.splits import Split
from graphfilter.util.errors import GraphError, GraphFilterError


@pytest.fixture(scope="module")
def graph() -> Graph:
    return make_csbm(n_vertices=200, mean_degree=5, n_features=3, seed=0)


def filtered(graph: Graph) -> np.ndarray:
    """Return a high-pass filter of the first feature: what neighbours have, taken off."""
    feature = np.asarray(graph.features, dtype=float)[:, 0]
    return feature - 2 * (augmented_adjacency(graph).matrix @ feature)


def quick(**parameters) -> SGFRegressor:
    return SGFRegressor(
        **{"max_epochs": 50, "n_layers": 4, "random_state": 0, "learning_rate": 0.01, **parameters}
    )


@pytest.fixture(scope="module")
def fitted(graph: Graph) -> SGFRegressor:
    return quick().fit(graph.features, filtered(graph), graph=graph)


def test_regressor_finds_what_only_the_graph_knows(graph: Graph, fitted: SGFRegressor) -> None:
    y = filtered(graph)
    hidden = y.copy()
    hidden[::4] = np.nan
    model = quick(max_epochs=400)
    only = np.where(np.isnan(hidden), y, np.nan)
    with_graph = model.fit(graph.features, hidden, graph=graph).score(None, only)
    without = model.fit(graph.features, hidden, graph=np.empty((0, 2), int)).score(None, only)
    assert with_graph > 0.85
    assert without < 0.5


def test_prediction_follows_the_units_of_the_target(graph: Graph, fitted: SGFRegressor) -> None:
    """Numbers are standardised: 1000 y + 5 is learned as y is."""
    other = quick().fit(graph.features, 1000 * filtered(graph) + 5, graph=graph)
    np.testing.assert_allclose(other.predict(), 1000 * fitted.predict() + 5, rtol=1e-3, atol=1.0)


def test_score_is_that_of_scikit_learn(graph: Graph, fitted: SGFRegressor) -> None:
    y, weights = filtered(graph), np.linspace(0.1, 1.0, 200)
    assert fitted.score(None, y) == pytest.approx(r2_score(y, fitted.predict()))
    got = fitted.score(None, y, sample_weight=weights)
    assert got == pytest.approx(r2_score(y, fitted.predict(), sample_weight=weights))
    partly = y.copy()
    partly[50:] = np.nan
    assert fitted.score(None, partly) == pytest.approx(r2_score(y[:50], fitted.predict()[:50]))


def test_constant_target_is_predicted_as_it_is(graph: Graph) -> None:
    model = quick(max_epochs=5).fit(graph.features, np.full(200, 7.0), graph=graph)
    assert np.isfinite(model.predict()).all()


def test_several_numbers_are_predicted_beside_each_other(graph: Graph) -> None:
    y = np.stack([filtered(graph), -filtered(graph)], axis=1)
    model = quick(max_epochs=60).fit(graph.features, y, graph=graph)
    assert model.predict().shape == (200, 2)
    expected = r2_score(y, model.predict())
    assert model.score(None, y) == pytest.approx(expected)


def test_vertices_without_a_number_are_in_no_part(graph: Graph) -> None:
    y = filtered(graph)
    y[100:] = np.nan
    split = quick(max_epochs=2).fit(graph.features, y, graph=graph).split_
    assert set(split.train) | set(split.val) == set(range(100))


def test_numbers_of_other_vertices_do_not_matter(graph: Graph) -> None:
    """Standardised by the training vertices alone: test numbers leave no trace."""
    split = Split(np.arange(80), np.arange(80, 120), np.arange(120, 200))
    y = filtered(graph)
    other = y.copy()
    other[120:] = 1e6
    a, b = (quick(max_epochs=5).fit(graph.features, t, graph, split=split) for t in (y, other))
    np.testing.assert_array_equal(a.predict(), b.predict())


def test_bound_regressor_takes_vertex_numbers(graph: Graph) -> None:
    y = filtered(graph)
    model = quick(graph=graph, max_epochs=60)
    scores = cross_val_score(model, np.arange(200)[:, None], y, cv=2)
    assert scores.shape == (2,)
    model.fit(np.arange(50), y[:50])
    assert model.predict(np.arange(5)).shape == (5,)


@pytest.mark.parametrize(
    ("y", "problem"),
    [
        (np.full(200, np.nan), "known for none"),
        (np.zeros(7), "one row per vertex"),
        (np.full(200, np.inf), "contains infinity"),
        (["a"] * 200, "got the text 'a'"),
        (None, "requires y"),
    ],
)
def test_regressor_explains_a_bad_target(graph: Graph, y: object, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        quick().fit(graph.features, y, graph=graph)


def test_score_without_numbers_is_refused(fitted: SGFRegressor) -> None:
    with pytest.raises(GraphError, match="numbers to score against"):
        fitted.score()


def test_answers_that_are_not_finite_are_an_error() -> None:
    graph = make_csbm(20, n_features=2)
    y = np.arange(20.0)
    model = SGFRegressor(max_epochs=2, random_state=0).fit(graph.features, y, graph=graph)
    with torch.no_grad():
        next(model.members_[0].parameters()).fill_(torch.nan)
    with pytest.raises(GraphFilterError, match="answers must be finite"):
        model.predict(2 * np.asarray(graph.features), graph=graph)
