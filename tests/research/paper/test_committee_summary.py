"""What the README says of the committee: where it is worse, and where another's mean is higher."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfilter_research.bench.record import Record
from graphfilter_research.paper import committee_table
from graphfilter_research.paper.collect import open_records

# One per split, so that no two runs of a system are the same.
NOISE = [0.001 * (-1) ** i for i in range(10)]


def record(dataset: str, model: str, split: int, test: float) -> Record:
    sizes = {"n_vertices": 30, "calibration_error": 0.02}
    member = {"share": 1.0, "without": {}, "test": {"accuracy": test, "roc_auc": test}}
    part = {**sizes, "accuracy": test, "roc_auc": test}
    return Record(
        dataset, model, committee_table.DATASETS[dataset], split, split, "auto", {}, "cpu",
        scores={"train": part, "val": part, "test": part},
        members={"features": member} if model == "committee" else {},
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ours = open_records(tmp_path, committee_table.TARGET.name)
    others = open_records(tmp_path, "peers")
    for dataset in committee_table.DATASETS:
        ours.append([record(dataset, "committee", i, 0.8) for i in range(10)])
        others.append([record(dataset, "gcn", i, 0.7 + NOISE[i]) for i in range(10)])
    return tmp_path


def test_summary_says_that_none_is_better(folder: Path) -> None:
    text = committee_table.summarise(folder)
    assert "none of them is significantly better on any of the 14 datasets above" in text
    assert "No other has a higher mean." in text
    assert "the best of 1 to 1 systems" in text
    assert "better on 0, level on 18 and worse on 0 of the 18 datasets." in text


def test_summary_names_what_is_better_and_where(folder: Path) -> None:
    others = open_records(folder, "peers")
    others.append([record("minesweeper", "gat", i, 0.9 + NOISE[i]) for i in range(10)])
    others.append([record("texas", "mlp", i, 0.805 + 50 * NOISE[i]) for i in range(10)])
    text = committee_table.summarise(folder)
    assert "on 13 of the 14 datasets above 1,000 vertices; better: GAT on `minesweeper` (90" in text
    assert "On the other 4 (`wisconsin`, `cornell`, `cornell_geomgcn` and `texas`) the comm" in text
    assert "higher mean on 2: `texas` and `minesweeper`." in text


def test_table_of_the_summary_has_the_means(folder: Path) -> None:
    lines = committee_table.summarise(folder).splitlines()
    assert lines[2] == "| **Committee** |" + " 80.0 |" * len(committee_table.SHOWN)
    assert lines[3] == "| Best other on record |" + " 70.0 |" * len(committee_table.SHOWN)
    # A system that is on record everywhere has a row; no row has an empty cell.
    assert lines[4] == "| GCN |" + " 70.0 |" * len(committee_table.SHOWN)
    assert lines[5] == ""
