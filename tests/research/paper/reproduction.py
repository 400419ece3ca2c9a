"""docs/reproduction.md and the committed records, which what it says is held to."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from graphfilter_research.bench.record import Record
from graphfilter_research.paper.collect import read_target_records

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "results"


@cache
def page() -> str:
    return " ".join((ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8").split())


def says(sentence: str) -> bool:
    return " ".join(sentence.split()) in page()


@cache
def records(*names: str) -> list[Record]:
    return [record for name in names for record in read_target_records(RESULTS, name)]
