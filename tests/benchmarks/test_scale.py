"""The benchmarks of docs/scale.md run at a small size, and the page holds the tables on record."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest
import torch

import blocks
import write_docs
from graphfilter.util.machine import VARIABLE

CPU = torch.device("cpu")
FOLDER = write_docs.RESULTS / "scale"
PAGE = write_docs.PAGE.with_name("scale.md")


def test_blocks_learn_the_same_within_any_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(VARIABLE, "")  # Set by every measurement, and set back by this.
    monkeypatch.setattr(blocks, "apart", lambda call, *arguments: call(*arguments))
    monkeypatch.setitem(blocks.SIZES, "small", (200, 2000))
    record = blocks.run(argparse.Namespace(small=True, large=False, degree=2), CPU)
    assert [row["n_blocks"] for row in record["rows"]] == [1, 4]
    first, second = record["rows"]
    assert first["loss"] == pytest.approx(second["loss"], abs=1e-6)
    assert "| 1M | 4 |" in blocks.table(json.loads(json.dumps(record)))


def test_scale_page_holds_the_tables_of_the_records() -> None:
    page = PAGE.read_text(encoding="utf-8")
    records = write_docs.read_records(FOLDER)
    wanted = f"run: python benchmarks/write_docs.py --results {FOLDER.name} --page docs/scale.md"
    assert write_docs.render(page, records) == page, wanted
