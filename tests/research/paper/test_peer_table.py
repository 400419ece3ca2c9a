"""Peers beside what their authors print: which runs are compared, and what is left empty."""

from __future__ import annotations

from pathlib import Path

from graphfilter.systems import get_system
from graphfilter_research.bench.record import Record
from graphfilter_research.paper import peer_table
from graphfilter_research.paper.collect import Options, open_records
from graphfilter_research.paper.tables import ComparedAccuracy

PARTS: tuple[str, ...] = ("train", "val", "test")


def record(dataset: str, model: str, split: int, rule: str, scaling: str, test: float) -> Record:
    part = {"n_vertices": 30, "accuracy": test, "roc_auc": test / 2}
    scores = dict.fromkeys(PARTS, part)
    return Record(dataset, model, rule, split, split, scaling, {}, "cpu", scores=scores)


def test_printed_number_is_beside_the_runs_of_its_splits_and_scaling(tmp_path: Path) -> None:
    file = open_records(tmp_path, peer_table.TARGET.name)
    for rule, scaling, test in (("fixed", "row", 0.8), ("stratified", "auto", 0.7)):
        file.append([record("cora", "fsgnn", i, rule, scaling, test) for i in range(10)])
    file.append([record("minesweeper", "gcn-tuned", i, "fixed", "auto", 0.9) for i in range(10)])
    file.append([record("photo_lcc", "committee", i, "stratified", "auto", 0.6) for i in range(10)])
    printed, everywhere, components = peer_table.TARGET.build(tmp_path, Options()).blocks
    cells = {row.label: row.cells[0] for row in printed.rows}
    fsgnn, tuned = cells["FSGNN, cora"], cells["GCN (Luo et al.), minesweeper"]
    assert isinstance(fsgnn, ComparedAccuracy)
    assert (round(fsgnn.mean, 6), fsgnn.n, fsgnn.mark) == (80.0, 10, "▼")
    assert isinstance(tuned, ComparedAccuracy)
    assert round(tuned.mean, 6) == 45.0
    assert str(cells["GloGNN, cora"]) == ""
    rows = {row.label: [str(cell) for cell in row.cells] for row in everywhere.rows}
    assert rows == {"cora": ["70.00 ± 0.00", ""], "minesweeper": ["", "45.00 ± 0.00"]}
    assert [(row.label, str(row.cells[0])) for row in components.rows] == [
        ("photo_lcc", "60.00 ± 0.00")
    ]


def test_printed_systems_are_known() -> None:
    assert all(get_system(one.system).trained for one in peer_table.PRINTED)


def test_run_that_was_meant_to_end_at_the_limit_is_not_cut() -> None:
    def stopped(patience: int) -> Record:
        config = {"max_epochs": 500, "patience": patience}
        return Record(
            "cora", "gcn-tuned", "fixed", 0, 0, "row", config, "cpu", stopped="max_epochs"
        )

    assert stopped(200).cut
    assert not stopped(500).cut
