from __future__ import annotations

from graphfilter_research.bench.pair import blank_records
from graphfilter_research.paper import share_table
from graphfilter_research.paper.collect import Options
from graphfilter_research.paper.tables import ComparedAccuracy


def test_every_system_is_run_with_test_vertices_seen_and_new() -> None:
    pairs = share_table.NEW_VERTICES_TARGET.pairs(["cora"], Options(runs=2, device="cpu"))
    asked = {(pair.model, pair.split_rule) for pair in pairs}
    assert len(asked) == len(pairs) == 5 * 3 * 2
    assert {rule for _, rule in asked} == {
        f"{protocol}:{share}" for protocol in ("seen", "new") for share in ("0.05", "0.2", "0.5")
    }


def test_table_has_seen_and_new_side_by_side() -> None:
    pairs = share_table.NEW_VERTICES_TARGET.pairs(["cora"], Options(runs=1, device="cpu"))
    records = []
    for i, pair in enumerate(pairs):
        part = {"n_vertices": 10, "accuracy": 0.5 + i / 100}
        for record in blank_records(pair):
            record.scores.update(train=part, val=part, test=part)
            records.append(record)
    rendered = share_table.NEW_VERTICES_TARGET.show(records, ["cora"])
    (block,) = rendered.blocks
    assert block.columns == (
        "5 %, seen", "5 %, new", "20 %, seen", "20 %, new", "50 %, seen", "50 %, new",
    )  # fmt: skip
    cells = [cell for cell in block.rows[0].cells if isinstance(cell, ComparedAccuracy)]
    assert [round(float(cell.mean)) for cell in cells] == [50, 55, 60, 65, 70, 75]
    assert rendered.figure is not None
