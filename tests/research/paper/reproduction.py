"""Pages of the docs and the committed records, which what they say is held to."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from graphfilter_research.bench.record import Record
from graphfilter_research.paper.collect import read_target_records

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "results"


@cache
def page(name: str = "reproduction") -> str:
    return " ".join((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8").split())


def check_said(*sentences: str, on: str = "reproduction") -> None:
    for sentence in sentences:
        assert " ".join(sentence.split()) in page(on), sentence


@cache
def records(*names: str) -> list[Record]:
    return [record for name in names for record in read_target_records(RESULTS, name)]
