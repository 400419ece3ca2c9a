"""The systems of a benchmark ranked on each dataset, with intervals and in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from graphfilter.report.html import percent
from graphfilter.runs.comparing import FEWEST_RUNS, mean_interval
from graphfilter.systems import find_system
from graphfilter.training.scores import METRICS
from graphfilter_research.bench.record import Record
from graphfilter_research.bench.summary import CellSummary, Summary

MOST_NAMES = 5


@dataclass(frozen=True)
class Axis:
    """A scale between two round numbers.

    >>> axis = Axis.around([0.843, 0.912, float("nan")])
    >>> axis, axis.at(0.86), axis.at(0.2), axis.holds(0.2)
    (Axis(low=0.84, high=0.92), 25.0, 0.0, False)
    """

    low: float
    high: float

    @classmethod
    def around(cls, values: Iterable[float]) -> Self:
        """Span the finite values in steps of 1, 2 or 5 times a power of ten.

        What lies further from the quartiles than three times their distance is left out (Tukey's
        outer fences): one failure must not squeeze all others into a corner.
        """
        known = np.array([value for value in values if math.isfinite(value)])
        if not len(known):
            return cls(0.0, 1.0)
        first, third = np.quantile(known, (0.25, 0.75))
        if reach := 3 * (third - first):
            known = known[(known >= first - reach) & (known <= third + reach)]
        low, high = float(known.min()), float(known.max())
        least = (high - low) / 5 or 0.1
        power = 10.0 ** math.floor(math.log10(least))
        step = next(step * power for step in (1, 2, 5, 10) if step * power >= least)
        low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
        return cls(round(low if low < high else low - step, 12), round(high, 12))

    def holds(self, value: float) -> bool:
        """Return whether a value lies on the scale."""
        return self.low <= value <= self.high

    def at(self, value: float) -> float:
        """Return where a value lies, in % of the way from the lower end; at an end if beyond."""
        share = (value - self.low) / (self.high - self.low)
        return round(100 * min(max(share, 0.0), 1.0), 2)


@dataclass(frozen=True)
class Entry:
    """One system on one dataset; ``low`` and ``high`` are the 95 % interval of its mean."""

    title: str
    cell: CellSummary
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """How it compares with the best: best, not clearly worse, clearly worse, or not tested."""
        if self.cell.mark:
            return {"best": "best", "tied": "not clearly worse"}[self.cell.mark]
        return "not tested" if self.cell.p_value is None else "clearly worse"


@dataclass(frozen=True)
class Ranking:
    """The systems on one dataset: the best first, those without a finished run left out."""

    dataset: str
    metric: str
    entries: tuple[Entry, ...]

    def titles(self, verdict: str) -> list[str]:
        """Return the titles of the systems with a verdict."""
        return [entry.title for entry in self.entries if entry.verdict == verdict]

    @property
    def axis(self) -> Axis:
        """A scale that holds every interval."""
        return Axis.around(x for e in self.entries for x in (e.low, e.cell.mean, e.high))

    @property
    def is_tested(self) -> bool:
        return any(entry.cell.p_value is not None for entry in self.entries)

    @property
    def sentence(self) -> str:
        """Which system is best, and which others may be behind it by chance, in words."""
        if not self.entries:
            return "No run succeeded."
        best, form = self.entries[0], formatter(self.metric)
        extreme = "lowest" if METRICS[self.metric].lower_is_better else "highest"
        name = METRICS[self.metric].name
        first = [entry.title for entry in self.entries if entry.cell.mean == best.cell.mean]
        have = "has" if len(first) == 1 else "share"
        text = f"{listed(first)} {have} the {extreme} {name}, {form(best.cell.mean)}"
        if best.cell.n > 1 and not best.cell.deviation:
            text += " in every run"
        elif math.isfinite(best.low):
            text += f" (95 % interval {form(best.low)} to {form(best.high)})"
        for verdict in ("not clearly worse", "clearly worse"):
            if names := [title for title in self.titles(verdict) if title not in first]:
                text += f"; {listed(names)} {'is' if len(names) == 1 else 'are'} {verdict}"
        return f"{text}."


def rank_systems(summary: Summary, records: Sequence[Record]) -> list[Ranking]:
    """Order the systems of a table on each of its datasets."""
    sign = 1 if METRICS[summary.metric].lower_is_better else -1
    found = []
    for dataset in summary.datasets:
        ratio = _test_train_ratio(dataset, summary.split_rule, records)
        entries = [
            Entry(system_title(model), cell, *_interval(cell, ratio, summary.metric))
            for model in summary.models
            if (cell := summary.cells.get((dataset, model))) is not None and cell.n
        ]
        entries.sort(key=lambda e: (e.verdict != "best", sign * e.cell.mean))
        found.append(Ranking(dataset, summary.metric, tuple(entries)))
    return found


def headline(found: Sequence[Ranking]) -> str:
    """Return in one sentence which systems are competitive everywhere."""
    titles = by_mean(found)
    if not titles:
        return "No run succeeded; the reasons are listed under failures."
    if len(titles) == 1:
        return f"{titles[0]} was run alone: there is nothing to compare it with."
    tested = [ranking for ranking in found if ranking.is_tested]
    if not tested:
        return (
            f"No difference was tested, which takes {FEWEST_RUNS} runs per system on the same "
            "splits: the order may be chance."
        )
    if len(tested) == 1:
        return f"On {tested[0].dataset}, {tested[0].sentence}"
    good = {
        title: sum(title in [*s.titles("best"), *s.titles("not clearly worse")] for s in tested)
        for title in titles
    }
    most = max(good.values())
    leaders = [title for title in titles if good[title] == most]
    where = f"{most} of {len(tested)}"
    if most == len(tested):
        where = "both" if most == 2 else f"all {most}"
    one = len(leaders) == 1
    text = f"{listed(leaders)} {'is' if one else 'are'} best, or not clearly worse than the best, "
    text += f"on {where} datasets"
    if most < len(tested):
        return f"No system is best everywhere: {text}, more than any other."
    return f"{text}{'' if len(leaders) == len(titles) else '; no other system is'}."


def _interval(cell: CellSummary, test_train_ratio: float, metric: str) -> tuple[float, float]:
    """Return the 95 % interval of a cell's mean, within the values that the metric can take."""
    low, high = mean_interval(cell.mean, cell.deviation, cell.n, test_train_ratio)
    most = 1.0 if METRICS[metric].share else math.inf
    # Compared this way round, NaN stays NaN.
    return 0.0 if low < 0 else low, most if high > most else high


def formatter(metric: str) -> Callable[[float], str]:
    """Return how to write a value of a metric: shares in percent, log loss as it is."""
    return percent if METRICS[metric].share else "{:.3f}".format


def system_title(label: str) -> str:
    """Return the title of a system's label in a table, with what tells it from its namesakes.

    >>> system_title("sgf (dropout=0.5)"), system_title("mine")
    ('SGF (dropout=0.5)', 'mine')
    """
    name, space, rest = label.partition(" ")
    system = find_system(name)
    return f"{system.title}{space}{rest}" if system else label


def listed(names: Sequence[str], most: int = MOST_NAMES) -> str:
    """Join names into a phrase.

    >>> listed(["A", "B", "C"]), listed(["A", "B", "C", "D"], most=2)
    ('A, B and C', 'A, B and 2 others')
    """
    if len(names) > most + 1:
        names = [*names[:most], f"{len(names) - most} others"]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def by_mean(found: Sequence[Ranking]) -> list[str]:
    """List every system once, the best on average first."""
    means: dict[str, list[float]] = {}
    for entry in (entry for ranking in found for entry in ranking.entries):
        means.setdefault(entry.title, []).append(entry.cell.mean)
    sign = 1 if found and METRICS[found[0].metric].lower_is_better else -1
    return sorted(means, key=lambda title: sign * float(np.mean(means[title])))


def _test_train_ratio(dataset: str, split_rule: str, records: Sequence[Record]) -> float:
    """Return the sizes' ratio; 0 where all runs are on one split, as for the verdicts."""
    mine = [
        record
        for record in records
        if record.ok
        and record.split_rule == split_rule
        and (dataset == record.dataset or dataset.startswith(f"{record.dataset} ("))
    ]
    if len({record.split_index for record in mine}) < 2:
        return 0.0
    sizes = [(r.scores["test"]["n_vertices"], r.scores["train"]["n_vertices"]) for r in mine]
    return float(np.mean([test / train for test, train in sizes]))
