"""Predictions of a run for a graph: outputs, the part of each vertex in the run, coverage."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.conformal import check_coverage, fewest_for
from graphfilter.errors import ChangedVerticesWarning
from graphfilter.estimators import (
    ALL,
    MemberAnswers,
    Rows,
    VertexEstimator,
    VertexRegressor,
    check_promise,
)
from graphfilter.fits import (
    Drift,
    Reference,
    answers_of,
    find_drift,
    promise_columns,
    with_answers,
)
from graphfilter.graph import Graph
from graphfilter.run_folder.description import RunDescription
from graphfilter.run_folder.parts import NEW, UNKNOWN, parts_in_run
from graphfilter.run_folder.tables import prediction_columns, write_rows
from graphfilter.run_folder.using import as_fitted
from graphfilter.runtime import blocks
from graphfilter.training import REGRESSION
from graphfilter.wording import count, listed, number

# Vertices whose probabilities are in memory together.
GROUP = 1 << 15

EXCHANGEABLE = (
    "Coverage is guaranteed only for vertices that are exchangeable with the validation "
    "vertices of the fit, not for those of another type, time or origin."
)
PART_TITLES = {
    NEW: "new", "train": "trained on", "val": "validated on", "test": "tested on",
    "unlabelled": "unlabelled in the run", "unused": "not used by the run", UNKNOWN: UNKNOWN,
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
        What each vertex was in the run: see :func:`~graphfilter.run_folder.parts_in_run`.
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

    @property
    def unseen(self) -> NDArray[np.bool_]:
        """Which vertices the model has not learned from: neither trained nor validated on."""
        return ~np.isin(self.parts, ("train", "val"))

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
        new = self.rows[self.parts == NEW]
        return find_drift(
            reference, self.whole, self.estimator.task_, self.names, self.member_outputs.outputs,
            self.every_answer, new if len(new) else self.rows, are_new=bool(len(new)),
            seed=self.run.seed,
        )  # fmt: skip

    def write(self, path: str | PathLike[str], *, excel_safe: bool = False) -> None:
        """Write a row per vertex as CSV or Parquet."""

        def columns(rows: slice) -> dict[str, Any]:
            promised = {}
            if self.coverage is not None:
                ends = None if self.intervals is None else self.intervals[rows]
                promised = promise_columns(self.names, self.sets(rows), ends)
            return prediction_columns(
                self.estimator.task_, self.names, self.outputs(rows),
                self.every_answer[self.rows[rows]], self.parts[rows], promised,
            )  # fmt: skip

        write_rows(path, self.graph, columns, excel_safe=excel_safe)

    def count_parts(self) -> dict[str, int]:
        """Count the vertices by what they were in the run, in words."""
        words, counts = np.unique(self.parts, return_counts=True)
        n = {str(word): int(k) for word, k in zip(words, counts, strict=True)}
        return {title: n[word] for word, title in PART_TITLES.items() if word in n}

    def describe_parts(self) -> str:
        """Say how many vertices were predicted, and what they were in the run."""
        found = self.count_parts()
        text = count(self.graph.n_vertices, "vertex", "vertices") + " predicted"
        if PART_TITLES[UNKNOWN] in found:
            return f"{text}; the run's predictions.csv, which says what they were, cannot be read."
        if found.keys() == {PART_TITLES[NEW]}:
            return f"{text}, all new to the run."
        return f"{text}: {listed([f'{n:,} {title}' for title, n in found.items()])}."

    def describe_recognised(self) -> list[str]:
        """Say which vertices the model knows by their ids, where it can make use of that."""
        return self.estimator.describe_recognised(self.whole)

    def describe_promise(self) -> list[str]:
        """Say how large sets or intervals are, and of which vertices the promise is."""
        if self.coverage is None:
            return []
        share, unseen, on = f"{self.coverage:.3g}", self.unseen, " on unseen vertices"
        if not unseen.any() or UNKNOWN in self.parts:
            unseen, on = np.ones_like(unseen), ""
        if self.intervals is not None:
            width = float(np.median(np.diff(self.intervals[unseen, 0], axis=1)))
            sentences = [
                f"Intervals with coverage {share} have a median width of {number(width)}{on}."
            ]
        else:
            assert self.packed_sets is not None
            size = float(np.bitwise_count(self.packed_sets[unseen]).sum(axis=1).mean())
            of = "classes" if self.estimator.task_.one_class else "labels"
            sentences = [
                f"Prediction sets with coverage {share} have {size:.2f} {of} on average{on}."
            ]
        n = check_promise(self.estimator.promise_).n_vertices
        if n < fewest_for(self.coverage):
            sentences.append(
                f"{count(n, 'validation vertex', 'validation vertices')} cannot calibrate this "
                f"coverage, which needs {fewest_for(self.coverage)}: every set or interval holds "
                "everything."
            )
        return [*sentences, EXCHANGEABLE]


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
    asked = graph if rows is None else graph.subgraph(rows)
    rows = np.arange(graph.n_vertices) if rows is None else rows
    coverage = run.coverage if coverage is None else check_coverage(coverage)
    if coverage is not None:
        check_promise(estimator.promise_)
    with warnings.catch_warnings():
        # Told by describe_recognised.
        warnings.simplefilter("ignore", ChangedVerticesWarning)
        member_outputs = estimator.ask(target, scratch)
    # Only now: what each vertex was takes memory too.
    parts = parts_in_run(folder, asked)
    every = _every_answer(estimator, run, member_outputs, graph.n_vertices)
    made = Prediction(asked, estimator, run, target, rows, member_outputs, every, parts, coverage)
    if coverage is None:
        return made
    groups = [rows[some] for some in blocks(len(rows), GROUP)]
    if isinstance(estimator, VertexRegressor):
        ends = [member_outputs.intervals(own, coverage) for own in groups]
        return replace(made, intervals=np.concatenate(ends))
    packed = [
        np.packbits(with_answers(member_outputs.sets(own, coverage), every[own]), axis=1)
        for own in groups
    ]
    return replace(made, packed_sets=np.concatenate(packed))


def _every_answer(
    estimator: VertexEstimator, run: RunDescription, member_outputs: MemberAnswers, n: int
) -> NDArray[Any]:
    """Return what is answered of every vertex: class numbers in few bytes, bits of labels."""
    task, names = estimator.task_, [str(name) for name in estimator.target_names_]
    kind = np.float64 if task is REGRESSION else np.int32 if task.one_class else np.int8
    found = [
        answers_of(task, member_outputs.outputs(rows), names, run.decision).astype(kind)
        for rows in blocks(n, GROUP)
    ]
    return np.concatenate(found)
