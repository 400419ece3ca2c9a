"""What vertices were in a run: found by their ids, however they are written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest

from graphfilter import Graph
from graphfilter.runs import loading
from graphfilter.runs.loading import parts_in_run

NAMES = ["a", "=b", "c", "new", "-e"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = ["id,part", "c,test", "'=b,val", "a,train", "'-e,unlabelled"]
    (tmp_path / "predictions.csv").write_text("\n".join(rows))
    return tmp_path


def test_vertices_are_found_by_ids_also_as_a_spreadsheet_has_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = Graph.from_edges([[0, 1]], 5, vertex_names=NAMES)
    wanted = ["train", "val", "test", "new", "unlabelled"]
    assert parts_in_run(folder, graph).tolist() == wanted
    known, looked = graph.n_vertices, []
    monkeypatch.setattr(loading.id_blocks, "__defaults__", (2, None))
    index_in = pc.index_in
    monkeypatch.setattr(pc, "index_in", lambda *a, **k: looked.append(1) or index_in(*a, **k))
    assert parts_in_run(folder, graph).tolist() == wanted
    # Blocks of two ids: all are looked up at once, then those that are missing.
    assert len(looked) == 2 < known
    assert parts_in_run(folder, Graph.from_edges([], 2)).tolist() == ["new", "new"]


def test_parts_are_unknown_without_predictions(tmp_path: Path) -> None:
    graph = Graph.from_edges([[0, 1]], 2)
    np.testing.assert_array_equal(parts_in_run(tmp_path, graph), ["unknown"] * 2)
