"""Fits that are stopped at a step, resumed, or limited in time: as a run's fit is made."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphfilter import Graph, GraphClassifier, SGFClassifier, SystemClassifier
from graphfilter.data import make_csbm
from graphfilter.runs.findings import conclude
from graphfilter.runs.fit import Fit, train_baselines, train_fit
from graphfilter.runs.plan import Source, plan_fit
from graphfilter.training import Callback, Progress

GRAPH = make_csbm(60, mean_degree=6, n_features=5, frequency=0.3, seed=2)
DIRECTED = Graph.from_edges(
    GRAPH.edges, 60, features=GRAPH.features, labels=GRAPH.labels, directed=True
)
QUICK: dict[str, Any] = {"max_epochs": 3, "random_state": 0}
SYSTEM = SystemClassifier(model="hop-mlp", **QUICK)
KINDS: dict[str, tuple[Graph, Any]] = {
    "several networks": (GRAPH, SGFClassifier(n_members=2, **QUICK)),
    "with and without directions": (DIRECTED, SGFClassifier(**QUICK)),
    "hops": (GRAPH, SYSTEM),
}


class Stop(BaseException):
    pass


def fitted(kind: str, callback: Callback) -> Fit:
    graph, estimator = KINDS[kind]
    return train_fit(plan_fit(Source(graph), 0), estimator, callback=callback)


def answers(fit: Fit) -> list[np.ndarray]:
    return [fit.outputs, *(baseline.outputs for baseline in fit.baselines)]


@pytest.mark.parametrize("kind", KINDS)
def test_fit_stopped_while_models_learn_or_are_compared_resumes_to_the_same_bits(
    kind: str, tmp_path: Path
) -> None:
    steps: list[Progress] = []
    whole = answers(fitted(kind, Callback(steps.append)))
    n_own = sum(not step.compared for step in steps)
    for k in (n_own // 2 + 1, n_own + 1, len(steps)):
        left = [k]

        def watch(_: Progress, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == 0:
                raise Stop

        path = tmp_path / str(k) / "checkpoint.safetensors"
        path.parent.mkdir()
        with pytest.raises(Stop):
            fitted(kind, Callback(watch, checkpoint=path, checkpoint_seconds=0.0))
        left[0] = 2
        with suppress(Stop):  # A restart is stopped as well.
            fitted(kind, Callback(watch, checkpoint=path, resume=True))
        resumed = answers(fitted(kind, Callback(checkpoint=path, resume=True)))
        for one, other in zip(resumed, whole, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("estimator", [GraphClassifier(seconds=0, **QUICK), SYSTEM])
def test_stopped_fit_is_compared_with_baselines(estimator: Any) -> None:
    """What ends the model does not end the comparison, which says whether the graph helps."""
    ended = Callback(lambda progress: not progress.compared)
    fit = train_fit(plan_fit(Source(GRAPH), 0), estimator, callback=ended)
    assert [baseline.name for baseline in fit.baselines] == ["mlp", "appnp", "sgc"]
    assert "not known" not in conclude(fit).headline


def test_baselines_that_are_not_done_are_left_out() -> None:
    estimator, n_compared = SystemClassifier(model="sgc", **QUICK), [0]

    def second_ends(progress: Progress) -> bool:
        n_compared[0] += progress.compared
        return n_compared[0] > QUICK["max_epochs"]

    fit = train_fit(plan_fit(Source(GRAPH), 0), estimator, callback=Callback(second_ends))
    assert [baseline.name for baseline in fit.baselines] == ["mlp"]
    assert "not known" not in conclude(fit).headline
    assert train_baselines(fit, callback=Callback(lambda _: True)) == ()
