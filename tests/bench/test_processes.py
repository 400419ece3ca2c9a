"""Pairs in processes, started as users start them and forked, which is quicker."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.processes import forking

from graphfilter.bench import Pair, Record
from graphfilter.bench.processes import run_in_processes

ALIVE = Pair("karate", "mlp", "stratified", 1, "auto", "cpu", max_epochs=1)
DYING = replace(ALIVE, model="no such system")
AFTER = replace(ALIVE, model="sgc")


@pytest.mark.parametrize("forked", [False, True])
def test_process_that_dies_takes_no_other_down(
    forked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forked, with one that takes its place."""
    pairs = [ALIVE, DYING]
    if forked:
        monkeypatch.setattr("graphfilter.bench.processes.get_context", forking)
        pairs.append(AFTER)
    ended: dict[str, int] = {}
    records: list[Record] = []

    def handle(pair: Pair, event: object) -> None:
        if isinstance(event, Record):
            records.append(event)

    run_in_processes(pairs, 1, handle, lambda pair, code: ended.update({pair.model: code}))
    assert ended.pop(DYING.model) != 0
    lived = [pair.model for pair in pairs if pair is not DYING]
    assert ended == dict.fromkeys(lived, 0)
    assert [(r.model, r.ok) for r in records] == [(model, True) for model in lived]
