"""Which label next: from a fitted estimator to the vertices whose label would teach most."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.explain import (
    Suggestion,
    class_disagreement,
    number_disagreement,
    reach_of,
    suggest_vertices,
)
from graphfilter.graph import Graph
from graphfilter.runtime import own_torch_state
from graphfilter.training import REGRESSION

Array = NDArray[np.float64]


def suggest_labels(
    estimator: VertexEstimator, graph: Graph, candidates: NDArray[np.int64], n: int, seed: int = 0
) -> list[Suggestion]:
    """Return the n candidates whose label would teach a fitted estimator most.

    Parameters
    ----------
    graph : Graph
        With features, as the estimator was fitted.
    candidates : int array
        The vertices without a label.
    """
    prepared = estimator.prepare(graph)
    members = estimator.members_of(prepared)
    answers = [member.answer(prepared) for member in members]
    shares = [member.share or member.weight for member in members]
    task = estimator.task_
    unknown = np.zeros(graph.n_vertices)
    unknown[candidates] = 1.0
    if task is REGRESSION:
        disagreement = np.sqrt(number_disagreement(answers, shares))
        wanted = unknown * disagreement
    else:
        # A label that a vertex may have is a question of two answers.
        parts = answers if task.one_class else [np.concatenate([p, 1 - p], axis=1) for p in answers]
        disagreement = class_disagreement(parts, shares)
        mean = np.average(np.stack(answers), axis=0, weights=shares)
        unsure = 1 - mean.max(axis=1) if task.one_class else (1 - np.abs(2 * mean - 1)).mean(axis=1)
        wanted = unknown * unsure

    def filtered(columns: Array) -> Array:
        operator = prepared.operator(estimator.filter_operator)
        x = torch.from_numpy(columns).to(prepared.device, torch.float32)
        with own_torch_state(gradients=False):
            if not estimator.filters_:
                return (operator @ x).double().cpu().numpy()
            learned = estimator.filters_[0]
            device = prepared.device
            return learned.to(device)(operator, x).double().cpu().numpy()

    return suggest_vertices(graph, disagreement, reach_of(filtered, wanted, seed), candidates, n)
