"""Records that earlier versions wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.compatibility.test_old_files import FILES, VERSIONS

from graphfilter_research.bench.benchmark import run_benchmark
from graphfilter_research.bench.record import read_records
from graphfilter_research.bench.summary import summarise


@pytest.mark.parametrize("version", VERSIONS)
def test_records_count_as_the_runs_they_are(version: str, tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_bytes((FILES / version / "records.jsonl").read_bytes())
    old = read_records(path)
    assert [record.versions["graphfilter"] for record in old] == [version] * 4
    [summary] = summarise(old)
    assert {cell.n for cell in summary.cells.values()} == {2}
    same = run_benchmark(["karate"], ["sgf", "mlp"], out=path, runs=2, max_epochs=5, device="cpu")
    assert [record.seconds for record in same] == [record.seconds for record in old]
    assert read_records(path) == old
