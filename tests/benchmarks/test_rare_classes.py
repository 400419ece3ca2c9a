"""Members weighed for a rare class: the record behind the table in the how-to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rare_classes
from resumable import read_records, records_of


def test_ways_of_weighing_are_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "records.jsonl"
    rare_classes.main(["--small", "--records", str(path)])
    records = read_records(path)
    assert {record["graph"] for record in records} == set(rare_classes.GRAPHS)
    for way in rare_classes.WAYS:
        assert all(0 <= record[f"ap {way}"] <= 1 for record in records)
        assert all(record[f"cost {way}"] >= 0 for record in records)
    assert "| all | 3 | ap |" in capsys.readouterr().out


def test_the_table_of_the_how_to_is_that_of_the_record() -> None:
    records = read_records(records_of("rare_classes"))
    assert len(records) == rare_classes.N_SEEDS * len(rare_classes.GRAPHS)
    page = Path("docs/howto/imbalanced.md").read_text(encoding="utf-8").replace("−", "-")
    for line in rare_classes.table(records).splitlines()[-2:]:
        numbers = re.findall(r"[-+]?\d\.\d{3}", line)
        shown = [row for row in page.splitlines() if re.findall(r"[-+]?\d\.\d{3}", row) == numbers]
        assert len(shown) == 1, line
