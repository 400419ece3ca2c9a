"""One system on one dataset."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from graphfilter.bench import Pair, pair as pair_module, run_benchmark
from graphfilter.systems import get_system

QUICK = {"runs": 2, "max_epochs": 4, "device": "cpu"}


def test_runs_that_do_not_fit_side_by_side_are_run_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    together = run_benchmark(["karate"], ["sgf"], out=tmp_path / "together.jsonl", **QUICK)
    train_system = pair_module.train_system

    def out_of_memory(prepared, system, splits, *rest, **options):
        if len(splits) > 1:
            raise torch.OutOfMemoryError("too much")
        return train_system(prepared, system, splits, *rest, **options)

    monkeypatch.setattr(pair_module, "train_system", out_of_memory)
    alone = run_benchmark(["karate"], ["sgf"], out=tmp_path / "alone.jsonl", **QUICK)
    assert [r.side_by_side for r in alone] == [1, 1]
    for a, b in zip(alone, together, strict=True):
        assert a.scores["test"]["log_loss"] == pytest.approx(b.scores["test"]["log_loss"], rel=1e-4)


def test_settings_for_a_dataset_are_not_given_to_a_file_of_that_name() -> None:
    pair = Pair("texas", "gcnii-authors", "stratified", 1, "auto", "cpu")
    system = get_system("gcnii-authors")
    assert pair.system == system.for_dataset("texas") != system
    assert replace(pair, file="mine/texas.npz").system == system
    assert replace(pair, dataset="mine/texas.npz").system == system
