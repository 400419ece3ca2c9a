"""The classes of a report: who is mistaken for whom, and how sure the model is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.report.numbers import plain
from graphfilter.runs.fit import Fit
from graphfilter.spectral import Diagnosis

MOST_CLASSES = 40
N_BINS = 10


@dataclass(frozen=True)
class ClassRow:
    """One class: its size, its frequency, and how it was predicted on the scored vertices."""

    name: str
    n_labelled: int
    n_scored: int
    precision: float
    recall: float
    f1: float
    frequency: float
    range: str


def class_rows(fit: Fit) -> list[ClassRow]:
    """Score each class on its own; precision is NaN for one never predicted, recall untested."""
    assert isinstance(fit.diagnosis, Diagnosis)
    diagnosis, judged = fit.diagnosis, fit.judged
    # Slow to import, as is confusion_matrix below.
    from sklearn.metrics import precision_recall_fscore_support

    numbers = np.arange(len(fit.names))
    scored: Any = precision_recall_fscore_support(
        fit.target.codes[judged], fit.answers[judged], labels=numbers, zero_division=np.nan
    )
    precision, recall, f1, support = scored
    return [
        ClassRow(
            name=fit.names[c],
            n_labelled=list(diagnosis.class_counts.values())[c],
            n_scored=int(support[c]),
            precision=float(precision[c]),
            recall=float(recall[c]),
            f1=float(f1[c]),
            frequency=float(diagnosis.label_frequency.value[c]),
            range=diagnosis.ranges[c],
        )
        for c in numbers
    ]


def confusion_data(fit: Fit) -> dict[str, Any]:
    """Return counts by given (rows) and predicted class, of the largest classes if many."""
    from sklearn.metrics import confusion_matrix

    judged, names = fit.judged, fit.names
    given, answered = fit.target.codes[judged], fit.answers[judged]
    counts = confusion_matrix(given, answered, labels=np.arange(len(names)))
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
    count = np.bincount(bins, minlength=N_BINS)
    there = count > 0
    return {
        "confidence": plain(np.bincount(bins, confidence, N_BINS)[there] / count[there]),
        "accuracy": plain(np.bincount(bins, right, N_BINS)[there] / count[there]),
        "count": count[there].tolist(),
    }
