"""What the members of a committee ended with, and their weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.splits import NO_FOLD, Split, held_folds
from graphfilter.systems.committee_part import Part
from graphfilter.systems.growth import SHARES, outputs_elsewhere, outputs_for_new
from graphfilter.systems.networks import Outcome
from graphfilter.systems.pooling import Pool, drawn
from graphfilter.systems.pools import pooling_of
from graphfilter.systems.prepared import Prepared
from graphfilter.systems.prior import prior_weights
from graphfilter.systems.system import System

# With less than this share of the weights a member is left out.
LEAST = 0.01
# The most vertices that members are weighed on: more take longer and give the same weights.
MOST_WEIGHED = 10_000

Weigh = Callable[[NDArray[np.bool_]], Pool]


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
    growing : tuple of Pool
        Their weights for new vertices of a graph that shares some with the fitted one: one per
        share that is known, of :data:`~graphfilter.systems.growth.SHARES`. None where no member
        knows vertices.
    weigh : callable
        From which of them are used to their weights.
    pooled : array (M, n, C)
        What the pool takes of each part: logits, or numbers.
    folds : tuple of Pool
        The pools of the used members without the validation vertices of one fold each:
        see :func:`~graphfilter.splits.held_folds`.
    failed : dict of str to str
        Why members that should have been trained have no part, by title.
    """

    parts: tuple[Part, ...]
    pool: Pool
    elsewhere: Pool
    growing: tuple[Pool, ...]
    weigh: Weigh
    pooled: NDArray[np.float64]
    folds: tuple[Pool, ...]
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def held(self) -> NDArray[np.int8] | None:
        """The fold that each vertex was held out in; None where all learn from the same ones."""
        return self.parts[0].held

    @property
    def n_epochs(self) -> int:
        return sum(part.n_epochs for part in self.parts)

    @property
    def unused_members(self) -> dict[str, str]:
        """Why members have no share in the answer, of those that failed or were superfluous."""
        silent = {
            part.system.title: part.superfluous
            for part, share in zip(self.parts, self.pool.shares, strict=True)
            if part.superfluous and not share
        }
        return self.failed | silent

    def without(self, *names: str) -> NDArray[np.float64] | None:
        """Return the probabilities of the committee without members; None where none is left."""
        used = np.array([part.system.name not in names for part in self.parts])
        if not used.any():
            return None
        return self.weigh(used).answer(self.pooled)


def weigh_parts(
    prepared: Prepared,
    committee: System,
    parts: Sequence[Part],
    split: Split,
    seed: int,
    class_weight: NDArray[np.float64] | None,
    failed: dict[str, str],
) -> CommitteeOutcome:
    """Weigh members on the validation vertices of a split.

    Where every labelled vertex is answered for without its label, they are weighed on all.
    """

    def some_of(vertices: NDArray[np.int64]) -> NDArray[np.int64]:
        return vertices[drawn(len(vertices), MOST_WEIGHED, np.random.default_rng((seed, 6)))]

    held_out = parts[0].held
    labelled = split.val if held_out is None else np.flatnonzero(held_out != NO_FOLD)
    weighed = some_of(labelled)
    pooling = pooling_of(prepared.task)
    truth = prepared.labels if prepared.targets is None else prepared.targets.astype(np.float64)
    logits = pooling.read([part.probabilities for part in parts])
    options: dict[str, Any] = {} if class_weight is None else {"class_weight": class_weight}
    prior = np.ones(len(parts))
    if prepared.targets is None:  # The frequencies of classes are known.
        prior = prior_weights([part.system for part in parts], prepared.graph, split)

    def fit(
        used: NDArray[np.bool_],
        val: NDArray[np.int64] = weighed,
        outputs: NDArray[np.float64] | None = None,
    ) -> Pool:
        own = (logits[:, val] if outputs is None else outputs)[used]
        return pooling.fit(own, truth[val], prior=prior[used], **options).among(used)

    def weigh(used: NDArray[np.bool_], outputs: NDArray[np.float64] | None = None) -> Pool:
        pool = fit(used, outputs=outputs)
        counts = used & (pool.shares >= min(LEAST, pool.shares.max()))
        return pool if (counts == used).all() else fit(counts, outputs=outputs)

    everyone = np.ones(len(parts), dtype=bool)
    pool = weigh(everyone)
    used = pool.shares > 0
    growing = () if not any(part.system.recognises for part in parts) else SHARES
    learned: dict[str, Any] = {"train": split.train, "class_weight": class_weight}
    of_new = (outputs_for_new(prepared, parts, weighed, s, seed, **learned) for s in growing)
    folds = [some_of(np.setdiff1d(labelled, held)) for held in held_folds(split.val, seed)]
    movable = np.array([not part.system.keeps_graph for part in parts])
    elsewhere = pooling.read(outputs_elsewhere(prepared, parts, weighed))
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
        weigh(movable, elsewhere) if movable.any() else pool,
        tuple(weigh(everyone, pooling.read(outputs)) for outputs in of_new),
        weigh,
        logits,
        tuple(fit(used, others) for others in folds),
        failed,
    )
