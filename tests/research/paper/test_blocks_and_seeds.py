"""Figures 1 and 5 are drawn; runs on rewired graphs have one of their own each."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfilter_research.paper import figure3, figures1_5
from graphfilter_research.paper.collect import Options, read_target_records
from graphfilter_research.paper.targets import TARGETS


def test_block_diagrams_name_every_part() -> None:
    model, vertical, horizontal = figures1_5.draw().get_axes()
    said = [text.get_text() for text in model.texts]
    assert [label for label in said if "filter" in label] == ["filter 1", "filter 2", "filter K"]
    for axes, weight in ((vertical, "beta"), (horizontal, "theta")):
        assert sum(weight in text.get_text() for text in axes.texts) >= figures1_5.ORDER


@pytest.mark.usefixtures("tiny")
def test_every_run_has_a_rewired_graph_of_its_own(tmp_path: Path) -> None:
    TARGETS["noise-seeds"].collect(tmp_path, Options(quick=True, device="cpu"), None)
    records = read_target_records(tmp_path, "noise-seeds-quick")
    runs = {(r.model, r.seed, r.split_index): r.data_checksum for r in records}
    assert len(runs) == len(records) == 2 * len(figure3.SEEDS_SYSTEMS)
    assert all(seed == split for _, seed, split in runs)
    assert runs["sgf", 0, 0] == runs["sgf-every-layer", 0, 0] != runs["sgf", 1, 1]
