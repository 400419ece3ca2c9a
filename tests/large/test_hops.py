"""Which graphs are of a store, and so may keep what is made of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import graphfilter as gf
from graphfilter.data.store import store_of


def test_graph_is_of_a_store_while_it_has_its_edges(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    gf.data.write_store(gf.data.make_karate(), folder)
    graph = gf.open_store(folder)
    assert store_of(graph) == folder
    assert store_of(graph.replace(name="other")) == folder
    assert store_of(graph.subgraph(np.arange(20))) is None
    assert store_of(gf.data.make_karate()) is None
