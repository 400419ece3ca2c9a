"""Pairs in processes, started as users start them; other tests fork theirs, which is quicker."""

from __future__ import annotations

from dataclasses import replace

from graphfilter.bench import Pair, Record
from graphfilter.bench.processes import run_in_processes


def test_process_that_dies_takes_no_other_down() -> None:
    alive = Pair("karate", "mlp", "stratified", 1, "auto", "cpu", max_epochs=1)
    ended: dict[str, int] = {}
    records: list[Record] = []

    def handle(pair: Pair, event: object) -> None:
        if isinstance(event, Record):
            records.append(event)

    run_in_processes(
        [alive, replace(alive, model="no such system"), replace(alive, model="sgc")],
        1,
        handle,
        lambda pair, code: ended.update({pair.model: code}),
    )
    assert ended["mlp"] == ended["sgc"] == 0
    assert ended["no such system"] != 0
    assert [(r.model, r.ok) for r in records] == [("mlp", True), ("sgc", True)]
