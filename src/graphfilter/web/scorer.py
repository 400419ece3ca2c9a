"""The model of a run and its graph, in memory once: predictions for known and new vertices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NoReturn

import msgspec
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from graphfilter.data.from_tables import grow
from graphfilter.data.graph import Graph
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.models.places import Known
from graphfilter.runs.answers import answers_of
from graphfilter.runs.loading import RunDescription
from graphfilter.runs.predict import as_fitted, predict_graph
from graphfilter.tables.columns import Features
from graphfilter.tables.encoder import TableEncoder
from graphfilter.util.errors import (
    GraphError,
    GraphFilterError,
    check_count,
    check_number,
    did_you_mean,
)
from graphfilter.util.words import Noun, listed_names
from graphfilter.web.server import LONGEST, RequestError, read_json, short

EXAMPLE = (
    'Send {"ids": ["7"]}, or {"vertices": [{"features": {...}, "neighbours": ["7"]}]}; see /docs.'
)
Id = str | int


class Limits(msgspec.Struct, frozen=True):
    """What one request may hold and take.

    Attributes
    ----------
    bytes : int
        Of a body.
    vertices : int
        Known and new ones, per request.
    seconds : float
        For a request with new vertices, from its arrival to its answer.
    waiting : int
        Requests with new vertices at a time; they are computed one after another.
    """

    bytes: int = 1 << 20
    vertices: int = 1000
    seconds: float = 30.0
    waiting: int = 64

    def check(self) -> None:
        """Raise where a limit is not positive."""
        for name in ("bytes", "vertices", "waiting"):
            check_count(name, getattr(self, name), most=2**63)
        if check_number("seconds", self.seconds) <= 0:
            raise GraphFilterError(f"seconds must be positive; got {self.seconds}.")


class Neighbour(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An edge between a new vertex and another one of the graph or of the request."""

    id: Id
    weight: Annotated[float, msgspec.Meta(gt=0)] | None = None
    kind: str | None = None
    # Where edges have directions: out goes from the new vertex to the other.
    direction: Literal["out", "in"] = "out"


class Vertex(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A vertex that the graph does not have."""

    features: dict[str, Any] | list[Any]
    id: Id | None = None
    neighbours: list[Neighbour | Id] | None = None


class ScoreRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one request asks for: vertices by id, and new ones."""

    ids: list[Id] | None = None
    vertices: list[Vertex] | None = None


def read_score_request(body: bytes, limits: Limits) -> tuple[list[str], list[Vertex]]:
    """Read the ids and the new vertices, which all have an id then, of a request."""
    request = read_json(body, ScoreRequest, EXAMPLE)
    ids, vertices = list(map(str, request.ids or ())), request.vertices or []
    n = len(ids) + len(vertices)
    if not n:
        raise RequestError(422, "a request must name at least one vertex; got none.", EXAMPLE)
    if n > limits.vertices:
        raise RequestError(
            422,
            f"a request must name at most {limits.vertices:,} vertices; got {n:,}.",
            "Send several requests; graphfilter predict scores whole graphs.",
        )
    names = [f"new {i}" if v.id is None else str(v.id) for i, v in enumerate(vertices)]
    if repeated := next((name for i, name in enumerate(names) if name in names[:i]), None):
        raise RequestError(
            422,
            f"each new vertex must have an id of its own; got {short(repeated)} twice.",
            "Give every vertex another id, or leave the ids out.",
        )
    return ids, [
        msgspec.structs.replace(vertex, id=name)
        for vertex, name in zip(vertices, names, strict=True)
    ]


@dataclass(frozen=True)
class Scores:
    """Predictions for vertices: one JSON object each, and notes on how they were read."""

    vertices: list[dict[str, Any]]
    notes: tuple[str, ...] = ()


class Scorer:
    """Scores the vertices of one graph, and new ones beside them, with the model of a run.

    Known vertices are scored once, when the scorer is made: exactly what ``graphfilter predict``
    says of the graph. For new vertices the model is evaluated on the graph with them and their
    edges appended, as a whole and without approximation: what ``graphfilter predict`` says of that
    graph. Models whose answer depends on one row alone read those of the new vertices only, which
    changes nothing. With ``within``, the model is evaluated on the vertices near the new ones only,
    which is an approximation, and said. Nothing of it is kept, so that no request depends on
    another one.

    Parameters
    ----------
    estimator, run, encoder
        As :func:`graphfilter.runs.loading.load_run` gives them.
    graph : Graph
        That of the fit, or another one with the same features.
    within : int, optional
        New vertices are scored on the vertices at most so many edges away from them, where these
        are less than half of all; on the whole graph otherwise, and where None.
    """

    def __init__(
        self,
        estimator: VertexEstimator,
        run: RunDescription,
        encoder: TableEncoder | None,
        graph: Graph,
        within: int | None = None,
    ) -> None:
        self.within = None if within is None else check_count("within", within, most=2**63)
        self.estimator, self.run, self.encoder = estimator, run, encoder
        self.names = [str(name) for name in estimator.target_names_]
        column = None if encoder is None else dict(encoder.roles).get("id", "")
        self.noun = Noun.found(run.noun, column)
        self._outputs = predict_graph(estimator, run, graph)
        # As the model takes it: with features, whatever the graph was read with.
        self.graph = as_fitted(estimator, run, graph)
        names = self.graph.vertex_names
        ids = range(self.graph.n_vertices) if names is None else names
        self._numbers = {str(id): number for number, id in enumerate(ids)}
        # Recognised once: hashing all ids takes longer than a small model.
        self._known = estimator.known_ and estimator.known_.recognise(self.graph)
        self.can_grow = run.vertex_features and not estimator.system_.keeps_graph
        # What a request says of a new vertex, by name; None where features have none.
        self.columns = self.graph.feature_names
        if encoder is not None:
            kind = [encoder.vertex_kind] if encoder.vertex_kind else []
            self.columns = tuple(dict.fromkeys([*(c.name for c in encoder.columns), *kind]))

    def score_known(self, ids: Sequence[str]) -> Scores:
        """Look up the predictions for vertices of the graph."""
        if missing := [id for id in ids if id not in self._numbers]:
            raise RequestError(
                404,
                f"ids must be of vertices of the graph; it has no {listed_names(missing)}.",
                "Send what is not in the graph under vertices, with features and neighbours.",
            )
        numbers = [self._numbers[id] for id in ids]
        return Scores(self._answers(ids, self._outputs[numbers], new=False))

    def score_new(self, vertices: Sequence[Vertex]) -> Scores:
        """Evaluate the model on the graph with these vertices appended."""
        if not self.can_grow:
            _refuse(
                "this model knows the vertices of its graph only: it was fitted without features.",
                "Fit again on vertices with features.",
            )
        ids = [str(vertex.id) for vertex in vertices]
        if known_id := next((id for id in ids if id in self._numbers), None):
            _refuse(
                f"a new vertex must have a new id; got {short(known_id)}.", "Send it under ids."
            )
        features, notes = self._features(vertices)
        grown, near = self._grow(ids, vertices, features)
        old = grown.n_vertices - len(ids)
        try:
            rows, known = np.arange(old, grown.n_vertices), self._known_in(near, ids)
            outputs = predict_graph(self.estimator, self.run, grown, rows, known)
        except GraphFilterError as error:
            _refuse(str(error), "Compare with the features of the fit.")
        if near is not None:
            text = f"new vertices are scored on the {old:,} nearest of {self.graph.n_vertices:,} "
            notes = (*notes, f"{text}vertices, at most {self.within} edges away: an approximation.")
        return Scores(self._answers(ids, outputs, new=True), notes)

    def _features(self, vertices: Sequence[Vertex]) -> tuple[Features, tuple[str, ...]]:
        """Return the features (m, d) of new vertices, and what there is to say of them."""
        import pyarrow as pa

        # The words of an id may be features.
        own = dict(self.encoder.roles).get("id", "") if self.encoder is not None else ""
        rows: list[list[Any]] = []
        for i, vertex in enumerate(vertices):
            sent = vertex.features
            if own in (self.columns or ()) and isinstance(sent, dict):
                sent = {own: str(vertex.id), **sent}
            rows.append(self._cells(sent, f"vertices[{i}].features"))
        features: Any = None
        notes: tuple[str, ...] = ()
        if self.encoder is None:
            with np.errstate(over="ignore"):
                features = np.array(rows, dtype=np.float32)
            features = features.reshape(len(rows), self.graph.n_features)
        else:
            try:
                named = (dict(zip(self.columns or (), row, strict=True)) for row in rows)
                table = pa.Table.from_pylist(list(named))
                features, notes = self.encoder.encode(table, "vertices")
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                remedy = "Send one type per column, as the fit has it, and null where missing."
                _refuse(f"features of new vertices cannot be read: {error}", remedy)
        if not np.isfinite(features.data if sp.issparse(features) else features).all():
            _refuse("features must be numbers that float32 holds.", "Send smaller ones.")
        return features, notes

    def _cells(self, features: dict[str, Any] | list[Any], where: str) -> list[Any]:
        """Return what is sent of one vertex in the order of the fit."""
        names, n = self.columns, self.graph.n_features
        if isinstance(features, dict):
            wrong = sorted(set(features).symmetric_difference(names or ()))
            if names is None or wrong:
                known = list(names or ())
                near = "" if wrong[0] in known else did_you_mean(wrong[0][:LONGEST], known)
                _refuse(
                    f"{where} must hold every column of the fit, and no other; see "
                    f"{short(wrong[0])}{near or '.'}",
                    f"Send null for a value that is not known. Columns: {listed_names(known)}.",
                )
            features = [features[name] for name in names]
        elif self.encoder is not None or len(features) != n:
            must = "an object" if self.encoder is not None else f"{n:,} numbers"
            _refuse(f"{where} must be {must}; got a list of {len(features):,}.", "See /docs.")
        if self.encoder is None:
            try:
                return msgspec.convert(features, list[float])
            except msgspec.ValidationError as error:
                _refuse(f"{where} must be numbers ({error}).", "Send one number per feature.")
        return features

    def _grow(
        self, ids: Sequence[str], vertices: Sequence[Vertex], features: Features
    ) -> tuple[Graph, NDArray[np.int64] | None]:
        """Return the graph with new vertices, and which of its own it has; None for all."""
        n = self.graph.n_vertices
        numbers = {id: n + i for i, id in enumerate(ids)}
        pairs: list[tuple[int, int]] = []
        weights: list[float | None] = []
        kinds: list[str] = []
        for i, vertex in enumerate(vertices):
            for k, link in enumerate(vertex.neighbours or ()):
                link = link if isinstance(link, Neighbour) else Neighbour(link)
                other = self._numbers.get(str(link.id), numbers.get(str(link.id)))
                if other is None or other == n + i:
                    _refuse(
                        f"vertices[{i}].neighbours[{k}] must be another vertex; got "
                        f"{short(link.id)}.",
                        "Leave it out, or send that vertex too.",
                    )
                pairs.append((n + i, other) if link.direction == "out" else (other, n + i))
                weights.append(link.weight)
                kinds.append(link.kind or "")
        weighted = any(weight is not None for weight in weights)
        ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        graph, near = self.graph, self._near(np.unique(ends[ends < n]))
        if near is not None:
            graph = graph.subgraph(near)
            ends = np.where(ends < n, np.searchsorted(near, ends), ends - n + len(near))
        try:
            grown = grow(
                graph, features, ends,
                weights=[1.0 if w is None else w for w in weights] if weighted else None,
                kinds=kinds if self.graph.kinds is not None or any(kinds) else None,
                vertex_names=None if self.graph.vertex_names is None else ids,
            )  # fmt: skip
        except GraphError as error:
            _refuse(str(error), "Change the neighbours of the new vertices.")
        return grown, near

    def _near(self, ends: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the vertices near those that new ones are connected to; None for all."""
        if self.within is None:
            return None
        indptr, indices, n = self.graph.indptr, self.graph.indices, self.graph.n_vertices
        # One at least: a graph has vertices.
        near = front = ends if len(ends) else np.zeros(1, dtype=np.int64)
        for _ in range(self.within - 1):
            if not len(front) or 2 * len(near) >= n:
                break
            reached = [indices[indptr[v] : indptr[v + 1]] for v in front.tolist()]
            front = np.setdiff1d(np.concatenate(reached), near)
            near = np.union1d(near, front)
        return near.astype(np.int64) if 2 * len(near) < n else None

    def _known_in(self, near: NDArray[np.int64] | None, ids: Sequence[str]) -> Known | None:
        """Return which vertices of a grown graph, or of a part of it, were there in the fit."""
        known, fitted = self._known, self.estimator.known_
        if known is None or fitted is None:
            return None
        if near is not None:
            known = Known(known.numbers[near], known.n_fitted, in_larger=known.share_present)
        return fitted.grown(known, ids)

    def _answers(
        self, ids: Sequence[str], outputs: NDArray[np.float64], *, new: bool
    ) -> list[dict[str, Any]]:
        """Return one JSON object per vertex."""
        task, names = self.estimator.task_, self.names
        answers = answers_of(task, outputs, names, self.run.decision)
        vertices: list[dict[str, Any]] = []
        for id, row, answer in zip(ids, outputs.tolist(), answers.tolist(), strict=True):
            by_name = dict(zip(names, row, strict=True))
            answers_by_task = {"predicted": by_name}
            if task.one_class:
                answers_by_task = {"predicted": names[answer], "probabilities": by_name}
            elif task.name != "regression":
                labels = [name for name, has in zip(names, answer, strict=True) if has]
                answers_by_task = {"predicted": labels, "probabilities": by_name}
            vertices.append({"id": id, "new": new, **answers_by_task})
        return vertices


def _refuse(message: str, remedy: str) -> NoReturn:
    raise RequestError(422, message, remedy) from None
