"""The spread of a run's scores over repeated splits, for its page and the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphfilter.report.numbers import percent
from graphfilter.training.scores import Metric


@dataclass(frozen=True)
class SpreadRow:
    """One score over the repeats, written out; the interval is empty where nothing varies."""

    name: str
    mean: str
    deviation: str
    interval: str
    least: str
    most: str


@dataclass(frozen=True)
class Spread:
    """What repeating a fit showed."""

    n: int
    part: str
    sentence: str
    rows: tuple[SpreadRow, ...]


def view_spread(repeats: Mapping[str, Any], metrics: Mapping[str, Metric], key: str) -> Spread:
    """Write out the repeats of ``metrics.json``, on the test vertices where there are some.

    ``key`` is the score to speak of; the first of the ``metrics`` of the task where that one was
    not repeated.
    """
    part = next(p for p in ("test", "val", "train") if p in repeats["scores"])
    scores: Mapping[str, Any] = repeats["scores"][part]
    rows = {name: _row(metrics[name], scores[name]) for name in scores if name in metrics}
    first = rows[key] if key in rows else rows[next(name for name in metrics if name in rows)]
    where = {"test": "test", "val": "validation", "train": "training"}[part]
    what = "splits" if repeats["splits"] == "drawn" else "seeds on the same split"
    text = f"Over {repeats['n']} {what} the {where} {first.name} is {first.mean} on average"
    if first.interval:
        text += f" (95\xa0% interval of the mean {first.interval})"
    ends = f", from {first.least} to {first.most}"
    if first.least == first.most:
        ends = ", the same every time"
    return Spread(repeats["n"], where, f"{text}{ends}.", tuple(rows.values()))


def _row(metric: Metric, found: Mapping[str, Any]) -> SpreadRow:

    def write(value: float) -> str:
        return percent(value) if metric.share else f"{value:.3f}"

    interval = ""
    if found["low"] is not None:
        interval = f"{write(found['low'])} to {write(found['high'])}"
    return SpreadRow(
        metric.name,
        write(found["mean"]),
        write(found["deviation"]),
        interval,
        write(min(found["values"])),
        write(max(found["values"])),
    )
