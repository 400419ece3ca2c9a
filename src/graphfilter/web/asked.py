"""What a request asks for: vertices by id, and new ones with features and neighbours."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, NoReturn

from graphfilter.web.limits import Limits, RequestError
from graphfilter.web.server import parse_json

_EXAMPLE = '{"ids": ["7"]}, or {"vertices": [{"features": {...}, "neighbours": ["7"]}]}'
# The longest id or name in an error message: a sender may have made up any length.
_LONGEST = 80


@dataclass(frozen=True)
class Link:
    """An edge between a new vertex and another one, named by its id."""

    id: str
    weight: float | None = None
    kind: str | None = None
    # Where edges have directions: whether it goes from the new vertex to the other.
    outgoing: bool = True


@dataclass(frozen=True)
class NewVertex:
    """A vertex that the graph does not have."""

    id: str
    features: Mapping[str, Any] | Sequence[Any]
    links: tuple[Link, ...] = ()


@dataclass(frozen=True)
class ScoreRequest:
    """What one request asks for."""

    ids: tuple[str, ...] = ()
    new: tuple[NewVertex, ...] = field(default_factory=tuple)


def read_score_request(body: bytes, limits: Limits) -> ScoreRequest:
    """Read a request; a :class:`RequestError` says what is wrong with it, and where."""
    content = _parse(body)
    if not isinstance(content, dict):
        _refuse(400, f"a request must be a JSON object; got {kind_of(content)}.")
    _check_names(content, ("ids", "vertices"), "a request")
    ids = tuple(
        _read_id(one, f"ids[{i}]") for i, one in enumerate(_read_list(content, "ids", "a request"))
    )
    listed = _read_list(content, "vertices", "a request")
    n = len(ids) + len(listed)
    if not n:
        _refuse(422, "a request must name at least one vertex; got none.")
    if n > limits.vertices:
        raise RequestError(
            422,
            f"a request must name at most {limits.vertices:,} vertices; got {n:,}.",
            "Send several requests; graphfilter predict scores whole graphs.",
        )
    new = tuple(_read_vertex(one, i) for i, one in enumerate(listed))
    seen: set[str] = set()
    for vertex in new:
        if vertex.id in seen:
            raise RequestError(
                422,
                f"each new vertex must have an id of its own; got {short(vertex.id)} twice.",
                "Give every vertex another id, or leave the ids out.",
            )
        seen.add(vertex.id)
    return ScoreRequest(ids, new)


def _parse(body: bytes) -> Any:
    def refuse(name: str) -> NoReturn:
        raise RequestError(
            400, f"a request must be JSON, which has no {name}.", "Write null for a missing value."
        )

    try:
        return parse_json(body, refuse)
    except (ValueError, RecursionError) as error:
        if isinstance(error, RequestError):
            raise
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise RequestError(
            400, f"a request must be JSON; this is not ({reason[:200]}).", f"Send {_EXAMPLE}."
        ) from None


def _read_vertex(content: Any, number: int) -> NewVertex:
    where = f"vertices[{number}]"
    if not isinstance(content, dict):
        _refuse(422, f"{where} must be an object; got {kind_of(content)}.")
    _check_names(content, ("id", "features", "neighbours"), where)
    features = content.get("features")
    if not isinstance(features, dict | list):
        got = "nothing" if features is None else kind_of(features)
        _refuse(422, f"{where}.features must be an object or a list; got {got}.")
    own = content.get("id")
    id = f"new {number}" if own is None else _read_id(own, f"{where}.id")
    links = [
        _read_link(one, f"{where}.neighbours[{i}]")
        for i, one in enumerate(_read_list(content, "neighbours", where))
    ]
    return NewVertex(id, features, tuple(links))


def _read_link(content: Any, where: str) -> Link:
    if not isinstance(content, dict):
        return Link(_read_id(content, where))
    _check_names(content, ("id", "weight", "kind", "direction"), where)
    weight, kind = content.get("weight"), content.get("kind")
    if weight is not None and not (is_number(weight) and weight > 0):
        _refuse(422, f"{where}.weight must be a positive number; got {short(weight)}.")
    if kind is not None and not isinstance(kind, str):
        _refuse(422, f"{where}.kind must be a string; got {kind_of(kind)}.")
    direction = content.get("direction", "out")
    if direction not in ("out", "in"):
        _refuse(
            422,
            f'{where}.direction must be "out", from the new vertex, or "in"; got '
            f"{short(direction)}.",
        )
    id = _read_id(content.get("id"), f"{where}.id")
    return Link(id, None if weight is None else float(weight), kind, direction == "out")


def _read_id(value: Any, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        _refuse(422, f"{where} must be an id, a string or a whole number; got {kind_of(value)}.")
    return str(value)


def _read_list(content: dict[str, Any], name: str, where: str) -> list[Any]:
    found = content.get(name)
    if found is None:
        return []
    if not isinstance(found, list):
        _refuse(422, f"{name} of {where} must be a list; got {kind_of(found)}.")
    return found


def _check_names(content: dict[str, Any], known: Collection[str], where: str) -> None:
    if unknown := [name for name in content if name not in known]:
        fields = ", ".join(known)
        _refuse(422, f"{where} must have no fields but {fields}; got {short(unknown[0])}.")


def is_number(value: Any) -> bool:
    """Return whether this is a finite number that a float can hold, not a truth value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return isfinite(float(value))
    except OverflowError:
        return False


def _refuse(status: int, message: str) -> NoReturn:
    raise RequestError(status, message, f"Send {_EXAMPLE}; see /docs.")


def kind_of(value: Any) -> str:
    """Say what kind of JSON a value is."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}
    if value is None:
        return "null"
    return names.get(type(value), "a number")


def short(value: Any) -> str:
    """Return a value as JSON, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
