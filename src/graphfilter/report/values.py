"""Numbers, and several labels per vertex, on a page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphfilter.fits import Fit
from graphfilter.report.numbers import plain, spread_out
from graphfilter.report.vertices import vertex_ids

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
    from sklearn.metrics import average_precision_score

    judged, truth = fit.judged, fit.plan.truth
    rows = []
    for c, name in enumerate(fit.names):
        true, said = truth[judged, c] > 0.5, fit.answers[judged, c] > 0
        right = int((true & said).sum())
        f1_of = int(true.sum() + said.sum())
        ranked = np.nan
        if true.any():
            ranked = float(average_precision_score(true, fit.outputs[judged, c]))
        rows.append(
            LabelRow(
                name,
                int(truth[fit.plan.known, c].sum()),
                int(true.sum()),
                right / said.sum() if said.any() else np.nan,
                right / true.sum() if true.any() else np.nan,
                2 * right / f1_of if f1_of else np.nan,
                ranked,
            )
        )
    return rows


def scatter_data(fit: Fit) -> dict[str, Any]:
    """Return observed and predicted numbers of the judged vertices, thinned evenly."""
    shown = fit.judged[spread_out(len(fit.judged), MOST_POINTS)]
    ids = vertex_ids(fit.graph)
    return {
        "observed": plain(fit.plan.truth[shown, 0], 6),
        "predicted": plain(fit.outputs[shown, 0], 6),
        "ids": [str(ids[v]) for v in shown],
    }
