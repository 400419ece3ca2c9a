"""Watch: the progress of a committee's members, and how their caller ended it.

What a pool loses on vertices that it was not weighed on.

Training a committee: cheap members first, then networks in rounds, weighed as they grow.

Where cores are free, the cheap ones are fitted in threads while the networks train their first
round. After each round of the networks, those that add nothing to what the others say of validation
vertices are stopped. Validation vertices alone decide, never the clock.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from graphfilter.splits import Folding
from graphfilter.systems.committee import Committee, Member, Part, Standing, in_turn
from graphfilter.systems.networks import Request
from graphfilter.systems.outcome import CommitteeOutcome, prior_weights, weigh_parts
from graphfilter.systems.pooling import (
    STRENGTH,
    Array,
    drawn,
    fit_pool,
    fit_temperature,
    fit_weights,
    log_probabilities,
    log_sum,
    vertex_weights,
    weighted_sum,
)
from graphfilter.systems.system import System
from graphfilter.training import REGRESSION, Callback, Progress, Task
from graphfilter.training.run import ASKED, SUPERFLUOUS
from graphfilter.util.errors import ConfigError, GraphFilterError
from graphfilter.util.machine import own_torch_state, share_of_threads, thread_limit

# That a network trains, on the whole: for guesses of the time that is left.
USUAL_EPOCHS = 100


class Watch:
    """Passes on the progress of each member, and remembers how the caller ended training.

    Attributes
    ----------
    stopped : bool
        Whether the caller has asked for the end.
    raised : Exception or None
        What the caller has raised.
    pool_score : float
        The validation score of all members together, as far as they are.
    """

    def __init__(self, callback: Callback, members: Sequence[System]) -> None:
        self._callback = callback
        self._members = members
        self.stopped = False
        self.raised: Exception | None = None
        self.pool_score = math.nan
        self._began, self._last = 0.0, -1
        self._seconds = [math.nan] * len(members)
        self._epochs = [0] * len(members)

    def announce(self, number: int) -> bool:
        """Say that a member is fitted that has no epochs; return whether to end instead."""
        return bool(self._pass_on(number, Progress.without_epochs()))

    def of(self, number: int) -> Callback:
        """Return the callback of a member, which has a checkpoint of its own."""
        own = self._callback.part(self._members[number].name)
        if not self._callback.watches:
            return own
        return Callback(
            partial(self._pass_on, number),
            checkpoint=own.checkpoint,
            checkpoint_seconds=own.checkpoint_seconds,
            resume=own.resume,
        )

    def _pass_on(self, number: int, progress: Progress) -> bool | None:
        """Pass on an epoch of a member, with its name and where all of them stand."""
        if not self._callback.watches:
            return None
        if progress.runs:
            self._count(number, progress)
        told = replace(
            progress,
            stage=f"{self._members[number].title} ({number + 1} of {len(self._members)})",
            pool_score=self.pool_score,
            seconds_left=self.seconds_left(number),
        )
        try:
            end = self._callback.on_epoch(told)
        except Exception as error:
            self.raised = error
            raise
        self.stopped = self.stopped or bool(end)
        return end

    def close(self, number: int) -> None:
        """Take note that a member trains no more."""
        self._epochs[number] = USUAL_EPOCHS

    def seconds_left(self, number: int) -> float:
        """Return about what is still to come takes, by the pace of members so far; NaN at first."""
        known = [seconds for seconds in self._seconds if math.isfinite(seconds)]
        if not known:
            return math.nan
        usual = sum(known) / len(known)
        paces = [s if math.isfinite(s) else usual for s in self._seconds]
        left = [max(USUAL_EPOCHS - epochs, 0) for epochs in self._epochs]
        return sum(pace * n for pace, n in zip(paces, left, strict=True))

    def _count(self, number: int, progress: Progress) -> None:
        now = time.monotonic()
        if progress.epoch == self._epochs[number] + 1 and self._last == number:
            pace = now - self._began
            before = self._seconds[number]
            # The first epoch of a member is no measure: things are made in it.
            self._seconds[number] = pace if math.isnan(before) else 0.8 * before + 0.2 * pace
        self._epochs[number], self._began, self._last = progress.epoch, now, number


# The most vertices that members are judged on: more take longer and decide the same.
MOST_JUDGES = 3000


class CrossFit:
    """Members weighed on some validation vertices and judged on the others, in turn.

    Parameters
    ----------
    logits : array (M, n, C)
    labels : array (n,)
    prior : array (M,)
        Shares that are believed beforehand.
    class_weight : array (C,), optional
    n_folds : int
    """

    def __init__(
        self,
        logits: Array,
        labels: NDArray[np.int64],
        prior: Array,
        class_weight: Array | None = None,
        n_folds: int = 3,
    ) -> None:
        rng = np.random.default_rng(0)
        chosen = drawn(len(labels), MOST_JUDGES, rng)
        logits, labels = logits[:, chosen], labels[chosen]
        self._labels, self._prior = labels, prior
        self._weight = vertex_weights(labels, class_weight)
        # Classes are dealt out evenly.
        fold = np.empty(len(labels), dtype=np.int64)
        fold[np.lexsort((rng.random(len(labels)), labels))] = np.arange(len(labels)) % n_folds
        self._folds: list[tuple[NDArray[np.bool_], Array]] = []
        for k in range(n_folds):
            fitted = fold != k
            weight = self._weight[fitted]
            temperatures = [fit_temperature(z[fitted], labels[fitted], weight) for z in logits]
            log_p = log_softmax(logits / np.array(temperatures)[:, None, None], axis=2)
            self._folds.append((fitted, log_p))

    def losses(self, used: NDArray[np.bool_]) -> Array:
        """Return the loss of every judge with these members, weighted by its class."""
        centre = self._prior[used] / self._prior[used].sum()
        found = np.empty(len(self._labels))
        for fitted, log_p in self._folds:
            outputs = log_p[used]
            w = fit_weights(
                outputs[:, fitted], self._labels[fitted], centre, self._weight[fitted], STRENGTH
            )
            z = weighted_sum(w, outputs[:, ~fitted])
            own = np.take_along_axis(z, self._labels[~fitted][:, None], axis=1)[:, 0]
            found[~fitted] = log_sum(z) - own
        return self._weight * found


def superfluous(
    judged: CrossFit,
    used: NDArray[np.bool_],
    candidates: NDArray[np.bool_],
    worth: float,
    doubt: float = 1.0,
) -> list[int]:
    """Return which candidates add nothing to the other used members, one after another.

    A member adds nothing where what the others lose without it, and ``doubt`` standard errors
    more, is less than ``worth`` of the loss. Of several the one that adds least goes first, and
    the rest are judged without it: of two that say the same one stays.

    Parameters
    ----------
    used, candidates : bool arrays (M,)
        Those that are used, and which of them may be dropped.
    """
    used, gone = used.copy(), list[int]()
    while used.sum() > 1:
        losses = judged.losses(used)
        adds = {
            int(m): _most_added(judged.losses(_without(used, m)) - losses, doubt)
            for m in np.flatnonzero(used & candidates)
        }
        if not adds or min(adds.values()) >= worth * losses.mean():
            break
        least = min(adds, key=lambda m: adds[m])
        used[least] = False
        gone.append(least)
    return gone


def _most_added(differences: Array, doubt: float) -> float:
    return float(differences.mean() + doubt * differences.std() / np.sqrt(len(differences)))


def _without(used: NDArray[np.bool_], member: np.intp) -> NDArray[np.bool_]:
    others = used.copy()
    others[member] = False
    return others


# The share of the validation loss that a member must remove to be trained further.
WORTH = 0.003
# Vertices up to which a CPU has cores to spare beside the networks.
MOST_BESIDE = 4096
DIVERGED = "training diverged before anything was learned"

# One member on every split: a reason where it failed, None where it was not reached.
Standings = list[Standing | None] | str


def train_committee(request: Request) -> list[CommitteeOutcome]:
    """Train the members on every split, and weigh them on its validation vertices.

    Each member keeps its own checkpoint; one that has ended is not trained again.

    Where the callback asks for the end, members answer with what they have learned by then; those
    not yet begun have no part. A member that raises, or learns nothing before it diverges, is left
    out, with the reason, and the others answer. What a user can cause is raised, and so is
    everything where there are several splits: whoever trains them at once may go on with one at a
    time.
    """
    prepared, committee, splits = request.prepared, request.system, request.splits
    if not isinstance(committee, Committee):
        raise ConfigError(f"{committee.name} must be a committee; it is one system.")
    n_train = min(len(split.train) for split in splits)
    present = [
        for_task(system, prepared.task)
        for system in in_turn(committee.members_for(prepared.graph, n_train))
    ]
    if not present:
        raise ConfigError(f"no member of {committee.name} can be trained on this graph.")
    # What a member adds is measured for classes only.
    judged = prepared.targets is None and prepared.graph.n_vertices > committee.rounds_above
    rounds = committee.rounds if judged else ()
    # In a later state of the graph nobody knows who has seen the label of a vertex.
    none = rounds or request.of_past
    folded = [] if none else [committee.folding(prepared, s, request.start) for s in splits]
    foldings = [folding for folding in folded if folding is not None]
    training = _Training(
        request,
        present,
        committee.least_repeats,
        at_once=not rounds,
        foldings=foldings if len(foldings) == len(splits) else None,
    )
    most = max(system.config.max_epochs for system in present)
    for until in (*takewhile(lambda epochs: epochs < most, rounds), most):
        training.advance(until)
        if until == most or not training.judge(until):
            break
    if rounds:
        training.join(most)
    by_title = training.end()
    failed = {title: parts for title, parts in by_title.items() if isinstance(parts, str)}
    found = {title: parts for title, parts in by_title.items() if not isinstance(parts, str)}
    if not found:
        reasons = "; ".join(f"{title}: {reason}" for title, reason in failed.items())
        raise GraphFilterError(f"no member of {committee.name} could be trained ({reasons}).")
    # In the order of the committee, whatever was trained first.
    named = [found[member.title] for member in committee.members if member.title in found]
    return [
        weigh_parts(prepared, committee, parts, split, seed, request.class_weight, failed)
        for parts, split, seed in zip(zip(*named, strict=True), splits, request.seeds, strict=True)
    ]


def for_task(system: System, task: Task) -> System:
    """Return a member as it learns a task: numbers suffer from what dropout takes from them."""
    if task is not REGRESSION or system.is_fitted or system.model is None:
        return system
    return replace(system, model=replace(system.model, dropout=min(system.model.dropout, 0.2)))


def describe_failure(error: Exception) -> str:
    """Return an error in one line."""
    if isinstance(error, MemoryError) or "out of memory" in str(error).lower():
        return "not enough memory"
    # Only the first line: torch's own errors carry its whole C++ stack.
    line = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


class _Training:
    """The members while they are trained, and where they stand."""

    def __init__(
        self,
        request: Request,
        present: Sequence[System],
        least_repeats: int,
        *,
        at_once: bool,
        foldings: Sequence[Folding] | None,
    ) -> None:
        self._request, self._present, self._foldings = request, present, foldings
        self._least_repeats, self._at_once = least_repeats, at_once
        self._prepared, self._splits = request.prepared, request.splits
        self._class_weight, self._callback = request.class_weight, request.callback
        self._of_classes = self._prepared.targets is None
        self._priors = [
            prior_weights(present, self._prepared.graph, split)
            for split in self._splits
            if self._of_classes
        ]
        self._watch = Watch(self._callback, present)
        self._members: dict[int, Member] = {}
        self._failed: dict[int, str] = {}
        self._standings: list[Standings] = []
        self._beside: list[int] = []

    def advance(self, until: int) -> None:
        """Train every member to the end of an epoch."""
        if not self._standings and self._fits_beside():
            self._standings = self._advance_both(until)
        else:
            self._standings = self._of_each(lambda number: self._advance(number, until))
        if self._callback.watches and self._of_classes:
            self._watch.pool_score = self._score()

    def _fits_beside(self) -> bool:
        """Return whether members without epochs are fitted in threads of their own."""
        spare = self._prepared.device != "cpu" or self._prepared.graph.n_vertices <= MOST_BESIDE
        return spare and thread_limit() > 1

    def _advance_both(self, until: int) -> list[Standings]:
        """Fit members without epochs in threads, and train the networks meanwhile."""
        for number, system in enumerate(self._present):
            if system.is_fitted and not (self._watch.announce(number) and self._beside):
                self._beside.append(number)

        at_once = max(1, min(len(self._beside), thread_limit() // 2))
        share = thread_limit() // at_once

        def fit(number: int) -> Standings:
            with share_of_threads(share):
                return self._attempt(number, lambda: self._advance(number, until))

        def train(number: int) -> Standings:
            return [] if self._present[number].is_fitted else self._advance(number, until)

        # What is set for the whole process here is not set back by one thread under the other.
        with warnings.catch_warnings(), own_torch_state(gradients=True):
            pool = ThreadPoolExecutor(at_once)
            fitted = [pool.submit(fit, number) for number in self._beside]
            try:
                found = self._of_each(train)
                for number, future in zip(self._beside, fitted, strict=True):
                    found[number] = future.result()
            finally:
                # After an interrupt too: nothing may compute on behind whoever caught it.
                pool.shutdown(cancel_futures=True)
        return found

    def _of_each(self, work: Callable[[int], Standings]) -> list[Standings]:
        """Return what is done with every member; the reason where that fails."""
        return [self._attempt(n, partial(work, n)) for n in range(len(self._present))]

    def _attempt(self, number: int, work: Callable[[], Standings]) -> Standings:
        """Return what is done with a member; the reason where that fails."""
        try:
            return work()
        except Exception as error:
            of_user = isinstance(error, GraphFilterError) or error is self._watch.raised
            if of_user or len(self._splits) > 1:
                raise
            self._members.pop(number, None)
            self._failed[number] = describe_failure(error)
            return self._failed[number]

    def _score(self) -> float:
        """Return the validation accuracy of all members so far together, on the first split."""
        used, index = self._known(0), self._splits[0].val
        if not used or not len(index):
            return math.nan
        labels, prior = self._prepared.labels[index], self._priors[0][list(used)]
        logits = log_probabilities([each.outputs for each in used.values()])
        some = drawn(len(index), MOST_JUDGES, np.random.default_rng(0))
        pool = fit_pool(logits[:, some], labels[some], prior=prior, class_weight=self._class_weight)
        return float((pool.answer(logits).argmax(axis=1) == labels).mean())

    def _known(self, s: int) -> dict[int, Standing]:
        """Return where those members stand on a split that have learned something, by number."""
        own = {
            m: each[s] for m, each in enumerate(self._standings) if each and isinstance(each, list)
        }
        return {m: each for m, each in own.items() if isinstance(each, Standing)}

    def join(self, most: int) -> None:
        """Train the other seeds of those members that add something by their first."""
        if self._watch.stopped:
            return
        worth = self._worth(most)

        def work(number: int) -> Standings:
            if number in self._members:
                splits = [s for m, s in worth if m == number]
                self._members[number].join(splits)
            return []

        self._of_each(work)

    def _worth(self, most: int) -> list[tuple[int, int]]:
        """Return the members that are worth more seeds, each with the number of the split."""
        found: list[tuple[int, int]] = []
        for s in range(len(self._splits)):
            ended = [
                m
                for m, each in self._known(s).items()
                if not self._present[m].is_fitted and not (each.open and each.epoch < most)
            ]
            gone = self._superfluous(s, ended, doubt=-1.0)
            found += [(m, s) for m in ended if m not in gone]
        return found

    def _advance(self, number: int, until: int) -> Standings:
        if number in self._failed:
            return self._failed[number]
        system = self._present[number]
        if number not in self._members:
            callback = self._watch.of(number)
            file = callback.checkpoint
            begun = callback.resume and file is not None and file.exists()
            # The first of those in threads is fitted in any case: there must be an answer.
            others = number != self._beside[0] if self._beside else bool(self._members)
            if not begun and others and self._watch.stopped:
                return []
            announced = number in self._beside or not system.is_fitted
            if not announced and self._watch.announce(number) and others:
                return []
            own = replace(self._request, system=system, callback=callback)
            self._members[number] = Member(
                own, self._least_repeats, at_once=self._at_once, foldings=self._foldings
            )
        member = self._members[number]
        if not (self._watch.stopped and self._has_answer(number)):
            member.advance(until)
        if member.ended:
            self._watch.close(number)
        return member.standings()

    def _has_answer(self, number: int) -> bool:
        """Return whether something is learned without this member, or by it."""
        return len(self._members) > 1 or bool(self._beside) or self._members[number].epoch > 0

    def judge(self, epoch: int) -> bool:
        """Stop members that add nothing; return whether any is left to train.

        What is decided is on file before anybody trains on: whoever resumes finds either all
        members at this epoch, and decides the same, or one beyond it, and nothing to decide.
        """
        if self._watch.stopped:
            return False
        decided = self._decide(epoch)
        for number, member in self._members.items():
            member.stop([s for m, s in decided if m == number], SUPERFLUOUS)
            if member.ended:
                self._watch.close(number)
        return any(not member.ended for member in self._members.values())

    def _decide(self, epoch: int) -> list[tuple[int, int]]:
        """Return the members to be stopped, each with the number of the split."""
        found: list[tuple[int, int]] = []
        for s in range(len(self._splits)):
            known = self._known(s)
            if any(each.epoch > epoch for each in known.values()):
                continue
            reached = {m: each for m, each in known.items() if each.open and each.epoch == epoch}
            asked = [m for m, each in reached.items() if each.fair]
            # One that was stopped in an earlier round has said all it will.
            stopped = [m for m, each in known.items() if each.open and each.epoch < epoch]
            found += [(m, s) for m in self._superfluous(s, asked, stopped)]
        return found

    def _superfluous(
        self, s: int, candidates: Sequence[int], stopped: Sequence[int] = (), doubt: float = 1.0
    ) -> list[int]:
        """Return which candidates add nothing on a split to the others that were not stopped."""
        if not candidates or not len(self._splits[s].val):
            return []
        known = self._known(s)
        judged = CrossFit(
            log_probabilities([each.outputs for each in known.values()]),
            self._prepared.labels[self._splits[s].val],
            self._priors[s][list(known)],
            self._class_weight,
        )
        numbers = np.array(list(known))
        used, asked = ~np.isin(numbers, stopped), np.isin(numbers, candidates)
        return numbers[superfluous(judged, used, asked, WORTH, doubt)].tolist()

    def end(self) -> dict[str, list[Part] | str]:
        """Return the outputs of every member that was trained, or why it has none, by title."""

        def work(number: int) -> list[Part | None] | str:
            if number in self._failed:
                return self._failed[number]
            if number not in self._members:
                return []
            member = self._members[number]
            if not member.ended:
                member.stop(range(len(self._splits)), ASKED)
            return member.parts()

        found: dict[str, list[Part] | str] = {}
        for number, system in enumerate(self._present):
            own = work(number)
            if isinstance(own, str) or None in own:
                found[system.title] = own if isinstance(own, str) else DIVERGED
            elif own:
                found[system.title] = [part for part in own if part is not None]
        return found
