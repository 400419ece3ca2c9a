"""How right a run is on labels that a graph brings along: on vertices it was not trained on."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators import Target
from graphfilter.run_folder.parts import NEW
from graphfilter.run_folder.predicting import PART_TITLES, Prediction
from graphfilter.wording import count, listed_names, number

# What the model has learned from, and what chose its epochs and weights.
TRAIN, VAL = "train", "val"


def describe_answers(prediction: Prediction, target: Target | None = None) -> list[str]:
    """Compare answers with what a graph, or a ``target``, knows; none where nothing is known.

    A graph that grew since the run was made holds vertices the run was trained or validated on.
    The model knows them, so they are counted apart.
    """
    graph, task, parts = prediction.graph, prediction.estimator.task_, prediction.parts
    answers = prediction.answers
    if not task.one_class:
        return [] if target is None else _say_scores(prediction, answers, target)
    if graph.labels is None or not (graph.labels >= 0).any():
        return []
    known = graph.labels >= 0
    truth = np.array([str(name) for name in graph.classes], dtype=object)[graph.labels[known]]
    names = np.array(prediction.names, dtype=object)
    right = names[answers[known]] == truth
    return [*_say_accuracy(right, parts[known]), *_say_new_classes(truth, names)]


def _say_scores(prediction: Prediction, answers: NDArray[Any], target: Target) -> list[str]:
    task, known = prediction.estimator.task_, target.codes >= 0
    new = np.flatnonzero(known & prediction.unseen)
    if not len(new):
        if not known.any():
            return []
        return [
            "All vertices with a known value were used for training or validation: none is "
            "left to score."
        ]
    assert target.values is not None
    scores = task.measure(prediction.outputs(new), target.values[new], answers[new])
    where = f"{count(len(new), 'vertex', 'vertices')} with a known value and not used for training"
    shown = list(task.metrics.items())[:2]
    told = [
        f"{metric.name} {f'{scores[key]:.3f}' if key != 'rmse' else number(scores[key])}"
        for key, metric in shown
        if key in scores
    ]
    return [f"On the {where}: {', '.join(told)}."]


def _say_accuracy(right: NDArray[np.bool_], parts: NDArray[np.str_]) -> list[str]:
    others = ~np.isin(parts, (TRAIN, VAL))

    def of(*words: str) -> list[str]:
        return [
            f"on the {n:,} {PART_TITLES[part]}: {right[parts == part].mean():.1%}"
            for part in words
            if (n := int((parts == part).sum()))
        ]

    known = of(TRAIN, VAL)
    if not others.any():
        labelled = count(len(right), "labelled vertex was", "labelled vertices were")
        return [
            f"The {labelled} used for training or validation: no other label is left to "
            "measure accuracy on."
        ]
    labelled = count(int(others.sum()), "labelled vertex", "labelled vertices")
    where = f"{labelled} not used for training" if known else labelled
    # Vertices that are new, beside others: those are what the model is asked for.
    beside = [*(of(NEW) if (parts[others] != NEW).any() else ()), *known]
    beside = f" ({', '.join(beside)})" if beside else ""
    return [f"Accuracy on the {where}: {right[others].mean():.1%}{beside}."]


def _say_new_classes(truth: NDArray[Any], names: NDArray[Any]) -> list[str]:
    counts = Counter(word for word in truth.tolist() if word not in set(names.tolist()))
    if not counts:
        return []
    classes = [name for name, _ in counts.most_common()]
    many = count(len(classes), "class was", "classes were")
    n = count(counts.total(), "vertex", "vertices")
    return [f"{many} never seen in training ({listed_names(classes)}): {n} cannot be right."]
