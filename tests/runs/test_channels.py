"""Fits of graphs whose edges have directions or kinds: used where they help, and said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphfilter.data.graph import Graph
from graphfilter.estimators.graph import SGFClassifier
from graphfilter.report.page import draw_run
from graphfilter.runs.folder import FitSummary, fit_folder
from graphfilter.runs.loading import load_run
from graphfilter.runs.plan import Source, plan_fit
from graphfilter.splits import Split
from graphfilter.training import Callback


def make_graph(form: str, n: int = 150) -> Graph:
    """Friends of one's own class and rivals of others; arcs from a class to the next; neither."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 3, n)
    features = rng.normal(size=(n, 6))
    features[:, :3] += 0.7 * np.eye(3)[labels]
    edges, kinds = [], []
    while len(edges) < 8 * n:
        u, v = rng.integers(0, n, 2)
        same = labels[u] == labels[v]
        fits = (labels[u] + 1) % 3 == labels[v] if form == "directed" else form == "typed"
        if form == "unrelated" or fits:
            edges.append((u, v))
            kinds.append("friend" if same else "rival")
    extra: dict[str, Any] = {"typed": {"kinds": kinds}, "directed": {"directed": True}}.get(
        form, {"kinds": rng.choice(["x", "y"], len(edges)), "directed": True}
    )
    return Graph.from_edges(edges, n, features=features, labels=labels, **extra)


def fit(graph: Graph, folder: Path, split: Split | None = None, **options: Any) -> FitSummary:
    if split is not None:
        graph = graph.replace(splits=[split])
    classifier = SGFClassifier(
        max_epochs=options.pop("max_epochs", 60), random_state=0, device="cpu",
        operator=options.pop("operator", "auto"), n_layers=4,
    )  # fmt: skip
    return fit_folder(
        plan_fit(Source(graph), 0), classifier, folder, baselines=False, draw=draw_run, **options
    )


def notes_of(summary: FitSummary) -> tuple[str, ...]:
    return summary.fit.estimator.notes_


@pytest.mark.parametrize("form", ["typed", "directed"])
def test_channels_are_used_where_they_help(tmp_path, form):
    graph = make_graph(form)
    summary = fit(graph, tmp_path / "run")
    [note] = notes_of(summary)
    what = {"typed": "2 edge types used", "directed": "directions used"}[form]
    assert note.startswith(f"{what}: accuracy on 31 validation vertices is ")
    assert note in (tmp_path / "run" / "report.html").read_text()
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert sum(channel["share"] for channel in metrics["channels"]) == pytest.approx(1)
    assert (tmp_path / "run" / "channels.png").exists()
    assert not list((tmp_path / "run").glob("checkpoint*"))
    loaded = load_run(tmp_path / "run")[0]
    expected = summary.fit.estimator.outputs_
    np.testing.assert_array_equal(loaded.predict_proba(graph=graph), expected)


def test_channels_are_left_out_where_they_do_not_help_and_that_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("graphfilter.estimators.graph._score", lambda outcomes, monitor: 0.5)
    graph = make_graph("typed")
    summary = fit(graph, tmp_path / "run", max_epochs=3)
    expected = "2 edge types not used: accuracy on 31 validation vertices is 50.0% with and "
    assert notes_of(summary) == (f"{expected}50.0% without.",)
    plain = fit(Graph.from_edges(graph.edges, features=graph.features, labels=graph.labels),
                tmp_path / "plain", max_epochs=3)  # fmt: skip
    assert notes_of(plain) == ()
    assert "channels" not in summary.metrics
    np.testing.assert_array_equal(summary.fit.estimator.outputs_, plain.fit.estimator.outputs_)


def test_operator_that_was_asked_for_is_used(tmp_path):
    graph = make_graph("directed")
    asked = fit(graph, tmp_path / "all", operator="channels", max_epochs=3)
    assert notes_of(asked) == ()
    assert "channels" in asked.metrics
    other = fit(graph, tmp_path / "one", operator="laplacian", max_epochs=3)
    assert notes_of(other) == ("directions not used; operator='channels' uses them.",)


@pytest.mark.parametrize("stop_at", [20, 60 + 20], ids=["first", "second"])
def test_stopped_fit_of_channels_resumes_to_the_same_bits(tmp_path, stop_at):
    graph = make_graph("typed")
    whole = fit(graph, tmp_path / "whole")
    told = 0

    def stop(progress: object) -> None:
        nonlocal told
        told += 1
        if told == stop_at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(graph, tmp_path / "run", callback=Callback(stop))
    resumed = fit(graph, tmp_path / "run", callback=Callback(resume=True))
    assert notes_of(resumed) == notes_of(whole)
    for name in ("model.safetensors", "predictions.csv"):
        contents = [(tmp_path / run / name).read_bytes() for run in ("whole", "run")]
        assert contents[0] == contents[1], name
