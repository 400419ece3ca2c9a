"""Appendix B.2: the search beside the paper's setting."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphfilter.bench.search import Found, SearchResult
from graphfilter.paper import appendix_search
from graphfilter.paper.options import Options
from graphfilter.paper.published_accuracy import CHOSEN
from graphfilter.splits import Split

QUICK = Options(quick=True, device="cpu")
pytestmark = pytest.mark.usefixtures("tiny")


def test_search_shows_the_papers_setting_beside_the_best_and_is_not_run_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    split = Split(np.array([0]), np.array([1]), np.array([2]))
    best = Found({**CHOSEN, "dropout": 0.4}, 0.9, 0.8)

    def found(graph, system, *, trials, **_) -> SearchResult:
        calls.append(trials)
        return SearchResult(system, split, Found(CHOSEN, 0.85, 0.81), best, 2, 1, 0)

    monkeypatch.setattr(appendix_search, "QUICK", ("karate",))
    monkeypatch.setattr(appendix_search, "search", found)
    for _ in range(2):
        appendix_search.collect(tmp_path, QUICK, None)
    assert calls == [appendix_search.QUICK_TRIALS]
    (block,) = appendix_search.build(tmp_path, QUICK).blocks
    assert block.columns[0] == "dropout"
    assert [row.cells[0] for row in block.rows] == ["0.7", "0.4"]
    assert [row.cells[-2:] for row in block.rows] == [("85.00", "81.00"), ("90.00", "80.00")]
    assert "2 trials, 1 given up early" in block.heading
