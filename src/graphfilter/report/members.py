"""What the graph needed: how much each member of a committee counts, and what it adds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators.base import VertexClassifier
from graphfilter.estimators.graph import GraphClassifier
from graphfilter.metrics import mcnemar_test
from graphfilter.systems.committees import GROUPS
from graphfilter.wording import count

Codes = NDArray[np.int64]

# Of a p-value: below it a difference is more than chance.
CLEAR = 0.05


@dataclass(frozen=True)
class MemberRow:
    """One member: its share of the weights, and its accuracy alone."""

    title: str
    share: float
    accuracy: float
    seconds: float


@dataclass(frozen=True)
class KindRow:
    """Members that look at the same thing: their share, and what they add to the accuracy.

    ``clear`` says whether that is more than chance (McNemar's exact test, p < 0.05).
    """

    title: str
    share: float
    adds: float | None
    clear: bool = False
    members: tuple[MemberRow, ...] = ()


@dataclass(frozen=True)
class MembersView:
    """What the report says of a committee."""

    sentence: str
    kinds: tuple[KindRow, ...]
    absent: dict[str, str]


def view_members(
    classifier: VertexClassifier, part: str, scored: Codes, truth: Codes, predicted: Codes
) -> MembersView | None:
    """Return what to say of a committee's members; None of another classifier.

    Parameters
    ----------
    part : str
        Which vertices are scored: test, val or train.
    scored, truth, predicted : int arrays
        Those vertices, their class numbers, and the committee's.
    """
    if not isinstance(classifier, GraphClassifier):
        return None
    accuracy = float((predicted == truth).mean())
    notes = {note.name: note for note in classifier.member_notes_}
    kinds = []
    for title, names in GROUPS.items():
        rows = tuple(
            MemberRow(n.title, n.share, float((n.predicted[scored] == truth).mean()), n.seconds)
            for name in names
            if (n := notes.get(name)) is not None
        )
        if not rows:
            continue
        adds, clear = None, False
        if (without := classifier.without_[title]) is not None:
            others = without[scored] == truth
            adds = accuracy - float(others.mean())
            clear = mcnemar_test(predicted == truth, others) < CLEAR
        kinds.append(KindRow(title, sum(row.share for row in rows), adds, clear, rows))
    kinds.sort(key=lambda kind: -kind.share)
    return MembersView(describe_needs(kinds), tuple(kinds), classifier.absent_)


def describe_needs(kinds: list[KindRow]) -> str:
    """Say in one sentence what the answers rest on; what may be chance is nothing.

    >>> rows = [KindRow("features alone", 0.7, 0.1), KindRow("neighbours", 0.3, 0.021, clear=True)]
    >>> describe_needs(rows)
    'Mostly features alone; neighbours add 2.1 points.'
    """
    first, *others = kinds
    start = "Mostly" if first.share > 0.5 else "First of all"
    told = [f"{start} {first.title}"]
    for kind in others:
        verb = "add" if kind.title in ("neighbours", "trees", "features alone") else "adds"
        points = 0.0 if kind.adds is None else kind.adds
        if not kind.clear:
            told.append(f"{kind.title} {verb} nothing clear")
        elif points < 0:
            told.append(f"{kind.title} cost{verb[3:]} {count_points(-points)}")
        else:
            told.append(f"{kind.title} {verb} {count_points(points)}")
    return "; ".join(told) + "."


def count_points(share: float) -> str:
    """Return a difference of accuracies in points of a hundred."""
    shown = f"{100 * share:.1f}"
    return count(1, "point") if shown == "1.0" else f"{shown} points"
