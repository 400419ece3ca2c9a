"""How far a few steps lead: grids and paths are wide, stars and scattered vertices are not."""

from __future__ import annotations

import numpy as np
import pytest

from graphfilter.data import make_csbm
from graphfilter.data.graph import Graph
from graphfilter.data.structure import is_wide

PATH = Graph.from_edges([(v, v + 1) for v in range(999)])
STAR = Graph.from_edges([(0, v) for v in range(1, 1000)])
PAIRS = Graph.from_edges([(v, v + 1) for v in range(0, 1000, 2)])
ALONE = Graph.from_edges([], 1000)
RANDOM = make_csbm(1000, mean_degree=8, n_features=2, frequency=1.0, seed=0)


@pytest.mark.parametrize(
    ("graph", "wide"),
    [(PATH, True), (STAR, False), (PAIRS, False), (ALONE, False), (RANDOM, False)],
)
def test_graphs_of_known_shape(graph: Graph, wide: bool) -> None:
    assert is_wide(graph, 6) is wide


def test_a_path_is_wide_until_the_steps_reach_a_tenth_of_it() -> None:
    # From within, k steps reach 2 k + 1 vertices of a thousand.
    assert is_wide(PATH, 49)
    assert not is_wide(PATH, 50)


def test_the_answer_does_not_depend_on_the_order_of_edges() -> None:
    edges = np.array([(v, v + 1) for v in range(999)])
    mixed = np.random.default_rng(0).permutation(edges)[:, ::-1]
    assert is_wide(Graph.from_edges(mixed), 6)
