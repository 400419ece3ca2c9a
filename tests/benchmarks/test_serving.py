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
from graphfilter import SGFClassifier
from graphfilter.run_folder import RunDescription
from graphfilter.serving import Endpoint, Scorer


@contextmanager
def served_here(dataset: str, model: str) -> Iterator[str]:
    graph = serving.read_graph(dataset)
    clf = SGFClassifier(n_layers=2, max_epochs=2, random_state=0).fit(graph=graph)
    with Endpoint(Scorer(clf, RunDescription(), None, graph)) as endpoint:
        yield endpoint.url


def test_benchmark_measures_known_and_new_vertices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "served", served_here)
    monkeypatch.setattr(serving, "N_CLIENTS", 3)
    monkeypatch.setattr(serving, "N_KNOWN", 50)
    record = serving.run(argparse.Namespace(small=True), torch.device("cpu"))
    found = [(row["asked"], row["clients"], row["requests"]) for row in record["rows"]]
    assert found == [("known", 1, 10), ("known", 3, 30), ("new", 1, 10), ("new", 3, 30)]
    for row in record["rows"]:
        assert 0 < row["p50"] <= row["p99"]
    shown = serving.table(record)
    assert "SGF, one new vertex | 3 | 30 |" in shown
