"""Appendix B.2: the search beside the paper's setting."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphfilter.splits import Split
from graphfilter_research.bench.search import Found, SearchResult
from graphfilter_research.paper import appendix_search, target
from graphfilter_research.paper.collect import Options
from graphfilter_research.paper.published import CHOSEN
from graphfilter_research.paper.targets import TARGETS

QUICK = Options(quick=True, device="cpu")
SPLIT = Split(np.array([0]), np.array([1]), np.array([2]))
BEST = {**CHOSEN, "dropout": 0.4}
pytestmark = pytest.mark.usefixtures("tiny")


def test_search_shows_the_papers_setting_beside_the_best_and_is_not_run_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    best = Found(BEST, 0.9, 0.8)

    def found(graph, system, *, trials, **_) -> SearchResult:
        calls.append(trials)
        return SearchResult(system, SPLIT, Found(CHOSEN, 0.85, 0.81), best, 2, 1, 0)

    monkeypatch.setattr(appendix_search, "search", found)
    for _ in range(2):
        TARGETS["search"].collect(tmp_path, QUICK, None)
    assert calls == [appendix_search.QUICK_TRIALS]
    (block,) = TARGETS["search"].build(tmp_path, QUICK).blocks
    assert block.columns[0] == "dropout"
    assert [row.cells[0] for row in block.rows] == ["0.7", "0.4"]
    assert [row.cells[-2:] for row in block.rows] == [("85.00", "81.00"), ("90.00", "80.00")]
    assert "2 trials, 1 given up early" in block.heading


def test_search_of_several_splits_shows_what_it_gains_on_average(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Validation gains 5 points on each split; test gains 2 on one and loses 4 on the other."""
    seen: list[tuple[int, int]] = []
    tested = (0.82, 0.76)

    def found(graph: Any, system: str, *, split: int, seed: int, **_: Any) -> SearchResult:
        seen.append((split, seed))
        best = Found(BEST, 0.85, tested[split])
        return SearchResult(system, SPLIT, Found(CHOSEN, 0.8, 0.8), best, 2, 1, 0)

    monkeypatch.setattr(appendix_search, "search", found)
    # Split 0 is on record from before; the other is added to it.
    TARGETS["search"].collect(tmp_path, QUICK, None)
    several = replace(QUICK, variants=True)
    TARGETS["search"].collect(tmp_path, several, None)
    assert seen == [(0, 0), (1, 1)]
    first, gains = TARGETS["search"].build(tmp_path, several).blocks
    assert len(first.rows) == 2
    (row,) = gains.rows
    assert row.label == "karate"
    assert row.cells[:5] == ("2", "80.00 ± 0.00", "79.00 ± 3.00", "+5.00", "-1.00")
    assert 0 < float(str(row.cells[5])) < 1


def test_searches_side_by_side_are_those_of_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads stand in for processes, which take their time to start: what they get is pickled."""

    class Threads(ThreadPoolExecutor):
        def __init__(self, jobs: int, mp_context: object) -> None:
            super().__init__(jobs)

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            return super().submit(*pickle.loads(pickle.dumps((fn, *args))), **kwargs)

    def found(graph: Any, system: str, *, split: int, **_: Any) -> SearchResult:
        own = Found(CHOSEN, 0.8, 0.8)
        return SearchResult(system, SPLIT, own, Found(BEST, 0.9, 0.7 + split / 10), 2, 1, 0)

    monkeypatch.setattr(appendix_search, "search", found)
    monkeypatch.setattr(target, "ProcessPoolExecutor", Threads)
    made = {}
    for jobs in (1, 2):
        folder = tmp_path / str(jobs)
        folder.mkdir()
        TARGETS["search"].collect(folder, replace(QUICK, variants=True, jobs=jobs), None)
        made[jobs] = sorted((folder / "search-quick.jsonl").read_text().splitlines())
    assert len(made[1]) == 2
    assert made[1] == made[2]
