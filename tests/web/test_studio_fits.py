"""Runs in the studio: watched while they train, queued, paused and stopped."""

from __future__ import annotations

import csv
import gc
import io
import json
import re
import weakref
import zipfile
from pathlib import Path

import numpy as np

from graphfilter import SGFClassifier
from graphfilter.data import make_bipartite, make_karate
from graphfilter.runs.plan import Source
from graphfilter.splits import stratified
from graphfilter.training import Progress
from graphfilter.web.studio import Setting, StudioFit


def epoch(run) -> int:
    return run["progress"].get("epoch", 0)


EDGES = "source,target\n" + "".join(f"v{i},v{(i + 1) % 60}\n" for i in range(60))
VERTICES = "id,x,label\n" + "".join(f"v{i},{i % 7},{'ab'[i % 2]}\n" for i in range(60))
# On the bipartite graph: slow enough to be met while it trains.
LONG = {"max_epochs": 9999, "baselines": False}


def test_runs_queue_pause_go_on_and_stop(client) -> None:
    graph = client.dataset("bipartite")
    first, second = client.train(graph, **LONG), client.train(graph, **LONG)
    client.wait_for(first, lambda run: epoch(run) > 3)
    assert client.wait_for(second, lambda run: True)["state"] == "waiting"
    client("POST", f"api/runs/{first}", {"wish": "pause"})
    paused = client.wait_for(first, lambda run: run["state"] == "paused")
    assert client.wait_for(first, lambda run: True)["progress"] == paused["progress"]
    client("POST", f"api/runs/{first}", {"wish": "resume"})
    client.wait_for(first, lambda run: epoch(run) > epoch(paused))
    client("POST", f"api/runs/{first}", {"wish": "stop"})
    stopped = client.wait_for(first, lambda run: run["state"] == "stopped")
    assert stopped["kept"]
    client.wait_for(second, lambda run: epoch(run) > 0)
    assert client("POST", f"api/runs/{second}", {"wish": "fly"}).status == 422
    assert client("GET", f"runs/{second}/download").status == 422


def test_stopped_run_is_kept_as_fit_would_leave_it_after_so_many_epochs(client) -> None:
    key = client.train(client.dataset("bipartite"), **LONG | {"baselines": True})
    client.wait_for(key, lambda run: epoch(run) > 3)
    client("POST", f"api/runs/{key}", {"wish": "stop"})
    # A second stop ends the comparison, which the first one leaves alone.
    client.wait_for(key, lambda run: run["state"] == "comparing")
    client("POST", f"api/runs/{key}", {"wish": "stop"})
    n_epochs = epoch(client.wait_for(key, lambda run: run["state"] == "stopped"))
    packed = zipfile.ZipFile(io.BytesIO(client("GET", f"runs/{key}/download").body))
    metrics, config = (json.loads(packed.read(f"run-{key}/{name}.json"))
                       for name in ("metrics", "config"))  # fmt: skip
    assert metrics["epochs"] == [n_epochs]
    assert metrics["stopped"] == config["run"]["stopped"] == ["asked"]
    graph = make_bipartite()
    clf = SGFClassifier(max_epochs=n_epochs, random_state=0)
    clf.fit(graph=graph, split=stratified(graph.labels, 0))
    assert metrics["best_epoch"] == [clf.results_[0].best_epoch]
    rows = csv.DictReader(io.StringIO(packed.read(f"run-{key}/predictions.csv").decode()))
    written = {int(row["id"]): float(row[f"p_{clf.classes_[1]}"]) for row in rows}
    ordered = [written[vertex] for vertex in range(graph.n_vertices)]
    np.testing.assert_allclose(ordered, clf.predict_proba()[:, 1], atol=2e-6)
    report = packed.read(f"run-{key}/report.html").decode()
    assert f"--epochs {n_epochs}</code> at the end" in report


def test_run_that_waits_can_be_stopped(client) -> None:
    graph = client.dataset("bipartite")
    first, second = client.train(graph, **LONG), client.train(graph, **LONG)
    client("POST", f"api/runs/{second}", {"wish": "stop"})
    client("POST", f"api/runs/{first}", {"wish": "stop"})
    for key in (first, second):
        client.wait_for(key, lambda run: run["state"] == "stopped")
    assert not client.wait_for(second, lambda run: True)["kept"]
    assert client("GET", f"runs/{second}/report").status == 422


def test_fits_that_have_ended_keep_no_graph_and_no_networks(tmp_path: Path) -> None:
    """A studio may be left open for days."""
    graph, networks = make_karate(), []
    graphs = weakref.ref(graph)
    setting = Setting(model="filter", max_epochs=2, baselines=False)
    fit = StudioFit("1", graph.name, Source(graph), setting, tmp_path / "run")
    before = fit._watch

    def watch(progress: Progress) -> bool:
        networks.extend(weakref.ref(run.model) for run in progress.runs)
        return before(progress)

    fit._watch = watch
    fit.train()
    assert fit.to_dict()["state"] == "done"
    assert networks
    del graph
    gc.collect()
    assert not any(one() for one in (graphs, *networks))


def test_fit_that_fails_says_why(client, monkeypatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("graphfilter.web.studio.fit_folder", fail)
    key = client.train(client.dataset(), max_epochs=1)
    run = client.wait_for(key, lambda run: run["state"] == "failed")
    assert "not enough memory" in run["problem"]


def test_committee_is_fitted_and_says_which_member_learns(client) -> None:
    graph = client.read(VERTICES, EDGES).json["key"]
    key = client.train(graph, model="committee", effort="low", baselines=False)
    stages = set()

    def ended(run) -> bool:
        stages.add(run["progress"].get("stage", ""))
        return run["state"] in ("done", "failed")

    run = client.wait_for(key, ended)
    assert run["state"] == "done", run["problem"]
    assert any(re.search(r"\(\d+ of \d+\)$", stage) for stage in stages)
    assert re.match(r"Accuracy \S+\s%: .* The model is right for", run["headline"])
    report = client("GET", f"runs/{key}/report").body.decode()
    assert "graphfilter fit --vertices v.csv --edges e.csv --model committee-low" in report
