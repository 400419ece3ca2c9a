"""What each row counts: members learn as much of it as if it were there so many times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import graphfilter as gf
from graphfilter.splits import Split
from graphfilter.util.errors import GraphError

N = 90
GRAPH = gf.data.make_csbm(n_vertices=N, frequency=0.3, mean_degree=8, n_features=6)
X = np.asarray(GRAPH.features, dtype=np.float64)
assert GRAPH.labels is not None
LABELS = GRAPH.labels
SPLIT = Split(np.arange(50), np.arange(50, 75), np.arange(75, N))
QUICK: dict[str, Any] = {"max_epochs": 12, "random_state": 0}
# A quarter of the training vertices have a wrong label.
WRONG = np.arange(N) % 4 == 0
WRONG[50:] = False
Y = np.where(WRONG, 1 - LABELS, LABELS)
WEIGHTS = np.where(WRONG, 1e-6, 2.0)
MEMBERS = ("sgf", "appnp", "hop-mlp", "trees", "only-linear", "only-alike", "only-told-trees")
ESTIMATORS = {name: gf.SystemClassifier(model=name, **QUICK) for name in MEMBERS}
ESTIMATORS["committee"] = gf.GraphClassifier(**QUICK)


def fit(estimator: Any, y: Any, weights: Any = None, **about: Any) -> Any:
    about = {"graph": GRAPH.edges, "split": SPLIT} | about
    return estimator.fit(X, y, sample_weight=weights, **about)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_what_counts_little_teaches_little(name: str) -> None:
    """Answers for other vertices hardly depend on its label, but for members told of labels."""
    of_others = np.arange(50, N)
    (a, b), (c, d) = (
        [fit(ESTIMATORS[name], y, weights).outputs_[of_others] for y in (LABELS, Y)]
        for weights in (None, WEIGHTS)
    )
    assert np.abs(c - d).mean() < 0.5 * np.abs(a - b).mean()


@pytest.mark.parametrize("name", ["sgf", "committee"])
def test_equal_weights_are_none_and_zero_is_no_label(name: str) -> None:
    estimator = ESTIMATORS[name]
    plain = fit(estimator, LABELS).outputs_
    np.testing.assert_allclose(fit(estimator, LABELS, np.full(N, 3.0)).outputs_, plain, atol=1e-4)
    some = LABELS.astype(object)
    some[:20] = None
    split = (SPLIT.train[20:], SPLIT.val, SPLIT.test)
    without = fit(estimator, some, split=split).outputs_
    weights = (np.arange(N) >= 20).astype(float)
    np.testing.assert_array_equal(fit(estimator, LABELS, weights, split=split).outputs_, without)


def test_numbers_and_several_labels_are_weighed() -> None:
    numbers = np.where(WRONG, 9.0, X[:, 0])
    for kind in (gf.SGFRegressor, gf.GraphRegressor):
        errors = [
            np.abs(fit(kind(max_epochs=60, random_state=0), numbers, weights).predict() - X[:, 0])
            for weights in (None, WEIGHTS)
        ]
        assert errors[1][50:].mean() < errors[0][50:].mean() / 1.5
    several = np.column_stack([Y, 1 - Y])
    said = [fit(gf.SGFClassifier(**QUICK), several, weights) for weights in (None, WEIGHTS)]
    assert not np.array_equal(said[0].outputs_, said[1].outputs_)


def test_weights_follow_their_rows() -> None:
    """By the numbers of the vertices, and by the index of a Series."""
    bound = gf.SGFClassifier(graph=GRAPH, **QUICK)
    vertices = np.random.default_rng(0).permutation(60)
    whole = bound.fit(np.arange(60), Y[:60], sample_weight=WEIGHTS[:60], split=SPLIT_OF_60)
    moved = bound.__class__(graph=GRAPH, **QUICK)
    moved.fit(vertices, Y[vertices], sample_weight=WEIGHTS[vertices], split=SPLIT_OF_60)
    np.testing.assert_array_equal(moved.outputs_, whole.outputs_)
    frame = pd.DataFrame(X, index=[f"v{i}" for i in range(N)], columns=list("abcdef"))
    series = pd.Series(WEIGHTS, index=frame.index)
    named = [
        gf.SGFClassifier(**QUICK)
        .fit(frame, Y, graph=GRAPH.edges, split=SPLIT, sample_weight=weights)
        .outputs_
        for weights in (series, series.iloc[::-1])
    ]
    np.testing.assert_array_equal(named[0], named[1])


SPLIT_OF_60 = (np.arange(40), np.arange(40, 60), np.zeros(0, dtype=np.int64))


@pytest.mark.parametrize(
    "weights", [np.ones(N - 1), -np.ones(N), np.zeros(N), np.ones((N, 2)), np.full(N, np.nan)]
)
def test_weights_that_cannot_be_are_refused(weights: Any) -> None:
    with pytest.raises(ValueError, match="sample_weight"):
        fit(gf.SGFClassifier(**QUICK), LABELS, weights)
    with pytest.raises(GraphError, match=r"one number per row of y.*got shape \(3,\) for 90 rows"):
        fit(gf.SGFClassifier(**QUICK), LABELS, np.ones(3))
