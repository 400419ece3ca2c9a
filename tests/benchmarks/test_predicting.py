"""The benchmark of predicting a large store shows what the command takes at its peak."""

from __future__ import annotations

import argparse
import sys

import numpy as np
import pytest
import torch

import predicting

pytest.importorskip("duckdb", reason="stores are built by duckdb")


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read as Linux tells them")
def test_benchmark_runs_the_commands_and_shows_their_peaks(
    graphfilter, monkeypatch: pytest.MonkeyPatch
) -> None:
    apart = predicting.command

    def command(*words: object) -> int:
        """Only the peak of the last is read: what comes before it runs in this process."""
        if words[0] == "predict":
            return apart(*words)
        assert graphfilter(*words).code == 0
        return 0

    monkeypatch.setattr(predicting, "command", command)
    monkeypatch.setattr(predicting, "MODELS", {"sgf": "SGF"})
    monkeypatch.setattr(predicting, "N_FITTED", 400)
    monkeypatch.setattr(predicting, "apart", lambda call, *arguments: call(*arguments))
    # What the caller holds is not the command's.
    held = np.ones(predicting.GOAL_BYTES, dtype=np.uint8)
    record = predicting.run(argparse.Namespace(small=True), torch.device("cpu"))
    assert held.all()
    (row,) = record["rows"]
    assert 100 << 20 < row["peak_bytes"] < predicting.GOAL_BYTES
    assert "| SGF |" in predicting.table(record)
