"""The description of an endpoint: of its model, and as an OpenAPI document."""

from __future__ import annotations

from typing import Any

from graphfilter.version import __version__
from graphfilter.web.limits import Limits
from graphfilter.web.scorer import Scorer

# The most names of features that a description lists; a model may have thousands.
MOST_LISTED = 500

_STATUSES = {
    400: "The body is not a JSON object.",
    401: "The token is missing or wrong.",
    403: "The request was not sent to the printed address, or came from a page of another site.",
    404: "There is no such vertex or address.",
    405: "The address takes another method.",
    408: "The body did not arrive in time.",
    413: "The body is too large.",
    422: "The request is not valid: the message says what is wrong, and where.",
    429: "Too many requests with new vertices are waiting. Retry-After says when to try again.",
    500: "An internal error.",
    503: "The new vertices were not scored in time. Retry-After says when to try again.",
}


def describe_model(scorer: Scorer, limits: Limits) -> dict[str, Any]:
    """Return what is served: the task, the answers, the features, the graph and the limits."""
    graph, task = scorer.graph, scorer.estimator.task_
    columns = scorer.columns.listed()
    decision = scorer.run.decision
    return {
        "version": __version__,
        "task": task.name,
        "names": scorer.names,
        "decision": None
        if decision is None
        else {"positive": decision.positive, "threshold": decision.threshold},
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
        "limits": vars(limits),
    }


def example_ids(scorer: Scorer) -> dict[str, Any]:
    """Return a request for a known vertex."""
    names = scorer.graph.vertex_names
    return {"ids": ["0" if names is None else str(names[0])]}


def example_new(scorer: Scorer) -> dict[str, Any]:
    """Return a request for a new vertex, with the features of the first of the graph or blanks."""
    columns = scorer.columns.listed()
    blanks = {"number": 0.5, "boolean": True, "date": "2024-01-31", "text": "some words"}
    features: Any = [0.0] * min(scorer.graph.n_features, 3)
    if columns:
        features = {
            column["name"]: (column.get("categories") or [None])[0]
            if column["kind"] == "category"
            else [0.5] * column["length"]
            if column["kind"] == "list"
            else blanks[column["kind"]]
            for column in columns[:8]
        }
    neighbour = example_ids(scorer)["ids"][0]
    return {"vertices": [{"id": "new", "features": features, "neighbours": [neighbour]}]}


def describe_endpoint(scorer: Scorer, limits: Limits) -> dict[str, Any]:
    """Return the OpenAPI document."""
    plain = {"200": _json("", {"type": "object"})}
    gets = {
        "/health": ("Whether the endpoint is up; needs no token.", plain),
        "/model": ("What is served: classes, features, graph and limits.", plain),
        "/openapi.json": ("This document.", plain),
        "/docs": (
            "This document, to read.",
            {"200": {"description": "A page.", "content": {"text/html": {}}}},
        ),
    }
    errors = {str(status): _json(text, _ref("Error")) for status, text in _STATUSES.items()}
    score = {
        "summary": "Score vertices by id, and new ones by their features and neighbours.",
        "operationId": "score",
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": _ref("Request"),
                    "examples": {
                        "known": {"value": example_ids(scorer)},
                        "new": {"value": example_new(scorer)},
                    },
                }
            },
        },
        "responses": {"200": _json("One prediction per vertex.", _ref("Answers")), **errors},
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "graphfilter serve",
            "version": __version__,
            "description": "Scores the vertices of a graph, and new ones beside them.",
        },
        "paths": {
            "/score": {"post": score},
            **{
                path: {"get": {"summary": text, "responses": found}}
                for path, (text, found) in gets.items()
            },
        },
        "components": {
            "schemas": _schemas(scorer, limits),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def _schemas(scorer: Scorer, limits: Limits) -> dict[str, Any]:
    id = {"type": ["string", "integer"]}
    link = _object(
        {
            "id": {**id, "description": "The id of a vertex of the graph or of this request."},
            "weight": {"type": "number", "exclusiveMinimum": 0},
            "kind": {"type": "string"},
            "direction": {"enum": ["out", "in"], "description": "out: from the new vertex."},
        },
        ["id"],
    )
    vertex = _object(
        {
            "id": {**id, "description": "Not an id of the graph; generated if omitted."},
            "features": _features(scorer),
            "neighbours": {"type": "array", "items": {"anyOf": [id, _ref("Neighbour")]}},
        },
        ["features"],
    )
    request = _object(
        {
            "ids": {"type": "array", "items": id, "maxItems": limits.vertices},
            "vertices": {"type": "array", "items": _ref("Vertex"), "maxItems": limits.vertices},
        },
        [],
    )
    answers = _object(
        {
            "vertices": {"type": "array", "items": _answer(scorer)},
            "notes": {"type": "array", "items": {"type": "string"}},
        },
        ["vertices", "notes"],
    )
    text = {"type": "string"}
    error = _object({"error": text, "remedy": text}, ["error", "remedy"])
    return {
        "Request": request, "Vertex": vertex, "Neighbour": link, "Answers": answers, "Error": error,
    }  # fmt: skip


def _features(scorer: Scorer) -> dict[str, Any]:
    columns, n = scorer.columns.listed(), scorer.graph.n_features
    numbers = {"type": "array", "items": {"type": "number"}, "minItems": n, "maxItems": n}
    if not columns:
        return numbers
    if len(columns) > MOST_LISTED:
        return {"type": "object", "description": f"{len(columns):,} columns: see /model."}
    kinds: dict[str, dict[str, Any]] = {
        "number": {"type": ["number", "string", "null"]},
        "boolean": {"type": ["boolean", "string", "null"]},
        "category": {"type": ["string", "number", "boolean", "null"]},
        "date": {"type": ["string", "null"]},
        "text": {"type": ["string", "null"]},
        "list": {"type": ["array", "null"], "items": {"type": "number"}},
    }
    typed = scorer.columns.encoder is not None
    properties = {
        column["name"]: kinds[column["kind"]] if typed else {"type": "number"} for column in columns
    }
    by_name = _object(properties, [column["name"] for column in columns])
    return by_name if typed else {"anyOf": [by_name, numbers]}


def _answer(scorer: Scorer) -> dict[str, Any]:
    task = scorer.estimator.task_
    numbers = _object({name: {"type": "number"} for name in scorer.names}, scorer.names)
    name = {"enum": scorer.names}
    known = {"id": {"type": "string"}, "new": {"type": "boolean"}}
    if task.name == "regression":
        found = {**known, "predicted": numbers}
    elif task.one_class:
        found = {**known, "predicted": name, "probabilities": numbers}
    else:
        found = {**known, "predicted": {"type": "array", "items": name}, "probabilities": numbers}
    return _object(found, list(found))


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _json(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
