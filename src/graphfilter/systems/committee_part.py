"""What one member of a committee ended with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphfilter.models import Fitted
from graphfilter.splits import NO_FOLD
from graphfilter.systems.networks import Outcome
from graphfilter.systems.pools import pooling_of
from graphfilter.systems.system import System
from graphfilter.training import SUPERFLUOUS, Task


@dataclass(frozen=True, eq=False)
class Part:
    """What a member of a committee ended with: its runs from several seeds, which count the same.

    ``probabilities`` (n, n_classes) are those of all runs together. Where each run held a fold out
    (:class:`~graphfilter.splits.Folding`), those for a vertex in ``held`` (n,) are of the run that
    has not seen its label, in every run's own probabilities too.
    """

    system: System
    runs: tuple[Outcome, ...]
    probabilities: NDArray[np.float64]
    held: NDArray[np.int8] | None = None

    @classmethod
    def of(
        cls,
        system: System,
        runs: Sequence[Outcome],
        task: Task,
        held: NDArray[np.int8] | None = None,
    ) -> Part | None:
        """Join the runs of a member that learned something; None where none did.

        Of those with folds all must have learned: each answers for vertices of its own.
        """
        learned = [run for run in runs if _has_learned(run)]
        if not learned or (held is not None and len(learned) < len(runs)):
            return None
        outputs = without_own_labels([run.probabilities for run in learned], held)
        learned = [replace(run, probabilities=o) for run, o in zip(learned, outputs, strict=True)]
        return cls(system, tuple(learned), pooling_of(task).together(outputs), held)

    def together(
        self, answers: Sequence[NDArray[np.float64]], rows: NDArray[np.int64], task: Task
    ) -> NDArray[np.float64]:
        """Return the combined answers (m, C) of its runs for some vertices, (m, C) each."""
        held = None if self.held is None else self.held[rows]
        return pooling_of(task).together(without_own_labels(answers, held))

    def learned_from(self, run: int, train: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the vertices whose labels a run has seen: those of its split, or its folds."""
        if self.held is None:
            return train
        return np.flatnonzero((self.held != NO_FOLD) & (self.held != run))

    @property
    def remark(self) -> str:
        """What a model did to its columns to be fitted, or why it was stopped; empty otherwise."""
        network = self.runs[0].network
        return network.remark if isinstance(network, Fitted) else self.superfluous

    @property
    def superfluous(self) -> str:
        """Why its training was ended before it would have ended by itself; empty where not."""
        if not any(run.result.stopped == SUPERFLUOUS for run in self.runs):
            return ""
        return f"did not improve the committee after {max(r.n_epochs for r in self.runs)} epochs"

    @property
    def seconds(self) -> float:
        return sum(run.seconds for run in self.runs)

    @property
    def n_epochs(self) -> int:
        return sum(run.n_epochs for run in self.runs)


def without_own_labels(
    answers: Sequence[NDArray[np.float64]], held: NDArray[np.int8] | None
) -> list[NDArray[np.float64]]:
    """Return answers of runs that each held a fold out, (n, C) each, with theirs for that fold.

    What all say of a vertex in a fold is then what one says that has not seen its label.
    """
    if held is None:
        return list(answers)
    rows = np.flatnonzero(held != NO_FOLD)
    own = np.stack(answers)[held[rows], rows]
    made = [outputs.copy() for outputs in answers]
    for outputs in made:
        outputs[rows] = own
    return made


def _has_learned(run: Outcome) -> bool:
    lost = run.result.stopped == "diverged" and run.result.best_epoch == 0
    return not lost and bool(np.isfinite(run.probabilities).all())
