"""Time against a fair share of the cores."""

from __future__ import annotations

import contention


def test_fair_time_is_that_alone_until_the_cores_are_shared() -> None:
    alone = {"seconds": 10.0, "cpu_seconds": 10.0, "cores": 2}
    assert contention.fair_seconds(**alone, n_busy=0) == 10
    assert contention.fair_seconds(**alone, n_busy=1) == 10
    assert contention.fair_seconds(**alone, n_busy=4) == 25
    # Two threads that kept both cores busy share one of them with another process.
    assert contention.fair_seconds(5.0, 10.0, cores=2, n_busy=1) == 10


def test_contention_table_shows_the_ratio_and_its_goal() -> None:
    row = {"busy": 4, "seconds": 30.0, "cpu_seconds": 9.0, "fair_seconds": 25.0, "ratio": 1.2}
    row |= {"work": "Pubmed", "one_thread": 40.0, "of_one_thread": 0.75}
    shown = contention.table({"epochs": 100, "cores": 2, "rows": [row]})
    assert "| Pubmed, beside 4 busy | 30.0 s | 9.00 s | 25.0 s | 1.20× | 40.0 s | 0.75× |" in shown
    assert "≤ 1.3×" in shown
