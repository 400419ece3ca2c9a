"""The benchmark of predicting a large store shows what the command takes at its peak."""

from __future__ import annotations

import argparse
import sys

import pytest
import torch

import predicting

pytest.importorskip("duckdb", reason="stores are built by duckdb")


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read as Linux tells them")
def test_benchmark_runs_the_commands_and_shows_their_peaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predicting, "MODELS", {"sgf": "SGF"})
    monkeypatch.setattr(predicting, "apart", lambda call, *arguments: call(*arguments))
    record = predicting.run(argparse.Namespace(small=True), torch.device("cpu"))
    (row,) = record["rows"]
    # No upper bound: without ``apart`` Linux counts what this process holds as the command's own.
    assert row["peak_bytes"] > 100 << 20
    assert "| SGF |" in predicting.table(record)
