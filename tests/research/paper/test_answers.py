"""Every printed accuracy has an answer, from the records."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from graphfilter_research.paper import answers
from graphfilter_research.paper.answers import Measured, in_words
from graphfilter_research.paper.collect import Options
from graphfilter_research.paper.published import (
    LITERATURE_2,
    LITERATURE_3,
    TABLE_2,
    TABLE_3,
    TABLE_4,
    TABLE_5,
    Accuracy,
)
from graphfilter_research.paper.tables import ComparedAccuracy

RESULTS = Path(__file__).resolve().parents[3] / "results"


def ours(mean: float, system: str, setting: str) -> Measured:
    cell = ComparedAccuracy(mean, 1.0, 10, published=Accuracy(80.0, 1.0))
    return Measured(cell, system, setting)


def test_answer_is_the_first_setting_within_noise_or_the_nearest() -> None:
    near, far = ours(80.2, "SGF", "raw"), ours(70.0, "SGF", "row")
    assert in_words([far, near], "SGF") == "≈ 80.2 (raw)"
    assert in_words([far, ours(84.0, "sgf@dropout=0.5", "raw")], "SGF") == (
        "▲ 84.0, +4.0 (sgf@dropout=0.5, raw)"
    )
    assert in_words([], "SGF") == "not run"
    other = replace(near, cell=replace(near.cell, same_splits=False))
    assert in_words([other, far], "SGF") == "▼ 70.0, -10.0 (row)"
    assert in_words([other], "SGF") == "80.2 on other splits"


def test_every_printed_accuracy_is_answered() -> None:
    rendered = answers.TARGET.build(RESULTS, Options())
    cells = [c for block in rendered.blocks for row in block.rows for c in row.cells if c]
    tables = (TABLE_2, TABLE_3, LITERATURE_2, LITERATURE_3)
    n_printed = sum(len(row) for table in tables for row in table.values())
    n_printed += sum(3 * len(lines) for lines in TABLE_4.values()) + len(TABLE_5["sgf-random"])
    assert len(cells) == n_printed
