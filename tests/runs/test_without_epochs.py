"""A run whose only weighty member was fitted at once: there is no learning to show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphfilter import GraphClassifier
from graphfilter.data.graph import Graph
from graphfilter.report.page import draw_run
from graphfilter.runs.folder import fit_folder
from graphfilter.runs.loading import load_run
from graphfilter.runs.plan import Source, plan_fit
from graphfilter.runs.predict import predict_graph
from graphfilter.systems import committee


def test_committee_of_trees_alone_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committee, "MOST_REPEATS", 1)
    rng = np.random.default_rng(0)
    features = rng.integers(6, size=(300, 1)).astype(np.float32)
    labels = (features[:, 0] % 2).astype(int)  # which no network learns in one epoch
    graph = Graph.from_edges([], 300, features=features, labels=labels)
    plan = plan_fit(Source(graph), seed=0)
    classifier = GraphClassifier(max_epochs=1, random_state=0)
    summary = fit_folder(plan, classifier, tmp_path / "run", baselines=False, draw=draw_run)
    assert isinstance(summary.fit.estimator, GraphClassifier)
    weights = summary.fit.estimator.weights_
    assert max(weights, key=weights.__getitem__) in ("trees", "told-trees")
    assert summary.metrics["scores"]["test"]["accuracy"] == 1
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "The models that answer together" in page
    again, about, _ = load_run(tmp_path / "run")
    assert (predict_graph(again, about, graph).argmax(axis=1) == labels).all()
