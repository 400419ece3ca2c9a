"""The description of an endpoint: its model, an OpenAPI document, and a page without scripts.

What is the same for every model stands in ``templates/openapi.json``.
"""

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
# What stands for a value in the example of a new vertex, by the kind of its column.
_EXAMPLES = {"number": 0.5, "boolean": True, "date": "2024-01-31", "text": "some words"}


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
    """Return a request for a new vertex, with words of the fit or blanks as its features."""
    features: Any = [0.0] * min(scorer.graph.n_features, 3)
    if columns := list_columns(scorer):
        features = {column["name"]: _EXAMPLES.get(column["kind"]) for column in columns}
        features |= {c["name"]: c["categories"][0] for c in columns if c.get("categories")}
        features |= {c["name"]: [0.5] * c["length"] for c in columns if "length" in c}
    neighbours = example_ids(scorer)["ids"]
    return {"vertices": [{"id": "new", "features": features, "neighbours": neighbours}]}


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
    requests = {"A vertex of the graph": example_ids(scorer)}
    if scorer.can_grow:
        requests["A new vertex"] = example_new(scorer)
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
        model=describe_model(scorer, limits),
        requests=commands,
        answer=json.dumps(answer, indent=2, ensure_ascii=False),
        token=token,
    )
