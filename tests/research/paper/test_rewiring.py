"""Rewiring: every degree kept, no loops or repeats, exactly the asked share of edges new."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from graphfilter.data import make_karate
from graphfilter.data.graph import Graph
from graphfilter.util.errors import ConfigError, GraphError
from graphfilter_research.paper.figure3 import rewire, swap_edges


def pairs(graph: Graph) -> set[tuple[int, int]]:
    return {tuple(edge) for edge in graph.edges.tolist()}


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(20, 60),
    degree=st.floats(1.0, 4.0),
    share=st.floats(0.0, 0.9),
    seed=st.integers(0, 2**32 - 1),
)
def test_rewiring_keeps_degrees_and_swaps_the_share_that_is_asked(n, degree, share, seed):
    rng = np.random.default_rng(seed)
    graph = Graph.from_edges(rng.integers(0, n, (int(n * degree), 2)), n)
    assume(graph.n_edges > 10)
    noisy = rewire(graph, share, seed)
    np.testing.assert_array_equal(noisy.degrees, graph.degrees)
    # Loops and repeats would have been dropped, and edges with them.
    assert noisy.n_edges == graph.n_edges
    n_new = len(pairs(noisy) - pairs(graph))
    wanted = ceil(round(share * graph.n_edges, 9))
    assert wanted <= n_new <= wanted + 1


@given(seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_swapped_edges_have_no_loop_and_no_repeat(seed):
    rng = np.random.default_rng(seed)
    edges = make_karate().edges
    swapped = swap_edges(edges, 34, 40, rng)
    assert (swapped[:, 0] != swapped[:, 1]).all()
    assert len(np.unique(np.sort(swapped, axis=1), axis=0)) == len(edges)


def test_rewiring_comes_from_its_seed_and_keeps_the_rest_of_the_graph():
    graph = make_karate()
    once, again, other = (rewire(graph, 0.5, seed) for seed in (0, 0, 1))
    assert pairs(once) == pairs(again) != pairs(other)
    assert once.features is graph.features
    assert once.labels is graph.labels
    assert pairs(rewire(graph, 0.0, 0)) == pairs(graph)


def test_rewiring_mixes_every_possible_edge():
    """A cycle of 12 is far from the only 2-regular graph: all 54 chords must turn up."""
    cycle = Graph.from_edges([[i, (i + 1) % 12] for i in range(12)])
    seen = set().union(*(pairs(rewire(cycle, 0.7, seed)) for seed in range(80)))
    assert len(seen) == 12 * 11 // 2


def test_rewiring_says_what_cannot_be_done():
    star = Graph.from_edges([[0, i] for i in range(1, 7)])
    with pytest.raises(GraphError, match="after 0 no swap was found"):
        rewire(star, 0.5, 0)
    with pytest.raises(ConfigError, match=r"in \[0, 1\]; got 90"):
        rewire(star, 90, 0)
    weighted = Graph.from_edges([[0, 1], [1, 2]], weights=[1.0, 2.0])
    with pytest.raises(GraphError, match="equal weight"):
        rewire(weighted, 0.5, 0)
