"""One member of a committee while it is trained: rounds of its networks, from several seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphfilter.systems.committee import repeated_seed, repeats
from graphfilter.systems.committee_part import Part
from graphfilter.systems.networks import NetworkTraining, fit_at_once
from graphfilter.systems.pools import pooling_of
from graphfilter.systems.request import Request
from graphfilter.training import SUPERFLUOUS, OnEpoch


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
    """

    outputs: NDArray[np.float64]
    epoch: int
    open: bool


class Member:
    """A system of a committee on several splits, from several seeds each.

    Parameters
    ----------
    request : Request
        Of this member, with its own checkpoint.
    """

    def __init__(self, request: Request, least_repeats: int = 1) -> None:
        self.system, self._splits = request.system, request.splits
        self._task = request.prepared.task
        self._n_seeds = n = repeats(self.system, request.prepared.graph, least_repeats)
        every = replace(
            request,
            splits=[split for split in request.splits for _ in range(n)],
            seeds=[repeated_seed(seed, r) for seed in request.seeds for r in range(n)],
        )
        fitted = self.system.is_fitted
        self._fitted = fit_at_once(every) if fitted else []
        self._networks = None if fitted else NetworkTraining(every)

    @property
    def epoch(self) -> int:
        """Epochs of its longest run; 1 of a model without epochs, which has learned all it will."""
        if self._networks is None:
            return 1
        return max(len(run.history["loss"]) for run in self._networks.runs)

    @property
    def ended(self) -> bool:
        return self._networks is None or self._networks.ended

    def advance(self, until: int, on_epoch: OnEpoch | None) -> None:
        """Train to the end of an epoch, or of all runs."""
        if self._networks is not None:
            self._networks.advance(until, on_epoch)

    def stop(self, splits: Sequence[int], why: str) -> None:
        """End the runs of these splits that train."""
        if self._networks is not None and splits:
            n = self._n_seeds
            self._networks.stop([r for s in splits for r in range(s * n, (s + 1) * n)], why)

    def parts(self) -> list[Part | None]:
        """Return the member's outputs on each split; None where it has learned nothing."""
        every = self._fitted if self._networks is None else self._networks.outcomes()
        n = self._n_seeds
        return [Part.of(self.system, every[i : i + n], self._task) for i in range(0, len(every), n)]

    def standings(self) -> list[Standing | None]:
        """Return where the member stands on each split; None where it has learned nothing."""
        every = self._fitted if self._networks is None else self._networks.outcomes()
        pooling = pooling_of(self._task)
        found: list[Standing | None] = []
        for s, split in enumerate(self._splits):
            own = slice(s * self._n_seeds, (s + 1) * self._n_seeds)
            outputs = pooling.together([outcome.probabilities[split.val] for outcome in every[own]])
            if not np.isfinite(outputs).all():
                found.append(None)
                continue
            runs = [] if self._networks is None else self._networks.runs[own]
            epoch = max((len(run.history["loss"]) for run in runs), default=0)
            is_open = any(run.training or run.stopped == SUPERFLUOUS for run in runs)
            found.append(Standing(outputs, epoch, is_open))
        return found
