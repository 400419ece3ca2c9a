"""The benchmarks of a store's build and of the estimate before a fit, at a size of no time."""

from __future__ import annotations

import argparse
import json

import pytest
import torch

import dry_run
import store_build

CPU = torch.device("cpu")


def test_build_benchmark_shows_speed_memory_and_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("duckdb", reason="stores are built by duckdb")
    monkeypatch.setattr(store_build, "apart", lambda call, *arguments: call(*arguments))
    options = argparse.Namespace(small=False, edges=2000, memory="1GB", folder=None)
    record = json.loads(json.dumps(store_build.run(options, CPU), allow_nan=False))
    assert record["n_edges"] == 2000
    assert record["store_bytes"] > 2 * 4 * 1900
    shown = store_build.table(record)
    for word in ("edges per second", "peak memory", "disk at most", "seconds: sorting"):
        assert word in shown


def test_dry_run_benchmark_compares_estimate_and_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(dry_run.PLANS, "small", [(300, 900, 4, 2, ("sgf", "sgf@hidden_size=16"))])
    monkeypatch.setattr(dry_run, "measure", lambda folder, system: 10**9)
    record = json.loads(json.dumps(dry_run.run(argparse.Namespace(small=True), CPU)))
    one, two = record["fits"]
    assert one["estimated"] <= sum(one["parts"].values())
    assert two["parts"]["hidden"] < one["parts"]["hidden"]
    shown = dry_run.table(record)
    assert "sgf: 300 vertices" in shown
    assert "sgf@hidden_size=16: 300 vertices" in shown
