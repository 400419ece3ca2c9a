"""The files of a run folder: predictions, metrics and the picture of the filter."""

from __future__ import annotations

import sys
from copy import deepcopy
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators.sgf import SGFClassifier
from graphfilter.filters import StackedFilter
from graphfilter.graph import Graph
from graphfilter.metrics import score_parts
from graphfilter.spectral import estimate_label_frequency
from graphfilter.splits import Split
from graphfilter.storage import whole_file

UNLABELLED = "unlabelled"
UNUSED = "unused"


def measure(
    classifier: SGFClassifier, graph: Graph, probabilities: NDArray[np.float64], split: Split
) -> dict[str, Any]:
    """Return the content of ``metrics.json``."""
    assert graph.labels is not None
    known = np.flatnonzero(graph.labels >= 0)
    frequency = estimate_label_frequency(graph, known)
    results = classifier.results_
    return {
        "scores": score_parts(probabilities, graph.labels, split),
        "split_rule": split.rule,
        "label_frequency": {
            str(name): _number(value)
            for name, value in zip(graph.classes, frequency.value, strict=True)
        },
        "label_frequency_mean": _number(frequency.mean),
        "filter": [_filter_numbers(f) for f in classifier.filters_],
        "epochs": [result.n_epochs for result in results],
        "best_epoch": [result.best_epoch for result in results],
        "stopped": [result.stopped for result in results],
        "seconds": results[0].seconds,
        "peak_memory_mb": peak_memory_mb(),
    }


def write_predictions(
    path: str | PathLike[str],
    graph: Graph,
    classes: NDArray[Any],
    probabilities: NDArray[np.float64],
    split: Split | None = None,
) -> None:
    """Write one row a vertex: id, predicted label, its probability, every class's, and its part."""
    import pyarrow as pa
    from pyarrow import csv

    best = probabilities.argmax(axis=1)
    names = [str(c) for c in classes]
    ids = graph.vertex_names or range(graph.n_vertices)
    columns: dict[str, Any] = {
        "id": pa.array([str(name) for name in ids]),
        "predicted": pa.array([names[b] for b in best]),
        "probability": probabilities.max(axis=1).round(6),
    }
    for c, name in enumerate(names):
        columns[f"p_{name}"] = probabilities[:, c].round(6)
    if split is not None:
        columns["part"] = pa.array(parts(graph, split).tolist())
    with whole_file(path) as temporary:
        csv.write_csv(pa.table(columns), temporary)


def parts(graph: Graph, split: Split) -> NDArray[np.str_]:
    """Name each vertex's part: train, val, test, unlabelled, or unused (labelled, in no part)."""
    part = split.part_of(graph.n_vertices).astype("<U10")
    unknown = np.ones(graph.n_vertices, bool) if graph.labels is None else graph.labels < 0
    part[(part == "") & unknown] = UNLABELLED
    part[part == ""] = UNUSED
    return part


def draw_run(
    classifier: SGFClassifier, graph: Graph, metrics: dict[str, Any], path: str | PathLike[str]
) -> None:
    """Draw the response at the start and learned, with the labels' frequencies marked."""
    from graphfilter.report.figures import FilterView, draw_filter, save_figure

    scores = metrics["scores"]
    part = "test" if "test" in scores else "val" if "val" in scores else "train"
    frequencies = metrics["label_frequency"]
    view = FilterView(
        operator=classifier.operator,
        start=start_of(classifier),
        learned=classifier.filters_,
        label_frequency={k: np.nan if v is None else v for k, v in frequencies.items()},
        title=f"{graph.name}: the filter that was learned",
        corner=f"{part} accuracy {scores[part]['accuracy']:.1%}",
    )
    save_figure(draw_filter(view), path)


def start_of(classifier: SGFClassifier) -> StackedFilter:
    """Return the filter the first member started from."""
    import torch

    start = deepcopy(classifier.filter_)
    assert isinstance(start, StackedFilter)
    with torch.no_grad():
        start.alpha.copy_(torch.from_numpy(classifier.history_["alpha"][0]))
        start.beta.copy_(torch.from_numpy(classifier.history_["beta"][0]))
    return start


def peak_memory_mb() -> float | None:
    """Return the largest resident size of this process so far, where the system tells."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


def _filter_numbers(learned: Any) -> dict[str, list[float]]:
    numbers = {name: p.detach().tolist() for name, p in learned.named_parameters()}
    return {**numbers, "theta": learned.coefficients().detach().tolist()}


def _number(value: float) -> float | None:
    """Return None for NaN, which JSON does not know."""
    return float(value) if np.isfinite(value) else None
