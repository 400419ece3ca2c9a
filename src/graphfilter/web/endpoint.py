"""The endpoint of a run: on this machine only unless said otherwise, and then with a token.

It describes itself for programs and for people: what is the same for every model stands in
``templates/openapi.json``.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import secrets
import shlex
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from graphfilter.report.html import TEMPLATES as SHARED_TEMPLATES, make_environment
from graphfilter.util.errors import ConfigError
from graphfilter.util.words import count
from graphfilter.version import __version__
from graphfilter.web.scorer import Limits, Scorer, ScoreRequest, Scores, Vertex, read_score_request
from graphfilter.web.server import (
    LOOPBACK,
    RequestError,
    Service,
    is_local_request,
    is_right_token,
    listen,
    make_app,
    read_body,
)

TEMPLATES = Path(__file__).parent / "templates"
# The most names of features that a description lists; a model may have thousands.
MOST_LISTED = 500
# What stands for a value in the example of a new vertex, by the kind of its column.
_EXAMPLES = {"number": 0.5, "boolean": True, "date": "2024-01-31", "text": "some words"}
# A token shorter than this could be guessed.
SHORTEST_TOKEN = 16
# Requests under way when the endpoint ends have so long.
SECONDS_TO_ANSWER = 5


class Endpoint(Service):
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
        host: str = LOOPBACK,
        port: int = 0,
        token: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.scorer, self.limits = scorer, limits or Limits()
        self.limits.check()
        local = host == "localhost" or _is_loopback(host)
        self.token = token if token or local else secrets.token_urlsafe(24)
        listener = listen(port, host)
        # New vertices are computed one request after another, beside the thread that serves.
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="scoring")
        self._free = threading.Semaphore(self.limits.waiting)
        bound, number, *_ = listener.getsockname()
        # As clients write it, however it was given: 0:0:0:0:0:0:0:1 is [::1].
        address, *others = (
            f"[{name}]:{number}" if ":" in name else f"{name}:{number}"
            for name in (bound if ":" in host else host, bound, LOOPBACK, "localhost")
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
        ]
        addresses = f"Addresses: {', '.join(path for _, path, _ in routes)}."
        super().__init__(
            make_app(routes, self.check_access, addresses), listener,
            on_close=lambda: self._worker.shutdown(wait=False, cancel_futures=True),
            seconds_to_answer=SECONDS_TO_ANSWER,
        )  # fmt: skip

    def check_access(self, request: Request) -> None:
        """Raise unless the request may be answered."""
        if self._hosts is not None and not is_local_request(request, self._hosts):
            raise RequestError(
                403,
                "requests must be sent to the printed address, and not by a page of another site.",
                "Send it to that address, without Origin.",
            )
        # Whether it is up is said to whoever asks.
        if self.token is None or request.url.path == "/health":
            return
        scheme, _, sent = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not is_right_token(sent, self.token):
            remedy = "Send the header Authorization: Bearer TOKEN."
            raise RequestError(401, "the token is missing or wrong.", remedy)

    async def score(self, request: Request) -> Response:
        body = await read_body(request, self.limits.bytes)
        ids, vertices = read_score_request(body, self.limits)
        known = self.scorer.score_known(ids)
        new = await self._score_new(vertices) if vertices else Scores([])
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

    async def _score_new(self, vertices: list[Vertex]) -> Scores:
        limits = self.limits
        if not self._free.acquire(blocking=False):
            raise RequestError(
                429,
                f"at most {limits.waiting} requests with new vertices are taken at a time.",
                "Try again soon, or send several vertices per request.",
            )
        work = self._worker.submit(self.scorer.score_new, vertices)
        # A computation that has begun goes on when nobody waits for it any more, and counts.
        work.add_done_callback(lambda _: self._free.release())
        try:
            async with asyncio.timeout(limits.seconds):
                return await asyncio.wrap_future(work)
        except TimeoutError:
            raise RequestError(
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


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def list_columns(scorer: Scorer) -> list[dict[str, Any]]:
    """Return the columns of a new vertex: name, kind, known words; none where they have no name."""
    if scorer.encoder is None:
        return [{"name": name, "kind": "number"} for name in scorer.columns or ()]
    columns = []
    for column in scorer.encoder.columns:
        entry: dict[str, Any] = {"name": column.name, "kind": column.kind}
        if column.kind == "category":
            entry["categories"] = column.to_dict()["categories"]
        if column.kind == "list":
            entry["length"] = len(column.fill)
        if column.kind == "number":
            # What is usual in the column.
            entry["example"] = float(f"{column.fill[0]:.4g}")
        columns.append(entry)
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
        features = {column["name"]: _EXAMPLES.get(column["kind"]) for column in columns}
        features |= {c["name"]: c["categories"][0] for c in columns if c.get("categories")}
        features |= {c["name"]: [0.5] * c["length"] for c in columns if "length" in c}
        features |= {c["name"]: c["example"] for c in columns if "example" in c}
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
    what = what.get(scorer.estimator.task_.name, f"says which of {names} each is")
    of = f"{noun.count(graph.n_vertices)} and {count(graph.n_edges, 'connection')} between them"
    about = f"It knows {of if graph.n_edges else noun.count(graph.n_vertices)}, and {what}."
    header = ' -H "Authorization: Bearer $TOKEN"' if token else ""
    commands = {
        title: f"curl {url}/score{header} -d {shlex.quote(json.dumps(body, ensure_ascii=False))}"
        for title, body in requests.items()
    }
    answer = {"vertices": scorer.score_known(example_ids(scorer)["ids"]).vertices, "notes": []}
    template = make_environment(TEMPLATES).get_template("docs.html.j2")
    return template.render(
        style=(SHARED_TEMPLATES / "base.css").read_text("utf-8"),
        document=describe_endpoint(scorer),
        title=f"{graph.name}: predictions for {noun.many}",
        about=about,
        noun=noun,
        model=describe_model(scorer, limits),
        requests=commands,
        answer=json.dumps(answer, indent=2, ensure_ascii=False),
        token=token,
    )
