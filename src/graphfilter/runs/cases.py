"""Cases: why vertices of a fit or a run are answered as they are, and which are worth a look.

:class:`CaseBook` explains any vertex of a graph, and says what is around it; of a run, from what is
kept with it, at once. A :class:`WorkList` has the vertices worth a look, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from graphfilter.data.graph import Graph
from graphfilter.estimators import explanation
from graphfilter.estimators.contributions import MOST_SECOND
from graphfilter.estimators.earlier import ids_of
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
from graphfilter.util.arrow import pc
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
    edge_words: explanation.EdgeWords | None = None

    @classmethod
    def of_fit(cls, fit: Fit) -> Self:
        """Return the cases of a fit, before its run is written."""
        labels, source = Cases.of(fit).words(fit.task, fit.names), fit.plan.source
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
        labels, words = cases.words(task, names), _edge_words(encoder, run.origin, graph)
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
        most: int = explanation.MOST_PARTS,
        quick: bool = False,
        work: float = float("inf"),
    ) -> list[explanation.Explanation]:
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
        names = self.graph.feature_names or range(
            min(self.graph.n_features, explanation.MOST_FEATURES)
        )
        n_columns = len(
            {explanation.column_of(name) if isinstance(name, str) else name for name in names}
        )
        if quick:
            asked = 2 * (n_columns + np.minimum(degrees, explanation.FEW_CANDIDATES) + 2)
        else:
            asked = 2 * (n_columns + np.minimum(degrees, explanation.MOST_CANDIDATES)) + 8 * (
                explanation.MOST_PARTS + 1
            )
        size = degrees + (explanation.FEW_SECOND if quick else MOST_SECOND)
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


def _edge_words(
    encoder: TableEncoder | None, origin: Any, graph: Graph
) -> explanation.EdgeWords | None:
    """Return what says the columns of the edges between two vertices, by number.

    None where the table of the fit is not there any more; nothing is said where it cannot be read.
    """
    roles = {} if encoder is None else dict(encoder.roles)
    if "edges" not in origin or not {"source", "target"} <= roles.keys():
        return None
    text = TextOptions(*(origin.get(name) for name in ("delimiter", "encoding", "decimal")))
    try:
        table = open_table(origin["edges"], text)
    except (GraphFilterError, OSError):
        return None
    ids, ends = [str(name) for name in ids_of(graph)], (roles["source"], roles["target"])
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


Index = NDArray[np.int64]

MOST_LIKELY, LEAST_SURE, DOUBTED = "most-likely", "least-sure", "possible-label-errors"
LARGEST_ERRORS = "largest-errors"
MOST_LISTED = 200
# Rows of a larger table stay in its order.
MOST_RANKED = 2_000_000
# Labels that lie on one side by chance would do so with probability 2^-k.
LEAST_EVIDENCE = 10
# The most features, vertices times columns, to compare.
MOST_COMPARED = 10**8
MOST_EXPLAINED, MOST_LIKELY_EXPLAINED = 5, 10
# Rows that members are asked about, for each list, and for the reasons: about two seconds.
WORK = 2e6
# Vertices and features that an explanation names.
MOST_NAMED = 6


@dataclass(frozen=True, eq=False)
class WorkList:
    """Vertices in the order in which to look at them.

    Attributes
    ----------
    name : str
    vertices : int array (k,)
    columns, errors : arrays (k,), optional
        Of largest errors: which of the labels or numbers is missed, and by how much.
    explanations : tuple of Explanation
        Of the first ones; fewer of a large graph, none of a huge one.
    """

    name: str
    vertices: Index
    columns: Index | None = None
    errors: NDArray[np.float64] | None = None
    explanations: tuple[explanation.Explanation, ...] = ()
    neighbourhoods: tuple[Neighbourhood, ...] = ()


def make_worklists(fit: Fit, book: CaseBook | None) -> list[WorkList]:
    """Return the lists of a fit, the first vertices of each explained by its cases.

    Classes: the vertices most likely of the one of two that is looked for, the least sure ones,
    and labels that may be wrong, explained against the label. Otherwise the largest errors.
    """
    if fit.task.one_class:
        lists = [WorkList(LEAST_SURE, least_sure(fit)), WorkList(DOUBTED, most_doubted(fit))]
        if fit.positive is not None:
            lists = [WorkList(MOST_LIKELY, most_likely(fit, fit.positive)), *lists]
    else:
        lists = [WorkList(LARGEST_ERRORS, *most_missed(fit))]
    if book is None:
        return lists
    explained = [replace(one, explanations=_explain(fit, book, one)) for one in lists]
    if not fit.plan.graph.n_edges:
        return explained
    first, *others = explained
    some = first.vertices[: len(first.explanations)].tolist()
    around = tuple(book.neighbourhood(v, fit.positive) for v in some)
    return [replace(first, neighbourhoods=around), *others]


def _explain(fit: Fit, book: CaseBook, listed: WorkList) -> tuple[explanation.Explanation, ...]:
    """Explain the first vertices of a list."""
    most = MOST_LIKELY_EXPLAINED if listed.name == MOST_LIKELY else MOST_EXPLAINED
    some = listed.vertices[:most].tolist()
    about: dict[str, Any] = {}
    if listed.columns is not None:
        about = {"output": [fit.names[c] for c in listed.columns[: len(some)].tolist()]}
    elif listed.name == MOST_LIKELY:
        about = {"answered": [fit.positive] * len(some)}
    elif listed.name == DOUBTED:
        about = {"against": fit.plan.target.codes[some].tolist()}
    return tuple(book.explain(some, most=MOST_NAMED, work=WORK, **about))


def rank(fit: Fit) -> Index | None:
    """Return all vertices in order: most certain of the class looked for, largest number first.

    Of more classes, or labels, by how certain the most certain one is. Ties stay as they are. None
    of a graph that is too large to order.
    """
    if len(fit.outputs) > MOST_RANKED:
        return None
    if fit.positive is not None:
        by = fit.outputs[:, fit.positive]
    else:
        by = fit.outputs[:, 0] if fit.task is REGRESSION else fit.outputs.max(axis=1)
    return np.argsort(-by, kind="stable")


def find_reasons(fit: Fit, book: CaseBook | None) -> dict[int, explanation.Explanation]:
    """Explain the first vertices that are to be answered, as many as can be afforded, quickly."""
    order = rank(fit)
    if book is None or order is None:
        return {}
    answered = np.zeros(len(order), dtype=bool)
    answered[to_answer(fit)] = True
    some = order[answered[order]][:MOST_LISTED].tolist()
    about: dict[str, Any] = {}
    if fit.positive is not None:
        about = {"answered": [fit.positive] * len(some)}
    found = zip(some, book.explain(some, quick=True, work=WORK, **about), strict=False)
    return {vertex: why for vertex, why in found if why.because()}


# Asked for by every list of a fit, and a pass over all its edges.
_SIDES: WeakKeyDictionary[Plan, NDArray[np.bool_]] = WeakKeyDictionary()


def to_answer(fit: Fit) -> Index:
    """Return the vertices whose prediction is of use: unlabelled ones, or else test ones.

    Only those that can have a label.
    """
    if fit.plan not in _SIDES:
        _SIDES[fit.plan] = labelled_side(fit.plan.graph, fit.plan.is_labelled)
    parts, can = fit.plan.parts, _SIDES[fit.plan]
    kinds = (~fit.plan.is_labelled, parts == "test", parts == "val", np.full(len(parts), True))
    return next(np.flatnonzero(kind & can) for kind in kinds if (kind & can).any())


def labelled_side(graph: Graph, labelled: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Find the side of a bipartite graph that has all the labels, as accounts beside devices.

    Where no cycle is odd, a connected part has two sides. If its labels all lie on one of them,
    each but the first says so with probability ½ by chance; with ten of them, over all parts, the
    other sides are taken to be vertices of a kind that is never labelled. Of parts without labels,
    those vertices are taken for it too that a feature tells apart: one that is the same on all
    vertices of that kind, and another on all labelled ones. The rest stay in.
    """
    n, adjacency = graph.n_vertices, graph.adjacency
    # In the double cover (u, 0)-(v, 1), (u, 1)-(v, 0) the two sides of a part fall apart.
    cover = sp.block_array([[None, adjacency], [adjacency.T, None]], format="csr")
    component = connected_components(cover, directed=False)[1]
    here, opposite = component[:n], component[n:]
    n_labels = np.bincount(here[labelled], minlength=component.max() + 1)
    one_sided = np.unique(here[labelled & (n_labels[opposite] == 0)])
    if int((n_labels[one_sided] - 1).sum()) < LEAST_EVIDENCE:
        return np.ones(n, dtype=bool)
    never, x = (n_labels[opposite] > 0) & (n_labels[here] == 0), graph.features
    if never.any() and x is not None and np.prod(x.shape) <= MOST_COMPARED:
        columns = x.toarray() if sp.issparse(x) else np.asarray(x)
        kind = columns[never]
        tells = (kind == kind[0]).all(axis=0) & (columns[labelled] != kind[0]).all(axis=0)
        alike = (columns[:, tells] == kind[0, tells]).all(axis=1) & tells.any()
        never |= alike & (n_labels[here] == 0)
    return ~never


def most_likely(fit: Fit, positive: int) -> Index:
    """Return the vertices to answer whose probability of a class is highest, the first ones."""
    vertices = to_answer(fit)
    return vertices[np.argsort(-fit.outputs[vertices, positive], kind="stable")][:MOST_LISTED]


def least_sure(fit: Fit) -> Index:
    """Return the vertices to answer whose prediction is least sure.

    Where one class is predicted from a threshold, what lies far from it is sure.
    """
    vertices, decision = to_answer(fit), fit.user_decision
    if decision is None:
        sure = fit.outputs[vertices].max(axis=1)
    else:
        sure = np.abs(fit.outputs[vertices, fit.positive] - decision.threshold)
    return vertices[np.argsort(sure, kind="stable")][:MOST_LISTED]


def most_doubted(fit: Fit) -> Index:
    """Return the labelled vertices with another prediction, the least probable label first.

    Another class must be more probable, too: a threshold below one half alone makes no error.

    Labels that a model rejects though it was trained on them are often wrong (Northcutt et al.
    2021, Confident Learning).
    """
    codes = fit.plan.target.codes
    rejected = fit.plan.is_labelled & (fit.answers != codes) & (fit.outputs.argmax(axis=1) != codes)
    rejected = np.flatnonzero(rejected)
    of_label = fit.outputs[rejected, codes[rejected]]
    return rejected[np.argsort(of_label, kind="stable")][:MOST_LISTED]


def most_missed(fit: Fit) -> tuple[Index, Index, NDArray[np.float64]]:
    """Return the vertices whose known values are missed most, which of the values, and by how much.

    Of several numbers the one that is missed by most deviations counts; labels count together.
    """
    labelled = np.flatnonzero(fit.plan.is_labelled)
    truth, outputs = fit.plan.truth[labelled], fit.outputs[labelled]
    if fit.task is REGRESSION:
        errors = outputs - truth
        spread = truth.std(axis=0)
        sizes = np.abs(errors) / np.where(spread > 0, spread, 1)
        columns = sizes.argmax(axis=1)
        error, size = errors[np.arange(len(labelled)), columns], sizes.max(axis=1)
    else:
        clipped = np.clip(outputs, 1e-15, 1 - 1e-15)
        losses = -np.where(truth > 0.5, np.log(clipped), np.log1p(-clipped))
        columns, error = losses.argmax(axis=1), losses.mean(axis=1)
        size = error
    order = np.argsort(-size, kind="stable")[:MOST_LISTED]
    return labelled[order], columns[order], error[order]
