"""The OpenAPI document, the page made of it, and what the endpoint says of its model."""

from __future__ import annotations

import json
import re
from typing import Any

import pandas as pd
from tests.web_client import WebClient

import graphfilter as gf
from graphfilter.report.cases import render_why
from graphfilter.runs.loading import RunDescription
from graphfilter.web.endpoint import (
    Limits,
    Scorer,
    describe_model,
    example_new,
    read_score_request,
    render_docs,
)


def refs(content: Any) -> set[str]:
    """Return every reference of a document."""
    return set(re.findall(r'"\$ref": "#/components/schemas/(\w+)"', json.dumps(content)))


def test_document_describes_every_address_and_resolves(ask: WebClient) -> None:
    document = ask("GET", "/openapi.json").json
    assert document["openapi"].startswith("3.1")
    assert set(document["paths"]) == {
        "/score", "/health", "/model", "/openapi.json", "/docs", "/why",
    }  # fmt: skip
    assert refs(document) == set(document["components"]["schemas"]) - {"Link"}
    for path, methods in document["paths"].items():
        if "get" in methods:
            assert ask("GET", path).status == 200
    answers = document["paths"]["/score"]["post"]["responses"]
    assert {"200", "400", "401", "404", "413", "422", "429", "503"} <= set(answers)


def test_examples_of_the_document_are_answered_as_it_says(ask: WebClient) -> None:
    document = ask("GET", "/openapi.json").json
    schemas = document["components"]["schemas"]
    body = document["paths"]["/score"]["post"]["requestBody"]["content"]["application/json"]
    answer, names = schemas["Answer"], ask("GET", "/model").json["names"]
    for example in body["examples"].values():
        reply = ask("POST", "/score", example["value"])
        assert reply.status == 200, reply.body
        assert set(reply.json) == set(schemas["Answers"]["required"])
        for vertex in reply.json["vertices"]:
            assert list(vertex) == list(answer["properties"])
            assert vertex["predicted"] in names
            assert list(vertex["probabilities"]) == names
    assert set(ask("POST", "/score", {}).json) == set(schemas["Error"]["required"])


def test_model_says_what_must_be_sent(ask: WebClient) -> None:
    model = ask("GET", "/model").json
    assert model["task"] == "classification"
    assert model["names"] == ["coffee", "tea"]
    columns = {column["name"]: column["kind"] for column in model["features"]["columns"]}
    assert columns == {"age": "number", "size": "number", "colour": "category"}
    assert model["limits"]["vertices"] == 20
    assert model["graph"]["vertices"] == 60


def test_page_loads_nothing_and_escapes_what_it_shows(ask: WebClient) -> None:
    reply = ask("GET", "/docs")
    page = reply.body.decode()
    assert reply.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in reply.headers["content-security-policy"]
    assert not re.search(r"<script|src=|@import|url\(|https?://(?!127\.0\.0\.1)", page)
    # 60 rows of a column called id; a new one has what is usual in its columns.
    said = re.sub(r"\s+", " ", re.sub("<[^>]*>", "", page))
    assert "It knows 60 rows and " in said
    assert " between them, and says whether each is coffee or tea." in said
    assert "vertices per request" not in said
    for word in ("/score", "colour", "green", "coffee", "429", "curl"):
        assert word in page
    graph = gf.data.make_csbm(n_vertices=30, n_features=2, frequency=0.3)
    labels = [f"<b>{label}" for label in graph.labels.tolist()]  # pyright: ignore
    graph = graph.replace(labels=labels, feature_names=["<i>x", "y"])
    clf = gf.SGFClassifier(n_layers=2, max_epochs=2, random_state=0).fit(graph=graph)
    scorer = Scorer(clf, RunDescription(), None, graph)
    page = render_docs(scorer, Limits(), "http://127.0.0.1:1", token=True)
    assert "<b>" not in page
    assert "<i>" not in page
    assert "$TOKEN" in page
    page = render_why(scorer.book, scorer.noun, "0") + render_why(scorer.book, scorer.noun, "")
    assert "<b>" not in page
    assert "<i>" not in page


def test_page_says_why_with_a_picture_that_leads_on(ask: WebClient) -> None:
    assert ask("GET", "/").body == ask("GET", "/docs").body
    listed = ask("GET", "/why").body.decode()
    first = re.findall(r'<a href="/why\?id=(.*?)">(.*?)</a>', listed)
    assert first
    assert all(link == name for link, name in first)
    why = ask("GET", f"/why?id={first[0][0]}")
    assert why.headers["content-type"].startswith("text/html")
    page = why.body.decode()
    assert not re.search(r"<script|src=|https?://", page)
    known = {row["id"] for row in ask("POST", "/score", {"ids": [first[0][0]]}).json["vertices"]}
    around = set(re.findall(r'<a href="/why\?id=(.*?)"><circle', page))
    assert known < around
    assert "an average row with as many neighbours" in page
    assert ask("GET", "/why?id=nobody").status == 404


def test_categories_of_many_values_are_words() -> None:
    names = [f"Ann {i % 200:03d}" for i in range(400)]
    frame = pd.DataFrame({"id": range(400), "name": names, "y": list("ab") * 200})
    graph, encoder = gf.read_tables(None, frame, label="y", link=["name"])
    clf = gf.SGFClassifier(n_layers=2, max_epochs=2, random_state=0).fit(graph=graph)
    scorer = Scorer(clf, RunDescription(), encoder, graph)
    assert example_new(scorer)["vertices"][0]["features"] == {"name": names[0]}
    page = render_docs(scorer, Limits(), "http://127.0.0.1:1", token=False)
    assert f"{names[0]}, {names[1]}, " in page


def test_features_without_names_are_described_as_a_list() -> None:
    graph = gf.data.make_csbm(n_vertices=30, n_features=2, frequency=0.3)
    clf = gf.SGFClassifier(n_layers=2, max_epochs=2, random_state=0)
    clf.fit(graph=graph.replace(feature_names=None))
    scorer = Scorer(clf, RunDescription(), None, graph.replace(feature_names=None))
    assert describe_model(scorer, Limits())["features"]["count"] == 2
    assert example_new(scorer)["vertices"][0]["features"] == [0.0, 0.0]


def test_example_of_a_new_vertex_has_every_column() -> None:
    graph = gf.data.make_csbm(n_vertices=30, n_features=12, frequency=0.3)
    graph = graph.replace(feature_names=[f"x{i}" for i in range(12)])
    clf = gf.SGFClassifier(n_layers=2, max_epochs=2, random_state=0).fit(graph=graph)
    scorer = Scorer(clf, RunDescription(), None, graph)
    ids, vertices = read_score_request(json.dumps(example_new(scorer)).encode(), Limits())
    assert not ids
    assert len(scorer.score_new(vertices).vertices) == 1


def test_example_is_written_as_the_columns_of_the_fit_were() -> None:
    frame = pd.DataFrame({"share": ["12,5 %", "50 %"] * 15, "hour": ["12:15", "8:30"] * 15})
    frame["price"], frame["label"] = ["3 €", "5 €"] * 15, ["a", "b"] * 15
    graph, encoder = gf.read_tables(None, frame.reset_index(names="id"), label="label")
    clf = gf.SGFClassifier(n_layers=2, max_epochs=2, random_state=0).fit(graph=graph)
    scorer = Scorer(clf, RunDescription(), encoder, graph)
    example = example_new(scorer)
    features = {"share": "31,25 %", "hour": "12:30", "price": 4.0}
    assert example["vertices"][0]["features"] == features
    _, vertices = read_score_request(json.dumps(example).encode(), Limits())
    assert scorer.score_new(vertices).notes == ()
