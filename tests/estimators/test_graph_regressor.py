"""GraphRegressor: numbers by a committee, on their scale, with intervals; saved and resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphfilter import Graph, GraphClassifier, GraphRegressor, SGFRegressor
from graphfilter.data import make_csbm
from graphfilter.splits import Split
from graphfilter.training import Callback
from graphfilter.util.errors import ConfigError, GraphError

N = 160
GRAPH = make_csbm(N, frequency=0.4, mean_degree=6, n_features=5, seed=0)
FEATURES = np.asarray(GRAPH.features, dtype=np.float64)
SMOOTH = FEATURES[:, 0] + np.asarray(GRAPH.adjacency @ FEATURES[:, 1]) / 3
NOISE = np.random.default_rng(0).normal(size=(2, N))
REVENUE = np.exp(3 + 1.5 * SMOOTH + 0.2 * NOISE[0])
# Two numbers, each known where the other is not.
HALVES = np.where(np.arange(N)[:, None] % 2 == [0, 1], SMOOTH[:, None], np.nan)
SPLIT = Split(np.arange(80), np.arange(80, 120), np.arange(120, N))


def regressor(**options: Any) -> GraphRegressor:
    return GraphRegressor(**{"effort": "low", "max_epochs": 15, "random_state": 0, **options})


@pytest.fixture(scope="module")
def fitted() -> GraphRegressor:
    return regressor(max_epochs=40).fit(GRAPH.features, REVENUE, graph=GRAPH, split=SPLIT)


def test_skewed_numbers_are_learned_as_logarithms_and_stay_positive(fitted: GraphRegressor) -> None:
    assert fitted.target_scales_[0].name == "log"
    assert "log(1 + y)" in fitted.target_scales_[0].words
    train = REVENUE[SPLIT.train]
    predicted = fitted.predict()
    assert predicted.min() > 0
    assert predicted.max() <= train.max() + train.std()
    error = np.abs(predicted - REVENUE)[SPLIT.test].mean()
    assert error < 0.85 * np.abs(np.median(train) - REVENUE)[SPLIT.test].mean()


def test_weights_are_shares_of_the_answer(fitted: GraphRegressor) -> None:
    assert sum(fitted.weights_.values()) == pytest.approx(1)
    assert {note.name for note in fitted.member_notes_} >= {"features", "filter", "places"}


def test_intervals_hold_the_answer_and_grow_with_the_coverage(fitted: GraphRegressor) -> None:
    few, many = (fitted.predict_interval(coverage=c) for c in (0.5, 0.9))
    assert few.shape == (N, 2)
    assert (many[:, 0] <= few[:, 0]).all()
    assert (few[:, 1] <= many[:, 1]).all()
    assert (many >= 0).all()
    inside = (many[:, 0] <= REVENUE) & (many[:, 1] >= REVENUE)
    assert inside[SPLIT.test].mean() > 0.7


def test_resumed_regressor_has_the_same_bits(tmp_path: Path) -> None:
    def interrupt(progress: Any) -> None:
        if progress.epoch == 8:
            raise KeyboardInterrupt

    whole = regressor().fit(GRAPH.features, REVENUE, graph=GRAPH)
    checkpoint = tmp_path / "training.safetensors"
    with pytest.raises(KeyboardInterrupt):
        regressor().fit(
            GRAPH.features,
            REVENUE,
            graph=GRAPH,
            callback=Callback(interrupt, checkpoint=checkpoint),
        )
    resumed = regressor().fit(
        GRAPH.features, REVENUE, graph=GRAPH, callback=Callback(checkpoint=checkpoint, resume=True)
    )
    np.testing.assert_array_equal(resumed.predict(), whole.predict())


def test_several_numbers_share_members_and_have_scales_of_their_own() -> None:
    both = np.column_stack([REVENUE, SMOOTH + 0.1 * NOISE[1]])
    both[3, 0] = np.nan
    model = regressor(scale=["log", "identity"]).fit(GRAPH.features, both, graph=GRAPH)
    assert [scale.name for scale in model.target_scales_] == ["log", "identity"]
    assert model.predict().shape == (N, 2)
    assert model.predict_interval().shape == (N, 2, 2)
    assert model.fitted_members_[0].coefficients is not None
    total = sum(m.coefficients for m in model.fitted_members_ if m.coefficients is not None)
    np.testing.assert_allclose(total, [1, 1])


def test_constant_numbers_and_one_labelled_vertex_are_answered() -> None:
    constant = regressor().fit(GRAPH.features, np.full(N, 7.0), graph=GRAPH)
    np.testing.assert_allclose(constant.predict(), 7.0)
    one = np.full(N, np.nan)
    one[5] = 3.0
    model = regressor().fit(GRAPH.features, one, graph=GRAPH)
    np.testing.assert_allclose(model.predict(), 3.0)
    with pytest.raises(GraphError, match="calibrated on validation vertices; there are none"):
        model.predict_interval()


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.full(N, np.nan), "known for none"),
        (
            np.column_stack([SMOOTH, np.full(N, np.nan)]),
            "in all columns for some vertices; leave one out",
        ),
        (HALVES, "in all columns for some vertices; leave one out"),
        (1e-300 * SMOOTH, "Multiply them all"),
        (1e151 * SMOOTH, "Divide them all"),
        (np.where(np.arange(N) == 4, np.inf, 1.0), "in row 4 too"),
        (np.array(["rich"] * N), "the text 'rich'"),
        (np.array([1.0] * (N - 1) + ["a"], dtype=object), "the text 'a'"),
    ],
)
def test_numbers_that_cannot_be_learned_are_refused_in_one_line(y: Any, words: str) -> None:
    with pytest.raises(GraphError, match=words) as raised:
        regressor().fit(GRAPH.features, y, graph=GRAPH)
    assert "\n" not in str(raised.value)


def test_numbers_at_the_ends_of_the_range_are_learned() -> None:
    usual = SGFRegressor(max_epochs=5, random_state=0)
    for unit in (1e-140, 1e140):
        model = usual.fit(FEATURES, unit * SMOOTH, graph=GRAPH)
        assert np.corrcoef(model.predict() / unit, SMOOTH)[0, 1] > 0.3
    np.testing.assert_allclose(
        usual.fit(FEATURES, np.full(N, 1e-300), graph=GRAPH).predict(), 1e-300
    )


@pytest.mark.parametrize("n", [2, 5, 20])
def test_few_rows_with_three_numbers_are_learned(n: int) -> None:
    """As scikit-learn's linnerud has them: 20 rows, on a graph of nearest neighbours."""
    from sklearn.datasets import load_linnerud
    from sklearn.neighbors import kneighbors_graph

    data: Any = load_linnerud()
    x, y = data.data[:n], data.target[:n]
    near = kneighbors_graph(x, min(3, n - 1)).tocoo()
    graph = Graph.from_edges(np.stack([near.row, near.col], 1), n, features=x)
    model = regressor(max_epochs=3).fit(x, y, graph=graph)
    predicted = model.predict()
    assert predicted.shape == (n, 3)
    assert (np.abs(predicted - y) <= 2 * np.ptp(data.target, axis=0)).all()
    assert model.explain(0, output="2").score == pytest.approx(predicted[0, 2], rel=1e-3)


def test_scale_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match="unknown scale"):
        regressor(scale="square").fit(GRAPH.features, REVENUE, graph=GRAPH)
    with pytest.raises(ConfigError, match="one per number"):
        regressor(scale=["log", "rank"]).fit(GRAPH.features, REVENUE, graph=GRAPH)
    with pytest.raises(ConfigError, match="must have numbers from 0"):
        regressor(scale="log").fit(GRAPH.features, SMOOTH, graph=GRAPH)


LABELS = np.column_stack([SMOOTH > 0, FEATURES[:, 2] > 0.5, FEATURES[:, 3] > 1]).astype(float)


def test_classifier_committee_learns_several_labels(tmp_path: Path) -> None:
    model = GraphClassifier(effort="low", max_epochs=30, random_state=0)
    model.fit(GRAPH.features, LABELS, graph=GRAPH, split=SPLIT)
    assert (model.predict() == LABELS)[SPLIT.test].mean() > 0.7
    sets = model.predict_set(coverage=0.9)
    assert np.all(sets[SPLIT.test] >= LABELS[SPLIT.test], axis=1).mean() > 0.7
    assert (model.predict_set(coverage=0.5) <= sets).all()
    model.save(tmp_path / "model")
    loaded = GraphClassifier.load(tmp_path / "model")
    given = (GRAPH.features, GRAPH)
    np.testing.assert_allclose(loaded.predict_proba(*given), model.predict_proba(), atol=1e-9)
    np.testing.assert_array_equal(loaded.predict_set(*given), sets)


def test_classifier_committee_gives_sets_of_classes(tmp_path: Path) -> None:
    model = GraphClassifier(effort="low", max_epochs=20, random_state=0)
    model.fit(GRAPH.features, GRAPH.labels, graph=GRAPH, split=SPLIT)
    sets = model.predict_set(coverage=0.9)
    assert sets[np.arange(N), model.predict_proba().argmax(axis=1)].all()
    model.save(tmp_path / "model")
    loaded = GraphClassifier.load(tmp_path / "model")
    again = loaded.predict_set(GRAPH.features, GRAPH, coverage=0.9)
    np.testing.assert_array_equal(again, sets)
