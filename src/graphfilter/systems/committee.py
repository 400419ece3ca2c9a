"""Committee: systems that each see the graph in another way, and which of them are trained.

What one member of a committee ended with.

One member of a committee while it is trained: rounds of its networks, from several seeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.data.structure import is_wide
from graphfilter.models import Fitted, ForestConfig, MixedConfig, NormedConfig
from graphfilter.models.views import AVERAGES, COMPRESSED_AVERAGES, MOST_AVERAGED
from graphfilter.splits import EARLIER, N_FOLDS, NO_FOLD, Folding, Split
from graphfilter.systems.networks import NetworkTraining, Outcome, Request, Start, fit_at_once
from graphfilter.systems.pooling import pooling_of
from graphfilter.systems.prepared import Prepared
from graphfilter.systems.system import System
from graphfilter.training import Task, TrainConfig
from graphfilter.training.run import SUPERFLUOUS
from graphfilter.util.errors import check_name

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
        own: dict[str, Any] = {}
        if self.rounds:
            own = {"rounds": list(self.rounds), "rounds_above": self.rounds_above}
        own |= {} if self.least_patience is None else {"least_patience": self.least_patience}
        for name in ("loss_up_to", "folds_up_to"):
            own |= {name: getattr(self, name)} if getattr(self, name) else {}
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
        n_labels = len(split.train) + len(split.val)
        if not small or prepared.past is not prepared or not len(split.val):
            return None
        if n_labels < LEAST_IN_FOLD * N_FOLDS:
            return None
        kept = None if start is None else start.held
        if start is None:
            by_chance = split.is_random
        else:  # Those who were held out were divided by chance, and so are others then.
            by_chance = kept is not None and (split.is_random or split.rule.startswith(EARLIER))
        if not by_chance:
            return None
        of_classes = prepared.targets is None
        return Folding.of(split, prepared.labels if of_classes else 0 * prepared.labels, kept)

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


def in_turn(present: Sequence[System]) -> list[System]:
    """Return members as they are trained: the cheap ones, without epochs, first.

    An answer is there early, and says what the others must add to.
    """
    return sorted(present, key=lambda system: not system.is_fitted)


def repeated_seed(seed: int, repeat: int) -> int:
    """Return the seed of a repetition; the first has the seed itself."""
    return seed if repeat == 0 else int(np.random.SeedSequence((seed, repeat)).generate_state(1)[0])


def repeats(system: System, graph: Graph, least: int = 1) -> int:
    """Return from how many seeds a member is trained on a graph."""
    if system.is_fitted:  # Little in them is drawn.
        return 1
    return max(least, min(MOST_REPEATS, REPEATED_VERTICES // max(graph.n_vertices, 1)))


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
