"""What one member of a committee ended with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphfilter.models import Fitted
from graphfilter.systems.networks import Outcome
from graphfilter.systems.pools import pooling_of
from graphfilter.systems.system import System
from graphfilter.training import SUPERFLUOUS, Task


@dataclass(frozen=True, eq=False)
class Part:
    """What a member of a committee ended with: its runs from several seeds, which count the same.

    ``probabilities`` (n, n_classes) are those of all runs together.
    """

    system: System
    runs: tuple[Outcome, ...]
    probabilities: NDArray[np.float64]

    @classmethod
    def of(cls, system: System, runs: Sequence[Outcome], task: Task) -> Part | None:
        """Join the runs of a member that learned something; None where none did."""
        learned = [run for run in runs if _has_learned(run)]
        if not learned:
            return None
        outputs = pooling_of(task).together([run.probabilities for run in learned])
        return cls(system, tuple(learned), outputs)

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


def _has_learned(run: Outcome) -> bool:
    lost = run.result.stopped == "diverged" and run.result.best_epoch == 0
    return not lost and bool(np.isfinite(run.probabilities).all())
