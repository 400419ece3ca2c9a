"""Runs whose test vertices are not there until the system is trained."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.systems import System, get_system
from graphfilter.util.errors import ConfigError
from graphfilter_research.bench.benchmark import run_benchmark
from graphfilter_research.bench.pair import train_without
from graphfilter_research.bench.protocol import check_split_rule, draw_split

GRAPH = make_csbm(80, mean_degree=8, n_features=5, frequency=0.3, seed=2)
SPLIT = draw_split(GRAPH, "new:0.2", 0)


def trained(system: System, graph: Graph = GRAPH) -> np.ndarray:
    outcome = train_without(graph, system, SPLIT, 0, scaling="auto", device="cpu")
    return outcome.probabilities


def test_seen_and_new_vertices_are_tested_on_the_same_split() -> None:
    seen = draw_split(GRAPH, "seen:0.2", 3)
    new = draw_split(GRAPH, "new:0.2", 3)
    for part in ("train", "val", "test"):
        np.testing.assert_array_equal(getattr(seen, part), getattr(new, part))
    assert len(seen.test) == pytest.approx(16, abs=1)
    assert len(seen.train) == pytest.approx(48, abs=2)
    assert check_split_rule("new:0.20") == "new:0.2"
    with pytest.raises(ConfigError, match=r"share of a split must be in \(0, 1\); got 'new:2'"):
        check_split_rule("new:2")


@pytest.mark.parametrize("name", ["sgf", "graphsage", "committee-low"])
def test_new_vertices_are_answered_by_what_they_are(name: str) -> None:
    system = get_system(name).limited(3)
    before = trained(system)
    assert before.shape == (80, 2)
    np.testing.assert_allclose(before.sum(axis=1), 1, rtol=1e-5)
    features = np.array(GRAPH.features)
    features[SPLIT.test] += 5
    after = trained(system, graph=GRAPH.replace(features=features))
    assert not np.allclose(after[SPLIT.test], before[SPLIT.test])


def test_nothing_is_learned_of_test_vertices() -> None:
    """Features of vertices that are too far to be averaged change no answer of trees."""
    features = np.array(GRAPH.features)
    features[SPLIT.test] += 5
    reach = np.zeros(80, dtype=bool)
    reach[SPLIT.test] = True
    for _ in range(3):
        reach |= GRAPH.adjacency @ reach.astype(float) > 0
    trees = get_system("trees")
    np.testing.assert_array_equal(
        trained(trees, graph=GRAPH.replace(features=features))[~reach], trained(trees)[~reach]
    )


def test_system_with_weights_of_its_vertices_is_refused() -> None:
    with pytest.raises(ConfigError, match="linkx has one weight per vertex"):
        trained(get_system("linkx").limited(2))


def test_runs_are_recorded_by_their_rule(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    records = run_benchmark(
        ["karate"], ["sgf"], out=path, split_rule="new:0.2", runs=2, max_epochs=3, device="cpu"
    )
    assert [(r.status, r.split_rule, r.split_index) for r in records] == [
        ("ok", "new:0.2", 0), ("ok", "new:0.2", 1),
    ]  # fmt: skip
    assert records[0].scores["test"]["n_vertices"] in (6, 7, 8)
