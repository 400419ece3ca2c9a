"""The endpoint of a run: its model and graph in memory once, and predictions over HTTP.

On this machine only unless said otherwise, and then with a token.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import secrets
import shlex
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, TypeVar

import msgspec
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from graphfilter.data.from_tables import grow
from graphfilter.data.graph import Graph
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.models.places import Known
from graphfilter.report.cases import render_why
from graphfilter.report.html import render_page
from graphfilter.runs.answers import answers_of
from graphfilter.runs.cases import CaseBook
from graphfilter.runs.loading import RunDescription
from graphfilter.runs.predict import as_fitted, predict_graph
from graphfilter.tables.columns import Features
from graphfilter.tables.dates import TIME, DateColumn
from graphfilter.tables.encoder import TableEncoder
from graphfilter.tables.numbers import ListColumn, NumberColumn
from graphfilter.tables.words import CategoryColumn
from graphfilter.util.arrow import pa
from graphfilter.util.errors import (
    ConfigError,
    GraphError,
    GraphFilterError,
    check_count,
    check_number,
    did_you_mean,
)
from graphfilter.util.words import Noun, count, listed_names
from graphfilter.version import __version__
from graphfilter.web import server

EXAMPLE = (
    'Send {"ids": ["7"]}, or {"vertices": [{"features": {...}, "neighbours": ["7"]}]}; see /docs.'
)
Id = str | int
Computed = TypeVar("Computed")


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
    request = server.read_json(body, ScoreRequest, EXAMPLE)
    ids, vertices = list(map(str, request.ids or ())), request.vertices or []
    n = len(ids) + len(vertices)
    if not n:
        raise server.RequestError(
            422, "a request must name at least one vertex; got none.", EXAMPLE
        )
    if n > limits.vertices:
        raise server.RequestError(
            422,
            f"a request must name at most {limits.vertices:,} vertices; got {n:,}.",
            "Send several requests; graphfilter predict scores whole graphs.",
        )
    names = [f"new {i}" if v.id is None else str(v.id) for i, v in enumerate(vertices)]
    if repeated := next((name for name, times in Counter(names).items() if times > 1), None):
        raise server.RequestError(
            422,
            f"each new vertex must have an id of its own; got {server.short(repeated)} twice.",
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
    folder : path, optional
        The run, where the graph is the one that is kept with it.
    """

    def __init__(
        self,
        estimator: VertexEstimator,
        run: RunDescription,
        encoder: TableEncoder | None,
        graph: Graph,
        within: int | None = None,
        folder: Path | None = None,
    ) -> None:
        self.folder = folder
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

    @cached_property
    def book(self) -> CaseBook:
        """Explains the vertices of the graph, with what the run keeps of its own."""
        graph = self.graph if self.folder is None else None
        return CaseBook.of_run(self.folder or "", self.estimator, self.run, self.encoder, graph)

    def score_known(self, ids: Sequence[str]) -> Scores:
        """Look up the predictions for vertices of the graph."""
        if missing := [id for id in ids if id not in self._numbers]:
            raise server.RequestError(
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
                f"a new vertex must have a new id; got {server.short(known_id)}.",
                "Send it under ids.",
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
            features = np.array(rows, dtype=np.float64)
            features = features.reshape(len(rows), self.graph.n_features)
        else:
            try:
                named = (dict(zip(self.columns or (), row, strict=True)) for row in rows)
                table = pa.Table.from_pylist(list(named))
                features, notes = self.encoder.encode(table, "vertices")
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                remedy = "Send one type per column, as the fit has it, and null where missing."
                _refuse(f"features of new vertices cannot be read: {error}", remedy)
        sent = features.data if sp.issparse(features) else features
        if not (np.abs(sent) <= np.finfo(np.float32).max).all():
            _refuse("features must be numbers that float32 holds.", "Send smaller ones.")
        return features, notes

    def _cells(self, features: dict[str, Any] | list[Any], where: str) -> list[Any]:
        """Return what is sent of one vertex in the order of the fit."""
        names, n = self.columns, self.graph.n_features
        if isinstance(features, dict):
            wrong = sorted(set(features).symmetric_difference(names or ()))
            if names is None or wrong:
                known = list(names or ())
                near = "" if wrong[0] in known else did_you_mean(wrong[0][: server.LONGEST], known)
                _refuse(
                    f"{where} must hold every column of the fit, and no other; see "
                    f"{server.short(wrong[0])}{near or '.'}",
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
                        f"{server.short(link.id)}.",
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
                near=None if self.encoder is None else self.encoder.near,
                vertex_names=None if self.graph.vertex_names is None else ids,
            )  # fmt: skip
        except GraphError as error:
            _refuse(str(error), "Change the neighbours of the new vertices.")
        return grown, near

    def _near(self, ends: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the vertices near those that new ones are connected to; None for all."""
        if self.within is None or (self.encoder is not None and self.encoder.near is not None):
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
    raise server.RequestError(422, message, remedy) from None


TEMPLATES = Path(__file__).parent / "templates"
# The most names of features that a description lists; a model may have thousands.
MOST_LISTED = 500
# What stands for a value in the example of a new vertex, by the kind of its column.
_EXAMPLES = {"boolean": True, "date": "2024-01-31", "text": "some words"}
# A token shorter than this could be guessed.
SHORTEST_TOKEN = 16
# Requests under way when the endpoint ends have so long.
SECONDS_TO_ANSWER = 5


class Endpoint(server.Service):
    """A running endpoint; a context manager that stops it.

    Parameters
    ----------
    scorer : Scorer
    host : str
        The address to listen on. Beyond this machine's own (127.0.0.1) a token is asked for.
    port : int
        0 takes any that is free.
    token : str, optional
        Asked for in every request; made where the address needs one.
    limits : Limits

    Attributes
    ----------
    url : str
    token : str or None
    """

    def __init__(
        self,
        scorer: Scorer,
        *,
        host: str = server.LOOPBACK,
        port: int = 0,
        token: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.scorer, self.limits = scorer, limits or Limits()
        self.limits.check()
        listener = server.listen(port, host)
        bound, number, *_ = listener.getsockname()
        local = ipaddress.ip_address(bound).is_loopback
        self.token = token if token or local else secrets.token_urlsafe(24)
        # New vertices are computed one request after another, beside the thread that serves.
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="scoring")
        self._free = threading.Semaphore(self.limits.waiting)
        # As clients write it, however it was given: 0:0:0:0:0:0:0:1 is [::1].
        address, *others = (
            f"[{name}]:{number}" if ":" in name else f"{name}:{number}"
            for name in (bound if ":" in host else host, bound, server.LOOPBACK, "localhost")
        )
        self.url = f"http://{address}"
        # Where others may ask, the token keeps other pages out.
        self._hosts = {address, *others} if local else None
        routes = [
            ("POST", "/score", self.score),
            ("GET", "/health", self.health),
            ("GET", "/model", self.model),
            ("GET", "/openapi.json", self.openapi),
            ("GET", "/docs", self.docs),
            ("GET", "/why", self.why),
        ]
        addresses = f"Addresses: {', '.join(path for _, path, _ in routes)}."
        app = server.make_app([*routes, ("GET", "/", self.docs)], self.check_access, addresses)
        super().__init__(
            app, listener,
            on_close=lambda: self._worker.shutdown(wait=False, cancel_futures=True),
            seconds_to_answer=SECONDS_TO_ANSWER,
        )  # fmt: skip

    def check_access(self, request: Request) -> None:
        """Raise unless the request may be answered."""
        if self._hosts is not None and not server.is_local_request(request, self._hosts):
            raise server.RequestError(
                403,
                "requests must be sent to the printed address, and not by a page of another site.",
                "Send it to that address, without Origin.",
            )
        # Whether it is up is said to whoever asks.
        if self.token is None or request.url.path == "/health":
            return
        scheme, _, sent = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not server.is_right_token(sent, self.token):
            remedy = "Send the header Authorization: Bearer TOKEN."
            raise server.RequestError(401, "the token is missing or wrong.", remedy)

    async def score(self, request: Request) -> Response:
        body = await server.read_body(request, self.limits.bytes)
        ids, vertices = read_score_request(body, self.limits)
        known = self.scorer.score_known(ids)
        new = await self._in_turn(self.scorer.score_new, vertices) if vertices else Scores([])
        return JSONResponse({"vertices": [*known.vertices, *new.vertices], "notes": [*new.notes]})

    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok", "version": __version__})

    async def model(self, request: Request) -> Response:
        return JSONResponse(describe_model(self.scorer, self.limits))

    async def openapi(self, request: Request) -> Response:
        return JSONResponse(describe_endpoint(self.scorer))

    async def docs(self, request: Request) -> Response:
        url, token = str(request.base_url).rstrip("/"), self.token is not None
        return HTMLResponse(render_docs(self.scorer, self.limits, url, token=token))

    async def why(self, request: Request) -> Response:
        id = request.query_params.get("id", "")
        self.scorer.score_known([id] if id else [])  # One of them, or an error.
        page = await self._in_turn(lambda: render_why(self.scorer.book, self.scorer.noun, id))
        return HTMLResponse(page)

    async def _in_turn(self, compute: Callable[..., Computed], *sent: Any) -> Computed:
        limits = self.limits
        if not self._free.acquire(blocking=False):
            raise server.RequestError(
                429,
                f"at most {limits.waiting} requests with new vertices are taken at a time.",
                "Try again soon, or send several vertices per request.",
            )
        work = self._worker.submit(compute, *sent)
        # A computation that has begun goes on when nobody waits for it any more, and counts.
        work.add_done_callback(lambda _: self._free.release())
        try:
            async with asyncio.timeout(limits.seconds):
                return await asyncio.wrap_future(work)
        except TimeoutError:
            raise server.RequestError(
                503,
                f"new vertices must be scored within {limits.seconds:g} seconds; these were not.",
                "Try again when there are fewer requests, or raise graphfilter serve --seconds.",
            ) from None


def read_token(path: Path) -> str:
    """Read a token from a file, where no list of processes shows it."""
    try:
        token = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: the token cannot be read ({error}).") from None
    if len(token) < SHORTEST_TOKEN or not token.isascii() or any(c.isspace() for c in token):
        raise ConfigError(
            f"{path}: a token must be one word of {SHORTEST_TOKEN} characters or more, letters "
            "and digits; it is not. Make one with: openssl rand -hex 24"
        )
    return token


def list_columns(scorer: Scorer) -> list[dict[str, Any]]:
    """Return the columns of a new vertex: name, kind, known words; none where they have no name."""
    if scorer.encoder is None:
        return [{"name": name, "kind": "number"} for name in scorer.columns or ()]
    columns = []
    for column in scorer.encoder.columns:
        entry: dict[str, Any] = {"name": column.name, "kind": column.kind}
        example: Any = _EXAMPLES.get(column.kind)
        if isinstance(column, CategoryColumn):
            entry["categories"] = list(column.categories)
            example = column.categories[0] if column.categories else None
        elif isinstance(column, ListColumn):
            entry["length"] = len(column.fill)
            example = [0.5] * len(column.fill)
        elif isinstance(column, NumberColumn):
            # What is usual in the column, as it is written.
            usual = column.fill[0]
            share = f"{100 * usual:.4g} %".replace(".", column.decimal)
            example = share if column.unit == "%" else float(f"{usual:.4g}")
        elif isinstance(column, DateColumn) and column.spelling == TIME:
            example = "12:30"
        columns.append({**entry, "example": example})
    return columns


def describe_model(scorer: Scorer, limits: Limits) -> dict[str, Any]:
    """Return what is served: the task, the answers, the features, the graph and the limits."""
    graph, decision, columns = scorer.graph, scorer.run.decision, list_columns(scorer)
    threshold = decision and {"positive": decision.positive, "threshold": decision.threshold}
    return {
        "version": __version__,
        "task": scorer.estimator.task_.name,
        "names": scorer.names,
        "decision": threshold,
        "graph": {
            "vertices": graph.n_vertices,
            "edges": graph.n_edges,
            "weighted": graph.weights is not None,
            "directed": graph.directed,
            "kinds": [] if graph.kinds is None else list(graph.kinds.names),
        },
        "features": {
            "as": "object" if columns else "list",
            "count": len(columns) or graph.n_features,
            "columns": columns[:MOST_LISTED],
        },
        "new_vertices": scorer.can_grow,
        "limits": msgspec.structs.asdict(limits),
    }


def example_ids(scorer: Scorer) -> dict[str, Any]:
    """Return a request for a known vertex."""
    names = scorer.graph.vertex_names
    return {"ids": ["0" if names is None else str(names[0])]}


def example_new(scorer: Scorer) -> dict[str, Any]:
    """Return a request for a new vertex, with what is usual in the columns of the fit."""
    features: Any = [0.0] * min(scorer.graph.n_features, 3)
    if columns := list_columns(scorer):
        features = {column["name"]: column.get("example", 0.5) for column in columns}
    neighbours = {"neighbours": example_ids(scorer)["ids"]} if scorer.graph.n_edges else {}
    return {"vertices": [{"id": "new-1", "features": features, **neighbours}]}


def describe_endpoint(scorer: Scorer) -> dict[str, Any]:
    """Return the OpenAPI document."""
    document = json.loads((TEMPLATES / "openapi.json").read_text("utf-8"))
    document["info"]["version"] = __version__
    _, schemas = msgspec.json.schema_components(
        [ScoreRequest], ref_template="#/components/schemas/{name}"
    )
    document["components"]["schemas"] |= schemas
    examples = {"known": example_ids(scorer), "new": example_new(scorer)}
    body = document["paths"]["/score"]["post"]["requestBody"]["content"]["application/json"]
    body["examples"] = {name: {"value": example} for name, example in examples.items()}
    return document


def render_docs(scorer: Scorer, limits: Limits, url: str, *, token: bool) -> str:
    """Return the page at /docs of an endpoint at this address."""
    noun, names, graph = scorer.noun, ", ".join(scorer.names), scorer.graph
    requests = {noun.put("A vertex that is known"): example_ids(scorer)}
    if scorer.can_grow:
        requests[f"A new {noun.one}"] = example_new(scorer)
    what = {"regression": f"predicts {names}", "multilabel": f"says which of {names} each has"}
    what = what.get(
        scorer.estimator.task_.name, f"says whether each is {' or '.join(scorer.names)}"
    )
    of = f"{noun.count(graph.n_vertices)} and {count(graph.n_edges, 'connection')} between them"
    about = f"It knows {of if graph.n_edges else noun.count(graph.n_vertices)}, and {what}."
    header = ' -H "Authorization: Bearer $TOKEN"' if token else ""
    commands = {
        title: f"curl {url}/score{header} -d {shlex.quote(json.dumps(body, ensure_ascii=False))}"
        for title, body in requests.items()
    }
    answer = {"vertices": scorer.score_known(example_ids(scorer)["ids"]).vertices, "notes": []}
    return render_page(
        "docs.html.j2", folder=TEMPLATES, document=describe_endpoint(scorer), about=about,
        title=f"{graph.name}: predictions for {noun.many}", noun=noun,
        model=describe_model(scorer, limits), requests=commands, token=token,
        answer=json.dumps(answer, indent=2, ensure_ascii=False),
    )  # fmt: skip
