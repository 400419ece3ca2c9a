"""What a committee misses on known vertices: a filter of residuals, its weights, its answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import graphfilter as gf
from graphfilter.filters import PageRankFilter
from graphfilter.models import Correction
from graphfilter.models.correction import MOST_DEVIATIONS, STEPS, TELEPORTS, columns_missed, robust
from graphfilter.models.places import Known
from graphfilter.models.relations import told
from graphfilter.operators import adjacency
from graphfilter.systems.outcome import fit_correction
from graphfilter.training import REGRESSION
from graphfilter.util.errors import ModelFileError

SIDE = 20
N = SIDE * SIDE


def grid(side: int = SIDE) -> gf.Graph:
    number = np.arange(side * side).reshape(side, side)
    pairs = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
    edges = np.concatenate([np.column_stack([a.ravel(), b.ravel()]) for a, b in pairs])
    x = np.random.default_rng(1).normal(size=(side * side, 3)).astype(np.float32)
    return gf.Graph.from_edges(edges, n_vertices=side * side, features=x)


def field(side: int = SIDE) -> np.ndarray:
    """Return numbers that vary smoothly over the grid, which its features do not say."""
    at = np.arange(side) / side
    return (np.sin(4 * at)[:, None] * np.cos(5 * at)).ravel()


def test_columns_are_pagerank_of_the_residuals_of_other_folds() -> None:
    graph, residuals = grid(), field()[:, None]
    found = told(residuals, np.arange(N), 1)
    columns = columns_missed(graph, np.zeros((N, 0), dtype=np.float32), found)
    operator = adjacency(graph).to(dtype=torch.float64)
    for at, teleport in enumerate(TELEPORTS):
        for fold in (0, 7):
            inside = found["told_folds"] == fold
            others = torch.tensor(np.where(inside[:, None], 0.0, residuals))
            expected = PageRankFilter(STEPS, teleport).double()(operator, others)[inside, 0]
            np.testing.assert_allclose(columns[inside, at], expected.numpy(), atol=1e-6)


def test_no_vertex_sees_its_own_residual() -> None:
    graph, residuals = grid(), field()[:, None]
    before = columns_missed(graph, np.zeros(0), told(residuals, np.arange(N), 1))
    residuals[150] = 1e6
    after = columns_missed(graph, np.zeros(0), told(residuals, np.arange(N), 1))
    np.testing.assert_array_equal(before[150], after[150])
    assert np.abs(after - before).max() > 1e4


def prepared(graph: gf.Graph, y: np.ndarray) -> gf.systems.Prepared:
    zeros = graph.replace(labels=np.zeros(graph.n_vertices, dtype=np.int64), classes=("y",))
    return gf.systems.Prepared.of(zeros, task=REGRESSION, targets=y[:, None].astype(np.float32))


def test_smooth_residuals_are_found_and_noise_is_left() -> None:
    graph, rng = grid(), np.random.default_rng(0)
    order = rng.permutation(N)
    known, others = np.sort(order[:200]), np.sort(order[200:])
    nothing = known[:0]
    ready = prepared(graph, field())
    found = fit_correction(ready, field()[:, None], nothing, known, known)
    assert found is not None
    left = field()[others] - found.probabilities[others, 0]
    assert np.square(left).mean() < 0.3 * np.square(field()[others]).mean()
    noise = rng.normal(size=(20, N, 1))
    none = [fit_correction(ready, one, nothing, known, known) is None for one in noise]
    assert sum(none) >= 15


def test_residuals_that_a_model_has_seen_weigh_otherwise_than_others() -> None:
    """In-sample residuals are too small: a tenth here, as of trees that know their rows."""
    graph, order = grid(), np.random.default_rng(3).permutation(N)
    seen, unseen = np.sort(order[:150]), np.sort(order[150:250])
    residuals = field()[:, None].copy()
    residuals[seen] *= 0.1
    found = fit_correction(prepared(graph, field()), residuals, seen, unseen, unseen)
    assert found is not None
    assert isinstance(found.network, Correction)
    weight = found.network.weight.reshape(len(TELEPORTS), 2)
    assert weight[:, 0].sum() > 3 * weight[:, 1].sum()


def test_an_absurd_residual_is_cut() -> None:
    values = np.random.default_rng(0).normal(size=(99, 1))
    values[5] = 1e9
    cut = robust(values)
    np.testing.assert_array_equal(np.delete(cut, 5), np.delete(values, 5))
    assert cut[5] < 2 * MOST_DEVIATIONS
    assert robust(values[:0]).shape == (0, 1)


def test_a_graph_that_shares_vertices_sees_their_residuals_and_another_one_none() -> None:
    graph, y = grid(), field()
    found = told(y[:, None], np.arange(N), 1)
    rows = np.arange(N).reshape(SIDE, SIDE)[:, : SIDE - 1].ravel()
    part = graph.subgraph(rows)
    columns = columns_missed(part, np.zeros(0), found, Known(rows, N))
    assert np.abs(columns).min() > 0
    nothing = {**found, **told(y[:0, None], rows[:0], 1)}
    assert not columns_missed(part, np.zeros(0), nothing).any()


def fitted(y: np.ndarray, graph: gf.Graph) -> gf.GraphRegressor:
    model = gf.GraphRegressor(effort="low", max_epochs=5, random_state=0, scale="identity")
    return model.fit(graph.features, y, graph=graph)


def test_a_regressor_is_corrected_everywhere_alike(tmp_path: Path) -> None:
    """In its answers, intervals, when it was saved, and what explains them adds up."""
    graph, truth = grid(), field()
    y = truth.copy()
    hidden = np.random.default_rng(5).permutation(N)[:100]
    y[hidden] = np.nan
    model = fitted(y, graph)
    assert model.weights_["correction"] > 0
    plain = np.square(truth[hidden] - np.nanmean(y)).mean()
    assert np.square(truth[hidden] - model.predict()[hidden]).mean() < 0.7 * plain
    low, high = model.predict_interval(coverage=0.8).T
    assert ((low <= model.predict()) & (model.predict() <= high)).all()
    model.save(tmp_path / "model")
    loaded = gf.GraphRegressor.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.predict(graph.features, graph=graph), model.predict())
    elsewhere = loaded.members_of(loaded.prepare(grid(5)))
    assert {m.system.name for m in elsewhere} <= set(model.weights_) - {"correction"}
    why = model.explain(int(hidden[0]))
    assert why.score == pytest.approx(model.predict()[hidden[0]])


def test_a_new_vertex_profits_from_known_ones_beside_it() -> None:
    names = [f"v{i}" for i in range(N)]
    graph, truth = grid().replace(vertex_names=names), field()
    rows = np.arange(N).reshape(SIDE, SIDE)[:, : SIDE - 2].ravel()
    model = fitted(truth[rows], graph.subgraph(rows))
    new = np.arange(N).reshape(SIDE, SIDE)[:, SIDE - 2]
    said = model.predict(graph=graph)[new]
    assert np.square(truth[new] - said).mean() < 0.5 * np.var(truth)


def test_damaged_residuals_are_refused() -> None:
    model = Correction(4, 1)
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    state["weight"] = torch.full((4, 1), torch.nan)
    with pytest.raises(ModelFileError, match="damaged"):
        model.load_state_dict(state)
