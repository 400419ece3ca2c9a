"""What a run says of a graph: predictions, how good they are, why, and which vertex to label."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.estimators.calibration import check_calibrated, check_coverage, fewest_for
from graphfilter.estimators.graph import VertexRegressor
from graphfilter.estimators.members import ALL, MemberAnswers, Rows
from graphfilter.estimators.suggestions import Suggestion, suggest_labels
from graphfilter.estimators.targets import Target
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.models.places import Known
from graphfilter.runs import answers as answering, loading
from graphfilter.runs.drift import Drift, Reference, find_drift
from graphfilter.runs.loading import RunDescription
from graphfilter.runs.plan import with_features
from graphfilter.training import REGRESSION
from graphfilter.util.errors import ChangedVerticesWarning, GraphError
from graphfilter.util.machine import blocks
from graphfilter.util.words import count, listed, listed_names, number


def predict_graph(
    estimator: VertexEstimator,
    run: RunDescription,
    graph: Graph,
    only: NDArray[np.int64] | None = None,
    known: Known | None = None,
) -> NDArray[np.float64]:
    """Return the outputs of the model of a run for another graph (n, C): probabilities, or numbers.

    ``only`` are the vertices to answer for; all unless given. ``known`` are those that were there
    in the fit; found by their ids unless given.
    """
    target = as_fitted(estimator, run, graph)
    return estimator.answers(graph=target, only=only, known=known)


def as_fitted(estimator: VertexEstimator, run: RunDescription, graph: Graph) -> Graph:
    """Return a graph with features as the model was fitted with, or raise."""
    if not run.vertex_features:
        if with_features(graph)[0].checksum() != run.data_checksum:
            raise GraphError(
                "without vertex features, it predicts only the graph it was fitted on."
            )
        graph, _ = with_features(graph)
    if graph.features is None:
        raise GraphError("the vertices have no features, but the model was fitted with some.")
    if graph.n_features != estimator.n_features_in_:
        sizes = f"{estimator.n_features_in_} features; this graph has {graph.n_features}"
        raise GraphError(f"the model was fitted on {sizes}.")
    return graph


# Vertices whose probabilities are in memory together.
GROUP = 1 << 15

PART_TITLES = {
    loading.NEW: "new", "train": "trained on", "val": "validated on", "test": "tested on",
    "unlabelled": "unlabelled in the run", "unused": "not used by the run",
    loading.UNKNOWN: loading.UNKNOWN,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Prediction:
    """Predictions of the model of a run for the vertices of a graph.

    Probabilities are computed from the members' outputs for some vertices at a time.

    Attributes
    ----------
    graph : Graph
        The vertices that are asked for.
    estimator : VertexEstimator
    run : RunDescription
    whole : Graph
        The graph they are predicted on, with features as the model takes them.
    rows : int array (n,)
        Where they are in it.
    member_outputs : MemberAnswers
        Of that graph.
    every_answer : array (N,) or (N, C)
        Of all its vertices: class numbers, labels of 0 and 1, or numbers.
    parts : text array (n,)
        What each vertex was in the run: see :func:`~graphfilter.runs.parts_in_run`.
    coverage : float or None
        Of sets or intervals, where there are some.
    packed_sets : uint8 array (n, ...), optional
        A bit per class.
    intervals : array (n, T, 2), optional
    """

    graph: Graph
    estimator: VertexEstimator
    run: RunDescription
    whole: Graph
    rows: NDArray[np.int64]
    member_outputs: MemberAnswers
    every_answer: NDArray[Any]
    parts: NDArray[np.str_]
    coverage: float | None = None
    packed_sets: NDArray[np.uint8] | None = None
    intervals: NDArray[np.float64] | None = None

    @property
    def names(self) -> list[str]:
        """The classes, the labels, or what the numbers are called."""
        return [str(name) for name in self.estimator.target_names_]

    @property
    def answers(self) -> NDArray[Any]:
        """What is answered: class numbers (n,), labels (n, L) of 0 and 1, or numbers (n, T)."""
        return self.every_answer[self.rows]

    def outputs(self, rows: Rows = ALL) -> NDArray[np.float64]:
        """Return the outputs for some of the vertices (m, C)."""
        return self.member_outputs.outputs(self.rows[rows])

    def sets(self, rows: Rows = ALL) -> NDArray[np.bool_] | None:
        """Return the sets of some of the vertices (m, C), where there are some."""
        if self.packed_sets is None:
            return None
        return np.unpackbits(self.packed_sets[rows], axis=1, count=len(self.names)).astype(bool)

    def drift(self, reference: Reference) -> Drift:
        """Compare the vertices that are new to the run with its own; all, where none is new."""
        new = self.rows[self.parts == loading.NEW]
        return find_drift(
            reference, self.whole, self.estimator.task_, self.names, self.member_outputs.outputs,
            self.every_answer, new if len(new) else self.rows, are_new=bool(len(new)),
            seed=self.run.seed,
        )  # fmt: skip

    def write(self, path: str | PathLike[str], *, excel_safe: bool = False) -> None:
        """Write a row per vertex as CSV or Parquet."""

        def sets(rows: slice) -> dict[str, Any]:
            ends = None if self.intervals is None else self.intervals[rows]
            return answering.calibrated_columns(self.names, self.sets(rows), ends)

        loading.write_predictions(
            path, self.graph, self.estimator.task_, self.names, self.outputs, self.answers,
            self.parts, None if self.coverage is None else sets, excel_safe=excel_safe,
        )  # fmt: skip

    def count_parts(self) -> dict[str, int]:
        """Count the vertices by what they were in the run, in words."""
        words, counts = np.unique(self.parts, return_counts=True)
        n = {str(word): int(k) for word, k in zip(words, counts, strict=True)}
        return {title: n[word] for word, title in PART_TITLES.items() if word in n}

    def describe_parts(self) -> str:
        """Say how many vertices were predicted, and what they were in the run."""
        text = count(self.graph.n_vertices, "vertex", "vertices") + " predicted"
        if loading.UNKNOWN in self.parts:
            return f"{text}; the run's predictions.csv, which says what they were, cannot be read."
        return f"{text}: {listed([f'{n:,} {title}' for title, n in self.count_parts().items()])}."

    def describe_coverage(self) -> list[str]:
        """Say how large sets or intervals are, and for which vertices the coverage holds."""
        if self.coverage is None:
            return []
        unseen, on = ~np.isin(self.parts, ("train", "val")), " on unseen vertices"
        if not unseen.any() or loading.UNKNOWN in self.parts:
            unseen, on = np.ones_like(unseen), ""
        if self.packed_sets is None:
            size = answering.size_of(unseen, None, self.intervals)
        else:
            size = float(np.bitwise_count(self.packed_sets[unseen]).sum(axis=1).mean())
        of_sets, one_class = self.packed_sets is not None, self.estimator.task_.one_class
        sentences = [answering.describe_size(self.coverage, size, of_sets, one_class, on)]
        n = check_calibrated(self.estimator.calibration_).n_vertices
        if n < fewest_for(self.coverage):
            sentences.append(answering.too_few(n, self.coverage))
        return [
            *sentences,
            "Coverage is not guaranteed for vertices of another type, time or origin than the "
            "validation vertices of the fit.",
        ]


def predict_run(
    folder: str | Path,
    estimator: VertexEstimator,
    run: RunDescription,
    graph: Graph,
    coverage: float | None = None,
    rows: NDArray[np.int64] | None = None,
    scratch: Path | None = None,
) -> Prediction:
    """Predict the vertices of a graph with the model of a run.

    Parameters
    ----------
    coverage : float, optional
        Of sets or intervals; where None, that of the fit if it had one.
    rows : int array, optional
        The vertices that are asked for; all otherwise.
    scratch : Path, optional
        A folder for the members' outputs, where they are large.
    """
    target = as_fitted(estimator, run, graph)
    part = graph if rows is None else graph.subgraph(rows)
    rows = np.arange(graph.n_vertices) if rows is None else rows
    coverage = run.coverage if coverage is None else check_coverage(coverage)
    if coverage is not None:
        check_calibrated(estimator.calibration_)
    with warnings.catch_warnings():
        # Told by the estimator's describe_recognised.
        warnings.simplefilter("ignore", ChangedVerticesWarning)
        member_outputs = estimator.ask(target, scratch)
    # Only now: what each vertex was takes memory too.
    parts = loading.parts_in_run(folder, part)
    # Class numbers in few bytes, bits of labels.
    task, names = estimator.task_, [str(name) for name in estimator.target_names_]
    kind = np.float64 if task is REGRESSION else np.int32 if task.one_class else np.int8
    every = np.concatenate([
        answering.answers_of(task, member_outputs.outputs(some), names, run.decision).astype(kind)
        for some in blocks(graph.n_vertices, GROUP)
    ])  # fmt: skip
    made = Prediction(part, estimator, run, target, rows, member_outputs, every, parts, coverage)
    if coverage is None:
        return made
    groups = [rows[some] for some in blocks(len(rows), GROUP)]
    if isinstance(estimator, VertexRegressor):
        ends = [member_outputs.intervals(group, coverage) for group in groups]
        return replace(made, intervals=np.concatenate(ends))
    packed = [
        np.packbits(
            answering.with_answers(member_outputs.sets(group, coverage), every[group]), axis=1
        )
        for group in groups
    ]
    return replace(made, packed_sets=np.concatenate(packed))


def describe_answers(prediction: Prediction, target: Target | None = None) -> list[str]:
    """Compare predictions with what a graph, or a ``target``, knows; none where nothing is known.

    A graph that grew since the run was made holds vertices the run was trained or validated on.
    The model knows them, so they are counted apart.
    """
    graph, task, parts = prediction.graph, prediction.estimator.task_, prediction.parts
    answers, others = prediction.answers, ~np.isin(parts, ("train", "val"))
    if not task.one_class:
        if target is None or target.values is None or not ((target.codes >= 0) & others).any():
            return []
        new = np.flatnonzero((target.codes >= 0) & others)
        scores = task.measure(prediction.outputs(new), target.values[new], answers[new])
        shown = [
            f"{metric.name} {f'{scores[key]:.3f}' if key != 'rmse' else number(scores[key])}"
            for key, metric in task.metrics.items()
            if key in scores
        ]
        where = f"{count(len(new), 'vertex', 'vertices')} with a known value"
        return [f"On the {where} and not used for training: {', '.join(shown[:2])}."]
    if graph.labels is None or not (graph.labels >= 0).any():
        return []
    labelled = graph.labels >= 0
    truth = [str(graph.classes[c]) for c in graph.labels[labelled]]
    names, parts, others = prediction.names, parts[labelled], others[labelled]
    right = np.array([names[a] for a in answers[labelled]], object) == np.array(truth, object)

    beside = [
        f"on the {n:,} {PART_TITLES[part]}: {right[parts == part].mean():.1%}"
        for part in (loading.NEW, "train", "val")
        if (n := int((parts == part).sum())) and n < len(right)
    ]
    sentences = ["All labelled vertices were used for training or validation."]
    if others.any():
        where = count(int(others.sum()), "labelled vertex", "labelled vertices")
        brackets = f" ({', '.join(beside)})" if beside else ""
        where += " not used for training" if not others.all() else ""
        sentences = [f"Accuracy on the {where}: {right[others].mean():.1%}{brackets}."]
    if unheard := Counter(name for name in truth if name not in set(names)):
        classes = listed_names([name for name, _ in unheard.most_common()])
        n = count(unheard.total(), "vertex", "vertices")
        sentences.append(f"Never seen in training: {classes}; {n} cannot be right.")
    return sentences


def check_unlabelled(folder: Path) -> None:
    """Raise where every vertex of a run had a label, before anything else is read."""
    known = loading.read_parts(folder)
    if known is not None and "unlabelled" not in known[1].dictionary.to_pylist():
        raise GraphError("there must be vertices without a label to suggest some; all have one.")


def suggest_run(
    folder: Path, estimator: VertexEstimator, run: RunDescription, graph: Graph, n: int
) -> list[Suggestion]:
    """Return the vertices without a label whose label would teach the model of a run most."""
    target = as_fitted(estimator, run, graph)
    parts = loading.parts_in_run(folder, graph)
    if (parts == loading.UNKNOWN).any():
        raise GraphError("predictions.csv of the run must be as fit wrote it. Fit again.")
    if n_new := int((parts == loading.NEW).sum()):
        text = f"the graph must be the one of the run; {n_new:,} vertices are not in it."
        raise GraphError(f"{text} Fit again with them, and no label.")
    labelled = np.flatnonzero(np.isin(parts, ("train", "val")))
    unlabelled = np.flatnonzero(parts == "unlabelled")
    return suggest_labels(estimator, target, labelled, unlabelled, n, run.seed)
