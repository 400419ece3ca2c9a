"""Two classes on the page: curves of all thresholds, the one that was chosen, and the lift."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphfilter.report.numbers import percent, plain, spread_out
from graphfilter.runs.fit import Fit
from graphfilter.training.thresholds import BinaryCurve
from graphfilter.util.words import count

MOST_POINTS = 300
CHOSEN_BY = {
    "f1": "the best F1 on the validation vertices",
    "accuracy": "the best accuracy on the validation vertices",
    "balanced_accuracy": "the best balanced accuracy on the validation vertices",
    "mcc": "the best Matthews correlation on the validation vertices",
    "cost": "the lowest cost on the validation vertices",
    "given": "as given",
    "default": "the more probable class is predicted",
}


@dataclass(frozen=True)
class DecisionRow:
    """What one threshold gives on the scored vertices."""

    title: str
    threshold: float
    scores: Mapping[str, Any]


@dataclass(frozen=True)
class DecisionView:
    """What the section on two classes shows."""

    positive: str
    sentence: str
    average_precision: float
    roc_area: float
    rows: tuple[DecisionRow, ...]
    has_costs: bool
    lifts: tuple[Mapping[str, float], ...]
    data: Mapping[str, Any]


def view_decision(fit: Fit, measured: Mapping[str, Any]) -> DecisionView | None:
    """Return the section's content; None where one of the classes has no judged vertex.

    ``measured`` is the decision as ``metrics.json`` has it.
    """
    part, positive = fit.part, fit.positive
    assert positive is not None
    scores, is_positive = (
        fit.outputs[fit.judged, positive],
        fit.target.codes[fit.judged] == positive,
    )
    if is_positive.all() or not is_positive.any():
        return None
    curve = BinaryCurve.of(scores, is_positive)
    half, chosen = measured["at_one_half"][part], measured["scores"][part]
    rows = [DecisionRow("one half", 0.5, half)]
    if measured["metric"] != "default":
        rows.append(DecisionRow("chosen", measured["threshold"], chosen))
    shown = spread_out(len(curve.thresholds), MOST_POINTS)
    data = {
        "recall": plain(curve.recall[shown]),
        "precision": plain(curve.precision[shown]),
        "alarms": plain(curve.false_alarm_rate[shown]),
        "thresholds": plain(curve.thresholds[shown]),
        "share": plain(is_positive.mean()),
        "points": [_point(row, curve) for row in rows],
    }
    return DecisionView(
        measured["positive"],
        _sentence(measured, chosen, part),
        curve.average_precision,
        curve.roc_area,
        tuple(rows),
        len(set(measured["costs"].values())) > 1,
        tuple(measured["lift"][part]),
        data,
    )


def _point(row: DecisionRow, curve: BinaryCurve) -> dict[str, Any]:
    found = row.scores
    return {
        "title": "one half" if row.threshold == 0.5 else f"chosen: {row.threshold:.3g}",
        "recall": plain(found["recall"] or 0.0),
        "precision": plain(1.0 if found["precision"] is None else found["precision"]),
        "alarms": plain(found["false_alarms"] / curve.n_negative),
    }


def _sentence(measured: Mapping[str, Any], scores: Mapping[str, Any], part: str) -> str:
    n_positive = scores["found"] + scores["missed"]
    name = {"test": "test", "val": "validation", "train": "training"}[part]
    found = f"{scores['found']:,} of the {n_positive:,} are found" if n_positive else ""
    alarms = count(scores["false_alarms"], "false alarm")
    if measured["metric"] == "default":
        start = f"“{measured['positive']}” is predicted where it is the more probable class"
    else:
        start = (
            f"“{measured['positive']}” is predicted from a probability of "
            f"{measured['threshold']:.3g} ({CHOSEN_BY[measured['metric']]})"
        )
    right = ""
    if scores["precision"] is not None:
        right = f"; an answer is right {percent(scores['precision'])} of the time"
    return f"{start}: on the {name} vertices {found}, with {alarms}{right}."
