"""Fits whose answers are written down: for tests of what is derived from a fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphfilter import Graph, SGFClassifier, Split
from graphfilter.estimators.targets import Target
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.runs.answers import Decision
from graphfilter.runs.fit import Fit
from graphfilter.runs.plan import BASELINES, Plan, Source
from graphfilter.training import CLASSIFICATION, Task


def made_fit(
    training: np.ndarray,
    truth: np.ndarray,
    said: np.ndarray,
    baselines: Mapping[str, np.ndarray] | None = None,
    *,
    part: str = "test",
    task: Task = CLASSIFICATION,
    names: list[str] | None = None,
    decision: Decision | None = None,
    estimator: VertexEstimator | None = None,
    edges: Any = ((0, 1),),
) -> Fit:
    """Return a fit on training vertices and judged ones, of which ``said`` is what it says.

    Outputs of the training vertices are zero, but for those of ``part`` 'train'.
    """
    k, m = len(training), len(truth)
    values = np.concatenate([training, truth]) if part != "train" else truth
    n = len(values)
    n_classes = int(values.max()) + 1 if task.one_class else values.shape[1]
    labels = names or [str(c) for c in range(max(n_classes, said.shape[1]))]
    codes = values.astype(np.int64) if task.one_class else np.zeros(n, dtype=np.int64)
    target = Target(task, codes, np.array(labels, dtype=object), None if task.one_class else values)
    judged = np.arange(k, k + m) if part != "train" else np.arange(m)
    parts = {"train": np.arange(k) if part != "train" else judged, "val": [], "test": []}
    parts[part] = judged
    graph = Graph.from_edges(np.array(edges, dtype=int).reshape(-1, 2), n, labels=codes)
    plan = Plan(Source(graph), graph, target, Split(**parts), 0, ())

    def outputs(own: np.ndarray) -> np.ndarray:
        found = np.zeros((n, own.shape[1]))
        found[judged] = own
        return found

    made = SGFClassifier() if estimator is None else estimator
    others = tuple(
        Fit.of(
            plan,
            made,
            outputs(own),
            decision,
            name=name,
            title=name.upper(),
            meaning=BASELINES[name],
        )
        for name, own in (baselines or {}).items()
    )
    return Fit.of(plan, made, outputs(said), decision, baselines=others)


def one_hot(codes: np.ndarray, n_classes: int = 2) -> np.ndarray:
    """Return probabilities that are sure of these classes."""
    return np.eye(n_classes)[codes]
