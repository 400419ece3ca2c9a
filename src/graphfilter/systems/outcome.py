"""What the members of a committee ended with, and their weights: here and on a grown graph.

Members whose columns are vertices answer for a graph that shares vertices with the fitted one by
those that it shares. How far they are right then is found on validation vertices: a part of the
graph, theirs and others', is taken for new, and the members are asked about them. No network is
trained again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.filters import PageRankFilterConfig
from graphfilter.models import Correction, CorrectionConfig, Fitted, Network
from graphfilter.models.correction import N_GROUPS, robust
from graphfilter.models.relations import told
from graphfilter.models.views import MISSED
from graphfilter.spectral import estimate_label_frequency
from graphfilter.splits import Split
from graphfilter.systems import networks as nets
from graphfilter.systems.pooling import Pool, drawn, pooling_of, without_own_labels
from graphfilter.systems.prepared import NO_FOLD, Prepared, held_folds
from graphfilter.systems.system import Committee, System
from graphfilter.training import REGRESSION, Task
from graphfilter.training.epoch import ASKED, SUPERFLUOUS

# Shares of a graph's vertices that are known, at which members are weighed as in between the
# fitted graph (1) and one of which nothing is known (0).
SHARES = (0.9, 0.7, 0.5)


@dataclass(frozen=True, eq=False)
class Part:
    """What a member of a committee ended with: its runs from several seeds, which count the same.

    ``probabilities`` (n, n_classes) are those of all runs together. Where each run held a fold out
    (:class:`~graphfilter.systems.prepared.Folding`), those for a vertex in ``held`` (n,) are of the
    run that has not seen its label, in every run's own probabilities too.

    Of a part that was ``refitted`` the first run has learned from training vertices and the second
    from validation vertices too: the first answers for those.
    """

    system: System
    runs: tuple[nets.Outcome, ...]
    probabilities: NDArray[np.float64]
    held: NDArray[np.int8] | None = None
    refitted: bool = False

    @classmethod
    def of(
        cls,
        system: System,
        runs: Sequence[nets.Outcome],
        task: Task,
        held: NDArray[np.int8] | None = None,
    ) -> Part | None:
        """Join the runs of a member that learned something; None where none did.

        Of those with folds all must have learned: each answers for vertices of its own.
        """
        learned = [
            run
            for run in runs
            if (run.result.stopped != "diverged" or run.result.best_epoch > 0)
            and np.isfinite(run.probabilities).all()
        ]
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
        if self.held is None or (self.refitted and run == 0):
            return train
        if self.refitted:
            return np.union1d(train, np.flatnonzero(self.held != NO_FOLD))
        return np.flatnonzero((self.held != NO_FOLD) & (self.held != run))

    def fitted_to_all(self, request: nets.Request) -> Part:
        """Return the part with a second run, which has learned from validation vertices too."""
        (first,), request = self.runs, replace(request, system=self.system)
        if isinstance(first.network, Fitted):
            second = nets.fit_rows(request, first.network)
        else:
            (split,), stage = request.splits, f"{self.system.title}, with all labels (1 of 1)"
            callback = request.callback.keeping(None).passing_on(
                lambda progress: request.callback.on_epoch(replace(progress, stage=stage))
            )
            both = np.sort(np.concatenate([split.train, split.val]))
            best = self.system.limited(first.result.best_epoch or 1)
            every = [Split(both, both[:0], split.test)]
            asked = replace(request, system=best, splits=every, callback=callback)
            second = replace(nets.train_networks(asked)[0], system=self.system)
            if second.result.stopped == ASKED:
                return self
        held = np.full(request.prepared.graph.n_vertices, NO_FOLD, dtype=np.int8)
        held[request.splits[0].val] = 0
        part = Part.of(self.system, [first, second], request.prepared.task, held)
        return self if part is None else replace(part, refitted=True)

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


# With less than this share of the weights a member is left out.
LEAST = 0.01
# The share of a member that is fitted once more in the end.
LEAST_REFITTED = 0.02
# The most vertices that members are weighed on: more take longer and give the same weights.
MOST_WEIGHED = 10_000

Weigh = Callable[[NDArray[np.bool_]], Pool]


@dataclass(frozen=True, eq=False)
class CommitteeOutcome(nets.Outcome):
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
        share that is known, of :data:`~graphfilter.systems.outcome.SHARES`. None where no member
        knows vertices.
    weigh : callable
        From which of them are used to their weights.
    pooled : array (M, n, C)
        What the pool takes of each part: logits, or numbers.
    folds : tuple of Pool
        The pools of the used members without the validation vertices of one fold each:
        see :func:`~graphfilter.systems.prepared.held_folds`.
    failed : dict of str to str
        Why members that should have been trained have no part, by title.
    correction : Outcome or None
        Of numbers: what is added to the pool's answers, where that helps.
    """

    parts: tuple[Part, ...]
    pool: Pool
    elsewhere: Pool
    growing: tuple[Pool, ...]
    weigh: Weigh
    pooled: NDArray[np.float64]
    folds: tuple[Pool, ...]
    failed: dict[str, str] = field(default_factory=dict)
    correction: nets.Outcome | None = None

    @property
    def held(self) -> NDArray[np.int8] | None:
        """The fold that each vertex was held out in, 0 of those that one of two has not seen.

        None where all learn from the same ones.
        """
        return next((part.held for part in self.parts if part.held is not None), None)

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
    request: nets.Request, parts: Sequence[Part], failed: dict[str, str], *, refits: bool = False
) -> CommitteeOutcome:
    """Weigh members on the validation vertices of a split.

    Where every labelled vertex is answered for without its label, they are weighed on all. Where a
    committee ``refits``, some members then learn from validation vertices too. Of numbers what the
    members together miss at neighbours is added.
    """
    prepared, (split,), (seed,) = request.prepared, request.splits, request.seeds

    def some_of(vertices: NDArray[np.int64]) -> NDArray[np.int64]:
        return vertices[drawn(len(vertices), MOST_WEIGHED, np.random.default_rng((seed, 6)))]

    held_out = parts[0].held
    labelled = split.val if held_out is None else np.flatnonzero(held_out != NO_FOLD)
    weighed = some_of(labelled)
    pooling = pooling_of(prepared.task)
    truth = prepared.labels if prepared.targets is None else prepared.targets.astype(np.float64)
    logits = pooling.read([part.probabilities for part in parts])
    prior = np.ones(len(parts))
    if prepared.targets is None:  # The frequencies of classes are known.
        prior = prior_weights([part.system for part in parts], prepared.graph, split)

    def fit(
        used: NDArray[np.bool_],
        val: NDArray[np.int64] = weighed,
        outputs: NDArray[np.float64] | None = None,
    ) -> Pool:
        own = (logits[:, val] if outputs is None else outputs)[used]
        weight = prepared.weigh(val, request.class_weight)
        return pooling.fit(own, truth[val], prior=prior[used], weight=weight).among(used)

    def weigh(used: NDArray[np.bool_], outputs: NDArray[np.float64] | None = None) -> Pool:
        pool = fit(used, outputs=outputs)
        counts = used & (pool.shares >= min(LEAST, pool.shares.max()))
        return pool if (counts == used).all() else fit(counts, outputs=outputs)

    everyone = np.ones(len(parts), dtype=bool)
    pool = weigh(everyone)
    used = pool.shares > 0
    growing = () if not any(part.system.recognises for part in parts) else SHARES
    of_new = (outputs_for_new(request, parts, weighed, share) for share in growing)
    movable = np.array([not part.system.keeps_graph for part in parts])
    folds = [some_of(np.setdiff1d(labelled, held)) for held in held_folds(split.val, seed)]
    elsewhere = pooling.read(outputs_elsewhere(prepared, parts, weighed))
    elsewhere_pool = weigh(movable, elsewhere) if movable.any() else pool
    leading = parts[int(pool.shares.argmax())].runs[0]
    growing_pools = tuple(weigh(everyone, pooling.read(outputs)) for outputs in of_new)
    networks_too = isinstance(request.system, Committee) and request.system.refits_networks
    if held_out is None and refits:
        # Weights, and what validation vertices are told, are of models that have not seen them.
        parts = [
            part.fitted_to_all(request)
            if part.system.model is not None
            and (part.system.model.refits or networks_too)
            and max(pool.shares[i], elsewhere_pool.shares[i]) >= LEAST_REFITTED
            else part
            for i, part in enumerate(parts)
        ]
        logits = pooling.read([part.probabilities for part in parts])
    answers, correction = pool.answer(logits), None
    corrects = prepared.task is REGRESSION and not request.of_past
    if corrects and prepared.graph.n_edges and len(weighed):
        seen = split.train if held_out is None else split.train[:0]
        correction = fit_correction(prepared, truth - answers, seen, labelled, weighed)
        answers = answers if correction is None else answers + correction.probabilities
    return CommitteeOutcome(
        request.system,
        leading.network,
        leading.result,
        answers,
        sum(part.seconds for part in parts),
        min(run.side_by_side for part in parts for run in part.runs),
        tuple(parts),
        pool,
        elsewhere_pool,
        growing_pools,
        weigh,
        logits,
        tuple(fit(used, others) for others in folds),
        failed,
        correction,
    )


CORRECTION = System(
    "correction",
    "what is missed at neighbours",
    CorrectionConfig(),
    setting="own",
    view=MISSED,
    operator="adjacency",
)


def fit_correction(
    prepared: Prepared,
    residuals: NDArray[np.float64],
    seen: NDArray[np.int64],
    unseen: NDArray[np.int64],
    weighed: NDArray[np.int64],
) -> nets.Outcome | None:
    """Return what residuals (n, T) around a vertex add to its answer; None where it is nothing.

    Models have learned from the vertices that they have ``seen``, not from the others. Some of
    these say what the residuals of all are worth.
    """
    started = time.perf_counter()
    rows, n_numbers = np.concatenate([seen, unseen]), residuals.shape[1]
    values = np.zeros((len(residuals), N_GROUPS * n_numbers))
    values[seen, :n_numbers] = robust(residuals[seen])
    values[unseen, n_numbers:] = robust(residuals[unseen])
    found = told(values, rows, n_numbers)
    columns = nets.rows_of(prepared.seen_as(MISSED, found))
    model = Correction(columns.shape[1], n_numbers)
    model.fit(columns[weighed], robust(residuals[unseen])[np.searchsorted(unseen, weighed)])
    if not model.weight.any():
        return None
    model.keep_view(found)
    return nets.fitted_outcome(prepared, CORRECTION, model, started)


# Labels below this frequency are low: those that have nothing to do with the edges are near 1.
LOW = 0.7


def prior_weights(systems: Sequence[System], graph: Graph, split: Split) -> NDArray[np.float64]:
    """Return a prior share for each system: equal, but for low-pass ones where labels say so.

    The frequency of the labels is estimated from those that are known, without bias
    (Proposition 3, corrected). Where it is surely low, a low-pass member is believed as much as
    all others together; where it is not, or labels are too few to say, all alike.
    """
    filters = [getattr(system.model, "filter", None) for system in systems]
    smooth = np.array([isinstance(one, PageRankFilterConfig) for one in filters])
    # How sure it is that labels are of low frequency.
    belief = 0.0
    if smooth.any():
        known = np.concatenate([split.train, split.val])
        estimate = estimate_label_frequency(graph, np.sort(known))
        width = estimate.mean_high - estimate.mean_low
        if np.isfinite([estimate.mean, width]).all() and width > 0:
            deviation = width / (2 * NormalDist().inv_cdf(0.975))
            belief = max(0.0, 2 * NormalDist(estimate.mean, deviation).cdf(LOW) - 1)
    weights = np.where(smooth, 1 + len(systems) * belief, 1.0)
    return weights / weights.sum()


def outputs_for_new(
    request: nets.Request, parts: Sequence[Part], val: NDArray[np.int64], share: float
) -> list[NDArray[np.float64]]:
    """Return the outputs of each part for validation vertices (n_val, C) that are new to it.

    Of members whose columns are no vertices these are their usual outputs. Others answer as if they
    had been fitted to the part of the graph that is known. A network loses columns, and takes no
    harm; a kernel compares rows of which some have lost columns with others that have not, so that
    it is fitted again, to its landmarks alone.
    """
    prepared, (split,), (seed,) = request.prepared, request.splits, request.seeds
    n, found = prepared.graph.n_vertices, [part.probabilities[val].copy() for part in parts]
    place = np.full(n, -1)
    place[val] = np.arange(len(val))
    for asked, new in parts_taken_out(n, val, share, seed) if len(val) else ():
        partly = prepared.taking_for_new(new)

        def fitted(part: Part, run: int, partly: Prepared = partly) -> Network[Any]:
            network, train = part.runs[run].network, part.learned_from(run, split.train)
            if not isinstance(network, Fitted):
                return network
            rows = nets.rows_of(partly.seen_as(part.system.view, network.kept_view()))
            weight = partly.weigh(train, request.class_weight)
            return network.refitted(rows[train], nets.learned_targets(partly)[train], weight)

        for outputs, part in zip(found, parts, strict=True):
            if part.system.recognises:
                networks = [fitted(part, run) for run in range(len(part.runs))]
                answers = nets.predict_networks(partly, part.system, networks, rows=asked)
                outputs[place[asked]] = part.together(answers, asked, prepared.task)
    return found


def outputs_elsewhere(
    prepared: Prepared, parts: Sequence[Part], val: NDArray[np.int64]
) -> list[NDArray[np.float64]]:
    """Return the outputs of each part for some vertices (m, C) of a graph that is new to it.

    Of members that are told labels these are what they say without any.
    """
    nothing = np.zeros(0, dtype=np.int64)
    found = [part.probabilities[val] for part in parts]
    for i, part in enumerate(parts):
        if part.system.model is not None and part.system.model.recognises:
            networks = [run.network.recognising(nothing) for run in part.runs]
            answers = nets.predict_networks(prepared, part.system, networks, rows=val)
            found[i] = part.together(answers, val, prepared.task)
    return found


def parts_taken_out(
    n_vertices: int, val: NDArray[np.int64], share: float, seed: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield some validation vertices, and all vertices that are taken for new with them.

    Each validation vertex comes once, in as few parts as leave ``share`` of the vertices known.
    Where validation vertices are fewer than what is to be new, others join them.
    """
    rng = np.random.default_rng((seed, round(1000 * share)))
    n_new = max(1, round((1 - share) * n_vertices))
    drawn = rng.permutation(val)
    others = rng.permutation(np.setdiff1d(np.arange(n_vertices), val))
    for asked in np.array_split(drawn, max(1, -(-len(val) // n_new))):
        joined = others[: max(0, n_new - len(asked))]
        yield np.sort(asked), np.sort(np.concatenate([asked, joined]))
