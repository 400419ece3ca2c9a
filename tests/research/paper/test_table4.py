"""Table 4: SGF with other numbers of filters."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.processes import forking

from graphfilter_research.bench.matrix import run_matrix
from graphfilter_research.bench.record import RecordFile, read_records
from graphfilter_research.paper.collect import Options, pairs_of
from graphfilter_research.paper.table4 import stacking_system

QUICK = Options(quick=True, device="cpu")
pytestmark = pytest.mark.usefixtures("tiny")


def test_stacking_system_runs_in_processes_as_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphfilter_research.bench.matrix.get_context", forking)
    pairs = pairs_of(["karate"], [stacking_system("sgf-horizontal", 32)], QUICK)
    for name, jobs in (("one", 1), ("many", 2)):
        run_matrix(pairs, RecordFile(tmp_path / f"{name}.jsonl"), jobs=jobs)
    one, many = (read_records(tmp_path / f"{name}.jsonl") for name in ("one", "many"))
    assert [(r.model, r.seed) for r in one] == [("sgf-horizontal-32", 0), ("sgf-horizontal-32", 1)]
    assert [r.scores for r in one] == [r.scores for r in many]
