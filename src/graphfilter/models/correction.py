"""Correction: what a committee is known to miss on labelled vertices, added for those around them.

The residual of a vertex is what its number has beyond the committee's answer. Where neighbours are
alike in what the columns do not say (the street of a house, the state of a county), residuals are
alike too, and a filter of them tells what is missed at a vertex whose number is not known (Jia and
Benson 2020, *Residual Correlation in Graph Neural Network Regression*).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphfilter.data.graph import Graph
from graphfilter.models.base import ModelConfig, Sizes, Working
from graphfilter.models.forest import Fitted, Given
from graphfilter.models.layers import Draws, Input
from graphfilter.models.places import Known
from graphfilter.models.relations import N_FOLDS, KeepsView, told_of
from graphfilter.models.scaling import or_one
from graphfilter.operators import Operator
from graphfilter.tables.columns import Features

__all__ = ["Correction", "CorrectionConfig"]

# Residuals are filtered by personalised PageRank of so many steps: near by, and farther around.
STEPS, TELEPORTS = 10, (0.5, 0.1)
# The residuals of vertices that models have learned from, which are too small, and of others.
N_GROUPS = 2
N_FILTERED = N_GROUPS * len(TELEPORTS)
# As many vertices as are thought to say that nothing is missed.
STRENGTH = 5.0
# Residuals of more deviations, by their median, say how wrong a number on file is.
MOST_DEVIATIONS = 6.0


def robust(residuals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return residuals (m, T) of which none is so large that it would decide for all around."""
    middle = np.median(np.abs(residuals), axis=0) if len(residuals) else 0.0
    most = MOST_DEVIATIONS * 1.4826 * middle
    return np.where(most > 0, np.clip(residuals, -most, most), residuals)


def columns_missed(
    graph: Graph, features: Features, found: Mapping[str, NDArray[Any]], known: Known | None = None
) -> NDArray[np.float32]:
    """Return the filtered residuals around each vertex (n, N_FILTERED · T).

    A labelled vertex sees those outside its fold only, so never its own. Where nothing is told
    there are no columns.
    """
    if "told_rows" not in found:
        return np.zeros((graph.n_vertices, 0), dtype=np.float32)
    own = told_of(graph, found, known)
    values, is_told = found["told_values"], own >= 0
    n, width = graph.n_vertices, values.shape[1]
    fold = np.where(is_told, found["told_folds"][own] if len(values) else -1, -1)
    # One block of columns per fold.
    signal = np.zeros((n, N_FOLDS, width))
    signal[is_told, fold[is_told]] = values[own[is_told]]
    signal = signal.reshape(n, -1)
    root = 1 / np.sqrt(or_one(graph.degrees))
    step = sp.csr_array(sp.diags_array(root) @ graph.adjacency @ sp.diags_array(root))
    filtered, power = [t * signal for t in TELEPORTS], signal
    for k in range(1, STEPS + 1):
        power = step @ power
        for sums, t in zip(filtered, TELEPORTS, strict=True):
            sums += (t if k < STEPS else 1.0) * (1 - t) ** k * power
    parts = []
    for sums in filtered:
        by_fold = sums.reshape(n, N_FOLDS, width)
        total = by_fold.sum(axis=1)
        total[is_told] -= by_fold[is_told, fold[is_told]]
        parts.append(total)
    return np.hstack(parts).astype(np.float32)


@dataclass(frozen=True)
class CorrectionConfig(ModelConfig):
    """See :class:`Correction`."""

    kind: ClassVar[str] = "Correction"
    fitted: ClassVar[bool] = True
    recognises: ClassVar[bool] = True
    dropout: float = 0.0

    def memory(self, sizes: Sizes) -> Working:
        return Working(3 * 8 * N_FOLDS * N_GROUPS * sizes.n_vertices * sizes.n_classes)


class Correction(KeepsView, Fitted[CorrectionConfig], config=CorrectionConfig):
    r"""A weighted sum of filtered residuals, with weights from validation vertices.

    .. math:: c = \sum_{g,\alpha} w_{g\alpha} f_\alpha(P)\, r_g, \qquad w \ge 0

    where :math:`r_g` are the residuals of vertices that models have learned from, and of those that
    they have not, and :math:`f_\alpha` is personalised PageRank. The weights minimise the squared
    error of validation vertices, each of which sees residuals of others only; where they remove no
    more than chance does, they are 0.

    Examples
    --------
    >>> import numpy as np
    >>> import graphfilter as gf
    >>> correction = gf.models.Correction(4, 1)
    >>> columns = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    >>> correction.fit(columns, 0.5 * columns[:, :1].astype(np.float64))
    >>> correction.weight.round(decimals=1).ravel().tolist()
    [0.5, 0.0, 0.0, 0.0]
    """

    kept: ClassVar[dict[str, torch.dtype]] = {"weight": torch.float32} | KeepsView.seen

    weight: Tensor

    def learn(self, given: Given) -> None:
        rows, targets = given.rows, given.targets
        from scipy.optimize import nnls

        columns = np.asarray(rows, dtype=np.float64).reshape(len(targets), N_FILTERED, -1)
        found = np.zeros(columns.shape[1:])
        for t, y in enumerate(targets.T):
            x = columns[:, :, t]
            scale = or_one(np.sqrt(np.square(x).mean(axis=0)))
            drawn = np.vstack([x / scale, np.sqrt(STRENGTH) * np.eye(N_FILTERED)])
            w, _ = nnls(drawn, np.concatenate([y, np.zeros(N_FILTERED)]))
            before, after = np.square(y).sum(), np.square(y - x @ (w / scale)).sum()
            # Of weights that are not negative each removes half a variance by chance.
            if before - after > N_FILTERED * after / max(len(y), 1):
                found[:, t] = w / scale
        self.weight = torch.from_numpy(found.astype(np.float32))

    def is_whole(self, state: Mapping[str, Tensor]) -> bool:
        return (
            tuple(state["weight"].shape) == (N_FILTERED, self.n_classes)
            and bool(state["weight"].isfinite().all())
            and self.is_whole_view(state)
            and state["seen_told_values"].shape[1] == N_GROUPS * self.n_classes
        )

    def forward(self, operator: Operator, x: Input, generator: Draws = None) -> Tensor:
        columns = x if isinstance(x, Tensor) else torch.from_numpy(x.to_scipy().toarray())
        filtered = columns.reshape(len(columns), *self.weight.shape).double()
        return (filtered * self.weight.to(filtered)).sum(1)
