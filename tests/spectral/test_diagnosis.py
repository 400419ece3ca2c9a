"""What a diagnosis says of neighbours is so, whatever the range of the frequency."""

from __future__ import annotations

import numpy as np
import pytest

from graphfilter.data import load_dataset
from graphfilter.data.graph import Graph
from graphfilter.spectral import diagnose
from graphfilter.spectral.diagnosis import describe_agreement


def ring_of_classes(n: int = 600, n_classes: int = 5) -> Graph:
    """Join classes to the next one only: no edge lies within a class, and none alternates."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % n_classes
    members = [np.flatnonzero(labels == c) for c in range(n_classes)]
    edges = [
        [rng.choice(members[c]), rng.choice(members[(c + 1) % n_classes])]
        for c in rng.integers(0, n_classes, 6 * n)
    ]
    return Graph.from_edges(edges, n, labels=labels)


def test_advice_for_a_middle_graph_whose_neighbours_differ_says_so() -> None:
    found = diagnose(ring_of_classes())
    assert found.range == "middle"
    assert found.edge_homophily == 0
    assert "on 0 % of the edges, less often than by chance." in found.advice
    assert "Neither agreement nor contrast" in found.advice


def test_advice_for_a_middle_graph_of_random_edges_calls_it_chance() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 500)
    graph = Graph.from_edges(rng.integers(0, 500, (4000, 2)), 500, labels=labels)
    assert "about as often as by chance." in diagnose(graph).advice


@pytest.mark.research
def test_advice_for_texas_is_what_its_edges_say(data_folder, monkeypatch) -> None:
    monkeypatch.setenv("GRAPHFILTER_DATA", str(data_folder))
    texas = load_dataset("texas")
    rows = np.repeat(np.arange(texas.n_vertices), np.diff(texas.indptr))
    assert texas.labels is not None
    share = float(np.mean(texas.labels[rows] == texas.labels[texas.indices]))
    assert (
        f"on {100 * share:.0f} % of the edges, less often than by chance" in diagnose(texas).advice
    )


@pytest.mark.parametrize(
    ("edge", "adjusted", "words"),
    [(0.8, 0.7, "more often"), (0.2, -0.3, "less often"), (0.5, 0.05, "about as often")],
)
def test_agreement_is_measured_against_chance(edge: float, adjusted: float, words: str) -> None:
    assert words in describe_agreement(edge, adjusted)


def test_agreement_of_no_edges_is_unknown() -> None:
    assert "No edge" in describe_agreement(float("nan"), float("nan"))
