"""The page at /docs: what the OpenAPI document says, to read, in one file without scripts."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from graphfilter.report.html import TEMPLATES, make_environment
from graphfilter.web.limits import Limits
from graphfilter.web.openapi import describe_endpoint, describe_model, example_ids, example_new
from graphfilter.web.scorer import Scorer

OWN_TEMPLATES = Path(__file__).parent / "templates"


def render_docs(scorer: Scorer, limits: Limits, url: str, *, token: bool) -> str:
    """Return the page of an endpoint at this address."""
    document = describe_endpoint(scorer, limits)
    example = scorer.score_known(example_ids(scorer)["ids"]).vertices
    requests = [("A vertex of the graph", example_ids(scorer))]
    if scorer.can_grow:
        requests.append(("A new vertex", example_new(scorer)))
    template = make_environment(OWN_TEMPLATES).get_template("docs.html.j2")
    return template.render(
        style=(TEMPLATES / "base.css").read_text("utf-8"),
        document=document,
        model=describe_model(scorer, limits),
        requests=[(title, _curl(url, body, token=token)) for title, body in requests],
        answer=json.dumps({"vertices": example, "notes": []}, indent=2, ensure_ascii=False),
        errors=document["paths"]["/score"]["post"]["responses"],
        token=token,
    )


def _curl(url: str, body: dict[str, Any], *, token: bool) -> str:
    sent = shlex.quote(json.dumps(body, ensure_ascii=False))
    header = ' -H "Authorization: Bearer $TOKEN"' if token else ""
    return f"curl {url}/score{header} -d {sent}"
