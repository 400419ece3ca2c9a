"""The committee's table: what is compared, and what leaving a member out is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphfilter.bench import Record
from graphfilter.paper import committee_table
from graphfilter.paper.comparison import ComparedAccuracy
from graphfilter.paper.options import Options
from graphfilter.paper.records import open_records
from graphfilter.systems import get_system


def record(model: str, split: int, test: float, members: dict[str, Any] | None = None) -> Record:
    sizes = {"n_vertices": 30, "calibration_error": 0.02}
    scores = {part: {**sizes, "accuracy": test} for part in ("train", "val", "test")}
    scaling = "auto" if model == "committee" else "none"
    return Record(
        "texas", model, "stratified", split, split, scaling, {}, "cpu", scores=scores,
        members=members or {},
    )  # fmt: skip


def test_best_other_is_the_best_on_test_of_those_with_ten_runs() -> None:
    runs = [record("mlp", i, 0.8) for i in range(10)] + [record("gcn", i, 0.6) for i in range(10)]
    few = [record("gat", i, 0.99) for i in range(9)]
    ours = [record("committee-low", i, 0.95) for i in range(10)]
    found = committee_table.best_other([*runs, *few, *ours], "texas")
    assert isinstance(found, ComparedAccuracy)
    assert found.mean == pytest.approx(80)
    assert str(found) == f"80.00 ± 0.00 ({get_system('mlp').title})"
    assert committee_table.best_other(runs, "cora") == ""


def test_table_shows_the_committee_apart_and_what_members_add(tmp_path: Path) -> None:
    member = {"share": 0.25, "without": {"accuracy": 0.8}, "test": {"calibration_error": 0.1}}
    file = open_records(tmp_path, committee_table.NAME)
    for i in range(10):
        file.append([record("committee", i, 0.9, {"features": member})])
    scores, lost, shares = committee_table.build(tmp_path, Options()).blocks
    (row,) = scores.rows
    assert [str(cell) for cell in row.cells[:2]] == ["90.00 ± 0.00", ""]
    assert row.cells[3:] == ("2.0", "10.0 (features alone)")
    assert lost.rows[0].cells == ("-10.00",)
    assert shares.rows[0].cells == ("25",)
    assert lost.columns == ("features alone",)
