"""The benchmark of started fits: what was known before, and how it is shown."""

from __future__ import annotations

import argparse

import numpy as np
import torch

import start_from
from graphfilter.splits import stratified


def test_earlier_part_has_the_known_vertices_in_their_parts() -> None:
    graph = start_from.read_graph("made")
    split = stratified(graph.labels, 0)
    part, before = start_from.earlier_part(graph, split, 0)
    assert part.n_vertices == 240
    names = np.array(graph.vertex_names)
    for name in ("train", "val", "test"):
        old, now = getattr(before, name), getattr(split, name)
        assert set(np.array(part.vertex_names)[old]) <= set(names[now])


def test_benchmark_fits_both_ways() -> None:
    record = start_from.run(argparse.Namespace(small=True), torch.device("cpu"))
    (row,) = record["rows"]
    (found,) = row["splits"]
    assert found["started"]["epochs"] <= found["fresh"]["epochs"] == 60
    assert "| made, SGF | 60 |" in start_from.table(record)
