"""The benchmark of the endpoint: every request is answered, and the record is shown."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

pytest.importorskip("starlette", reason="the packages of the endpoint are not installed")
pytest.importorskip("uvicorn", reason="the packages of the endpoint are not installed")

import serving
import write_docs
from graphfilter import SGFClassifier
from graphfilter.util.records import read_json


@contextmanager
def served_here(dataset: str, model: str) -> Iterator[serving.Urls]:
    graph = serving.read_graph(dataset)
    clf = SGFClassifier(n_layers=2, max_epochs=2, random_state=0).fit(graph=graph)
    with serving.endpoints(clf, graph) as urls:
        yield urls


def test_benchmark_measures_known_and_new_vertices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "served", served_here)
    monkeypatch.setattr(serving, "N_CLIENTS", 3)
    monkeypatch.setattr(serving, "N_KNOWN", 50)
    record = serving.run(argparse.Namespace(small=True), torch.device("cpu"))
    found = [(row["asked"], row["clients"], row["requests"]) for row in record["rows"]]
    asked = ("known", "new", "near")
    assert found == [(one, n, 10 * n) for one in asked for n in (1, 3)]
    for row in record["rows"]:
        assert 0 < row["p50"] <= row["p99"]
    shown = serving.table(record)
    assert "SGF, one new vertex | 3 | 30 |" in shown
    assert "SGF, one new vertex, --within 4 | 3 | 30 |" in shown
    assert "changes the probabilities of a new vertex by" in shown


def test_page_holds_what_was_measured_of_vertices_nearby() -> None:
    rows = read_json(write_docs.RESULTS / "serve" / "within-cpu.json")["rows"]
    page = " ".join((write_docs.HERE.parent / "docs/howto/serve.md").read_text("utf-8").split())
    for model, words in (
        ("committee", "by {:.4f} on average and {:.4f} at most for the committee"),
        ("SGF", "by {:.4f} and {:.4f} for SGF"),
    ):
        by = {(row["asked"], row["clients"]): row for row in rows if row["model"] == model}
        near = by["near", 50]
        assert words.format(near["difference"], near["most"]) in page
        assert f"{near['per_second'] / by['new', 50]['per_second']:.1f} times as many" in page
