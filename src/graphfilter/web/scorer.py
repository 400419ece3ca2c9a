"""The model of a run and its graph, in memory once: predictions for known and new vertices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.from_tables import grow
from graphfilter.data.graph import Graph
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.models.places import Known
from graphfilter.runs.answers import answers_of
from graphfilter.runs.loading import RunDescription
from graphfilter.runs.predict import as_fitted, predict_graph
from graphfilter.tables.encoder import TableEncoder
from graphfilter.util.errors import GraphError, GraphFilterError, check_count
from graphfilter.web.asked import Link, NewVertex, short
from graphfilter.web.columns import FeatureColumns
from graphfilter.web.limits import RequestError

# Ids that an error names.
_MOST_NAMED = 5


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
        self.estimator, self.run = estimator, run
        self.names = [str(name) for name in estimator.target_names_]
        self._outputs = predict_graph(estimator, run, graph)
        # As the model takes it: with features, whatever the graph was read with.
        self.graph = as_fitted(estimator, run, graph)
        held = self.graph.vertex_names
        ids = range(self.graph.n_vertices) if held is None else held
        self._numbers = {str(id): number for number, id in enumerate(ids)}
        self.columns = FeatureColumns(encoder, self.graph.feature_names, self.graph.n_features)
        # Found once: hashing all ids takes longer than a small model.
        ids = estimator.known_
        self._known = None if ids is None else ids.recognise(self.graph)
        self.can_grow = run.vertex_features and not estimator.system_.keeps_graph

    def score_known(self, ids: Sequence[str]) -> Scores:
        """Look up the predictions for vertices of the graph."""
        missing = [id for id in ids if id not in self._numbers]
        if missing:
            named = ", ".join(short(id) for id in missing[:_MOST_NAMED])
            more = f" and {len(missing) - _MOST_NAMED:,} more" if missing[_MOST_NAMED:] else ""
            raise RequestError(
                404,
                f"ids must be of vertices of the graph; it has no {named}{more}.",
                "Send what is not in the graph under vertices, with features and neighbours.",
            )
        numbers = [self._numbers[id] for id in ids]
        return Scores(self._described(ids, self._outputs[numbers], new=False))

    def score_new(self, vertices: Sequence[NewVertex]) -> Scores:
        """Evaluate the model on the graph with these vertices appended."""
        if not self.can_grow:
            raise RequestError(
                422,
                "this model was fitted without vertex features: it can predict only the vertices "
                "of its graph.",
                "Fit again on vertices with features.",
            )
        ids = [vertex.id for vertex in vertices]
        for id in ids:
            if id in self._numbers:
                raise RequestError(
                    422,
                    f"new vertices must have ids that the graph does not; it has {short(id)}.",
                    "Send it under ids, or under another id.",
                )
        features, notes = self.columns.encode(vertices)
        grown, near = self._grown(vertices, features)
        old = grown.n_vertices - len(vertices)
        try:
            own = np.arange(old, grown.n_vertices)
            known = self._known_in(near, ids)
            outputs = predict_graph(self.estimator, self.run, grown, own, known)
        except GraphFilterError as error:
            raise RequestError(422, str(error), "Compare with the features of the fit.") from None
        if near is not None:
            text = f"new vertices are scored on the {old:,} nearest of {self.graph.n_vertices:,} "
            notes = (*notes, f"{text}vertices, at most {self.within} edges away: an approximation.")
        return Scores(self._described(ids, outputs, new=True), notes)

    def _known_in(self, near: NDArray[np.int64] | None, ids: Sequence[str]) -> Known | None:
        """Return which vertices of a grown graph, or of a part of it, were there in the fit."""
        known, fitted = self._known, self.estimator.known_
        if known is None or fitted is None:
            return None
        if near is not None:
            known = Known(known.numbers[near], known.n_fitted, in_larger=known.share_present)
        return fitted.grown(known, ids)

    def _grown(
        self, vertices: Sequence[NewVertex], features: Any
    ) -> tuple[Graph, NDArray[np.int64] | None]:
        """Return the graph with new vertices, and which of its own it has; None for all."""
        n = self.graph.n_vertices
        own = {vertex.id: n + i for i, vertex in enumerate(vertices)}
        pairs: list[tuple[int, int]] = []
        weights: list[float | None] = []
        kinds: list[str] = []
        for i, vertex in enumerate(vertices):
            for k, link in enumerate(vertex.links):
                where = f"vertices[{i}].neighbours[{k}]"
                other = self._numbers.get(link.id, own.get(link.id))
                if other is None or other == n + i:
                    raise RequestError(
                        422,
                        f"{where} must be the id of another vertex, of the graph or of the "
                        f"request; got {short(link.id)}.",
                        "Leave it out, or send that vertex too.",
                    )
                pairs.append((n + i, other) if link.outgoing else (other, n + i))
                weights.append(link.weight)
                kinds.append(self._kind(link, where))
        weighted = any(weight is not None for weight in weights)
        names = None if self.graph.vertex_names is None else list(own)
        ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        graph, near = self.graph, self._near(np.unique(ends[ends < n]))
        if near is not None:
            graph = graph.subgraph(near)
            ends = np.where(ends < n, np.searchsorted(near, ends), ends - n + len(near))
        try:
            grown = grow(
                graph, features, ends,
                weights=[1.0 if w is None else w for w in weights] if weighted else None,
                kinds=kinds if self.graph.kinds is not None else None,
                vertex_names=names,
            )  # fmt: skip
        except GraphError as error:
            raise RequestError(422, str(error), "Leave weights out, or send others.") from None
        return grown, near

    def _near(self, found: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the vertices near those that new ones are connected to; None for all."""
        if self.within is None:
            return None
        indptr, indices, n = self.graph.indptr, self.graph.indices, self.graph.n_vertices
        # One at least: a graph has vertices.
        near = front = found if len(found) else np.zeros(1, dtype=np.int64)
        for _ in range(self.within - 1):
            if not len(front) or 2 * len(near) >= n:
                break
            reached = [indices[indptr[v] : indptr[v + 1]] for v in front.tolist()]
            front = np.setdiff1d(np.concatenate(reached), near)
            near = np.union1d(near, front)
        return near.astype(np.int64) if 2 * len(near) < n else None

    def _kind(self, link: Link, where: str) -> str:
        known = () if self.graph.kinds is None else self.graph.kinds.names
        if (link.kind or "") in (known or ("",)):
            return link.kind or ""
        must = f"one of {', '.join(known)}" if known else "omitted: edges of this graph have none"
        raise RequestError(
            422,
            f"{where}.kind must be {must}; got {short(link.kind)}.",
            "Send the edge type as kind.",
        )

    def _described(
        self, ids: Sequence[str], outputs: NDArray[np.float64], *, new: bool
    ) -> list[dict[str, Any]]:
        task = self.estimator.task_
        answers = answers_of(task, outputs, self.names, self.run.decision)
        found: list[dict[str, Any]] = []
        for id, row, answer in zip(ids, outputs.tolist(), answers.tolist(), strict=True):
            by_name = dict(zip(self.names, row, strict=True))
            entry: dict[str, Any] = {"id": id, "new": new}
            if task.name == "regression":
                entry["predicted"] = by_name
            elif task.one_class:
                entry["predicted"] = self.names[answer]
                entry["probabilities"] = by_name
            else:
                entry["predicted"] = [n for n, has in zip(self.names, answer, strict=True) if has]
                entry["probabilities"] = by_name
            found.append(entry)
        return found
