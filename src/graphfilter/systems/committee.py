"""The committee: systems that each see a graph in another way, and answer together.

How its members are chosen (:class:`Committee`), trained and judged (:func:`train_committee`); the
weights that they end with are those of :func:`~graphfilter.systems.outcome.weigh_parts`.

Cheap members are fitted first, then networks in rounds. After each round those that add nothing to
what the others say of validation vertices are stopped. Validation vertices alone decide, never the
clock.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from typing import Any

import numpy as np

from graphfilter.data.graph import Graph
from graphfilter.data.structure import is_wide
from graphfilter.models import ForestConfig, MixedConfig, NormedConfig
from graphfilter.models.views import AVERAGES, COMPRESSED_AVERAGES, MOST_AVERAGED
from graphfilter.splits import EARLIER, N_FOLDS, Folding, Split
from graphfilter.systems.networks import (
    Outcome,
    Request,
    Start,
    begin_networks,
    outcomes_of,
    train_networks,
)
from graphfilter.systems.outcome import (
    CommitteeOutcome,
    Part,
    prior_weights,
    weigh_parts,
    without_own_labels,
)
from graphfilter.systems.pooling import (
    MOST_JUDGES,
    Array,
    CrossFit,
    drawn,
    fit_pool,
    log_probabilities,
    pooling_of,
    superfluous,
)
from graphfilter.systems.prepared import Prepared
from graphfilter.systems.system import System
from graphfilter.training import REGRESSION, Progress, Run, Task, TrainConfig
from graphfilter.training.epoch import ASKED, SUPERFLUOUS
from graphfilter.util.errors import ConfigError, GraphFilterError, check_name
from graphfilter.util.machine import own_torch_state, share_of_threads, thread_limit

# Weight decay is a prior on the weights against a mean loss: it shrinks as the labels grow.
DECAY = 0.5
# Epochs of patience, times labels: scores of few vertices take few values and rise rarely, so that
# where labels are few members wait longer.
PATIENCE_OF_FEW = 9000
# On small graphs chance in training matters, and time does not: each member is trained from
# several seeds, so many that their vertices add up to this.
REPEATED_VERTICES, MOST_REPEATS = 8000, 5
# A graph is wide where so many steps do not lead far. Layers of a network with batch norms there,
# of which fewer would see little, and its dropout: each layer of more drops less.
STEPS, LAYERS_OF_WIDE, DROPOUT_OF_WIDE = 6, 12, 0.2

# Labelled vertices per fold, on average, below which there are no folds.
LEAST_IN_FOLD = 2

_SHARED = ("max_epochs", "patience", "monitor")


@dataclass(frozen=True)
class Committee(System):
    """Systems that are trained one after another and answer together.

    One setting for every graph: their weights decide which members are used. Members
    that cannot help are not trained: see :meth:`members_for`.

    Attributes
    ----------
    members : tuple of System
        ``weight_decay`` of each is the most it may be: see ``DECAY``.
    rounds : tuple of int
        Epochs after which networks are judged; none, and every network ends by itself.
    rounds_above : int
        On graphs of no more vertices every network ends by itself: few judges judge badly.
    least_patience : int or None
        How long members wait for a better score where labels are many, below their own patience;
        None where they always wait as long as their config says.
    least_repeats : int
        From how many seeds each network is trained on large graphs too.
    loss_up_to : int
        On graphs of no more vertices the best epoch is the one of the least validation loss: the
        accuracy of forty vertices has forty values.
    folds_up_to : int
        On graphs of no more vertices the networks of a member learn from other vertices each: see
        :meth:`folding`.
    """

    members: tuple[System, ...] = ()
    rounds: tuple[int, ...] = ()
    rounds_above: int = 0
    least_patience: int | None = None
    least_repeats: int = 1
    loss_up_to: int = 0
    folds_up_to: int = 0

    @property
    def trained(self) -> bool:
        return True

    @property
    def keeps_graph(self) -> bool:
        """Another graph is predicted by those members that do not keep theirs."""
        return False

    def settings(self) -> dict[str, Any]:
        first = self.members[0].settings()
        return {name: first[name] for name in _SHARED}

    def describe(self) -> dict[str, Any]:
        """Return the kind of each member and all its fields, by name."""
        members = {m.name: m.describe() | m.describe_training() for m in self.members}
        names = ["rounds", "rounds_above"] if self.rounds else []
        names += [] if self.least_patience is None else ["least_patience"]
        names += [name for name in ("loss_up_to", "folds_up_to") if getattr(self, name)]
        own = {name: getattr(self, name) for name in names}
        own |= {"rounds": list(self.rounds)} if self.rounds else {}
        return {"kind": "Committee", **own, **members}

    def describe_training(self) -> dict[str, Any]:
        return self.settings()

    def members_for(self, graph: Graph, n_train: int) -> tuple[System, ...]:
        """Return the members to be trained on a graph, as they are for so many labels."""
        return tuple(
            replace(_adapted(member, graph), config=self._config(member, graph, n_train))
            for member in self.members
            if self.absence(member, graph, n_train) is None
        )

    def folding(self, prepared: Prepared, split: Split, start: Start | None) -> Folding | None:
        """Return the folds that each member has a network for; None where all learn from the same.

        Labels are few on a small graph. Each network holds one fold of the training and validation
        vertices out, validates on it and learns from the others, so that every label is learned
        from, and every labelled vertex is answered for by a network that has not seen its label.
        By these answers members are weighed.

        Only where chance alone divided them: vertices of one group, or moment, are alike. Without
        edges rows are not vertices that could be known again. Networks that begin with earlier
        weights hold out what the earlier ones did.
        """
        graph = prepared.graph
        # They take the place of seeds.
        repeated = min(MOST_REPEATS, REPEATED_VERTICES // max(graph.n_vertices, 1)) >= N_FOLDS
        small = repeated and graph.n_edges > 0 and graph.n_vertices <= self.folds_up_to
        enough = len(split.train) + len(split.val) >= LEAST_IN_FOLD * N_FOLDS and len(split.val)
        held, by_chance = None, split.is_random
        if start is not None:
            # Those who were held out were divided by chance, and so are others then.
            held = start.held
            by_chance = held is not None and (by_chance or split.rule.startswith(EARLIER))
        if not (small and enough and by_chance and prepared.past is prepared):
            return None
        of_classes = prepared.targets is None
        return Folding.of(split, prepared.labels if of_classes else 0 * prepared.labels, held)

    def absence(self, member: System, graph: Graph, n_train: int) -> str | None:
        """Return why a member is not trained on a graph; None where it is."""
        member = _adapted(member, graph)
        model = member.model
        if model is None:
            return None
        if not graph.n_edges and (model.needs_edges or member.keeps_graph):
            return "there are no edges"
        has_channels = graph.directed or graph.kinds is not None
        if has_channels and model.learns_filter and member.view == "features":
            return "each direction and edge type has its own filter"
        return model.skip_reason(graph, n_train)

    def _changed(self, changes: Mapping[str, Any]) -> Committee:
        for key in changes:
            check_name("setting", key, self.settings())
        members = (replace(m, config=replace(m.config, **changes)) for m in self.members)
        least = None if "patience" in changes else self.least_patience
        by_loss = 0 if "monitor" in changes else self.loss_up_to
        return replace(self, members=tuple(members), least_patience=least, loss_up_to=by_loss)

    def _config(self, member: System, graph: Graph, n_train: int) -> TrainConfig:
        """Return how a member is trained on a graph with so many labels."""
        decay, config = DECAY / max(n_train, 1), member.config
        patience = config.patience
        if self.least_patience is not None:
            patience = min(patience, max(self.least_patience, PATIENCE_OF_FEW // max(n_train, 1)))
        return replace(
            config,
            weight_decay=min(config.weight_decay, decay),
            filter_weight_decay=min(config.filter_weight_decay, decay),
            patience=patience,
            monitor="loss" if graph.n_vertices <= self.loss_up_to else config.monitor,
        )


def _adapted(member: System, graph: Graph) -> System:
    """Return a member as it is trained on a graph.

    Of features that are too many for boosted trees, trees that vote see compressed ones. A network
    is as deep as the graph is wide, and knows how many of its columns are links.
    """
    model = member.model
    if isinstance(model, NormedConfig) and is_wide(graph, STEPS):
        deeper = replace(model, n_layers=LAYERS_OF_WIDE, dropout=DROPOUT_OF_WIDE)
        return replace(member, model=deeper)
    if isinstance(model, MixedConfig):
        n_links = graph.n_vertices * (2 if graph.directed else 1)
        return replace(member, model=replace(model, n_links=n_links))
    if member.view != AVERAGES or graph.n_features <= MOST_AVERAGED:
        return member
    return replace(member, view=COMPRESSED_AVERAGES, model=ForestConfig())


def repeated_seed(seed: int, repeat: int) -> int:
    """Return the seed of a repetition; the first has the seed itself."""
    return seed if repeat == 0 else int(np.random.SeedSequence((seed, repeat)).generate_state(1)[0])


def repeats(system: System, graph: Graph, least: int = 1) -> int:
    """Return from how many seeds a member is trained on a graph."""
    if system.is_fitted:  # Little in them is drawn.
        return 1
    return max(least, min(MOST_REPEATS, REPEATED_VERTICES // max(graph.n_vertices, 1)))


# Where seeds train one after another, the second gives most of what they all would.
MOST_IN_TURN = 2
# Epochs after which a member is judged though it has learned nothing yet.
LATEST = 240
# The share of the validation loss that a member must remove to be trained further.
WORTH = 0.003
# Vertices up to which a CPU has cores to spare beside the networks.
MOST_BESIDE = 4096
# That a network trains, on the whole: for guesses of the time that is left.
USUAL_EPOCHS = 100
# What is said of a member without epochs before it is fitted.
FITTED = Progress.without_epochs()
DIVERGED = "training diverged before anything was learned"


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
    most = max(system.config.max_epochs for system in present)
    with own_torch_state(gradients=True):
        training = _Training(
            request,
            present,
            committee.least_repeats,
            at_once=not rounds,
            foldings=foldings if len(foldings) == len(splits) else None,
        )
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
    return [
        weigh_parts(prepared, committee, of_split, split, seed, request.class_weight, failed)
        for of_split, split, seed in zip(
            zip(*named, strict=True), splits, request.seeds, strict=True
        )
    ]


def in_turn(present: Sequence[System]) -> list[System]:
    """Return members as they are trained: the cheap ones, without epochs, first.

    An answer is there early, and says what the others must add to.
    """
    return sorted(present, key=lambda system: not system.is_fitted)


def for_task(system: System, task: Task) -> System:
    """Return a member as it learns a task: numbers suffer from what dropout takes from them."""
    if task is not REGRESSION or system.is_fitted or system.model is None:
        return system
    return replace(system, model=replace(system.model, dropout=min(system.model.dropout, 0.2)))


class _Training:
    """The members of a committee while they are trained, and what they say after each round."""

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
        self._of_classes = self._prepared.targets is None
        self._priors = [
            prior_weights(present, self._prepared.graph, split)
            for split in self._splits
            if self._of_classes
        ]
        # By the numbers of the members: those that have begun, what they say of the validation
        # vertices of each split, and why others have failed.
        self._members: dict[int, Member] = {}
        self._outputs: dict[int, list[Array | None]] = {}
        self._failed: dict[int, str] = {}
        self._beside: list[int] = []
        # Whether the caller has asked for the end, and what it has raised.
        self._stopped, self._raised = False, list[Exception]()
        # For its progress: the score of all so far, and the pace and the epochs of each.
        self._pool_score = self._last_time = math.nan
        self._last, self._begun = -1, False
        self._seconds, self._epochs = [math.nan] * len(present), [0] * len(present)

    def advance(self, until: int) -> None:
        """Train every member to the end of an epoch.

        In the first round those without epochs are fitted in threads beside the networks, where
        cores are free.
        """
        spare = self._prepared.device != "cpu" or self._prepared.graph.n_vertices <= MOST_BESIDE
        if self._begun or not spare or thread_limit() == 1:
            for number in range(len(self._present)):
                self._attempt(number, lambda number: self._advance(number, until))
        else:
            for number, system in enumerate(self._present):
                if system.is_fitted and not (self._pass_on(number, FITTED) and self._beside):
                    self._beside.append(number)
            at_once = max(1, min(len(self._beside), thread_limit() // 2))
            share = thread_limit() // at_once

            def fit(number: int) -> None:
                with share_of_threads(share):
                    self._attempt(number, lambda number: self._advance(number, until))

            # What is set for the whole process here is not set back by one thread under the other.
            with warnings.catch_warnings():
                pool = ThreadPoolExecutor(at_once)
                fitted = [pool.submit(fit, number) for number in self._beside]
                try:
                    for number, system in enumerate(self._present):
                        if not system.is_fitted:
                            self._attempt(number, lambda number: self._advance(number, until))
                    for future in fitted:
                        future.result()
                finally:
                    # After an interrupt too: nothing may compute on behind whoever caught it.
                    pool.shutdown(cancel_futures=True)
        self._begun = True
        if self._request.callback.watches and self._of_classes:
            self._pool_score = self._score()

    def _attempt(self, number: int, work: Callable[[int], None]) -> None:
        """Do something with a member; where that fails, keep the reason in its place."""
        try:
            work(number)
        except Exception as error:
            of_user = isinstance(error, GraphFilterError) or error in self._raised
            if of_user or len(self._splits) > 1:
                raise
            self._members.pop(number, None)
            self._outputs.pop(number, None)
            self._failed[number] = describe_failure(error)

    def _advance(self, number: int, until: int) -> None:
        """Train a member to the end of an epoch, if it is to begin at all."""
        if number in self._failed:
            return
        system = self._present[number]
        if number not in self._members:
            callback = self._request.callback.part(system.name)
            callback = callback.passing_on(partial(self._pass_on, number))
            file = callback.checkpoint
            begun = callback.resume and file is not None and file.exists()
            # The first of those in threads is fitted in any case: there must be an answer.
            others = number != self._beside[0] if self._beside else bool(self._members)
            if not begun and others and self._stopped:
                return
            announced = number in self._beside or not system.is_fitted
            if not announced and self._pass_on(number, FITTED) and others:
                return
            own = replace(self._request, system=system, callback=callback)
            self._members[number] = Member(
                own, self._least_repeats, at_once=self._at_once, foldings=self._foldings
            )
        member = self._members[number]
        # Something must be learned without this member, or by it.
        answered = len(self._members) > 1 or bool(self._beside) or member.epoch(0) > 0
        if not (self._stopped and answered):
            member.advance(until)
        if member.ended:
            self._epochs[number] = USUAL_EPOCHS
        self._outputs[number] = member.outputs()

    def _known(self, s: int) -> dict[int, Array]:
        """Return what those members say on a split that have learned something, by number."""
        said = {m: self._outputs[m][s] for m in sorted(self._outputs)}
        return {m: outputs for m, outputs in said.items() if outputs is not None}

    def _score(self) -> float:
        """Return the validation accuracy of all members so far together, on the first split."""
        known, index = self._known(0), self._splits[0].val
        if not known or not len(index):
            return math.nan
        labels, prior = self._prepared.labels[index], self._priors[0][list(known)]
        logits = log_probabilities(list(known.values()))
        some = drawn(len(index), MOST_JUDGES, np.random.default_rng(0))
        weight = self._request.class_weight
        pool = fit_pool(logits[:, some], labels[some], prior=prior, class_weight=weight)
        return float((pool.answer(logits).argmax(axis=1) == labels).mean())

    def judge(self, epoch: int) -> bool:
        """Stop members that add nothing; return whether any is left to train.

        What is decided is on file before anybody trains on: whoever resumes finds either all
        members at this epoch, and decides the same, or one beyond it, and nothing to decide.
        """
        if self._stopped:
            return False
        decided: list[tuple[int, int]] = []
        for s in range(len(self._splits)):
            members = {m: self._members[m] for m in self._known(s)}
            if any(member.epoch(s) > epoch for member in members.values()):
                continue
            open_ones = {m: member for m, member in members.items() if member.is_open(s)}
            reached = [m for m, member in open_ones.items() if member.epoch(s) == epoch]
            # One that was stopped in an earlier round has said all it will.
            stopped = [m for m in open_ones if m not in reached]
            fair = [m for m in reached if members[m].is_fair(s)]
            decided += [(m, s) for m in self._superfluous(s, fair, stopped)]
        for number, member in self._members.items():
            member.stop([s for m, s in decided if m == number], SUPERFLUOUS)
            if member.ended:
                self._epochs[number] = USUAL_EPOCHS
        return any(not member.ended for member in self._members.values())

    def join(self, most: int) -> None:
        """Train the other seeds of those members that add something by their first."""
        if self._stopped:
            return
        worth: list[tuple[int, int]] = []
        for s in range(len(self._splits)):
            members = {m: self._members[m] for m in self._known(s)}
            ended = [
                m
                for m, member in members.items()
                if not member.system.is_fitted
                and not (member.is_open(s) and member.epoch(s) < most)
            ]
            gone = self._superfluous(s, ended, doubt=-1.0)
            worth += [(m, s) for m in ended if m not in gone]
        for number in sorted(self._members):
            splits = [s for m, s in worth if m == number]
            self._attempt(number, lambda number, own=splits: self._members[number].join(own))

    def _superfluous(
        self, s: int, candidates: Sequence[int], stopped: Sequence[int] = (), doubt: float = 1.0
    ) -> list[int]:
        """Return which candidates add nothing on a split to the others that were not stopped."""
        if not candidates or not len(self._splits[s].val):
            return []
        known = self._known(s)
        judged = CrossFit(
            log_probabilities(list(known.values())),
            self._prepared.labels[self._splits[s].val],
            self._priors[s][list(known)],
            self._request.class_weight,
        )
        numbers = np.array(list(known))
        used, asked = ~np.isin(numbers, stopped), np.isin(numbers, candidates)
        return numbers[superfluous(judged, used, asked, WORTH, doubt)].tolist()

    def end(self) -> tuple[dict[str, list[Part]], dict[str, str]]:
        """Return what every member ended with on each split, or why it has no part, by title."""
        parts: dict[str, list[Part]] = {}
        failed: dict[str, str] = {}
        for number, system in enumerate(self._present):
            if number in self._failed:
                failed[system.title] = self._failed[number]
            elif number in self._members:
                member = self._members[number]
                if not member.ended:
                    member.stop(range(len(self._splits)), ASKED)
                own = member.parts()
                learned = [part for part in own if part is not None]
                if len(learned) < len(own):
                    failed[system.title] = DIVERGED
                else:
                    parts[system.title] = learned
        return parts, failed

    def _pass_on(self, number: int, progress: Progress) -> bool | None:
        """Pass on an epoch of a member, with its name and where all of them stand."""
        if not self._request.callback.watches:
            return None
        if progress.runs:
            now, before = time.monotonic(), self._seconds[number]
            if progress.epoch == self._epochs[number] + 1 and self._last == number:
                pace = now - self._last_time
                # The first epoch of a member is no measure: things are made in it.
                self._seconds[number] = pace if math.isnan(before) else 0.8 * before + 0.2 * pace
            self._epochs[number], self._last_time, self._last = progress.epoch, now, number
        # What is still to come, by the pace of members so far.
        known = [seconds for seconds in self._seconds if math.isfinite(seconds)]
        usual = sum(known) / len(known) if known else math.nan
        paces = [seconds if math.isfinite(seconds) else usual for seconds in self._seconds]
        left = [max(USUAL_EPOCHS - epochs, 0) for epochs in self._epochs]
        told = replace(
            progress,
            stage=f"{self._present[number].title} ({number + 1} of {len(self._present)})",
            pool_score=self._pool_score,
            seconds_left=sum(pace * n for pace, n in zip(paces, left, strict=True)),
        )
        try:
            end = self._request.callback.on_epoch(told)
        except Exception as error:
            self._raised.append(error)
            raise
        self._stopped = self._stopped or bool(end)
        return end


class Member:
    """A system of a committee in training: on several splits, from several seeds each.

    Parameters
    ----------
    request : Request
        Of this member, with its own callback.
    least_repeats : int
        See :class:`Committee`.
    at_once : bool
        Whether all seeds train from the start. Otherwise, on a CPU, the first does, and one more
        where the member is worth it: see :meth:`join`.
    foldings : sequence of Folding, optional
        Of each split, where every seed learns from other vertices.
    """

    def __init__(
        self,
        request: Request,
        least_repeats: int,
        *,
        at_once: bool,
        foldings: Sequence[Folding] | None,
    ) -> None:
        self.system, self._request, self._foldings = request.system, request, foldings
        prepared = request.prepared
        self._n_seeds = self._n_first = repeats(self.system, prepared.graph, least_repeats)
        if foldings is not None:
            self._n_seeds = self._n_first = N_FOLDS
        elif not at_once and prepared.device == "cpu":
            self._n_first = 1
            self._n_seeds = min(self._n_seeds, max(MOST_IN_TURN, least_repeats))
        self._every = self._of_seeds(range(len(request.splits)), range(self._n_first))
        fitted = self.system.is_fitted
        self._training = None if fitted else begin_networks(self._every)
        # Those of runs that train no more.
        self._outcomes = train_networks(self._every) if fitted else []
        self._joined: dict[int, list[Outcome]] = {}

    @property
    def ended(self) -> bool:
        return self._training is None or self._training.ended

    def runs(self, split: int) -> Sequence[Run]:
        """Return the state of its runs on a split; none of a model without epochs."""
        return [] if self._training is None else self._training.runs[self._own(split)]

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

    def advance(self, until: int) -> None:
        """Train to the end of an epoch, or of all runs."""
        if self._training is not None:
            self._training.advance(until)

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
        training = begin_networks(request)
        training.advance(self.system.config.max_epochs)
        # Seeds that a caller has ended early know less than the first.
        if training.ended and not any(run.stopped == ASKED for run in training.runs):
            outcomes, n = outcomes_of(request, training), len(seeds)
            self._joined = {s: outcomes[i * n : (i + 1) * n] for i, s in enumerate(splits)}

    def outputs(self) -> list[Array | None]:
        """Return what it says of the validation vertices (n_val, C) of each split.

        None where it has learned nothing.
        """
        outcomes, said = self._latest(), list[Array | None]()
        for s, split in enumerate(self._request.splits):
            held = None if self._foldings is None else self._foldings[s].held[split.val]
            answers = [outcome.probabilities[split.val] for outcome in outcomes[self._own(s)]]
            pooling = pooling_of(self._request.prepared.task)
            outputs = pooling.together(without_own_labels(answers, held))
            said.append(outputs if np.isfinite(outputs).all() else None)
        return said

    def parts(self) -> list[Part | None]:
        """Return what it ended with on each split; None where it has learned nothing."""
        outcomes, task = self._latest(), self._request.prepared.task
        return [
            Part.of(
                self.system,
                [*outcomes[self._own(s)], *self._joined.get(s, [])],
                task,
                None if self._foldings is None else self._foldings[s].held,
            )
            for s in range(len(self._request.splits))
        ]

    def _latest(self) -> list[Outcome]:
        """Return the outcomes of the first seeds, with their best weights so far."""
        if self._training is None or self._outcomes:
            return self._outcomes
        outcomes = outcomes_of(self._every, self._training)
        if self._training.ended:
            self._outcomes = outcomes
        return outcomes

    def _own(self, split: int) -> slice:
        return slice(split * self._n_first, (split + 1) * self._n_first)

    def _of_seeds(self, splits: Sequence[int], seeds: range) -> Request:
        """Return what is to be trained on some splits, from some of the seeds."""
        every, first, foldings = self._request, not seeds.start, self._foldings
        return replace(
            every,
            splits=[
                every.splits[s] if foldings is None else foldings[s].splits[r]
                for s in splits
                for r in seeds
            ],
            seeds=[repeated_seed(every.seeds[s], r) for s in splits for r in seeds],
            callback=every.callback if first else every.callback.part("more"),
            start=every.start
            if first or every.start is None
            else every.start.after(self.system, seeds.start),
        )


def describe_failure(error: Exception) -> str:
    """Return an error in one line."""
    if isinstance(error, MemoryError) or "out of memory" in str(error).lower():
        return "not enough memory"
    # Only the first line: torch's own errors carry its whole C++ stack.
    line = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {line}" if line else type(error).__name__
