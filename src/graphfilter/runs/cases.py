"""Cases: why vertices of a fit or a run are answered as they are, and what is around them.

:class:`CaseBook` explains any vertex of a graph; of a run, from what is kept with it, at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.estimators import explanation
from graphfilter.estimators.contributions import MOST_SECOND
from graphfilter.estimators.earlier import ids_of
from graphfilter.estimators.explanation import (
    FEW_CANDIDATES,
    FEW_SECOND,
    MOST_CANDIDATES,
    MOST_PARTS,
    Explanation,
)
from graphfilter.estimators.reasons import MOST_FEATURES, EdgeWords, column_of
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.runs import loading
from graphfilter.runs.answers import Decision, answers_of
from graphfilter.runs.fit import Fit
from graphfilter.runs.plan import Plan, with_features
from graphfilter.runs.predict import predict_graph
from graphfilter.tables.encoder import TableEncoder
from graphfilter.tables.formats import open_table
from graphfilter.tables.text_files import TextOptions
from graphfilter.training import REGRESSION, Task
from graphfilter.util.errors import ConfigError, GraphFilterError, ModelFileError
from graphfilter.util.records import read_tensors, write_tensors
from graphfilter.util.words import listed, number
from graphfilter.version import __version__

# Columns of an edge that are told, and rows of it.
_MOST_COLUMNS, _MOST_ROWS = 4, 2


@dataclass(frozen=True, eq=False)
class Cases:
    """What a run answered for every vertex of its graph, and which values it had learned from.

    Attributes
    ----------
    outputs : float array (n, C)
    known : float array (n, T)
        Class numbers, labels of 0 and 1, or numbers of the training and validation vertices; NaN
        for the others.
    """

    outputs: NDArray[np.float64]
    known: NDArray[np.float64]

    @classmethod
    def of(cls, fit: Fit) -> Self:
        plan = fit.plan
        truth = np.asarray(plan.truth, dtype=np.float64).reshape(plan.graph.n_vertices, -1)
        return cls(fit.outputs, np.where(learned_from(plan)[:, None], truth, np.nan))

    def words(self, task: Task, names: Sequence[str]) -> list[str]:
        """Return what was known of every vertex, in words; empty of those of whom nothing was."""
        return ["" if np.isnan(row[0]) else _write(task, names, row) for row in self.known.tolist()]

    def write(self, path: Path) -> str:
        """Write them to a file; return its checksum."""
        tensors = {"outputs": torch.tensor(self.outputs), "known": torch.tensor(self.known)}
        return write_tensors(path, tensors, {"kind": "cases", "version": __version__})

    @classmethod
    def read(cls, path: Path, checksum: str, n: int, n_outputs: int) -> Self:
        """Read what :meth:`write` wrote of so many vertices and outputs."""
        tensors, _ = read_tensors(path, checksum)
        try:
            found = cls(tensors["outputs"].numpy(), tensors["known"].numpy())
        except KeyError as error:
            raise ModelFileError(f"{path}: {error} is missing. Fit again.") from None
        if found.outputs.shape != (n, n_outputs) or found.known.shape[:1] != (n,):
            raise ModelFileError(f"{path}: is of another graph. Fit again.")
        return found


def learned_from(plan: Plan) -> NDArray[np.bool_]:
    """Return whether the value of each vertex is known to the model: in training or validation."""
    return np.isin(plan.parts, ("train", "val")) & plan.is_labelled


def _write(task: Task, names: Sequence[str], row: Sequence[float]) -> str:
    if task.one_class:
        return names[int(row[0])]
    if task is REGRESSION:
        return listed([number(value) for value in row])
    return listed([name for name, has in zip(names, row, strict=True) if has > 0.5] or ["none"])


def edge_words_of(table: Any, ends: tuple[str, str], ids: Sequence[str]) -> EdgeWords:
    """Return what says the columns of the edges between two vertices, from a table of edges.

    ``ids`` are those of the vertices, by number. Nothing is said where the table cannot be read.
    """
    import pyarrow.compute as pc

    names = [name for name in table.usable_names if name not in ends][:_MOST_COLUMNS]
    held: dict[str, Any] = {}

    def words(vertex: int, other: int) -> str:
        if not names:
            return ""
        try:
            if not held:
                rows = table.read([*ends, *names])
                held["ends"] = [table.as_ids(rows.column(end)) for end in ends]
                held["rows"] = rows
            one, two = ids[vertex], ids[other]
            first, second = held["ends"]
            out = pc.and_(pc.equal(first, one), pc.equal(second, two))
            back = pc.and_(pc.equal(first, two), pc.equal(second, one))
            rows = held["rows"].filter(pc.or_(out, back))
        except (GraphFilterError, OSError):
            return ""
        said = [
            ", ".join(f"{n} {row[n]}" for n in names if row[n] not in (None, ""))
            for row in rows.slice(0, _MOST_ROWS).to_pylist()
        ]
        more = f" and {len(rows) - _MOST_ROWS} more" if len(rows) > _MOST_ROWS else ""
        return "; ".join(word for word in said if word) + more

    return words


# Vertices of a picture: the vertex, neighbours up to so many, and all.
MOST_NEAR, MOST_DRAWN = 22, 40


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """A vertex and others up to two steps away, to be drawn.

    Attributes
    ----------
    ids : tuple of str
        The vertex first, then neighbours, then theirs.
    steps : int array (k,)
        How far each is away: 0, 1 or 2.
    answers : float array (k,)
        The probability of one class or label, or the number, that is predicted for each.
    known : tuple of str
        What the model has learned of each; empty of those of whom it has learned nothing.
    edges : int array (m, 2)
        Among them, by place.
    of : str
        What ``answers`` are of.
    n_near, n_second : int
        How many there are, drawn or not.
    is_share : bool
        Whether answers are probabilities.
    """

    ids: tuple[str, ...]
    steps: NDArray[np.int64]
    answers: NDArray[np.float64]
    known: tuple[str, ...]
    edges: NDArray[np.int64]
    of: str
    n_near: int
    n_second: int
    is_share: bool


@dataclass(frozen=True, eq=False)
class CaseBook:
    """Explains the vertices of one graph.

    Attributes
    ----------
    estimator : VertexEstimator
    graph : Graph
        With features as the estimator takes them.
    outputs : array (n, C)
        What is answered for every vertex.
    labels : sequence of str (n,)
        What the model has learned of each, in words; empty where nothing.
    decision : Decision or None
        When the class looked for is predicted.
    edge_words : callable or None
    """

    estimator: VertexEstimator
    graph: Graph
    outputs: NDArray[np.float64]
    labels: Sequence[str]
    decision: Decision | None = None
    edge_words: EdgeWords | None = None

    @classmethod
    def of_fit(cls, fit: Fit) -> Self:
        """Return the cases of a fit, before its run is written."""
        labels = Cases.of(fit).words(fit.task, fit.names)
        words, source = None, fit.plan.source
        if source.encoder is not None and "edges" in source.origin:
            words = _edge_words(source.encoder, source.origin, fit.plan.graph)
        return cls(
            fit.estimator, fit.estimator.graph_, fit.outputs, labels, fit.user_decision, words
        )

    @classmethod
    def of_run(
        cls,
        folder: str | Path,
        estimator: VertexEstimator,
        run: loading.RunDescription,
        encoder: TableEncoder | None,
        graph: Graph | None = None,
    ) -> Self:
        """Return the cases of a run: of a graph, or of its own as it is kept with it.

        Raises a :class:`ModelFileError` where no graph is given, and none is kept.
        """
        names, task = [str(name) for name in estimator.target_names_], estimator.task_
        words = None
        if graph is not None:
            target = with_features(graph)[0]
            outputs = predict_graph(estimator, run, graph)
            labels = [""] * graph.n_vertices
            if graph.labels is not None:
                classes = [*map(str, graph.classes), ""]
                labels = [classes[code] for code in graph.labels.tolist()]
            return cls(estimator, target, outputs, labels, run.decision)
        graph = loading.read_kept_graph(folder, run)
        if not run.cases_sha256:
            raise ModelFileError(f"{folder}: keeps no answers of its own; name the tables.")
        path = Path(folder) / loading.CASES_FILE
        cases = Cases.read(path, run.cases_sha256, graph.n_vertices, len(names))
        if encoder is not None:
            words = _edge_words(encoder, run.origin, graph)
        labels = cases.words(task, names)
        return cls(estimator, graph, cases.outputs, labels, run.decision, words)

    def number(self, vertex: Any) -> int:
        """Return the number of a vertex, by its id."""
        return explanation.find_vertex(self.graph, vertex)

    def explain(
        self,
        vertices: Sequence[int],
        *,
        answered: Sequence[int] | None = None,
        against: str | Sequence[int] | None = None,
        output: str | Sequence[str] | None = None,
        most: int = MOST_PARTS,
        quick: bool = False,
        work: float = float("inf"),
    ) -> list[Explanation]:
        """Explain some vertices, by number, with what the decision answers unless told otherwise.

        ``against`` is the name of a class, or the number of one for each; ``output`` a label or
        number of several, or one for each. Only the first vertices are explained, as many as can be
        with so much ``work``: a million takes about a second. See
        :func:`~graphfilter.estimators.explanation.explain_vertices`.
        """
        vertices = vertices[: self._affordable(vertices, work, quick=quick)]
        if not vertices:
            return []
        estimator, task = self.estimator, self.estimator.task_
        if against is not None and not task.one_class:
            raise ConfigError("`against` compares classes; this run predicts something else.")
        if output is not None and task.one_class:
            raise ConfigError("`output` is one of several labels or numbers; this run has classes.")
        if isinstance(against, str):
            against = [explanation.class_number(estimator, against)] * len(vertices)
        if answered is None and task.one_class:
            names = [str(name) for name in estimator.target_names_]
            answers = answers_of(task, self.outputs[list(vertices)], names, self.decision)
            answered = answers.tolist()
        return explanation.explain_vertices(
            estimator, estimator.prepare(self.graph), self.outputs, vertices, answered=answered,
            against=against, output=output, most=most, labels=self.labels,
            edge_words=self.edge_words, quick=quick,
        )  # fmt: skip

    def _affordable(self, vertices: Sequence[int], work: float, *, quick: bool) -> int:
        """Return how many vertices can be explained with so many rows asked about of members."""
        degrees = np.diff(self.graph.indptr)[list(vertices)]
        n_members = len(self.estimator.members_of(self.estimator.prepare(self.graph)))
        names = self.graph.feature_names or range(min(self.graph.n_features, MOST_FEATURES))
        n_columns = len({column_of(name) if isinstance(name, str) else name for name in names})
        if quick:
            asked = 2 * (n_columns + np.minimum(degrees, FEW_CANDIDATES) + 2)
        else:
            asked = 2 * (n_columns + np.minimum(degrees, MOST_CANDIDATES)) + 8 * (MOST_PARTS + 1)
        size = degrees + (FEW_SECOND if quick else MOST_SECOND)
        rows = asked * np.minimum(size, self.graph.n_vertices)
        return int(np.searchsorted(np.cumsum(rows * n_members), work, side="right"))

    def neighbourhood(self, vertex: int, column: int | None = None) -> Neighbourhood:
        """Return what is around a vertex, at most 40 vertices: those that are known come first.

        ``column`` is the class, label or number that answers are of; of classes and labels the one
        that is predicted otherwise, of numbers the first.
        """
        graph, task = self.graph, self.estimator.task_
        is_share = task is not REGRESSION
        if column is None:
            column = int(self.outputs[vertex].argmax()) if is_share else 0
            if self.decision is not None:
                names = [str(name) for name in self.estimator.target_names_]
                column = names.index(self.decision.positive)
        shade = self.outputs[:, column]

        def first(vertices: NDArray[Any], most: int) -> list[int]:
            order = sorted(vertices.tolist(), key=lambda u: (not self.labels[u], -shade[u], u))
            return order[:most]

        def reached(sources: Sequence[int]) -> NDArray[Any]:
            ends = [graph.indices[graph.indptr[u] : graph.indptr[u + 1]] for u in sources]
            return np.unique(np.concatenate([np.zeros(0, np.int64), *ends]))

        near = np.setdiff1d(reached([vertex]), [vertex])
        near_drawn = first(near, MOST_NEAR)
        second = np.setdiff1d(reached(near.tolist()), [*near.tolist(), vertex])
        behind = np.intersect1d(reached(near_drawn), second)
        drawn = [vertex, *near_drawn]
        drawn += first(behind, MOST_DRAWN - len(drawn))
        part = graph.replace(features=None, labels=None, splits=()).subgraph(drawn)
        steps = np.ones(len(drawn), dtype=np.int64)
        steps[0], steps[1 + len(near_drawn) :] = 0, 2
        ids = ids_of(graph)
        return Neighbourhood(
            tuple(str(ids[u]) for u in drawn), steps, shade[drawn],
            tuple(self.labels[u] for u in drawn), part.edges.astype(np.int64),
            str(self.estimator.target_names_[column]), len(near), len(second), is_share,
        )  # fmt: skip


def _edge_words(encoder: TableEncoder, origin: Any, graph: Graph) -> EdgeWords | None:
    """Return what says the columns of edges, where the table of the fit is still there."""
    roles = dict(encoder.roles)
    if "edges" not in origin or not {"source", "target"} <= roles.keys():
        return None
    text = TextOptions(*(origin.get(name) for name in ("delimiter", "encoding", "decimal")))
    try:
        table = open_table(origin["edges"], text)
    except (GraphFilterError, OSError):
        return None
    ids = [str(name) for name in ids_of(graph)]
    return edge_words_of(table, (roles["source"], roles["target"]), ids)
