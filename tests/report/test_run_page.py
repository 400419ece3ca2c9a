"""The page of a run: whole, self-contained, and deaf to HTML in what users name."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from graphfilter import SGFClassifier
from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.report.page import draw_run
from graphfilter.runs.fit import train_baselines, train_fit
from graphfilter.runs.folder import fit_folder
from graphfilter.runs.loading import REPORT_FILE
from graphfilter.runs.plan import BASELINES, FitRequest, Source, plan_fit
from graphfilter.splits import Split
from graphfilter.training import Callback, Progress

HOSTILE = '</script><script>hacked=1</script><img src=x onerror="hacked=1">'


class Reader(HTMLParser):
    """Gathers what a browser would see: tags, addresses, handlers, visible text, the data."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.handlers: list[str] = []
        self.text: list[str] = []
        self.data = ""
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        self.addresses += [v or "" for k, v in attrs if k in ("src", "href", "action")]
        self.handlers += [k for k, _ in attrs if k.startswith("on")]
        self._inside = "data" if found.get("id") == "data" else tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "data":
            self.data += data
        elif self._inside not in ("script", "style"):
            self.text.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    return reader


def fit(graph: Graph, folder: Path, *, baselines: bool = False, **parameters) -> Reader:
    parameters = {"max_epochs": 15, "n_layers": 4, "random_state": 0, **parameters}
    plan = plan_fit(Source(graph, origin={"dataset": "x"}, words=("--dataset", "x")), 0)
    request = FitRequest(title=parameters.pop("title", ""))
    fit_folder(
        plan, SGFClassifier(**parameters), folder, baselines=baselines,
        command_out="run", request=request, draw=draw_run,
    )  # fmt: skip
    path = folder / REPORT_FILE
    assert path.stat().st_size < 6_000_000
    return read(path.read_text("utf-8"))


@pytest.fixture(scope="module")
def graph() -> Graph:
    return make_csbm(n_vertices=80, frequency=0.3, mean_degree=6, n_features=4)


def test_report_is_self_contained_and_has_its_sections(graph: Graph, tmp_path: Path) -> None:
    page = fit(graph, tmp_path, baselines=True)
    assert all(a.startswith("#") for a in page.addresses)
    assert page.tags.count("h1") == 1
    text = " ".join(page.text)
    for words in (
        "The filter", "The connections", "The classes", "Vertices to look at", "How it was made",
        "For researchers", "MLP",
        "APPNP", "SGC", "95 % interval", "graphfilter fit --dataset x",
    ):  # fmt: skip
        assert words in text, words
    data = json.loads(page.data)
    assert data["frequency"]["names"] == ["0", "1"]
    assert len(data["filter"]["frames"]) == len(data["filter"]["epochs"])


def test_report_shows_html_in_names_as_text(graph: Graph, tmp_path: Path) -> None:
    names = [f"{HOSTILE}{v}" for v in range(graph.n_vertices)]
    labels = np.array([HOSTILE, "b"], dtype=object)[graph.labels]
    hostile = graph.replace(
        vertex_names=names, labels=labels, name=HOSTILE, notes=(f"column {HOSTILE} dropped.",)
    )
    clean = fit(graph, tmp_path / "clean")
    page = fit(hostile, tmp_path / "hostile")
    assert page.tags.count("script") == clean.tags.count("script")
    assert "img" not in page.tags
    assert page.handlers == []
    assert json.loads(page.data)["frequency"]["names"][0] == HOSTILE
    assert f"column {HOSTILE} dropped." in page.text


def test_report_of_partly_labelled_graph_without_test_part(graph: Graph, tmp_path: Path) -> None:
    labels = np.array(graph.labels)
    labels[1::2] = -1
    given = Split(np.arange(0, 80, 4), np.arange(2, 80, 4), [], rule="given")
    page = fit(graph.replace(labels=labels, splits=[given]), tmp_path)
    text = " ".join(page.text)
    assert "validation vertices" in text
    assert "without a label" in text
    assert "without baselines" in text


def test_report_of_a_graph_without_edges_or_features(tmp_path: Path) -> None:
    edgeless = Graph.from_edges(np.empty((0, 2), int), 30, labels=["a", "b"] * 15)
    page = fit(edgeless, tmp_path, baselines=True)
    text = " ".join(page.text)
    # Nothing is said of a graph that is not there, nor are networks trained to average over it.
    assert not [word for word in ("The connections", "The filter", "APPNP") if word in text]
    assert json.loads(page.data)["degrees"] is None


def test_report_of_an_ensemble_shows_its_members(graph: Graph, tmp_path: Path) -> None:
    page = fit(graph, tmp_path, n_members=3, operator="laplacian")
    assert len(json.loads(page.data)["filter"]["members"]) == 3


def test_baselines_train_under_the_limits_of_the_classifier(graph: Graph) -> None:
    epochs: list[int] = []
    fit = train_fit(plan_fit(Source(graph), 0), SGFClassifier(max_epochs=7), baselines=False)
    made = train_baselines(fit, callback=Callback(lambda p: epochs.append(p.max_epochs)))
    assert [b.name for b in made] == list(BASELINES)
    assert set(epochs) == {7}
    assert all(b.outputs.shape == fit.outputs.shape for b in made)


def test_baselines_that_are_done_stay_where_others_are_stopped(graph: Graph) -> None:
    told: list[int] = []

    def stop_the_second(progress: Progress) -> bool:
        told.append(progress.epoch)
        return told.count(1) == 2

    fit = train_fit(plan_fit(Source(graph), 0), SGFClassifier(max_epochs=3), baselines=False)
    made = train_baselines(fit, callback=Callback(stop_the_second))
    assert [baseline.name for baseline in made] == ["mlp"]
    assert told == [1, 2, 3, 1]


def test_baselines_are_trained_like_the_classifier(graph: Graph) -> None:
    """Same class weights, number of networks, limits and score that chooses the best epoch."""
    classifier = SGFClassifier(
        max_epochs=3, patience=2, monitor="loss", n_members=2, class_weight="balanced"
    )
    labels = np.array(graph.labels)
    labels[np.flatnonzero(labels == 1)[10:]] = -1
    fit = train_fit(plan_fit(Source(graph.replace(labels=labels)), 0), classifier)
    assert len(fit.baselines) == len(BASELINES)
    for other in (one.estimator for one in fit.baselines):
        config = other.system_.config
        assert (config.max_epochs, config.patience, config.monitor) == (3, 2, "loss")
        assert len(other.results_) == 2
        assert other.prepared_ is fit.estimator.prepared_
        np.testing.assert_array_equal(other.class_weights_, fit.estimator.class_weights_)
        assert other.class_weights_ is not None
        assert other.class_weights_[1] > other.class_weights_[0]


def test_title_is_the_users_and_escaped(graph: Graph, tmp_path: Path) -> None:
    page = fit(graph, tmp_path, title=f"Churn {HOSTILE}")
    assert "script" not in page.tags[: page.tags.index("main")]
    assert page.text.count(f"Churn {HOSTILE}") == 2
