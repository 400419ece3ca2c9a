"""Members whose columns hold more than a vertex's own features."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.estimators.contributions import explain_members, member_of
from graphfilter.models import Trees
from graphfilter.systems import Prepared, get_system, predict_networks

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
    parts = explain_members([member], graph, [7], DIRECTION)
    p = predict_networks(prepared, system, [network])[0][7]
    return member, parts[0], float(np.log(p[0] / p[1]))


@pytest.mark.parametrize(
    "view",
    ["features", "unit", "averages", "neighbours", "unit+links", "features+links", "beside"],
)
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
    _, parts, _ = explain(graph, "neighbours")
    np.testing.assert_allclose(parts.steps, 0, atol=1e-5)
    assert abs(parts.structure) > 1e-6


def test_members_explained_together_add_up_to_each_alone(graph: Graph) -> None:
    """They share the columns of their view, and trees read one row where networks read all."""
    prepared = Prepared.of(graph)
    views: dict[str, Any] = {}
    members = []
    for view, name, seed in (
        ("unit+links", "mlp", 0),
        ("unit+links", "mlp", 1),
        ("averages", "mlp", 2),
    ):
        system = dataclasses.replace(get_system(name), view=view)
        network = system.build(prepared.seen_as(view).graph, seed).eval()
        members.append(member_of(prepared, system, network, weight=0.3, views=views))
    trees = get_system("trees")
    fitted = trees.build(prepared.seen_as(trees.view).graph, 0)
    rows = prepared.seen_as(trees.view).graph.features
    assert isinstance(fitted, Trees)
    assert graph.labels is not None
    fitted.fit(rows, graph.labels, seed=0)
    members.append(member_of(prepared, trees, fitted, weight=0.1, temperature=2.0, views=views))
    assert set(views) == {"unit+links", "averages"}

    (together,) = explain_members(members, graph, [7], DIRECTION)
    alone = [explain_members([member], graph, [7], DIRECTION)[0] for member in members]
    assert together.base == pytest.approx(sum(part.base for part in alone), abs=1e-5)
    assert together.structure == pytest.approx(sum(part.structure for part in alone), abs=1e-5)
    np.testing.assert_allclose(together.steps, sum(part.steps for part in alone), atol=1e-5)
    said = members[-1].logits(prepared.x, 7).numpy()
    assert alone[-1].score == pytest.approx(0.05 * float(said[0] - said[1]), abs=1e-6)
