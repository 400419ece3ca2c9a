"""Training a committee: its members one after another, weighed on validation vertices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import ConfigError, GraphFilterError
from graphfilter.models import Fitted
from graphfilter.splits import Split, held_folds
from graphfilter.systems.committee import Committee, repeated_seed, repeats
from graphfilter.systems.networks import Outcome, train_networks
from graphfilter.systems.pooling import Pool
from graphfilter.systems.pools import pooling_of
from graphfilter.systems.prepared import Prepared
from graphfilter.systems.prior import prior_weights
from graphfilter.systems.system import System
from graphfilter.training import REGRESSION, OnEpoch, Progress, Task, shared

# With less than this share of the weights a member is left out.
LEAST = 0.01
DIVERGED = "training diverged before anything was learned"

Weigh = Callable[[NDArray[np.bool_]], Pool]


@dataclass(frozen=True, eq=False)
class Part:
    """What a member of a committee ended with: its runs from several seeds, which count the same.

    ``probabilities`` (n, n_classes) are those of all runs together; ``remark`` is what the member
    did to its columns, in words.
    """

    system: System
    runs: tuple[Outcome, ...]
    probabilities: NDArray[np.float64]

    @property
    def remark(self) -> str:
        network = self.runs[0].network
        return network.remark if isinstance(network, Fitted) else ""

    @property
    def seconds(self) -> float:
        return sum(run.seconds for run in self.runs)

    @property
    def n_epochs(self) -> int:
        return sum(run.n_epochs for run in self.runs)


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

    def without(self, *names: str) -> NDArray[np.float64] | None:
        """Return the probabilities of the committee without members; None where none is left."""
        heard = np.array([part.system.name not in names for part in self.parts])
        if not heard.any():
            return None
        return self.weigh(heard).answer(self.pooled)


def train_committee(
    prepared: Prepared,
    committee: System,
    splits: Sequence[Split],
    seeds: Sequence[int],
    *,
    class_weight: NDArray[np.float64] | None = None,
    on_epoch: OnEpoch | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> list[CommitteeOutcome]:
    """Train every member on every split, and weigh them on its validation vertices.

    Each member keeps its own checkpoint; one that has ended is not trained again. Several processes
    divide the members among them.

    A member that raises, or learns nothing before it diverges, is left out, with the reason, and
    the others answer. What a user can cause is raised, and so is everything where there are several
    splits: whoever trains them at once may go on with one at a time.
    """
    if not isinstance(committee, Committee):
        raise ConfigError(f"{committee.name} must be a committee; it is one system.")
    n_train = min(len(split.train) for split in splits)
    sitting = [
        for_task(system, prepared.task) for system in committee.sitting(prepared.graph, n_train)
    ]
    if not sitting:
        raise ConfigError(f"no member of {committee.name} can be trained on this graph.")
    watch = _Watch(on_epoch, len(sitting))

    def work(number: int) -> list[Part] | str | None:
        if watch.stopped:
            return None
        try:
            return train_member(number)
        except Exception as error:
            if isinstance(error, GraphFilterError) or error is watch.raised or len(splits) > 1:
                raise
            return describe_failure(error)

    def train_member(number: int) -> list[Part] | str:
        system = sitting[number]
        n_seeds = repeats(system, prepared.graph)
        if system.is_fitted:
            watch.announce(number, system.title)
        outcomes = train_networks(
            prepared,
            system,
            [split for split in splits for _ in range(n_seeds)],
            [repeated_seed(seed, r) for seed in seeds for r in range(n_seeds)],
            class_weight=class_weight,
            on_epoch=watch.of(number, system.title),
            checkpoint=None if checkpoint is None else member_file(checkpoint, system.name),
            resume=resume,
        )
        grouped = [outcomes[i : i + n_seeds] for i in range(0, len(outcomes), n_seeds)]
        parts = [_together(system, runs, prepared.task) for runs in grouped]
        return DIVERGED if any(part is None for part in parts) else [p for p in parts if p]

    trained = shared(len(sitting), work, on_epoch)
    by_member = [parts for parts in trained if isinstance(parts, list)]
    failed = {
        system.title: reason
        for system, reason in zip(sitting, trained, strict=False)
        if isinstance(reason, str)
    }
    if not by_member:
        reasons = "; ".join(f"{title}: {reason}" for title, reason in failed.items())
        raise GraphFilterError(f"no member of {committee.name} could be trained ({reasons}).")
    return [
        _weighed(prepared, committee, parts, split, seed, class_weight, failed)
        for parts, split, seed in zip(zip(*by_member, strict=True), splits, seeds, strict=True)
    ]


def for_task(system: System, task: Task) -> System:
    """Return a member as it learns a task: numbers suffer from what dropout takes from them."""
    if task is not REGRESSION or system.is_fitted or system.model is None:
        return system
    return replace(system, model=replace(system.model, dropout=min(system.model.dropout, 0.2)))


def _together(system: System, runs: Sequence[Outcome], task: Task) -> Part | None:
    """Return what the runs of a member say that learned something; None where none did."""
    learned = [run for run in runs if np.isfinite(run.probabilities).all() and not _is_lost(run)]
    if not learned:
        return None
    said = pooling_of(task).together([run.probabilities for run in learned])
    return Part(system, tuple(learned), said)


def _is_lost(run: Outcome) -> bool:
    return run.result.stopped == "diverged" and run.result.best_epoch == 0


def describe_failure(error: Exception) -> str:
    """Return an error in one line."""
    if isinstance(error, MemoryError) or "out of memory" in str(error).lower():
        return "not enough memory"
    # Only the first line: torch's own errors carry its whole C++ stack.
    line = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


def member_file(checkpoint: str | Path, name: str) -> Path:
    """Return where a member keeps the state of its training."""
    path = Path(checkpoint)
    return path.with_name(f"{path.stem}-{name}{path.suffix}")


def _weighed(
    prepared: Prepared,
    committee: Committee,
    parts: Sequence[Part],
    split: Split,
    seed: int,
    class_weight: NDArray[np.float64] | None,
    failed: dict[str, str],
) -> CommitteeOutcome:
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


class _Watch:
    """Passes on the progress of each member, and remembers how the caller ended training."""

    def __init__(self, on_epoch: OnEpoch | None, n_members: int) -> None:
        self._on_epoch = on_epoch
        self._n_members = n_members
        self.stopped = False
        self.raised: Exception | None = None

    def announce(self, number: int, title: str) -> None:
        """Say that a member is fitted that has no epochs."""
        self.of(number, title)(Progress(0, 1, math.nan, math.nan, math.nan, 1, []))

    def of(self, number: int, title: str) -> Callable[[Progress], bool | None]:
        stage = f"{title} ({number + 1} of {self._n_members})"

        def report(progress: Progress) -> bool | None:
            if self._on_epoch is None:
                return None
            try:
                asked = self._on_epoch(replace(progress, stage=stage))
            except Exception as error:
                self.raised = error
                raise
            self.stopped = self.stopped or bool(asked)
            return asked

        return report
