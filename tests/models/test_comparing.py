"""When vertices are compared with each other: by how many neighbours they share."""

from __future__ import annotations

import numpy as np

from graphfilter.data.graph import Graph
from graphfilter.models.layers import MOST_COMPARED, too_many_to_compare


def test_weights_of_edges_do_not_count_as_neighbours() -> None:
    ring = np.stack([np.arange(100), (np.arange(100) + 1) % 100], axis=1)
    plain = Graph.from_edges(ring)
    amounts = Graph.from_edges(ring, weights=np.full(100, 1e6))
    assert too_many_to_compare(plain, 50) is None
    assert too_many_to_compare(amounts, 50) is None
    assert "too many to compare" in str(too_many_to_compare(plain, MOST_COMPARED + 1))


def test_a_hub_shares_too_many_neighbours() -> None:
    hub = np.stack([np.zeros(40_000, int), np.arange(1, 40_001)], axis=1)
    assert "common neighbour" in str(too_many_to_compare(Graph.from_edges(hub), 50))
