"""No sentence of a report contradicts the numbers beside it, whatever the graph."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tests.runs.made import made_fit, one_hot

from graphfilter import SGFClassifier
from graphfilter.data.graph import Graph
from graphfilter.filters import StackedFilter
from graphfilter.metrics import SIGNIFICANCE
from graphfilter.report.filter import FREQUENCIES, describe_shape, mean_response
from graphfilter.report.page import draw_run
from graphfilter.runs.findings import Conclusion, conclude
from graphfilter.runs.folder import fit_folder
from graphfilter.runs.loading import REPORT_FILE
from graphfilter.runs.plan import BASELINES, Source, plan_fit
from graphfilter.spectral import Density, Diagnosis, diagnose

NOTHING = re.compile(r"\bnan\b|\bNone\b|\binf\b", re.IGNORECASE)
CENTRES = np.linspace(0.025, 1.975, 40)
EVEN = Density(CENTRES, np.full(40, 0.5), exact=True)


@st.composite
def conclusions(draw: st.DrawFn) -> tuple[Conclusion, bool]:
    """Draw models that are right on random shares of few or many vertices of a few classes."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n = draw(st.sampled_from([1, 3, 12, 40, 400, 12_000]))
    n_classes = draw(st.integers(2, 8))
    truth = rng.integers(0, n_classes, n)

    def answer() -> np.ndarray:
        share = draw(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.52, 0.7, 0.9, 1.0]))
        wrong = (truth + 1) % n_classes
        return np.where(rng.random(n) < share, truth, wrong)

    def sure() -> np.ndarray:
        return one_hot(answer(), n_classes)

    has_edges = draw(st.booleans())
    training = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, 20)])
    edges = [(0, 1)] if has_edges else []
    fit = made_fit(training, truth, sure(), {name: sure() for name in BASELINES}, edges=edges)
    return conclude(fit), has_edges


@settings(max_examples=300, deadline=None)
@given(conclusions())
def test_conclusion_says_what_its_scores_say(drawn: tuple[Conclusion, bool]) -> None:
    conclusion, has_edges = drawn
    found = conclusion.comparison
    ours, alone, fixed, _, guess = found.scores
    said = f"{conclusion.headline} {conclusion.reason}".replace("\xa0", " ")
    assert not NOTHING.search(said)
    for score in found.scores[1:]:
        assert score.lead is not None
        assert score.p_value is not None
        clear = score.p_value <= SIGNIFICANCE
        assert (score.verdict == "tie") == (not clear)
        assert (score.verdict == "better") == (clear and ours.value > score.value)
    if not has_edges:
        assert "no connections" in said
        assert "connections help" not in said
        assert "connections mean" not in said
        return
    low_pass = f"always averaging over neighbours ({fixed.shown})".replace("\xa0", " ")
    claims = {
        "the connections help": alone.verdict == "better",
        "the connections mislead": alone.verdict == "worse",
        "no clear difference": alone.verdict == "tie",
        f"{low_pass} does worse": fixed.verdict == "better",
        f"{low_pass} does better": fixed.verdict == "worse",
        f"{low_pass} does as well": fixed.verdict == "tie",
    }
    for words, holds in claims.items():
        assert (words in said) == holds, words
    for words in ("no clear difference", "columns alone do about"):
        if words in said:
            assert alone.verdict == "tie"
    if "columns and connections both" in said.lower() or "comes from the conn" in said:
        assert alone.verdict == "better"
    if "does worse than always" in said:
        assert ours.value < guess.value
    if "are needed" in said:
        assert not any(s.verdict == "worse" for s in found.scores[1:])
    if "columns alone do better" in said:
        assert alone.verdict == "worse"
    if "train longer" in said:
        assert any(s.verdict == "worse" for s in found.scores[2:4])
    if found.n_vertices < 20:
        assert f"right for {round(ours.value * found.n_vertices)} of {found.n_vertices}" in said


@settings(max_examples=100, deadline=None)
@given(conclusions())
def test_clear_difference_shows_in_the_digits(drawn: tuple[Conclusion, bool]) -> None:
    found = drawn[0].comparison
    shown = [found.yardstick.write(score.value) for score in found.scores]
    for score, value in zip(found.scores[1:], shown[1:], strict=True):
        if score.verdict != "tie":
            assert value != shown[0]


def random_graph(seed: int, n: int, n_classes: int, within: float, known: float = 1.0) -> Graph:
    """Return a graph with this share of its edges within a class and this share of labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n)
    labels[:n_classes] = np.arange(n_classes)
    members = [np.flatnonzero(labels == c) for c in range(n_classes)]
    edges = []
    for start in rng.integers(0, n, 4 * n):
        c = labels[start]
        if rng.random() >= within:
            c = (c + rng.integers(1, n_classes)) % n_classes
        edges.append((start, rng.choice(members[c])))
    shown = np.where(rng.random(n) < known, labels, -1)
    shown[: 2 * n_classes] = labels[: 2 * n_classes]
    features = rng.normal(size=(n, 3)).astype(np.float32)
    return Graph.from_edges(edges, n, labels=shown, features=features)


GRAPHS = {
    "no edges": Graph.from_edges(
        np.empty((0, 2), int), 30, labels=["a", "b"] * 15, features=np.eye(30, 3)
    ),
    "no edges, partly labelled": Graph.from_edges(
        np.empty((0, 2), int), 30, labels=["a", "b", None] * 10, features=np.eye(30, 3)
    ),
    "three labels": Graph.from_edges(
        [[i, i + 1] for i in range(29)],
        30,
        labels=["a", "b", "a"] + [None] * 27,
        features=np.eye(30, 3),
    ),
    "labels far apart": Graph.from_edges(
        [[i, i + 1] for i in range(29)],
        30,
        labels=["a"] + [None] * 9 + ["b"] + [None] * 9 + ["a"] + [None] * 8 + ["b"],
        features=np.eye(30, 3),
    ),
    "38 % within, eight classes": random_graph(0, 400, 8, 0.38),
    "0 % within, two classes": random_graph(1, 200, 2, 0.0),
    "90 % within, few known": random_graph(2, 300, 3, 0.9, known=0.1),
    "one class rules": Graph.from_edges(
        [[i, (i + 1) % 200] for i in range(200)],
        labels=["b" if i % 20 == 0 else "a" for i in range(200)],
        features=np.eye(200, 3),
    ),
}


def check_diagnosis(graph: Graph, found: Diagnosis) -> None:
    """Hold every sentence of a diagnosis to its numbers."""
    said = f"{found.kind} {found.advice}"
    assert not NOTHING.search(said), said
    frequency = found.label_frequency
    for values in (frequency.value, frequency.low, frequency.high, [frequency.mean]):
        known = np.asarray(values)[np.isfinite(values)]
        assert ((known >= 0) & (known <= 2)).all()
    if not graph.n_edges:
        assert "without edges" in found.kind
        assert "Neighbours" not in said
        assert found.range == "unknown"
        return
    if "more often than by chance" in said:
        assert found.adjusted_homophily > 0
    if "less often than by chance" in said:
        assert found.adjusted_homophily <= 0
    if found.confidence == "unsure":
        assert "-frequency graph" not in found.kind


@pytest.mark.parametrize("name", GRAPHS)
def test_diagnosis_says_what_its_numbers_say(name: str) -> None:
    check_diagnosis(GRAPHS[name], diagnose(GRAPHS[name]))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([12, 40, 150]),
    st.integers(2, 6),
    st.floats(0.0, 1.0),
    st.sampled_from([0.05, 0.4, 1.0]),
)
def test_diagnosis_of_any_graph_says_what_its_numbers_say(seed, n, n_classes, within, known):
    graph = random_graph(seed, n, n_classes, within, known)
    check_diagnosis(graph, diagnose(graph))


def test_thirty_eight_percent_within_eight_classes_is_more_than_chance() -> None:
    found = diagnose(GRAPHS["38 % within, eight classes"])
    assert found.edge_homophily == pytest.approx(0.38, abs=0.03)
    assert "more often than by chance" in found.kind
    assert "mostly share" not in found.advice


@pytest.mark.parametrize("name", GRAPHS)
def test_report_of_any_graph_shows_no_number_that_is_none(name: str, tmp_path: Path) -> None:
    graph = GRAPHS[name]
    classifier = SGFClassifier(max_epochs=5, n_layers=3, random_state=0, n_members=2)
    plan = plan_fit(Source(graph), 0)
    done = fit_folder(plan, classifier, tmp_path, baselines=True, draw=draw_run)
    page = (tmp_path / REPORT_FILE).read_text("utf-8")
    text = re.sub(r"<(script|style).*?</\1>", " ", page, flags=re.DOTALL)
    text = re.sub(r"<details>.*?</details>", " ", text, flags=re.DOTALL)
    text = re.sub(r"<[^>]*>", " ", text)
    assert not re.search(r"\bnan\b", text, re.IGNORECASE)
    assert not re.search(r"\bNone\b(?!\.)", text)
    shown = [v for v in done.metrics["label_frequency"].values() if v is not None]
    assert all(0 <= v <= 2 for v in shown)
    data = re.search(r'<script id="data"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert data is not None
    values = json.loads(data[1])["frequency"]["value"]
    assert all(v is None or 0 <= v <= 2 for v in values)


def test_members_of_opposite_sign_do_not_cancel() -> None:
    import torch

    low = StackedFilter(4).double()
    turned = StackedFilter(4).double()
    with torch.no_grad():
        turned.alpha.copy_(low.alpha)
        turned.beta.copy_(low.beta)
        turned.alpha[-1] *= -1
        turned.beta[-1] *= -1
    one = mean_response([low], "adjacency")
    np.testing.assert_allclose(mean_response([low, turned], "adjacency"), one)
    np.testing.assert_allclose(mean_response([turned, low], "adjacency"), -one)
    assert describe_shape(-one, EVEN) == describe_shape(one, EVEN)


def test_change_of_sign_is_not_called_flat() -> None:
    turning = np.where(FREQUENCIES < 1, 1.0, -1.0)
    said = describe_shape(turning, EVEN)
    assert "opposite signs" in said
    assert "own features" not in said
