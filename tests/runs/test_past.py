"""A split by time of a graph whose edges have times: training knows no edge of the future."""

from __future__ import annotations

import numpy as np
import pytest

from graphfilter import SGFClassifier
from graphfilter.data.graph import Graph
from graphfilter.runs.fit import train_fit
from graphfilter.runs.plan import Source, SplitBy, plan_fit
from graphfilter.splits import by_time
from graphfilter.util.errors import GraphError


def make(times: list[float]) -> Graph:
    n = len(times)
    pairs = [[i, (i + 1) % n] for i in range(n)]
    return Graph.from_edges(
        pairs, n, times=times, labels=[0, 1] * (n // 2), features=np.eye(n, dtype=np.float32)
    )


def test_a_split_by_time_hides_later_edges_from_training() -> None:
    graph, years = make([*range(2000, 2020)]), np.arange(2000.0, 2020.0)
    plan = plan_fit(Source(graph), 0, SplitBy("year", times=years))
    first = years[by_time(graph.labels, years).val].min()
    assert plan.graph.past.n_edges == int((years < first).sum())
    assert plan.graph.n_edges == graph.n_edges
    assert any(f"those before {first:g}" in note for note in plan.notes)
    earlier = plan_fit(Source(graph.as_of(2003)), 0, SplitBy("year", times=years))
    assert earlier.graph.past.n_edges == 3
    later = plan_fit(Source(graph.as_of(2019)), 0, SplitBy("year", times=years))
    assert later.graph.past.n_edges == plan.graph.past.n_edges


def test_times_that_nothing_uses_or_that_do_not_compare_are_said() -> None:
    graph = make([*range(2000, 2020)])
    assert any(
        "times of the edges are not used" in note for note in plan_fit(Source(graph), 0).notes
    )
    seconds = 1.7e9 + 86_400 * np.arange(20.0)
    with pytest.raises(GraphError, match="must both be dates, or numbers"):
        plan_fit(Source(graph), 0, SplitBy("joined", times=seconds))


def test_outputs_of_a_past_are_those_of_prediction() -> None:
    graph = make([*range(2000, 2020)]).as_of(2012)
    clf = SGFClassifier(max_epochs=3, n_layers=2, random_state=0)
    fit = train_fit(plan_fit(Source(graph), 0), clf, baselines=False)
    kept = fit.outputs.copy()
    del fit.estimator.answers_
    np.testing.assert_array_equal(fit.estimator.answers(), kept)
