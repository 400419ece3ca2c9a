"""How the vertices of a later graph differ from those of the fit, and what that does to answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.runs.comparison import number
from graphfilter.runs.observed import (
    ANSWERS,
    DEGREE,
    FEATURES,
    VARIATION,
    answer_frequency,
    columns_of,
    sample,
    signals_and_losses,
)
from graphfilter.runs.reference import Reference
from graphfilter.training import REGRESSION, Task
from graphfilter.training.comparing import SIGNIFICANCE, ColumnSummary, Moved, holm
from graphfilter.training.scores import Expected
from graphfilter.util.words import count, listed

PART_WORDS = {"train": "training", "val": "validation", "test": "test"}
# An edge counts at both of its ends: two vertices say as much as one that is independent.
SHARED = {DEGREE: 2, VARIATION: 2}
# Fewer vertices are too few to find a change of a usual size.
FEW = 30
# The most changes that are listed on the terminal.
MOST_SAID = 3


@dataclass(frozen=True)
class Move:
    """One column at the threshold where it differs most from the fit.

    Attributes
    ----------
    kind : str
        features, degree, variation or answers.
    what : str
        The vertices that are counted, in words: those above the threshold.
    before, now : float
        Their share at the fit and now.
    p_value : float
        Corrected for the number of comparisons (Holm).
    is_class : bool
        Whether the shares are those of a class among the answers.
    by_growth : bool
        Whether known vertices of the same graph have as many neighbours as the new ones, more
        than at the fit: a graph that grows has more edges per vertex.
    """

    kind: str
    what: str
    before: float
    now: float
    p_value: float
    is_class: bool = False
    by_growth: bool = False

    @property
    def moved(self) -> bool:
        """Whether it differs beyond chance, and beyond what the graph's growth explains."""
        return self.p_value <= SIGNIFICANCE and not self.by_growth

    @property
    def sentence(self) -> str:
        return f"{self.what}: {self.before:.1%} at the fit, {self.now:.1%} now"


@dataclass(frozen=True)
class ExpectedLoss:
    """What an error should be on this graph, and what it was on the judged vertices of the fit."""

    name: str
    expected: Expected
    promised: float
    as_accuracy: bool

    @property
    def now(self) -> str:
        """What is expected, with its interval, in words."""
        value, low, high = self.expected.value, self.expected.low, self.expected.high
        if self.as_accuracy:
            return f"{1 - value:.1%} ({1 - min(1.0, high):.1%} to {1 - low:.1%})"
        return f"{number(value)} ({number(low)} to {number(high)})"

    @property
    def before(self) -> str:
        """What was measured, in words."""
        return f"{1 - self.promised:.1%}" if self.as_accuracy else number(self.promised)


@dataclass(frozen=True, eq=False)
class Drift:
    """A comparison of vertices with those of the fit.

    Attributes
    ----------
    n_compared : int
    are_new : bool
        Whether the compared vertices are those that the run does not know; all otherwise.
    moves : tuple of Move
        Every comparison, those beyond chance first.
    losses : tuple of ExpectedLoss
    part : str
        The vertices of the fit that the losses were measured on.
    frequency : pair of floats, or None
        The mean graph frequency of the answers at the fit and now.
    """

    n_compared: int
    are_new: bool
    moves: tuple[Move, ...]
    losses: tuple[ExpectedLoss, ...]
    part: str
    frequency: tuple[float, float] | None

    @property
    def beyond_chance(self) -> tuple[Move, ...]:
        return tuple(move for move in self.moves if move.moved)

    @property
    def compared(self) -> str:
        word = "new " if self.are_new else ""
        return count(self.n_compared, f"{word}vertex", f"{word}vertices")

    @property
    def most_right(self) -> float | None:
        """Which share of answers can be right if classes are as frequent as at the fit."""
        shares = [(m.before, m.now) for m in self.moves if m.kind == ANSWERS and m.is_class]
        if not shares:
            return None
        return 1 - sum(abs(now - before) for before, now in shares) / 2

    def sentences(self, most: int = MOST_SAID) -> list[str]:
        """Say what moved, and what accuracy to expect."""
        said = [self._say_moved(most), *self._say_growth(), *self._say_frequency()]
        return [*said, *self.say_losses()]

    def _say_moved(self, most: int) -> str:
        moved, n = self.beyond_chance, len(self.moves)
        of = f"{count(n, 'comparison')} of the {self.compared} with those of the fit"
        alarms = f"(a false alarm in at most {SIGNIFICANCE:.0%} of predictions)"
        if not moved:
            few = f" Only large changes show in {self.compared}." if self.n_compared < FEW else ""
            return f"No drift: of {of} none is beyond chance {alarms}.{few}"
        shown = "; ".join(f"vertices with {move.sentence}" for move in moved[:most])
        more = f"; and {len(moved) - most:,} more" if len(moved) > most else ""
        are = "is" if len(moved) == 1 else "are"
        return f"Drift: of {of} {len(moved):,} {are} beyond chance {alarms}: {shown}{more}."

    def _say_growth(self) -> list[str]:
        return [
            f"The graph has grown: vertices with {move.sentence}, among known vertices as among "
            "new ones."
            for move in self.moves
            if move.by_growth and move.p_value <= SIGNIFICANCE
        ]

    def _say_frequency(self) -> list[str]:
        if self.frequency is None:
            return []
        before, now = self.frequency
        return [f"The predictions have graph frequency {now:.2f}; at the fit it was {before:.2f}."]

    def say_losses(self) -> list[str]:
        """Say what accuracy, or which error, to expect."""
        if not self.losses:
            return []
        by = (
            "the predicted probabilities" if self.losses[0].as_accuracy else "the predicted numbers"
        )
        where = f"on the {PART_WORDS[self.part]} vertices of the fit"
        before = listed([loss.before for loss in self.losses])
        verb, judged = "should be", f", judged by {by}"
        if self.beyond_chance:
            verb, judged = "would be", f" if {by} were as accurate as at the fit"
        expected = listed([f"{loss.name} {verb} {loss.now}" for loss in self.losses])
        sentences = [f"On these vertices {expected}{judged}; {where} it was {before}."]
        if self.beyond_chance:
            sentences.append(
                "After such drift they may not be, and the true value may lie far outside this "
                "interval: label some of these vertices to measure it."
            )
        if self.most_right is not None and any(m.kind == ANSWERS for m in self.beyond_chance):
            sentences.append(
                f"If the classes are as frequent as at the fit, at most {self.most_right:.1%} "
                "of the predictions can be right."
            )
        return sentences


def find_drift(
    reference: Reference,
    graph: Graph,
    task: Task,
    names: Sequence[str],
    outputs: Callable[[NDArray[np.int64]], NDArray[np.float64]],
    answers: NDArray[Any],
    rows: NDArray[np.int64],
    *,
    are_new: bool,
    seed: int = 0,
) -> Drift:
    """Compare vertices of a graph with those of a fit.

    Parameters
    ----------
    graph : Graph
        With features as the model takes them.
    outputs : callable
        Gives those (m, C) of some of its vertices.
    answers : array (n,) or (n, C)
        Of all of them.
    rows : int array
        The vertices to compare.
    are_new : bool
        Whether those are all that the run does not know.
    """
    seen = sample(rows, graph.n_features, seed)
    sampled = sample(rows, len(names), seed)
    own = outputs(sampled)
    columns = columns_of(
        graph, task, own, answers, seen, sampled, n=len(names), deviation=reference.deviation
    )
    moves: list[tuple[str, str, float, float, float]] = []
    for kind in (FEATURES, DEGREE, VARIATION, ANSWERS):
        summary = reference.columns.get(kind)
        if summary is None or columns[kind].shape[1] != len(summary.thresholds):
            continue
        moved = summary.compare(columns[kind], shared=SHARED.get(kind, 1))
        titles = _titles(kind, graph, names)
        for i, title in enumerate(titles):
            what, before, now = _describe(kind, title, summary, moved, i, task)
            moves.append((kind, what, before, now, float(moved.p_values[i])))
    corrected = holm([move[-1] for move in moves]) if moves else []
    found = [
        Move(
            *move[:4],
            float(p),
            is_class=task.one_class and move[0] == ANSWERS,
            by_growth=move[0] == DEGREE and are_new and _has_grown(reference, graph, rows, seed),
        )
        for move, p in zip(moves, corrected, strict=True)
    ]
    found.sort(key=lambda move: (not move.moved, move.p_value, -abs(move.now - move.before)))
    now = answer_frequency(graph, task, answers, len(names))
    frequency = None
    if now is not None and reference.frequency is not None:
        frequency = reference.frequency, now
    return Drift(
        len(rows), are_new, tuple(found), _losses(reference, task, names, own, answers[sampled]),
        reference.part, frequency,
    )  # fmt: skip


def _has_grown(reference: Reference, graph: Graph, new: NDArray[np.int64], seed: int) -> bool:
    """Return whether known vertices have more neighbours than at the fit, and as many as new ones.

    Both beyond chance, and within it.
    """
    degrees = np.diff(graph.indptr)[:, None]
    known = sample(np.setdiff1d(np.arange(graph.n_vertices), new), 1, seed)
    before = reference.columns[DEGREE].compare(degrees[known], shared=SHARED[DEGREE])
    if not len(known) or before.p_values[0] > SIGNIFICANCE or before.now[0] < before.before[0]:
        return False
    now = ColumnSummary.of(degrees[known])
    added = degrees[sample(new, 1, seed)]
    return bool(now.compare(added, shared=SHARED[DEGREE]).p_values[0] > SIGNIFICANCE)


def _losses(
    reference: Reference,
    task: Task,
    names: Sequence[str],
    outputs: NDArray[Any],
    answers: NDArray[Any],
) -> tuple[ExpectedLoss, ...]:
    pairs, are_shares = signals_and_losses(task, outputs, answers), task is not REGRESSION
    if not are_shares:
        titles = ["the mean error" + ("" if len(names) == 1 else f" of {n!r}") for n in names]
    else:
        titles = ["accuracy" if task.one_class else "the share of labels that are right"]
    return tuple(
        ExpectedLoss(title, bins.expect(signal, is_share=are_shares), float(promised), are_shares)
        for title, bins, (signal, _), promised in zip(
            titles, reference.losses, pairs, reference.promised, strict=True
        )
    )


def _titles(kind: str, graph: Graph, names: Sequence[str]) -> Sequence[str]:
    if kind == FEATURES:
        return graph.feature_names or [f"feature {i}" for i in range(graph.n_features)]
    return names if kind == ANSWERS else [kind]


def _describe(
    kind: str, title: str, summary: ColumnSummary, moved: Moved, i: int, task: Task
) -> tuple[str, float, float]:
    """Return which vertices are counted, in words, and their shares at the fit and now."""
    limits = summary.thresholds[i]
    t, before, now = float(moved.threshold[i]), float(moved.before[i]), float(moved.now[i])
    subject = {
        FEATURES: repr(title),
        DEGREE: "neighbours",
        VARIATION: "neighbours with another prediction",
        ANSWERS: f"the answer {title!r}",
    }[kind]
    if kind == VARIATION and task is REGRESSION:
        subject = "distance from neighbours' answers, in deviations,"
    given = limits[np.isfinite(limits)]
    if set(given[1:].tolist()) <= {0.0, 1.0} and t >= 0 and kind in (FEATURES, ANSWERS):
        return subject, before, now
    if t == limits[0]:
        least = np.nextafter(t, np.inf)
        if kind == DEGREE:
            return f"fewer than {least:.0f} neighbours, the least at the fit", 1 - before, 1 - now
        return f"{subject} below {least:.4g}, the least at the fit", 1 - before, 1 - now
    if kind == DEGREE:
        return f"more than {count(round(t), 'neighbour')}", before, now
    if kind == VARIATION and task is not REGRESSION:
        return f"more than {t:.0%} of {subject}", before, now
    return f"{subject} above {t:.4g}", before, now
