"""What is sent to a service: JSON, read into what it asks for, and refused with a reason."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, NoReturn, TypeVar

import msgspec

from graphfilter.util.errors import GraphFilterError, check_count, check_number
from graphfilter.web.server import RequestError

T = TypeVar("T")
Id = str | int

EXAMPLE = (
    'Send {"ids": ["7"]}, or {"vertices": [{"features": {...}, "neighbours": ["7"]}]}; see /docs.'
)
# The longest id or name in an error message: a sender may have made up any length.
LONGEST = 80


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
    request = check_content(read_object(body, EXAMPLE), ScoreRequest, EXAMPLE)
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


def read_object(body: bytes, example: str) -> dict[str, Any]:
    """Parse a JSON object that can be sent back: in UTF-8, without half of a pair."""

    def refuse(name: str) -> NoReturn:
        raise RequestError(
            400, f"a request must be JSON, which has no {name}.", "Write null for a missing value."
        )

    try:
        content = json.loads(body.decode("utf-8-sig"), parse_constant=refuse)
        if b"\\u" in body:
            json.dumps(content, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        if isinstance(error, RequestError):
            raise
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        problem = f"a request must be JSON; this is not ({reason[:200]})."
        raise RequestError(400, problem, example) from None
    if not isinstance(content, dict):
        problem = f"a request must be a JSON object; got {short(content)}."
        raise RequestError(400, problem, example)
    return content


def check_content(content: Any, kind: type[T], example: str) -> T:
    """Return content of JSON as ``kind``; an error says what is wrong with it, and where."""
    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at ")
        where = path.strip("`").removeprefix("$").removeprefix(".") or "a request"
        raise RequestError(422, f"{where}: {text[: 2 * LONGEST]}.", example) from None


def short(value: Any) -> str:
    """Return a value as JSON, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
