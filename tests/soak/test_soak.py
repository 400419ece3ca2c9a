"""A small soak, so that the large one keeps working; make soak has the large one."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import pytest
from tests.soak import __main__ as soak
from tests.soak.block import KINDS, run_block
from tests.soak.kills import BENCH

# So few only fill the caches.
FEW = {
    "fits": 3, "requests": 68, "kills of fit": 1, "kills of bench": 1, "pairs of builds": 4,
}  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("kind", KINDS)
def test_soak_finds_nothing(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("uvicorn", reason="the studio's packages are not installed")
    pytest.importorskip("duckdb", reason="stores are built by duckdb")
    # The soak has a temporary folder of its own; what was there before comes back.
    monkeypatch.setenv("TMPDIR", tempfile.gettempdir())
    monkeypatch.setattr(tempfile, "tempdir", tempfile.gettempdir())
    monkeypatch.setattr("tests.soak.block.MOST_GROWTH_MB", 1000.0)
    few_runs = (*BENCH, "--runs", "2", "--max-epochs", "60")  # The last of two answers counts.
    monkeypatch.setattr("tests.soak.kills.BENCH", few_runs)
    assert run_block(kind, 0, FEW[kind]) == []
    said = capsys.readouterr().out
    assert f"{FEW[kind]} {kind}" in said


def test_soak_goes_on_where_it_ended(tmp_path: Path) -> None:
    asked, done = {"fits": 450, "requests": 2000, "kills of fit": 0}, []

    def work(block: soak.Block) -> list[str]:
        done.append(block)
        return ["it grew"] if block[0] == "requests" else []

    def go_on(until: float) -> soak.Summary:
        summary = soak.Summary.read(tmp_path / "summary.json")
        soak.run_blocks(asked, 1, until, summary, work)
        return summary

    assert str(go_on(time.monotonic() - 1)) == "nothing: 0 problems"
    assert done == []
    go_on(time.monotonic() + 60)
    fits = [("fits", 0, 200), ("fits", 1, 200), ("fits", 2, 50)]
    assert sorted(done) == [*fits, ("requests", 0, 2000)]
    asked["fits"] = 650
    ended = go_on(time.monotonic() + 60)
    # The last block was smaller than it is asked to be now.
    assert sorted(done[4:]) == [("fits", 2, 200), ("fits", 3, 50)]
    assert str(ended) == "650 fits, 2,000 requests: 1 problems"


def test_soak_block_that_dies_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    assert soak.run_process(("fits", 3, 1)) == ["fits: block 3 ended with code 1"]
