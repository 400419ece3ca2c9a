"""Training a system: one network, or a committee of them that answer together.

:func:`train_committee` is read from top to bottom: which members there are and how many networks
each has; their training, in rounds; and their weights, which are those of
:func:`~graphfilter.systems.outcome.weigh_parts`.

Cheap members are fitted first, then networks in rounds. After each round those that add nothing to
what the others say of validation vertices are stopped. Validation vertices alone decide, never the
clock.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.splits import Split
from graphfilter.systems import networks, pooling as pools
from graphfilter.systems.outcome import CommitteeOutcome, Part, prior_weights, weigh_parts
from graphfilter.systems.prepared import N_FOLDS, Folding, Prepared
from graphfilter.systems.system import Committee, System
from graphfilter.training import REGRESSION, Callback, Progress, Run, Task
from graphfilter.training.callbacks import callback_from
from graphfilter.training.epoch import ASKED, SUPERFLUOUS
from graphfilter.util.errors import ConfigError, GraphFilterError
from graphfilter.util.machine import share_of_threads, thread_limit

__all__ = ["train_system"]

# On small graphs chance in training matters, and time does not: each member is trained from
# several seeds, so many that their vertices add up to this.
REPEATED_VERTICES, MOST_REPEATS = 8000, 5
# Labelled vertices per fold, on average, below which there are no folds.
LEAST_IN_FOLD = 2
# Vertices of a graph with few labels, on which five networks of each member are trained.
MOST_OF_FEW = 30_000
# Where seeds train one after another, the second gives most of what they all would.
MOST_IN_TURN = 2
# Epochs before which no network that learns numbers is judged.
FIRST_OF_NUMBERS = 120
# Epochs after which a member is judged though it has learned nothing yet.
LATEST = 240
# The share of the validation loss that a member must remove to be trained further.
WORTH = 0.003
# Vertices up to which a CPU has cores to spare beside the networks.
MOST_BESIDE = 4096
# That a network trains, on the whole: for guesses of the time that is left.
USUAL_EPOCHS = 150
# What is said of a member without epochs before it is fitted.
FITTED = Progress(0, 1, math.nan, math.nan, math.nan, 1, [])
DIVERGED = "training diverged before anything was learned"


def train_system(
    prepared: Prepared,
    system: System,
    splits: Sequence[Split],
    seeds: Sequence[int],
    *,
    class_weight: NDArray[np.float64] | None = None,
    callback: Callback | None = None,
    **earlier: Any,
) -> Sequence[networks.Outcome]:
    """Train a system once per split and seed, and predict every vertex with its best weights.

    Parameters
    ----------
    class_weight : array (n_classes,), optional
    callback : Callback, optional
        As for :func:`graphfilter.training.train`.

    Of a graph with a past (:meth:`graphfilter.Graph.as_of`), all that is trained, chosen and
    weighed knows that past only; the vertices are predicted with all edges.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> prepared = gf.systems.Prepared.of(g)
    >>> system = gf.systems.get_system("sgf").with_(max_epochs=5)
    >>> split = gf.splits.stratified(g.labels, seed=0)
    >>> (outcome,) = gf.systems.train_system(prepared, system, [split], seeds=[0])
    >>> outcome.probabilities.shape
    (34, 2)
    """
    callback = callback_from(callback, earlier)
    if earlier:
        raise TypeError(f"train_system() takes no {next(iter(earlier))}.")
    request = networks.Request(prepared, system, splits, seeds, class_weight, callback)
    return train_request(request)


def train_request(request: networks.Request) -> Sequence[networks.Outcome]:
    """Do what :func:`train_system` says."""
    now, system = request.prepared, request.system
    past = now.past
    if past is not now and system.keeps_graph:
        raise ConfigError(
            f"{system.name} can predict only the graph it was trained on, so it cannot be trained "
            "on earlier edges. Leave out `as_of`, or name another system."
        )
    request = replace(request, prepared=past, of_past=past is not now)
    if isinstance(system, Committee):
        outcomes = train_committee(request, system)
    else:
        outcomes = networks.train_networks(request)
    return outcomes if past is now else [answer_now(each, now) for each in outcomes]


def train_committee(request: networks.Request, committee: Committee) -> list[CommitteeOutcome]:
    """Train the members on every split, and weigh them on its validation vertices.

    Each member keeps its own checkpoint; one that has ended is not trained again.

    Where the callback asks for the end, members answer with what they have learned by then; those
    not yet begun have no part. A member that raises, or learns nothing before it diverges, is left
    out, with the reason, and the others answer. What a user can cause is raised, and so is
    everything where there are several splits: whoever trains them at once may go on with one at a
    time.
    """
    prepared, splits = request.prepared, request.splits
    graph, of_classes = prepared.graph, prepared.targets is None
    n_train = min(len(split.train) for split in splits)
    systems = [
        for_task(system, prepared.task) for system in in_turn(committee.members_for(graph, n_train))
    ]
    if not systems:
        raise ConfigError(f"no member of {committee.name} can be trained on this graph.")
    # What a member adds is measured for classes and for numbers.
    few = has_few_labels(committee, graph, splits)
    judged = graph.n_vertices > committee.rounds_above and not few
    judged = judged and (of_classes or prepared.task is REGRESSION)
    # Networks are slower to learn numbers than trees, which are there first.
    first = 0 if of_classes else FIRST_OF_NUMBERS
    rounds = tuple(epochs for epochs in committee.rounds if judged and epochs >= first)
    foldings: list[Folding] | None = None
    # In a later state of the graph nobody knows who has seen the label of a vertex.
    if not rounds and not request.of_past:
        chosen = [choose_folds(committee, prepared, split) for split in splits]
        foldings = [folding for folding in chosen if folding is not None]
        foldings = foldings if len(foldings) == len(splits) else None
    alike = np.full(len(systems), 1 / len(systems))
    priors = [prior_weights(systems, graph, split) if of_classes else alike for split in splits]
    with networks.own_torch_state(gradients=True):
        training = _Training(request, priors)
        for system in systems:
            n_first = n_seeds = repeats(system, graph, committee)
            if foldings is not None:
                n_first = n_seeds = N_FOLDS
            elif rounds and prepared.device == "cpu":
                # The first trains, and one more where the member is worth it.
                n_first, n_seeds = 1, min(n_seeds, max(MOST_IN_TURN, committee.least_repeats))
            training.add(system, n_first, n_seeds, foldings)
        most = max(system.config.max_epochs for system in systems)
        for until in (*takewhile(lambda epochs: epochs < most, rounds), most):
            training.advance(until)
            if until == most or not training.judge(until):
                break
        if rounds:
            training.join(most)
        parts, failed = training.end()
    if not parts:
        reasons = "; ".join(f"{title}: {reason}" for title, reason in failed.items())
        raise GraphFilterError(f"no member of {committee.name} could be trained ({reasons}).")
    # In the order of the committee, whatever was trained first.
    named = [parts[member.title] for member in committee.members if member.title in parts]
    refits = committee.refits and not request.of_past and not training.stopped
    return [
        weigh_parts(request.only(s), of_split, failed, refits=refits)
        for s, of_split in enumerate(zip(*named, strict=True))
    ]


def in_turn(present: Iterable[System]) -> list[System]:
    """Return members as they are trained: the cheap ones, without epochs, first.

    An answer is there early, and says what the others must add to. First of all come those that
    ten minutes of other tools would give.
    """
    return sorted(present, key=lambda s: (not s.is_fitted, s.model is None or not s.model.refits))


def for_task(system: System, task: Task) -> System:
    """Return a member as it learns a task: numbers suffer from what dropout takes from them."""
    if task is not REGRESSION or system.is_fitted or system.model is None:
        return system
    return replace(system, model=replace(system.model, dropout=min(system.model.dropout, 0.2)))


def choose_folds(committee: Committee, prepared: Prepared, split: Split) -> Folding | None:
    """Return the folds that each member has a network for; None where all learn from the same.

    Labels are few on a small graph. Each network holds one fold of the training and validation
    vertices out, validates on it and learns from the others, so that every label is learned
    from, and every labelled vertex is answered for by a network that has not seen its label.
    By these answers members are weighed.

    Only where chance alone divided them: vertices of one group, or moment, are alike. Without
    edges rows are not vertices that could be known again.
    """
    graph, labels = prepared.graph, prepared.labels
    # They take the place of seeds.
    repeated = min(MOST_REPEATS, REPEATED_VERTICES // max(graph.n_vertices, 1)) >= N_FOLDS
    small = repeated and graph.n_vertices <= committee.folds_up_to
    small = (small or has_few_labels(committee, graph, [split])) and graph.n_edges > 0
    enough = len(split.train) + len(split.val) >= LEAST_IN_FOLD * N_FOLDS and len(split.val)
    if not (small and enough and split.is_random and prepared.past is prepared):
        return None
    return Folding.of(split, labels if prepared.targets is None else 0 * labels)


def has_few_labels(committee: Committee, graph: Graph, splits: Sequence[Split]) -> bool:
    """Return whether labels are so few that all must be learned from."""
    n_labelled = max(len(split.train) + len(split.val) for split in splits)
    # Folds take the place of seeds.
    allowed = MOST_REPEATS >= N_FOLDS and graph.n_vertices <= MOST_OF_FEW
    return allowed and n_labelled <= committee.few_labels


def repeats(system: System, graph: Graph, committee: Committee) -> int:
    """Return from how many seeds a member is trained on a graph."""
    if system.is_fitted or committee.refits_networks:  # Little in the former is drawn.
        return 1
    return max(
        committee.least_repeats, min(MOST_REPEATS, REPEATED_VERTICES // max(graph.n_vertices, 1))
    )


def repeated_seed(seed: int, repeat: int) -> int:
    """Return the seed of a repetition; the first has the seed itself."""
    return seed if repeat == 0 else int(np.random.SeedSequence((seed, repeat)).generate_state(1)[0])


class _Training:
    """The members of a committee while they are trained, and what they say after each round."""

    def __init__(self, request: networks.Request, priors: Sequence[pools.Array]) -> None:
        self._request, self._priors = request, priors
        self._prepared, self._splits = request.prepared, request.splits
        self._members: list[Member] = []
        self._beside: list[Member] = []
        # Whether the caller has asked for the end, and what it has raised.
        self.stopped, self._raised = False, list[Exception]()
        # For its progress: the score of all so far, and which member has said something last.
        self._pool_score = self._last_time = math.nan
        self._last: Member | None = None
        self._begun = False

    def add(
        self, system: System, n_first: int, n_seeds: int, foldings: Sequence[Folding] | None
    ) -> None:
        """Add a member, which begins when it is first advanced."""
        number = len(self._members)
        callback = self._request.callback.part(system.name)
        callback = callback.passing_on(partial(self._pass_on, number))
        request = replace(self._request, system=system, callback=callback)
        self._members.append(Member(number, request, n_first, n_seeds, foldings))

    def advance(self, until: int) -> None:
        """Train every member to the end of an epoch.

        In the first round those without epochs are fitted in threads beside the networks, where
        cores are free.
        """
        limit = thread_limit()
        spare = self._prepared.device != "cpu" or self._prepared.graph.n_vertices <= MOST_BESIDE
        if self._begun or not spare or limit == 1:
            for member in self._members:
                self._attempt(member, self._advance, until)
        else:
            for member in self._members:
                if member.system.is_fitted and not (
                    self._pass_on(member.number, FITTED) and self._beside
                ):
                    self._beside.append(member)
            at_once = max(1, min(len(self._beside), limit // 2))

            def fit(member: Member) -> None:
                with share_of_threads(limit // at_once):
                    self._attempt(member, self._advance, until)

            # What is set for the whole process here is not set back by one thread under the other.
            with warnings.catch_warnings():
                pool = ThreadPoolExecutor(at_once)
                fitted = [pool.submit(fit, member) for member in self._beside]
                try:
                    for member in self._members:
                        if not member.system.is_fitted:
                            self._attempt(member, self._advance, until)
                    for future in fitted:
                        future.result()
                finally:
                    # After an interrupt too: nothing may compute on behind whoever caught it.
                    pool.shutdown(cancel_futures=True)
        self._begun = True
        if self._request.callback.watches and self._prepared.targets is None:
            self._pool_score = self._score()

    def _attempt(self, member: Member, work: Callable[[Member, Any], None], how: Any) -> None:
        """Do something with a member; where that fails, it has no part, and keeps the reason."""
        try:
            work(member, how)
        except Exception as error:
            of_user = isinstance(error, GraphFilterError) or error in self._raised
            if of_user or len(self._splits) > 1:
                raise
            # Only the first line: torch's own errors carry its whole C++ stack.
            line = str(error).strip().partition("\n")[0]
            of_memory = isinstance(error, MemoryError) or "out of memory" in str(error).lower()
            said = ": ".join(filter(None, (type(error).__name__, line)))
            member.failed = "not enough memory" if of_memory else said

    def _advance(self, member: Member, until: int) -> None:
        """Train a member to the end of an epoch, if it is to begin at all."""
        if member.failed:
            return
        if not member.begun:
            callback = member.request.callback
            file = callback.checkpoint
            resumed = callback.resume and file is not None and file.exists()
            # The first of those in threads is fitted in any case: there must be an answer.
            others = member is not self._beside[0] if self._beside else bool(self._present)
            if not resumed and others and self.stopped:
                return
            announced = member in self._beside or not member.system.is_fitted
            if not announced and self._pass_on(member.number, FITTED) and others:
                return
            member.begin()
        # Something must be learned without this member, or by it.
        answered = len(self._present) > 1 or bool(self._beside) or member.epoch(0) > 0
        member.advance(None if self.stopped and answered else until)

    @property
    def _present(self) -> list[Member]:
        """The members that have begun and not failed."""
        return [member for member in self._members if member.begun and not member.failed]

    def _heard(self, s: int) -> list[tuple[Member, pools.Array]]:
        """Return those members that have learned something on a split, and what they say of it."""
        said = [(member, member.outputs[s]) for member in self._present if member.outputs]
        return [(member, outputs) for member, outputs in said if outputs is not None]

    def _prior(self, s: int, members: Iterable[Member]) -> pools.Array:
        return self._priors[s][[member.number for member in members]]

    def _score(self) -> float:
        """Return the validation accuracy of all members so far together, on the first split."""
        heard, index = self._heard(0), self._splits[0].val
        if not heard or not len(index):
            return math.nan
        labels, prior = self._prepared.labels[index], self._prior(0, [m for m, _ in heard])
        logits = pools.log_probabilities([outputs for _, outputs in heard])
        some = pools.drawn(len(index), pools.MOST_JUDGES, np.random.default_rng(0))
        weight = self._prepared.weigh(index[some], self._request.class_weight)
        pool = pools.fit_pool(logits[:, some], labels[some], prior=prior, weight=weight)
        return float((pool.answer(logits).argmax(axis=1) == labels).mean())

    def judge(self, epoch: int) -> bool:
        """Stop members that add nothing; return whether any is left to train.

        What is decided is on file before anybody trains on: whoever resumes finds either all
        members at this epoch, and decides the same, or one beyond it, and nothing to decide.
        """
        if self.stopped:
            return False
        gone: list[tuple[Member, int]] = []
        for s in range(len(self._splits)):
            members = [member for member, _ in self._heard(s)]
            if any(member.epoch(s) > epoch for member in members):
                continue
            open_ones = [member for member in members if member.is_open(s)]
            fair = [m for m in open_ones if m.epoch(s) == epoch and m.is_fair(s)]
            # One that was stopped in an earlier round has said all it will.
            stopped = [m for m in open_ones if m.epoch(s) != epoch]
            gone += [(member, s) for member in self._superfluous(s, fair, stopped)]
        for member in self._present:
            member.stop([s for m, s in gone if m is member], SUPERFLUOUS)
        return any(not member.ended for member in self._present)

    def join(self, most: int) -> None:
        """Train the other seeds of those members that add something by their first."""
        if self.stopped:
            return
        worth: list[tuple[Member, int]] = []
        for s in range(len(self._splits)):
            ended = [
                member
                for member, _ in self._heard(s)
                if not member.system.is_fitted
                and not (member.is_open(s) and member.epoch(s) < most)
            ]
            gone = self._superfluous(s, ended, doubt=-1.0)
            worth += [(member, s) for member in ended if member not in gone]
        for member in self._present:
            self._attempt(member, Member.join, [s for m, s in worth if m is member])

    def _superfluous(
        self,
        s: int,
        candidates: Sequence[Member],
        stopped: Sequence[Member] = (),
        doubt: float = 1.0,
    ) -> list[Member]:
        """Return which candidates add nothing on a split to the others that were not stopped."""
        if not candidates or not len(self._splits[s].val):
            return []
        heard = self._heard(s)
        members = [member for member, _ in heard]
        said, val, prior = [o for _, o in heard], self._splits[s].val, self._prior(s, members)
        if self._prepared.targets is None:
            weight = self._prepared.weigh(val, self._request.class_weight)
            judged = pools.CrossFit(
                pools.log_probabilities(said), self._prepared.labels[val], prior, weight
            )
        else:
            truth = self._prepared.targets[val].astype(np.float64)
            judged = pools.CrossFitNumbers(np.stack(said), truth, prior)
        used = np.array([member not in stopped for member in members])
        may_go = np.array([member in candidates for member in members])
        return [members[i] for i in pools.superfluous(judged, used, may_go, WORTH, doubt)]

    def end(self) -> tuple[dict[str, list[Part]], dict[str, str]]:
        """Return what every member ended with on each split, or why it has no part, by title."""
        parts: dict[str, list[Part]] = {}
        for member in self._present:
            if not member.ended:
                member.stop(range(len(self._splits)), ASKED)
            learned = [part for part in member.parts() if part is not None]
            if len(learned) < len(self._splits):
                member.failed = DIVERGED
            else:
                parts[member.system.title] = learned
        return parts, {m.system.title: m.failed for m in self._members if m.failed}

    def _pass_on(self, number: int, progress: Progress) -> bool | None:
        """Pass on an epoch of a member, with its name and where all of them stand."""
        if not self._request.callback.watches:
            return None
        member = self._members[number]
        if progress.runs:
            now = time.monotonic()
            if progress.epoch == member.n_shown + 1 and self._last is member:
                pace = now - self._last_time
                # The first epoch of a member is no measure: things are made in it.
                member.pace = pace if math.isnan(member.pace) else 0.8 * member.pace + 0.2 * pace
            member.n_shown, self._last_time, self._last = progress.epoch, now, member
            member.n_left = max([run.patience_left for run in progress.runs if run.training] or [0])
        # What is still to come, by the epochs of networks so far; not known before each of them has
        # a pace. One that trains has as many before it as would end it without a better score.
        ended = [m.n_shown for m in self._members if m.n_shown and m.begun and m.ended]
        epochs = max(USUAL_EPOCHS, sum(ended) / max(len(ended), 1))
        seconds_left = sum(
            m.pace * max(epochs - m.n_shown, m.n_left)
            for m in self._members
            if not m.system.is_fitted and not (m.begun and m.ended)
        )
        shown = replace(
            progress,
            stage=f"{member.system.title} ({number + 1} of {len(self._members)})",
            pool_score=self._pool_score,
            seconds_left=seconds_left,
        )
        try:
            end = self._request.callback.on_epoch(shown)
        except Exception as error:
            self._raised.append(error)
            raise
        self.stopped = self.stopped or bool(end)
        return end


class Member:
    """A system of a committee in training: on several splits, from several seeds each.

    Parameters
    ----------
    number : int
        Its place in turn.
    request : Request
        Of this member, with its own callback.
    n_first, n_seeds : int
        How many seeds train from the start, and how many in the end: see :meth:`join`.
    foldings : sequence of Folding, optional
        Of each split, where every seed learns from other vertices.

    Attributes
    ----------
    failed : str
        Why it has no part; empty where it has one.
    outputs : list of arrays (n_val, C)
        What it says of the validation vertices of each split, None where it has learned nothing;
        empty where it has not yet been heard.
    pace, n_shown, n_left : float, int, float
        The seconds of an epoch, the last epoch that was shown, and how many come at least.
    """

    def __init__(
        self,
        number: int,
        request: networks.Request,
        n_first: int,
        n_seeds: int,
        foldings: Sequence[Folding] | None,
    ) -> None:
        self.number, self.system, self.request = number, request.system, request
        self._n_first, self._n_seeds, self._foldings = n_first, n_seeds, foldings
        self.begun, self.failed = False, ""
        self.outputs: list[pools.Array | None] = []
        self.pace, self.n_shown, self.n_left = math.nan, 0, 0.0

    def begin(self) -> None:
        """Make the networks of the first seeds, or fit them where there are no epochs."""
        self._first = self._of_seeds(range(len(self.request.splits)), range(self._n_first))
        self._outcomes: list[networks.Outcome] = []
        self._joined: dict[int, list[networks.Outcome]] = {}
        if self.system.is_fitted:
            self._training, self._outcomes = None, networks.train_networks(self._first)
        else:
            self._training = networks.begin_networks(self._first)
        self.begun = True

    @property
    def ended(self) -> bool:
        return self._training is None or self._training.ended

    def runs(self, split: int) -> Sequence[Run]:
        """Return the state of its runs on a split; none of a model without epochs."""
        return [] if self._training is None else self._training.runs[self._at(split)]

    def epoch(self, split: int) -> int:
        """Return the epochs of its longest run on a split; 0 of a model without epochs."""
        return max((len(run.history["loss"]) for run in self.runs(split)), default=0)

    def is_open(self, split: int) -> bool:
        """Return whether it would train on, or was stopped because it adds nothing."""
        return any(run.training or run.stopped == SUPERFLUOUS for run in self.runs(split))

    def is_fair(self, split: int) -> bool:
        """Return whether it can be judged.

        It has been clearly better than chance for half of its epochs, or had ``LATEST`` to become
        so.
        """
        learned = max((run.epochs_learned for run in self.runs(split)), default=0)
        return self.epoch(split) <= 2 * learned or self.epoch(split) >= LATEST

    def advance(self, until: int | None) -> None:
        """Train to the end of an epoch, or of all runs; note what it says then."""
        if self._training is not None and until is not None:
            self._training.advance(until)
        outcomes, pooling = self._latest(), pools.pooling_of(self.request.prepared.task)
        self.outputs = []
        for s, split in enumerate(self.request.splits):
            held = None if self._foldings is None else self._foldings[s].held[split.val]
            answers = [outcome.probabilities[split.val] for outcome in outcomes[self._at(s)]]
            outputs = pooling.together(pools.without_own_labels(answers, held))
            self.outputs.append(outputs if np.isfinite(outputs).all() else None)

    def stop(self, splits: Sequence[int], why: str) -> None:
        """End the runs of these splits that train."""
        if self._training is not None and splits:
            n = self._n_first
            self._training.stop([r for s in splits for r in range(s * n, (s + 1) * n)], why)

    def join(self, splits: Sequence[int]) -> None:
        """Train the other seeds on these splits to their end."""
        seeds = range(self._n_first, self._n_seeds)
        if self._training is None or not splits or not seeds:
            return
        request = self._of_seeds(splits, seeds)
        training = networks.begin_networks(request)
        training.advance(self.system.config.max_epochs)
        # Seeds that a caller has ended early know less than the first.
        if training.ended and not any(run.stopped == ASKED for run in training.runs):
            outcomes, n = networks.outcomes_of(request, training), len(seeds)
            self._joined = {s: outcomes[i * n : (i + 1) * n] for i, s in enumerate(splits)}

    def parts(self) -> list[Part | None]:
        """Return what it ended with on each split; None where it has learned nothing."""
        outcomes, task = self._latest(), self.request.prepared.task
        return [
            Part.of(
                self.system,
                [*outcomes[self._at(s)], *self._joined.get(s, [])],
                task,
                None if self._foldings is None else self._foldings[s].held,
            )
            for s in range(len(self.request.splits))
        ]

    def _latest(self) -> list[networks.Outcome]:
        """Return the outcomes of the first seeds, with their best weights so far."""
        if self._training is None or self._outcomes:
            return self._outcomes
        outcomes = networks.outcomes_of(self._first, self._training)
        if self._training.ended:
            self._outcomes = outcomes
        return outcomes

    def _at(self, split: int) -> slice:
        return slice(split * self._n_first, (split + 1) * self._n_first)

    def _of_seeds(self, splits: Sequence[int], seeds: range) -> networks.Request:
        """Return what is to be trained on some splits, from some of the seeds."""
        every, foldings = self.request, self._foldings
        callback = every.callback
        if seeds.start:
            callback = callback.part("more")
        pairs = [(s, r) for s in splits for r in seeds]
        return replace(
            every,
            splits=[
                every.splits[s] if foldings is None else foldings[s].splits[r] for s, r in pairs
            ],
            seeds=[repeated_seed(every.seeds[s], r) for s, r in pairs],
            callback=callback,
        )


def answer_now(outcome: networks.Outcome, prepared: Prepared) -> networks.Outcome:
    """Return the outputs of a run of the past with all edges of the graph.

    Of a committee, members that know the vertices of the graph they were trained on are not used:
    the graph is another one by now.
    """
    if not isinstance(outcome, CommitteeOutcome):
        (outputs,) = networks.predict_networks(prepared, outcome.system, [outcome.network])
        return replace(outcome, probabilities=outputs)
    movable = np.array([not part.system.keeps_graph for part in outcome.parts])
    if not movable.any():
        raise ConfigError("no member that was trained on earlier edges can predict with all edges.")
    pooling, parts, weigh = pools.pooling_of(prepared.task), list[Part](), outcome.weigh
    for part, moves in zip(outcome.parts, movable, strict=True):
        if moves:
            runs = tuple(answer_now(run, prepared) for run in part.runs)
            outputs = pooling.together([run.probabilities for run in runs])
            part = replace(part, runs=runs, probabilities=outputs)
        parts.append(part)

    def weigh_movable(used: NDArray[np.bool_]) -> pools.Pool:
        return weigh(used & movable if (used & movable).any() else movable)

    logits = pooling.read([part.probabilities for part in parts])
    return replace(
        outcome,
        parts=tuple(parts),
        pool=outcome.elsewhere,
        probabilities=outcome.elsewhere.answer(logits),
        weigh=weigh_movable,
    )
