"""The benchmark beside SIGN learns from the same tables in every way, and shows all of them."""

from __future__ import annotations

import argparse
import json

import pytest
import torch

import beside_sign


def test_benchmark_learns_in_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside_sign, "apart", lambda call, *arguments: call(*arguments))
    monkeypatch.setattr(torch, "set_num_threads", lambda n: None)
    monkeypatch.setattr(beside_sign, "fit_folder", lambda folder: 0.5)
    options = argparse.Namespace(small=True)
    record = json.loads(json.dumps(beside_sign.run(options, torch.device("cpu"))))
    for way in ("sign", "python"):
        assert record["rows"][way]["accuracy"] > 3 / beside_sign.N_CLASSES
    shown = beside_sign.table(record)
    assert all(title in shown for title in beside_sign.WAYS.values())
