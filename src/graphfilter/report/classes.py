"""The sections on classes, two classes, several labels, numbers and places: how right it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.report.html import percent, plain, spread_out
from graphfilter.runs.answers import BinaryCurve
from graphfilter.runs.findings import score_each
from graphfilter.runs.fit import Fit
from graphfilter.spectral import Diagnosis
from graphfilter.tables.near import LATITUDE, Near, find_coordinates, read_places
from graphfilter.training import MULTILABEL

MOST_CLASSES = 40
N_BINS = 10
# Points of a curve over all thresholds, and of a scatter plot.
MOST_POINTS, MOST_DOTS = 300, 3000
# Of so many sizes of a number errors are given.
N_SIZES = 5


def classes_section(fit: Fit) -> dict[str, Any]:
    """Return each class on its own, who is mistaken for whom, and how sure the model is.

    Precision is NaN of a class that was never predicted, recall of one that was not tested.
    """
    assert isinstance(fit.plan.diagnosis, Diagnosis)
    # Slow to import, as is confusion_matrix below.
    from sklearn.metrics import precision_recall_fscore_support

    diagnosis, judged = fit.plan.diagnosis, fit.judged
    scored: Any = precision_recall_fscore_support(
        fit.plan.target.codes[judged], fit.answers[judged], labels=np.arange(len(fit.names)),
        zero_division=np.nan,
    )  # fmt: skip
    keys = ("name", "n_labelled", "precision", "recall", "f1", "n_scored", "frequency", "range")
    n_labelled, frequency = diagnosis.class_counts.values(), diagnosis.label_frequency.value
    rows = zip(fit.names, n_labelled, *scored, frequency, diagnosis.ranges, strict=True)
    return {
        "rows": [dict(zip(keys, row, strict=True)) for row in rows],
        "data": {
            "confusion": confusion_data(fit),
            "calibration": calibration_data(fit.outputs[judged], fit.plan.target.codes[judged]),
        },
    }


def confusion_data(fit: Fit) -> dict[str, Any]:
    """Return counts by label (rows) and predicted class, of the largest classes if many."""
    from sklearn.metrics import confusion_matrix

    judged, names = fit.judged, fit.names
    truth, answers = fit.plan.target.codes[judged], fit.answers[judged]
    counts = confusion_matrix(truth, answers, labels=np.arange(len(names)))
    order = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:MOST_CLASSES])
    return {
        "names": [names[c] for c in order],
        "counts": counts[np.ix_(order, order)].tolist(),
        "left_out": len(names) - len(order),
    }


def calibration_data(
    probabilities: NDArray[np.float64], truth: NDArray[np.int64]
) -> dict[str, Any]:
    """Return accuracy against confidence in ten equal bins; empty bins are left out."""
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == truth
    bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    sizes = np.bincount(bins, minlength=N_BINS)
    there = sizes > 0
    return {
        "confidence": plain(np.bincount(bins, confidence, N_BINS)[there] / sizes[there]),
        "accuracy": plain(np.bincount(bins, right, N_BINS)[there] / sizes[there]),
        "count": sizes[there].tolist(),
    }


def labels_section(fit: Fit) -> dict[str, Any]:
    """Return how well each label is found on the judged vertices; NaN where there are none."""
    from sklearn.metrics import average_precision_score, precision_recall_fscore_support

    truth, outputs = fit.plan.truth[fit.judged] > 0.5, fit.outputs[fit.judged]
    scored: Any = precision_recall_fscore_support(
        truth, fit.answers[fit.judged] > 0, zero_division=np.nan
    )
    n_known = fit.plan.truth[fit.plan.is_labelled].sum(axis=0).astype(int)
    ranked = [
        float(average_precision_score(true, of_label)) if true.any() else np.nan
        for true, of_label in zip(truth.T, outputs.T, strict=True)
    ]
    keys = ("name", "n_known", "precision", "recall", "f1", "n_scored", "average_precision")
    rows = zip(fit.names, n_known, *scored, ranked, strict=True)
    return {"rows": [dict(zip(keys, row, strict=True)) for row in rows]}


def numbers_section(fit: Fit) -> dict[str, Any]:
    """Return scores and scale of each number, and what was observed and predicted, thinned."""
    judged = fit.judged
    shown = judged[spread_out(len(judged), MOST_DOTS // len(fit.names))]
    ids = fit.plan.graph.vertex_names or range(fit.plan.graph.n_vertices)
    rows, scatter = [], []
    for t, (name, scores) in enumerate(zip(fit.names, score_each(fit), strict=True)):
        true, predicted = fit.plan.truth[:, t], fit.outputs[:, t]
        scales = fit.estimator.target_scales_[t : t + 1]
        by_size = errors_by_size(true[judged], predicted[judged])
        rows.append({
            "name": name, "scores": scores, "by_size": by_size,
            "scale": "".join(scale.words for scale in scales),
        })  # fmt: skip
        scatter.append({
            "observed": plain(true[shown], 6), "predicted": plain(predicted[shown], 6),
            "name": name, "ids": [str(ids[v]) for v in shown],
        })  # fmt: skip
    return {"rows": rows, "data": {"scatter": scatter}}


def errors_by_size(
    true: NDArray[np.float64], predicted: NDArray[np.float64]
) -> list[dict[str, Any]]:
    """Return the errors of fifths of the vertices, by what was observed; fewer of equal numbers.

    >>> errors_by_size(np.array([1.0, 1, 9, 9]), np.array([1.0, 2, 8, 4]))[1]["median"]
    3.0
    """
    ends = np.unique(np.quantile(true, np.arange(1, N_SIZES) / N_SIZES, method="lower"))
    size, errors = np.searchsorted(ends, true), predicted - true
    return [
        {"low": true[own].min(), "high": true[own].max(), "n": int(own.sum()),
         "median": float(np.median(np.abs(errors[own]))), "mean": float(np.abs(errors[own]).mean()),
         "lean": float(np.median(errors[own]))}
        for own in (size == k for k in np.unique(size))
    ]  # fmt: skip


def map_section(fit: Fit) -> dict[str, Any] | None:
    """Return where vertices are, with values, answers and errors, thinned evenly.

    None where no two columns are coordinates, and of several labels.
    """
    plan, one_class, encoder = fit.plan, fit.task.one_class, fit.plan.source.encoder
    names = plan.graph.feature_names or ()
    near = None if encoder is None else encoder.near
    if near is None and (pair := next(find_coordinates(names), None)) is not None:
        near = Near(tuple(names[i].partition(" (above ")[0] for i in pair))
    if near is None or len(near.columns) != 2 or fit.task is MULTILABEL:
        return None
    places = read_places(plan.graph.features, names, near.columns)
    truth = plan.target.codes[:, None] if one_class else plan.truth
    says = fit.answers[:, None] if one_class else fit.outputs
    missed = says != truth if one_class else says - truth
    known = np.where(plan.is_labelled[:, None], truth, np.nan)
    ids = plan.graph.vertex_names or range(plan.graph.n_vertices)
    at = [
        index[spread_out(len(index), MOST_DOTS // truth.shape[1])]
        for index in (np.arange(len(places)), fit.judged)
    ]
    spots = [{"at": plain(places[own].T, 7), "ids": [str(ids[v]) for v in own]} for own in at]
    layers = [
        {"name": name, "known": plain(known[at[0], t]), "says": plain(says[at[0], t]),
         "missed": plain(missed[at[1], t])}
        for t, name in enumerate(["class"] if one_class else fit.names)
    ]  # fmt: skip
    classes = list(fit.names) if one_class else None
    drawn = {"all": spots[0], "judged": spots[1], "layers": layers, "classes": classes}
    return {"data": {"map": drawn | {"latitude": bool(LATITUDE.search(near.columns[0]))}}}


def decision_section(fit: Fit, measured: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return what every threshold gives, and the chosen one; None where there is no choice.

    That is where there are not two classes, or one of them has no judged vertex. ``measured`` is
    the decision as ``metrics.json`` has it.
    """
    if measured is None:
        return None
    scores = fit.outputs[fit.judged, fit.positive]
    is_positive = fit.plan.target.codes[fit.judged] == fit.positive
    if is_positive.all() or not is_positive.any():
        return None
    curve = BinaryCurve.of(scores, is_positive)
    lines = {
        "recall": curve.recall, "precision": curve.precision, "alarms": curve.false_alarm_rate,
        "thresholds": curve.thresholds,
    }  # fmt: skip
    half, chosen = measured["at_one_half"][fit.part], measured["scores"][fit.part]
    is_default, threshold = measured["metric"] == "default", measured["threshold"]
    rows: list[dict[str, Any]] = [{"title": "one half", "threshold": 0.5, "scores": half}]
    if not is_default:
        rows.append({"title": "chosen", "threshold": threshold, "scores": chosen})
    shown = spread_out(len(curve.thresholds), MOST_POINTS)
    points = [
        {
            "title": "one half" if t == 0.5 else f"chosen: {t:.3g}",
            "recall": plain(at["recall"] or 0.0),
            "precision": plain(1.0 if at["precision"] is None else at["precision"]),
            "alarms": plain(at["false_alarms"] / curve.n_negative),
        }
        for t, at in ((row["threshold"], row["scores"]) for row in rows)
    ]
    data = {name: plain(values[shown]) for name, values in lines.items()}
    data |= {"share": plain(is_positive.mean()), "points": points}
    return {
        "positive": measured["positive"],
        "sentences": measured["said"][fit.part],
        "average_precision": curve.average_precision,
        "roc_area": curve.roc_area,
        "rows": rows,
        "has_costs": len(set(measured["costs"].values())) > 1,
        "budgets": [
            row | {"of_all": percent(row["found"] / curve.n_positive)}
            for row in measured["budgets"][fit.part][1:]
        ],
        "data": {"decision": data},
    }
