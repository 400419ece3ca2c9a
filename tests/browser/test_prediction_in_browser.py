"""The page of a prediction in a real browser."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graphfilter import SGFClassifier
from graphfilter.data import make_csbm
from graphfilter.report.page import write_prediction_report
from graphfilter.runs.folder import fit_folder
from graphfilter.runs.loading import load_run, read_reference
from graphfilter.runs.plan import Source, plan_fit
from graphfilter.runs.predict import predict_run

HOSTILE = '</script><script>hacked=1</script><img src=x onerror="hacked=1"><b>'


def test_page_of_a_prediction_opens_on_any_screen(visit, tmp_path: Path) -> None:
    graph = make_csbm(n_vertices=150, n_features=4, seed=0)
    graph = graph.replace(feature_names=[HOSTILE, "income", "a long name " * 8, "d"])
    estimator = SGFClassifier(max_epochs=20, n_layers=2, random_state=0)
    fit_folder(plan_fit(Source(graph), 0), estimator, tmp_path / "run", baselines=False)
    loaded, about, _ = load_run(tmp_path / "run")
    moved = graph.replace(features=np.asarray(graph.features) + np.array([3, 0, 2, 0]))
    prediction = predict_run(tmp_path / "run", loaded, about, moved, 0.9)
    reference = read_reference(tmp_path / "run", about)
    assert reference is not None
    path = tmp_path / "page.html"
    write_prediction_report(
        path, prediction, prediction.drift(reference), folder="run", out="p.csv", used=HOSTILE,
        known=["Accuracy on the 30 labelled vertices not trained on: 80.0%."],
    )  # fmt: skip
    page = visit(path.as_uri())
    page.check_no_sideways_scroll()
    page.check()
    page.check_contrast()
    page.check_structure()
    assert page.page.evaluate("typeof hacked") == "undefined"
    assert "Beyond chance" in page.tree
    phone = visit(path.as_uri(), width=390, dark=True)
    phone.check_no_sideways_scroll()
    phone.check_contrast()
