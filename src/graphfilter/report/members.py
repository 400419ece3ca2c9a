"""What the graph needed: how much each member of a committee counts, and what it adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators.graph import OfCommittee
from graphfilter.runs.comparison import Comparison, ModelOutputs, Yardstick
from graphfilter.runs.fit import Fit, answers_of
from graphfilter.systems.committees import GROUPS
from graphfilter.util.words import count

# Below this p-value a difference is more than chance.
CLEAR = 0.05


@dataclass(frozen=True)
class MemberRow:
    """One member: its share of the weights, and its score alone, written out."""

    title: str
    share: float
    alone: str
    seconds: float


@dataclass(frozen=True)
class KindRow:
    """Members that look at the same thing: their share, and what they add to the score.

    ``clear`` says whether that is more than chance, by the test of the score.
    """

    title: str
    share: float
    adds: float | None
    clear: bool = False
    members: tuple[MemberRow, ...] = ()
    shown: str = ""


@dataclass(frozen=True)
class MembersView:
    """What the report says of a committee."""

    sentence: str
    kinds: tuple[KindRow, ...]
    absent: dict[str, str]


def view_members(fit: Fit, found: Comparison) -> MembersView | None:
    """Return what to say of a committee's members; None of another estimator."""
    committee = fit.estimator
    if not isinstance(committee, OfCommittee):
        return None
    notes = {note.name: note for note in committee.member_notes_}
    whole = found.yardstick.models[0]
    kinds = []
    for title, names in GROUPS.items():
        here = [notes[name] for name in names if name in notes]
        if not here:
            continue
        every = [whole, *(_said(fit, note.predicted, note.second) for note in here)]
        if (without := committee.without_[title]) is not None:
            every.append(_said(fit, *without))
        by = found.yardstick.of(every)
        rows = tuple(
            MemberRow(note.title, note.share, by.write(by.value(i)), note.seconds)
            for i, note in enumerate(here, start=1)
        )
        adds = by.lead(0, len(here) + 1) if without is not None else None
        clear = adds is not None and by.p_value(0, len(here) + 1) < CLEAR
        shown = "" if adds is None else by.write_lead(adds)
        kinds.append(KindRow(title, sum(row.share for row in rows), adds, clear, rows, shown))
    kinds.sort(key=lambda kind: -kind.share)
    return MembersView(describe_needs(kinds, found.yardstick), tuple(kinds), committee.absent_)


def _said(fit: Fit, predicted: NDArray[Any], second: NDArray[np.float64] | None) -> ModelOutputs:
    """Return what a member says of the judged vertices, by the decision of the fit."""
    judged = fit.judged
    if not fit.task.one_class:
        return ModelOutputs(predicted[judged].astype(np.float64), predicted[judged])
    if second is None:
        return ModelOutputs(np.eye(len(fit.names))[predicted[judged]], predicted[judged])
    outputs = np.stack([1 - second[judged], second[judged]], axis=1)
    return ModelOutputs(outputs, answers_of(fit.task, outputs, fit.names, fit.asked))


def describe_needs(kinds: Sequence[KindRow], by: type[Yardstick] | Yardstick) -> str:
    """Say in one sentence what the answers rest on; what may be chance is nothing.

    >>> from graphfilter.runs.comparison import Accuracy
    >>> rows = [KindRow("features alone", 0.7, 0.1), KindRow("neighbours", 0.3, 0.021, clear=True)]
    >>> describe_needs(rows, Accuracy)
    'Mostly features alone; neighbours add 2.1 points.'
    """
    first, *others = kinds
    start = "Mostly" if first.share > 0.5 else "Above all"
    told = [f"{start} {first.title}"]
    for kind in others:
        verb = "adds" if kind.title.startswith("who ") else "add"
        points = 0.0 if kind.adds is None else kind.adds
        if not kind.clear:
            told.append(f"{kind.title} {verb} nothing clear")
        elif points < 0:
            told.append(f"{kind.title} cost{verb[3:]} {_gain(-points, by)}")
        elif by.share:
            told.append(f"{kind.title} {verb} {_gain(points, by)}")
        else:
            told.append(f"{kind.title} save{verb[3:]} {_gain(points, by)}")
    return "; ".join(told) + "."


def _gain(difference: float, by: type[Yardstick] | Yardstick) -> str:
    """Return a difference of scores: in points of a hundred, or in their own units."""
    if not by.share:
        return f"{difference:.3g}"
    shown = f"{100 * difference:.1f}"
    return count(1, "point") if shown == "1.0" else f"{shown} points"
