"""The spread of a run's scores over repeated splits, for its page and the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphfilter.metrics import METRICS
from graphfilter.report.numbers import percent


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


def view_spread(repeats: Mapping[str, Any]) -> Spread:
    """Write out the repeats of ``metrics.json``, on the test vertices where there are some."""
    part = next(p for p in ("test", "val", "train") if p in repeats["scores"])
    scores: Mapping[str, Any] = repeats["scores"][part]
    # Average precision is of the second class, whichever the page looks for: left out.
    shown = [name for name in scores if name in METRICS and name != "average_precision"]
    rows = tuple(_row(name, scores[name]) for name in shown)
    accuracy = _row("accuracy", scores["accuracy"])
    where = {"test": "test", "val": "validation", "train": "training"}[part]
    what = "splits" if repeats["splits"] == "drawn" else "seeds on the same split"
    said = f"Over {repeats['n']} {what} the {where} accuracy is {accuracy.mean} on average"
    if accuracy.interval:
        said += f" (95\xa0% interval of the mean {accuracy.interval})"
    ends = f", from {accuracy.least} to {accuracy.most}"
    if accuracy.least == accuracy.most:
        ends = ", the same every time"
    return Spread(repeats["n"], where, f"{said}{ends}.", rows)


def _row(name: str, found: Mapping[str, Any]) -> SpreadRow:
    share = METRICS[name].share

    def write(value: float) -> str:
        return percent(value) if share else f"{value:.3f}"

    interval = ""
    if found["low"] is not None:
        interval = f"{write(found['low'])} to {write(found['high'])}"
    return SpreadRow(
        METRICS[name].name,
        write(found["mean"]),
        write(found["deviation"]),
        interval,
        write(min(found["values"])),
        write(max(found["values"])),
    )
