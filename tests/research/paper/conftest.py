"""What tests of the paper's targets share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphfilter.systems import committee
from graphfilter_research.paper import collect, last_epoch, peer_table, settings
from graphfilter_research.paper.target import RunTable
from graphfilter_research.paper.targets import TARGETS


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every target run on the embedded karate club, for two epochs."""
    monkeypatch.setattr(collect, "QUICK_EPOCHS", 2)
    monkeypatch.setattr(settings, "THETA_SPLITS", "stratified")
    for module in (last_epoch, peer_table):
        monkeypatch.setattr(module, "SPLIT_RULE", "stratified")
    few_printed = (replace(peer_table.QUICK[0], dataset="karate"),)
    monkeypatch.setattr(peer_table, "QUICK", few_printed)
    monkeypatch.setattr(committee, "MOST_REPEATS", 1)
    for name, target in TARGETS.items():
        if isinstance(target, RunTable):
            monkeypatch.setitem(TARGETS, name, replace(target, quick=("karate",)))
