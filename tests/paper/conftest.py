"""What tests of the paper's targets share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphfilter.paper import (
    committee_table,
    figure2,
    figure3,
    figure3_seeds,
    filter_dynamics,
    label_efficiency,
    last_epoch,
    new_vertices,
    options,
    peer_table,
    settings,
    table2,
    table3,
    table4,
    table5,
    theta,
)
from graphfilter.paper.targets import TARGETS
from graphfilter.systems import committee


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every target run on the embedded karate club, for two epochs."""
    monkeypatch.setattr(options, "QUICK_EPOCHS", 2)
    for module in (theta, last_epoch, peer_table):
        monkeypatch.setattr(module, "SPLIT_RULE", "stratified")
    monkeypatch.setattr(last_epoch, "QUICK", {"karate": "karate"})
    monkeypatch.setattr(committee_table, "QUICK", {"karate": "stratified"})
    few_printed = (replace(peer_table.QUICK[0], dataset="karate"),)
    monkeypatch.setattr(peer_table, "QUICK", few_printed)
    monkeypatch.setattr(committee, "MOST_REPEATS", 1)
    for module in (figure2, filter_dynamics):
        monkeypatch.setattr(module, "QUICK", ("karate",))
    of_runs = (
        table4, table5, figure3, figure3_seeds, label_efficiency, new_vertices, settings, theta,
        peer_table,
    )  # fmt: skip
    tables = [replace(module.TABLE, quick=("karate",)) for module in of_runs]
    tables += [
        replace(table, quick=("karate",), beside=("karate",))
        for table in (table2.TABLE, table3.TABLE)
    ]
    for small in tables:
        changed = replace(TARGETS[small.name], collect=small.collect, build=small.build)
        monkeypatch.setitem(TARGETS, small.name, changed)
