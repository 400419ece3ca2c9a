"""Numbers, and several labels per vertex, on a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphfilter.report.numbers import plain, spread_out
from graphfilter.report.vertices import vertex_ids
from graphfilter.runs.fit import Fit

MOST_POINTS = 3000


@dataclass(frozen=True)
class LabelRow:
    """One label: how many vertices are known to have it, and how well it is found."""

    name: str
    n_known: int
    n_scored: int
    precision: float
    recall: float
    f1: float
    average_precision: float


def label_rows(fit: Fit) -> list[LabelRow]:
    """Score each label on the judged vertices; NaN where a share has no vertices."""
    from sklearn.metrics import average_precision_score, precision_recall_fscore_support

    truth, outputs = fit.plan.truth[fit.judged] > 0.5, fit.outputs[fit.judged]
    scored: Any = precision_recall_fscore_support(
        truth, fit.answers[fit.judged] > 0, zero_division=np.nan
    )
    precision, recall, f1, support = scored
    n_known = fit.plan.truth[fit.plan.known].sum(axis=0)
    ranked = [
        float(average_precision_score(true, own_outputs)) if true.any() else np.nan
        for true, own_outputs in zip(truth.T, outputs.T, strict=True)
    ]
    rows = zip(fit.names, n_known, support, precision, recall, f1, ranked, strict=True)
    return [
        LabelRow(name, int(n), int(n_scored), *map(float, scores))
        for name, n, n_scored, *scores in rows
    ]


def scatter_data(fit: Fit) -> dict[str, Any]:
    """Return observed and predicted numbers of the judged vertices, thinned evenly."""
    shown = fit.judged[spread_out(len(fit.judged), MOST_POINTS)]
    ids = vertex_ids(fit.graph)
    return {
        "observed": plain(fit.plan.truth[shown, 0], 6),
        "predicted": plain(fit.outputs[shown, 0], 6),
        "ids": [str(ids[v]) for v in shown],
    }
