"""How right a run is on labels that a graph brings along: on vertices it was not trained on."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators import Target, VertexEstimator
from graphfilter.fits import number
from graphfilter.graph import Graph
from graphfilter.run_folder.layout import PREDICTIONS_FILE
from graphfilter.training import Task
from graphfilter.wording import count, listed_names

_TRAINED = ("train", "val")


def describe_answers(
    folder: str | Path,
    graph: Graph,
    estimator: VertexEstimator,
    outputs: NDArray[np.float64],
    answers: NDArray[Any],
    target: Target | None = None,
) -> list[str]:
    """Compare answers with what a graph, or a ``target``, knows; none where nothing is known.

    A graph that grew since the run was made holds vertices the run was trained on: those that have
    the id of a train or validation vertex. The model knows them, so they are counted apart.
    """
    ids = graph.vertex_names or range(graph.n_vertices)
    trained = trained_ids(folder)
    old = np.array([str(name) in trained for name in ids], dtype=bool)
    if not estimator.task_.one_class:
        return [] if target is None else _say_scores(estimator.task_, outputs, answers, target, old)
    if graph.labels is None or not (graph.labels >= 0).any():
        return []
    known = graph.labels >= 0
    truth = np.array([str(name) for name in graph.classes], dtype=object)[graph.labels[known]]
    names = np.array([str(name) for name in estimator.target_names_], dtype=object)
    right = names[answers[known]] == truth
    return [*_say_accuracy(right, old[known]), *_say_new_classes(truth, names)]


def _say_scores(
    task: Task,
    outputs: NDArray[np.float64],
    answers: NDArray[Any],
    target: Target,
    old: NDArray[np.bool_],
) -> list[str]:
    known = target.codes >= 0
    new = np.flatnonzero(known & ~old)
    if not len(new):
        if not known.any():
            return []
        return ["All vertices with a known value were in training: there is no other to score."]
    assert target.values is not None
    scores = task.measure(outputs[new], target.values[new], answers[new])
    where = f"{count(len(new), 'vertex', 'vertices')} with a known value and not trained on"
    shown = list(task.metrics.items())[:2]
    told = [
        f"{metric.name} {f'{scores[key]:.3f}' if key != 'rmse' else number(scores[key])}"
        for key, metric in shown
        if key in scores
    ]
    return [f"On the {where}: {', '.join(told)}."]


def trained_ids(folder: str | Path) -> set[str]:
    """Return the ids of the vertices that a run was trained on, none where it does not say."""
    import pyarrow as pa
    from pyarrow import csv

    only = csv.ConvertOptions(
        include_columns=["id", "part"], column_types={"id": pa.string(), "part": pa.string()}
    )
    parsing = csv.ParseOptions(newlines_in_values=True)
    try:
        table = csv.read_csv(
            Path(folder) / PREDICTIONS_FILE, convert_options=only, parse_options=parsing
        )
    except (pa.ArrowException, OSError):
        return set()  # removed or edited since: every label then counts as new
    parts = zip(table["id"].to_pylist(), table["part"].to_pylist(), strict=True)
    return {name for name, part in parts if part in _TRAINED}


def _say_accuracy(right: NDArray[np.bool_], old: NDArray[np.bool_]) -> list[str]:
    n_old, n_new = int(old.sum()), int((~old).sum())
    if not n_old:
        labelled = count(n_new, "labelled vertex", "labelled vertices")
        return [f"Accuracy on the {labelled}: {right.mean():.1%}."]
    if not n_new:
        labelled = count(n_old, "labelled vertex was", "labelled vertices were")
        return [f"The {labelled} in training: there is no other label to measure accuracy on."]
    return [
        f"Accuracy on the {count(n_new, 'labelled vertex', 'labelled vertices')} not trained on: "
        f"{right[~old].mean():.1%} (on the {n_old:,} trained on: {right[old].mean():.1%})."
    ]


def _say_new_classes(truth: NDArray[Any], names: NDArray[Any]) -> list[str]:
    counts = Counter(word for word in truth.tolist() if word not in set(names.tolist()))
    if not counts:
        return []
    classes = [name for name, _ in counts.most_common()]
    many = count(len(classes), "class was", "classes were")
    n = count(counts.total(), "vertex", "vertices")
    return [f"{many} never seen in training ({listed_names(classes)}): {n} cannot be right."]
