"""Contributions by distance for any network: its features are hidden, and shown step by step.

All features are set to their average, and then given back: those of the vertex, of its neighbours,
and so on. What each step changes of the score is its contribution; the changes add up to the score.
For a filter network that is :mod:`.linear`, to rounding. In a network that is not linear in its
hidden rows the order matters, and single vertices and features have no share of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.explain.contributions import STEPS, Contributions, steps_from
from graphfilter.explain.linear import mean_row
from graphfilter.graph import Graph
from graphfilter.models import Input

# Average features have no zeros, so sparse ones become dense: up to this many numbers.
MOST_NUMBERS = 100_000_000


def explain_by_leaving_out(
    logits: Callable[[Tensor], Tensor],
    x: Input,
    graph: Graph,
    vertices: Sequence[int],
    directions: NDArray[np.float64],
    *,
    logits_at: Callable[[Tensor, int], Tensor] | None = None,
) -> list[Contributions]:
    """Take the scores of some vertices apart by distance.

    Parameters
    ----------
    logits : callable
        From features (n, d) to logits (n, n_classes).
    x, graph, vertices, directions : as for :func:`~graphfilter.explain.explain_linear`
    logits_at : callable, optional
        From features (n, d) and a vertex to its logits (n_classes,), where that costs less than
        the logits of all vertices.
    """
    one = logits_at or (lambda features, vertex: logits(features)[vertex])
    with torch.no_grad():
        dense = x if isinstance(x, Tensor) else x.to_dense()
        hidden = mean_row(x).expand_as(dense)
        average = logits(hidden).double().cpu().numpy()
        full = logits(dense).double().cpu().numpy()
        made = []
        for vertex, direction in zip(vertices, directions, strict=True):
            distance = torch.as_tensor(steps_from(graph, vertex), device=dense.device)
            scores = [average[vertex] @ direction]
            for step in range(len(STEPS) - 1):
                shown = torch.where((distance <= step)[:, None], dense, hidden)
                scores.append(one(shown, vertex).double().cpu().numpy() @ direction)
            scores.append(full[vertex] @ direction)
            base = float((average @ direction).mean())
            made.append(Contributions(base, float(scores[0]) - base, np.diff(scores)))
    return made
