"""One member of a committee while it is trained: rounds of its networks, from several seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphfilter.splits import N_FOLDS, Folding, Split
from graphfilter.systems.committee import repeated_seed, repeats
from graphfilter.systems.committee_part import Part, without_own_labels
from graphfilter.systems.networks import NetworkTraining, Outcome, fit_at_once
from graphfilter.systems.pools import pooling_of
from graphfilter.systems.request import Request
from graphfilter.training import SUPERFLUOUS

# Where seeds train one after another, the second gives most of what they all would.
MOST_IN_TURN = 2
# Epochs after which a member is judged though it has learned nothing yet.
LATEST = 240


@dataclass(frozen=True, eq=False)
class Standing:
    """Where a member stands on one split after a round.

    Attributes
    ----------
    outputs : array (n_val, n_classes)
        Its outputs for the validation vertices.
    epoch : int
        Epochs of its longest run; 0 of a model without epochs.
    open : bool
        Whether it would train on, or was stopped because it adds nothing.
    fair : bool
        Whether it can be judged: it has been clearly better than chance for half of its epochs, or
        had ``LATEST`` to become so.
    """

    outputs: NDArray[np.float64]
    epoch: int
    open: bool
    fair: bool


class Member:
    """A system of a committee on several splits, from several seeds each.

    Parameters
    ----------
    request : Request
        Of this member, with its own callback.
    least_repeats : int
        See :class:`~graphfilter.systems.Committee`.
    at_once : bool
        Whether all seeds train from the start. Otherwise, on a CPU, the first does, and one more
        where the member is worth it: see :meth:`join`.
    foldings : sequence of Folding, optional
        Of each split, where every seed learns from other vertices.
    """

    def __init__(
        self,
        request: Request,
        least_repeats: int = 1,
        *,
        at_once: bool = True,
        foldings: Sequence[Folding] | None = None,
    ) -> None:
        self.system, self._request, self._foldings = request.system, request, foldings
        prepared = request.prepared
        self._n_seeds = self._n_first = repeats(self.system, prepared.graph, least_repeats)
        if foldings is not None:
            self._n_seeds = self._n_first = N_FOLDS
        elif not at_once and prepared.device == "cpu":
            self._n_first = 1
            self._n_seeds = min(self._n_seeds, max(MOST_IN_TURN, least_repeats))
        every = self._of_seeds(range(len(request.splits)), range(self._n_first))
        fitted = self.system.is_fitted
        self._fitted = fit_at_once(every) if fitted else []
        self._networks = None if fitted else NetworkTraining(every)
        self._joined: dict[int, slice] = {}
        self._others: NetworkTraining | None = None

    @property
    def epoch(self) -> int:
        """Epochs of its longest run; 1 of a model without epochs, which has learned all it will."""
        if self._networks is None:
            return 1
        return max(len(run.history["loss"]) for run in self._networks.runs)

    @property
    def ended(self) -> bool:
        return self._networks is None or self._networks.ended

    def advance(self, until: int) -> None:
        """Train to the end of an epoch, or of all runs."""
        if self._networks is not None:
            self._networks.advance(until)

    def join(self, splits: Sequence[int]) -> None:
        """Train the other seeds on these splits to their end."""
        seeds = range(self._n_first, self._n_seeds)
        if self._networks is None or not splits or not seeds:
            return
        self._joined = {
            s: slice(i * len(seeds), (i + 1) * len(seeds)) for i, s in enumerate(splits)
        }
        self._others = NetworkTraining(self._of_seeds(splits, seeds))
        self._others.advance(self.system.config.max_epochs)

    def stop(self, splits: Sequence[int], why: str) -> None:
        """End the runs of these splits that train."""
        if self._networks is not None and splits:
            n = self._n_first
            self._networks.stop([r for s in splits for r in range(s * n, (s + 1) * n)], why)

    def parts(self) -> list[Part | None]:
        """Return the member's outputs on each split; None where it has learned nothing."""
        every, others = self._outcomes(), self._others
        found = []
        for s in range(len(self._request.splits)):
            runs = list(every[self._own(s)])
            # Seeds that a caller has ended early know less than the first.
            if others is not None and s in self._joined and others.ended_by_themselves:
                runs += others.outcomes()[self._joined[s]]
            found.append(Part.of(self.system, runs, self._request.prepared.task, self._held(s)))
        return found

    def standings(self) -> list[Standing | None]:
        """Return where the member stands on each split; None where it has learned nothing."""
        every = self._outcomes()
        pooling = pooling_of(self._request.prepared.task)
        found: list[Standing | None] = []
        for s, split in enumerate(self._request.splits):
            own = self._own(s)
            held = self._held(s)
            held = None if held is None else held[split.val]
            answers = [outcome.probabilities[split.val] for outcome in every[own]]
            outputs = pooling.together(without_own_labels(answers, held))
            if not np.isfinite(outputs).all():
                found.append(None)
                continue
            runs = [] if self._networks is None else self._networks.runs[own]
            epoch = max((len(run.history["loss"]) for run in runs), default=0)
            is_open = any(run.training or run.stopped == SUPERFLUOUS for run in runs)
            learned = max((run.epochs_learned for run in runs), default=0)
            fair = 2 * learned >= epoch or epoch >= LATEST
            found.append(Standing(outputs, epoch, is_open, fair))
        return found

    def _held(self, split: int) -> NDArray[np.int8] | None:
        return None if self._foldings is None else self._foldings[split].held

    def _own(self, split: int) -> slice:
        return slice(split * self._n_first, (split + 1) * self._n_first)

    def _outcomes(self) -> list[Outcome]:
        return self._fitted if self._networks is None else self._networks.outcomes()

    def _split(self, split: int, repeat: int) -> Split:
        if self._foldings is None:
            return self._request.splits[split]
        return self._foldings[split].splits[repeat]

    def _of_seeds(self, splits: Sequence[int], seeds: range) -> Request:
        """Return what is asked for of some splits and repetitions."""
        given, first = self._request, not seeds.start
        return replace(
            given,
            splits=[self._split(s, r) for s in splits for r in seeds],
            seeds=[repeated_seed(given.seeds[s], r) for s in splits for r in seeds],
            callback=given.callback if first else given.callback.part("more"),
            start=given.start
            if first or given.start is None
            else given.start.after(self.system, seeds.start),
        )
