"""What the members of a committee ended with, and their weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.models import Fitted
from graphfilter.splits import Split, held_folds
from graphfilter.systems.networks import Outcome
from graphfilter.systems.pooling import Pool
from graphfilter.systems.pools import pooling_of
from graphfilter.systems.prepared import Prepared
from graphfilter.systems.prior import prior_weights
from graphfilter.systems.system import System
from graphfilter.training import SUPERFLUOUS, Task

# With less than this share of the weights a member is left out.
LEAST = 0.01

Weigh = Callable[[NDArray[np.bool_]], Pool]


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
        said = pooling_of(task).together([run.probabilities for run in learned])
        return cls(system, tuple(learned), said)

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
        return f"added nothing to the others after {max(r.n_epochs for r in self.runs)} epochs"

    @property
    def seconds(self) -> float:
        return sum(run.seconds for run in self.runs)

    @property
    def n_epochs(self) -> int:
        return sum(run.n_epochs for run in self.runs)


def _has_learned(run: Outcome) -> bool:
    lost = run.result.stopped == "diverged" and run.result.best_epoch == 0
    return not lost and bool(np.isfinite(run.probabilities).all())


@dataclass(frozen=True, eq=False)
class CommitteeOutcome(Outcome):
    """What a committee ended with; ``network`` and ``result`` are of the member with most weight.

    Attributes
    ----------
    parts : tuple of Part
        Of the members that were trained.
    pool : Pool
        Their weights.
    elsewhere : Pool
        Their weights on another graph, where those that keep theirs have none.
    weigh : callable
        From which of them are heard to their weights.
    pooled : array (M, n, C)
        What the pool takes of each part: logits, or numbers.
    folds : tuple of Pool
        The pools of the members that are heard without the validation vertices of one fold each:
        see :func:`~graphfilter.splits.held_folds`.
    failed : dict of str to str
        Why members that should have been trained have no part, by title.
    """

    parts: tuple[Part, ...]
    pool: Pool
    elsewhere: Pool
    weigh: Weigh
    pooled: NDArray[np.float64]
    folds: tuple[Pool, ...]
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def n_epochs(self) -> int:
        return sum(part.n_epochs for part in self.parts)

    @property
    def without_a_say(self) -> dict[str, str]:
        """Why members have no share in the answer, of those that failed or were superfluous."""
        silent = {
            part.system.title: part.superfluous
            for part, share in zip(self.parts, self.pool.shares, strict=True)
            if part.superfluous and not share
        }
        return self.failed | silent

    def without(self, *names: str) -> NDArray[np.float64] | None:
        """Return the probabilities of the committee without members; None where none is left."""
        heard = np.array([part.system.name not in names for part in self.parts])
        if not heard.any():
            return None
        return self.weigh(heard).answer(self.pooled)


def weigh_parts(
    prepared: Prepared,
    committee: System,
    parts: Sequence[Part],
    split: Split,
    seed: int,
    class_weight: NDArray[np.float64] | None,
    failed: dict[str, str],
) -> CommitteeOutcome:
    """Weigh members on the validation vertices of a split."""
    pooling = pooling_of(prepared.task)
    truth = prepared.labels if prepared.targets is None else prepared.targets.astype(np.float64)
    logits = pooling.read([part.probabilities for part in parts])
    options: dict[str, Any] = {} if class_weight is None else {"class_weight": class_weight}
    prior = np.ones(len(parts))
    if prepared.targets is None:  # Of classes it is known which frequencies they have.
        prior = prior_weights([part.system for part in parts], prepared.graph, split)

    def fit(heard: NDArray[np.bool_], val: NDArray[np.int64] = split.val) -> Pool:
        said = logits[heard][:, val]
        return pooling.fit(said, truth[val], prior=prior[heard], **options).among(heard)

    def weigh(heard: NDArray[np.bool_]) -> Pool:
        shares = fit(heard).shares
        return fit(heard & (shares >= min(LEAST, shares.max())))

    pool = weigh(np.ones(len(parts), dtype=bool))
    heard = pool.shares > 0
    folds = [np.setdiff1d(split.val, held) for held in held_folds(split.val, seed)]
    movable = np.array([not part.system.keeps_graph for part in parts])
    leading = parts[int(pool.shares.argmax())].runs[0]
    return CommitteeOutcome(
        committee,
        leading.network,
        leading.result,
        pool.answer(logits),
        sum(part.seconds for part in parts),
        min(run.side_by_side for part in parts for run in part.runs),
        tuple(parts),
        pool,
        weigh(movable) if movable.any() else pool,
        weigh,
        logits,
        tuple(fit(heard, others) for others in folds),
        failed,
    )
