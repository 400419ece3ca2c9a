"""Members whose columns hold more than a vertex's own features."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from graphfilter.data import make_csbm
from graphfilter.explain import member_of
from graphfilter.graph import Graph
from graphfilter.systems import Prepared, get_system
from graphfilter.systems.networks import predict_networks

DIRECTION = np.array([[1.0, -1.0]])


@pytest.fixture(scope="module")
def graph() -> Graph:
    return make_csbm(n_vertices=40, frequency=0.4, mean_degree=4, n_features=5, seed=1)


def explain(graph: Graph, view: str, name: str = "mlp"):
    """Explain vertex 7 by an untrained network; return the parts and its log-odds."""
    prepared = Prepared.of(graph)
    system = dataclasses.replace(get_system(name), view=view)
    network = system.build(prepared.seen_as(view).graph, 0).eval()
    member = member_of(prepared, system, network)
    parts = member.explain(graph, [7], DIRECTION)
    assert parts is not None
    p = predict_networks(prepared, system, [network])[0][7]
    return member, parts[0], float(np.log(p[0] / p[1]))


@pytest.mark.parametrize("view", ["features", "unit", "averages", "links", "unit+links"])
def test_parts_of_every_view_sum_to_the_score(graph: Graph, view: str) -> None:
    member, parts, score = explain(graph, view)
    assert parts.score == pytest.approx(score, abs=1e-4)
    assert bool(member.terms) == (view in ("features", "unit"))


def test_averages_of_neighbours_are_the_neighbours_part(graph: Graph) -> None:
    """A network without a filter that reads the averages of three steps, and no farther ones."""
    _, parts, _ = explain(graph, "averages")
    assert np.abs(parts.steps[1:4]).min() > 1e-6
    assert parts.steps[4] == pytest.approx(0, abs=1e-5)


def test_links_are_part_of_the_place(graph: Graph) -> None:
    _, parts, _ = explain(graph, "links")
    np.testing.assert_allclose(parts.steps, 0, atol=1e-5)
    assert abs(parts.structure) > 1e-6
