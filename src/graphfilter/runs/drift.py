"""How the vertices of a later graph differ from those of a fit, and what that does to predictions.

Columns that are seen of vertices or predicted for them are compared with the :class:`Reference` of
the fit by Fisher's exact test; p-values are corrected for their number by Holm's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.runs.reference import (
    ANSWERS,
    DEGREE,
    FEATURES,
    KINDS,
    VARIATION,
    Array,
    ColumnSummary,
    Index,
    Reference,
    answer_frequency,
    make_columns,
    sample,
    signals_and_losses,
)
from graphfilter.training import REGRESSION, Task
from graphfilter.training.comparing import SIGNIFICANCE, holm
from graphfilter.training.scores import Expected
from graphfilter.util.words import count, listed, number

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
    by_growth : bool
        Whether known vertices of the same graph have as many neighbours as the new ones, more
        than at the fit: a graph that grows has more edges per vertex.
    """

    kind: str
    what: str
    before: float
    now: float
    p_value: float
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
    """What an error should be on this graph, with its interval, and what it was at the fit.

    ``now`` and ``before`` are written out; ``as_accuracy`` says that they are shares that are
    right.
    """

    name: str
    expected: Expected
    now: str
    before: str
    as_accuracy: bool


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
        The mean graph frequency of the predictions at the fit and now.
    most_right : float or None
        Which share of predictions can be right if classes are as frequent as at the fit.
    """

    n_compared: int
    are_new: bool
    moves: tuple[Move, ...]
    losses: tuple[ExpectedLoss, ...]
    part: str
    frequency: tuple[float, float] | None
    most_right: float | None = None

    @property
    def beyond_chance(self) -> tuple[Move, ...]:
        return tuple(move for move in self.moves if move.moved)

    @property
    def compared(self) -> str:
        word = "new " if self.are_new else ""
        return count(self.n_compared, f"{word}vertex", f"{word}vertices")

    def sentences(self, most: int = MOST_SAID) -> list[str]:
        """Say what moved, and what accuracy to expect."""
        moved, n = self.beyond_chance, len(self.moves)
        of = f"{count(n, 'comparison')} of the {self.compared} with those of the fit"
        alarms = f"(a false alarm in at most {SIGNIFICANCE:.0%} of predictions)"
        if moved:
            shown = "; ".join(f"vertices with {move.sentence}" for move in moved[:most])
            more = f"; and {len(moved) - most:,} more" if len(moved) > most else ""
            are = "is" if len(moved) == 1 else "are"
            said = [f"Drift: of {of} {len(moved):,} {are} beyond chance {alarms}: {shown}{more}."]
        else:
            few = f" Only large changes show in {self.compared}." if self.n_compared < FEW else ""
            said = [f"No drift: of {of} none is beyond chance {alarms}.{few}"]
        said += [
            f"The graph has grown: vertices with {move.sentence}, among known vertices as among "
            "new ones."
            for move in self.moves
            if move.by_growth and move.p_value <= SIGNIFICANCE
        ]
        if self.frequency is not None:
            before, now = self.frequency
            text = (
                f"The predictions have graph frequency {now:.2f}; at the fit it was {before:.2f}."
            )
            said.append(text)
        return [*said, *self.say_losses()]

    def say_losses(self) -> list[str]:
        """Say what accuracy, or which error, to expect."""
        if not self.losses:
            return []
        by = "the predicted numbers"
        if self.losses[0].as_accuracy:
            by = "the predicted probabilities"
        word = {"train": "training", "val": "validation", "test": "test"}[self.part]
        before = listed([loss.before for loss in self.losses])
        verb, judged = "should be", f", judged by {by}"
        if self.beyond_chance:
            verb, judged = "would be", f" if {by} were as accurate as at the fit"
        expected = listed([f"{loss.name} {verb} {loss.now}" for loss in self.losses])
        sentences = [
            f"On these vertices {expected}{judged}; on the {word} vertices of the fit it was "
            f"{before}."
        ]
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
    outputs: Callable[[Index], Array],
    answers: NDArray[Any],
    rows: Index,
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
    n, seen = len(names), sample(rows, graph.n_features, seed)
    sampled = sample(rows, n, seed)
    said = outputs(sampled)
    columns = make_columns(graph, task, said, answers, seen, sampled, n, reference.deviation)
    titles = {kind: [kind] for kind in (DEGREE, VARIATION)} | {
        ANSWERS: names,
        FEATURES: graph.feature_names or [f"feature {i}" for i in range(graph.n_features)],
    }
    rough: list[Move] = []
    for kind in KINDS:
        summary = reference.columns.get(kind)
        if summary is not None and columns[kind].shape[1] == len(summary.thresholds):
            moved = summary.compare(columns[kind], shared=SHARED.get(kind, 1))
            each = zip(titles[kind], moved.threshold, moved.before, moved.now, strict=True)
            for (title, t, before, now), limits, p in zip(
                each, summary.thresholds, moved.p_values, strict=True
            ):
                what, is_below = _in_words(kind, title, float(t), limits, task)
                shares = (1 - before, 1 - now) if is_below else (before, now)
                rough.append(Move(kind, what, float(shares[0]), float(shares[1]), float(p)))
    grown = are_new and _has_grown(reference, graph, rows, seed)
    moves = [
        Move(m.kind, m.what, m.before, m.now, float(p), m.kind == DEGREE and grown)
        for m, p in zip(rough, holm([m.p_value for m in rough]) if rough else [], strict=True)
    ]
    moves.sort(key=lambda move: (not move.moved, move.p_value, -abs(move.now - move.before)))
    shares = [m.now - m.before for m in moves if m.kind == ANSWERS] if task.one_class else []
    frequency, now = reference.frequency, answer_frequency(graph, task, answers, n)
    return Drift(
        len(rows), are_new, tuple(moves), _expect(reference, task, names, said, answers[sampled]),
        reference.part, None if now is None or frequency is None else (frequency, now),
        1 - float(np.abs(shares).sum()) / 2 if shares else None,
    )  # fmt: skip


def _has_grown(reference: Reference, graph: Graph, new: Index, seed: int) -> bool:
    """Return whether known vertices have more neighbours than at the fit, and as many as new ones.

    Both beyond chance, and within it.
    """
    degrees, shared = np.diff(graph.indptr)[:, None], SHARED[DEGREE]
    known = sample(np.setdiff1d(np.arange(graph.n_vertices), new), 1, seed)
    before = reference.columns[DEGREE].compare(degrees[known], shared=shared)
    if not len(known) or before.p_values[0] > SIGNIFICANCE or before.now[0] < before.before[0]:
        return False
    added = ColumnSummary.of(degrees[known]).compare(degrees[sample(new, 1, seed)], shared=shared)
    return bool(added.p_values[0] > SIGNIFICANCE)


def _expect(
    reference: Reference,
    task: Task,
    names: Sequence[str],
    outputs: NDArray[Any],
    answers: NDArray[Any],
) -> tuple[ExpectedLoss, ...]:
    """Return what each loss should be on vertices with these predictions."""
    shares = task is not REGRESSION
    titles = ["accuracy" if task.one_class else "the share of labels that are right"]
    if not shares:
        titles = ["the mean error" + ("" if len(names) == 1 else f" of {n!r}") for n in names]
    losses = []
    for title, bins, (signal, _), measured in zip(
        titles, reference.losses, signals_and_losses(task, outputs, answers), reference.measured,
        strict=True,
    ):  # fmt: skip
        loss = bins.expect(signal, is_share=shares)
        now = f"{number(loss.value)} ({number(loss.low)} to {number(loss.high)})"
        before = number(float(measured))
        if shares:
            low, high = 1 - min(1.0, loss.high), 1 - loss.low
            now, before = f"{1 - loss.value:.1%} ({low:.1%} to {high:.1%})", f"{1 - measured:.1%}"
        losses.append(ExpectedLoss(title, loss, now, before, shares))
    return tuple(losses)


def _in_words(kind: str, title: str, t: float, limits: Array, task: Task) -> tuple[str, bool]:
    """Return which vertices are counted, and whether those are the ones below a threshold."""
    subject = {
        FEATURES: repr(title),
        DEGREE: "neighbours",
        VARIATION: "neighbours with another prediction",
        ANSWERS: f"the answer {title!r}",
    }[kind]
    if kind == VARIATION and task is REGRESSION:
        subject = "distance from neighbours' answers, in deviations,"
    finite = limits[np.isfinite(limits)]
    if set(finite[1:].tolist()) <= {0.0, 1.0} and t >= 0 and kind in (FEATURES, ANSWERS):
        return subject, False
    if t == limits[0]:
        least = np.nextafter(t, np.inf)
        if kind == DEGREE:
            return f"fewer than {least:.0f} neighbours, the least at the fit", True
        return f"{subject} below {least:.4g}, the least at the fit", True
    if kind == DEGREE:
        return f"more than {count(round(t), 'neighbour')}", False
    if kind == VARIATION and task is not REGRESSION:
        return f"more than {t:.0%} of {subject}", False
    return f"{subject} above {t:.4g}", False
