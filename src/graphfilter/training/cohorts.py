"""Cohorts: runs of one config that share tensors, as many as a cache holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from graphfilter.models import HopNetwork, Network, NormedNetwork, SideBySide
from graphfilter.operators import NativeKernel, Operator, SparseFeatures

# Vertices of runs side by side on a CPU: more wait for memory, fewer for Python.
VERTICES_IN_CACHE = 4096


def runs_in_a_cohort(operator: Operator) -> float:
    """Return how many runs of one config share tensors: on a CPU, what fits a cache.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> gf.training.runs_in_a_cohort(gf.operators.adjacency(g)) >= 1
    True
    """
    if operator.device.type != "cpu":
        return math.inf
    return max(1, VERTICES_IN_CACHE // max(operator.n, 1))


def multiplications(
    models: Sequence[Network[Any]], operator: Operator, x: Tensor | SparseFeatures
) -> int:
    """Return the size of the largest product that torch computes, in sparse multiplications."""
    weights = [p for model in models for p in model.parameters() if p.ndim == 2]
    width = max((min(weight.shape) for weight in weights), default=1)
    if isinstance(first := models[0], HopNetwork):
        return first.config.batch_size * (first.config.n_hops + 1) * first.n_features * width // 16
    runs = int(min(runs_in_a_cohort(operator), len(models)))
    if isinstance(first, NormedNetwork):
        # Its layers are torch's products, each with a dozen passes over the rows.
        columns = first.config.hidden_size
        return runs * operator.n * first.n_parts * columns**2 // 4
    # A dense product does sixteen multiplications at a time.
    inputs = x.numel() // 16 if isinstance(x, Tensor) else 0
    rows = operator.n * width // 16
    if not (isinstance(first, SideBySide) and isinstance(operator.kernel, NativeKernel)):
        # Not compiled as a whole. A row is read and written besides its entries.
        rows = operator.kernel.matrix.n_entries + 4 * operator.n
        inputs = inputs if isinstance(x, Tensor) else len(x.values)
    return runs * width * max(rows, inputs)


def cohorts_of(
    members: list[int], models: Sequence[Network[Any]], operator: Operator
) -> list[list[int]]:
    """Divide runs into those that run side by side: networks of one config."""
    by_config: dict[object, list[int]] = {}
    for r in members:
        network = models[r]
        by_config.setdefault(network.config if isinstance(network, SideBySide) else r, []).append(r)
    cohorts = []
    for alike in by_config.values():
        size = int(min(runs_in_a_cohort(operator), len(alike)))
        cohorts += [alike[i : i + size] for i in range(0, len(alike), size)]
    return cohorts
