"""The description of an endpoint: its model, an OpenAPI document, and a page without scripts."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import msgspec

from graphfilter.report.html import TEMPLATES as SHARED_TEMPLATES, make_environment
from graphfilter.version import __version__
from graphfilter.web.requests import Limits, ScoreRequest
from graphfilter.web.scorer import Scorer

TEMPLATES = Path(__file__).parent / "templates"
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
_READS = {
    "/health": "Whether the endpoint is up; needs no token.",
    "/model": "What is served: classes, features, graph and limits.",
    "/openapi.json": "This document.",
    "/docs": "This document, to read.",
}
# By the kind of a column: the types of JSON that are read, and an example.
_KINDS: dict[str, tuple[list[str], Any]] = {
    "number": (["number", "string", "null"], 0.5),
    "boolean": (["boolean", "string", "null"], True),
    "category": (["string", "number", "boolean", "null"], None),
    "date": (["string", "null"], "2024-01-31"),
    "text": (["string", "null"], "some words"),
    "list": (["array", "null"], None),
}


def list_columns(scorer: Scorer) -> list[dict[str, Any]]:
    """Return the columns of a new vertex: name, kind, known words; none where they have no name."""
    if scorer.encoder is None:
        return [{"name": name, "kind": "number"} for name in scorer.columns or ()]
    columns = []
    for column in map(_as_any, scorer.encoder.columns):
        entry = {"name": column.name, "kind": column.kind}
        entry |= {"categories": list(column.categories)} if column.kind == "category" else {}
        entry |= {"length": len(column.fill)} if column.kind == "list" else {}
        columns.append(entry)
    return columns


def _as_any(column: Any) -> Any:
    return column


def describe_model(scorer: Scorer, limits: Limits) -> dict[str, Any]:
    """Return what is served: the task, the answers, the features, the graph and the limits."""
    graph, decision = scorer.graph, scorer.run.decision
    columns = list_columns(scorer)
    return {
        "version": __version__,
        "task": scorer.estimator.task_.name,
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
        "limits": msgspec.structs.asdict(limits),
    }


def example_ids(scorer: Scorer) -> dict[str, Any]:
    """Return a request for a known vertex."""
    names = scorer.graph.vertex_names
    return {"ids": ["0" if names is None else str(names[0])]}


def example_new(scorer: Scorer) -> dict[str, Any]:
    """Return a request for a new vertex, with words of the fit or blanks as its features."""
    features: Any = [0.0] * min(scorer.graph.n_features, 3)
    if columns := list_columns(scorer):
        features = {column["name"]: _KINDS[column["kind"]][1] for column in columns[:8]}
        for column in columns[:8]:
            if column.get("categories"):
                features[column["name"]] = column["categories"][0]
            elif "length" in column:
                features[column["name"]] = [0.5] * column["length"]
    neighbours = example_ids(scorer)["ids"]
    return {"vertices": [{"id": "new", "features": features, "neighbours": neighbours}]}


def describe_endpoint(scorer: Scorer) -> dict[str, Any]:
    """Return the OpenAPI document."""
    _, schemas = msgspec.json.schema_components(
        [ScoreRequest], ref_template="#/components/schemas/{name}"
    )
    schemas["Vertex"]["properties"]["features"] = _features(scorer)
    text = {"type": "string"}
    answers = {
        "vertices": {"type": "array", "items": _answer(scorer)},
        "notes": {"type": "array", "items": text},
    }
    schemas |= {"Answers": _object(answers), "Error": _object({"error": text, "remedy": text})}
    score = {
        "summary": "Score vertices by id, and new ones by their features and neighbours.",
        "operationId": "score",
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": _ref("ScoreRequest"),
                    "examples": {
                        "known": {"value": example_ids(scorer)},
                        "new": {"value": example_new(scorer)},
                    },
                }
            },
        },
        "responses": {
            "200": _response("One prediction per vertex.", "Answers"),
            **{str(status): _response(text, "Error") for status, text in _STATUSES.items()},
        },
    }
    reads = {
        path: {"get": {"summary": text, "responses": {"200": {"description": text}}}}
        for path, text in _READS.items()
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "graphfilter serve",
            "version": __version__,
            "description": "Scores the vertices of a graph, and new ones beside them.",
        },
        "paths": {"/score": {"post": score}, **reads},
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def _features(scorer: Scorer) -> dict[str, Any]:
    columns, n = list_columns(scorer), scorer.graph.n_features
    numbers = {"type": "array", "items": {"type": "number"}, "minItems": n, "maxItems": n}
    if not columns:
        return numbers
    if len(columns) > MOST_LISTED:
        return {"type": "object", "description": f"{len(columns):,} columns: see /model."}
    if scorer.encoder is None:
        by_name = _object({column["name"]: {"type": "number"} for column in columns})
        return {"anyOf": [by_name, numbers]}
    return _object({column["name"]: {"type": _KINDS[column["kind"]][0]} for column in columns})


def _answer(scorer: Scorer) -> dict[str, Any]:
    numbers, name = _object({name: {"type": "number"} for name in scorer.names}), scorer.names
    vertex: dict[str, Any] = {"id": {"type": "string"}, "new": {"type": "boolean"}}
    task = scorer.estimator.task_
    if task.name == "regression":
        return _object({**vertex, "predicted": numbers})
    predicted: dict[str, Any] = {"enum": name}
    if not task.one_class:
        predicted = {"type": "array", "items": predicted}
    return _object({**vertex, "predicted": predicted, "probabilities": numbers})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _response(description: str, name: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": _ref(name)}}}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def render_docs(scorer: Scorer, limits: Limits, url: str, *, token: bool) -> str:
    """Return the page at /docs of an endpoint at this address."""
    document = describe_endpoint(scorer)
    example = scorer.score_known(example_ids(scorer)["ids"]).vertices
    requests = [("A vertex of the graph", example_ids(scorer))]
    if scorer.can_grow:
        requests.append(("A new vertex", example_new(scorer)))
    header = ' -H "Authorization: Bearer $TOKEN"' if token else ""
    commands = [
        (title, f"curl {url}/score{header} -d {shlex.quote(json.dumps(body, ensure_ascii=False))}")
        for title, body in requests
    ]
    return (
        make_environment(TEMPLATES)
        .get_template("docs.html.j2")
        .render(
            style=(SHARED_TEMPLATES / "base.css").read_text("utf-8"),
            document=document,
            model=describe_model(scorer, limits),
            requests=commands,
            answer=json.dumps({"vertices": example, "notes": []}, indent=2, ensure_ascii=False),
            errors=_STATUSES,
            token=token,
        )
    )
