"""The members of a fitted estimator: what each sees and counts, and their answers together."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.estimators.calibration import Calibration, Folded, check_calibrated, sets_at
from graphfilter.models import Network
from graphfilter.models.correction import N_FILTERED
from graphfilter.systems import Outcome, Prepared, System, predict_networks
from graphfilter.systems.networks import predict_into
from graphfilter.systems.outcome import SHARES, CommitteeOutcome
from graphfilter.systems.pooling import pooling_of, weighted_sum, without_own_labels
from graphfilter.systems.prepared import NO_FOLD
from graphfilter.training import REGRESSION, FitResult, TargetScale, Task
from graphfilter.util.errors import GraphFilterError
from graphfilter.util.records import RowsFile
from graphfilter.util.words import listed_names

Array = NDArray[np.float64]
Rows = slice | NDArray[np.int64]

ALL = slice(None)
# What members say is kept in memory up to this many bytes.
IN_MEMORY = 1 << 26
# From a graph of which nothing is known to the fitted one.
KNOWN_SHARES = (0.0, *reversed(SHARES), 1.0)


@dataclass(frozen=True, eq=False)
class FittedMember:
    """A trained network of an estimator.

    Attributes
    ----------
    system : System
        What it sees of the graph, and its operator.
    network : Network
    result : FitResult or None
        How it was trained; None of a model that was loaded.
    weight, temperature : float
        Its part in the answer of all: see :class:`graphfilter.systems.pooling.Pool`.
    weight_elsewhere, temperature_elsewhere : float
        The same on another graph than the fitted one; no weight where it knows its vertices.
    columns : int
        How many it sees.
    share : float
        What it contributes to the answers, as a part of 1.
    coefficients, coefficients_elsewhere : arrays (T,), optional
        Of a committee for numbers or labels: what multiplies each of its outputs in the answer.
    folds : array (K,) or (K, T), optional
        Of a committee: the same in the pools that were fitted without a fold each.
    growing : array (S,) or (S, T), optional
        Of a committee, or a network, that knows vertices: the same in the pools for graphs of
        which the shares ``KNOWN_SHARES`` are known.
    held_fold : int, optional
        Of a committee whose networks each held a fold of the labelled vertices out: which one.
        Those of one kind follow each other, in the order of their folds.
    """

    system: System
    network: Network[Any]
    result: FitResult | None = None
    weight: float = 1.0
    temperature: float = 1.0
    weight_elsewhere: float = 1.0
    temperature_elsewhere: float = 1.0
    columns: int = 0
    share: float = 0.0
    coefficients: Array | None = None
    coefficients_elsewhere: Array | None = None
    folds: Array | None = None
    growing: Array | None = None
    held_fold: int | None = None

    def elsewhere(self) -> FittedMember:
        """Return the member as it counts on another graph than the fitted one."""
        return replace(
            self,
            network=self.network.recognising(np.zeros(0, dtype=np.int64)),
            weight=self.weight_elsewhere,
            temperature=self.temperature_elsewhere,
            coefficients=self.coefficients_elsewhere,
            folds=None,
        )

    @property
    def knows_vertices(self) -> bool:
        """Whether it is used on graphs that share vertices with the fitted one."""
        return self.system.recognises and self.growing is not None and bool(self.growing.any())

    def at(self, shares: Array) -> Array:
        """Return what multiplies its outputs where such shares are known: (n,) or (n, T)."""
        assert self.growing is not None
        grid = self.growing.reshape(len(KNOWN_SHARES), -1)
        columns = [np.interp(shares, KNOWN_SHARES, column) for column in grid.T]
        return columns[0] if self.growing.ndim == 1 else np.column_stack(columns)

    def network_on(self, device: str) -> Network[Any]:
        """Return the network on a device; a copy where it must move, so that the fitted stays."""
        return self.network if device == "cpu" else copy.deepcopy(self.network).to(device)

    def answer(self, prepared: Prepared, only: NDArray[np.int64] | None = None) -> Array:
        """Return its outputs for every vertex (n, C), or for some."""
        network = self.network_on(prepared.device)
        return predict_networks(prepared, self.system, [network], rows=only)[0]


def fitted_members(
    outcomes: Sequence[Outcome], prepared: Prepared
) -> tuple[list[FittedMember], list[Array]]:
    """Return the trained members of runs, and the outputs of each for the vertices.

    Several runs count the same. Of a committee, those that count somewhere, and the adaptive
    filter, which is drawn in any case.
    """
    share = 1 / len(outcomes)
    members: list[FittedMember] = []
    outputs: list[Array] = []
    for outcome in outcomes:
        if not isinstance(outcome, CommitteeOutcome):
            network = outcome.network.cpu()
            growing = None
            if network.config.recognises:  # It is told what is known in a graph that grows.
                n_outputs = () if prepared.targets is None else prepared.targets.shape[1:]
                growing = np.full((len(KNOWN_SHARES), *n_outputs), share)
            members.append(
                FittedMember(
                    outcome.system, network, outcome.result, share, weight_elsewhere=share,
                    growing=growing,
                )
            )  # fmt: skip
            outputs.append(outcome.probabilities)
            continue
        here, there = outcome.pool, outcome.elsewhere
        # From nothing that is known to all.
        growing = (there, *reversed(outcome.growing), here) if outcome.growing else ()
        one_class = here.weights.ndim == 1
        for i, part in enumerate(outcome.parts):
            counts = any(pool.weights[i].any() for pool in (here, there, *outcome.growing))
            if not (counts or _adaptive(part.runs[0].network)):
                continue
            each = share / len(part.runs)
            columns = prepared.seen_as(part.system.view).graph.n_features
            for fold, run in enumerate(part.runs):
                member = FittedMember(
                    part.system,
                    run.network.cpu(),
                    run.result,
                    weight=each * float(here.weights[i].mean()),
                    temperature=float(here.temperatures[i]) if one_class else 1.0,
                    weight_elsewhere=each * float(there.weights[i].mean()),
                    temperature_elsewhere=float(there.temperatures[i]) if one_class else 1.0,
                    columns=columns,
                    share=float(here.shares[i]) / len(part.runs),
                    coefficients=None if one_class else each * here.coefficients[i],
                    coefficients_elsewhere=None if one_class else each * there.coefficients[i],
                    folds=each * np.stack([pool.coefficients[i] for pool in outcome.folds]),
                    growing=each * np.stack([p.coefficients[i] for p in growing])
                    if growing
                    else None,
                    held_fold=None if part.held is None else fold,
                )
                members.append(member)
                outputs.append(run.probabilities)
        if outcome.correction is not None:
            members, last = with_correction(members, outcome)
            outputs.append(last)
    return members, outputs


def with_correction(
    members: list[FittedMember], outcome: CommitteeOutcome
) -> tuple[list[FittedMember], Array]:
    """Return the members with what is added to their numbers, and what that is (n, T)."""
    correction, pool = outcome.correction, outcome.pool
    assert correction is not None
    added, n_numbers = correction.probabilities, correction.probabilities.shape[1]
    told = (pool.coefficients * pool.spreads).sum(axis=0)
    spread = added.std(axis=0)
    share = float((spread / np.maximum(told + spread, 1e-12)).mean())
    ones = np.ones(n_numbers)
    last = FittedMember(
        correction.system, correction.network, correction.result, weight_elsewhere=0.0,
        columns=N_FILTERED * n_numbers, share=share, coefficients=ones,
        coefficients_elsewhere=0 * ones, folds=np.ones((len(outcome.folds), n_numbers)),
        growing=np.ones((len(KNOWN_SHARES), n_numbers)),
    )  # fmt: skip
    rest = [replace(member, share=(1 - share) * member.share) for member in members]
    # Where no other knows vertices, their weights for graphs that grew are those elsewhere.
    if not outcome.growing:
        rest = [
            replace(m, growing=np.repeat(m.coefficients_elsewhere[None], len(KNOWN_SHARES), axis=0))
            for m in rest
            if m.coefficients_elsewhere is not None
        ]
    return [*rest, last], added


def _adaptive(network: Network[Any]) -> bool:
    """Return whether a network has a filter that is learned."""
    learned = network.main_filter()
    return learned is not None and any(True for _ in learned.parameters())


def drawn_members(members: Sequence[FittedMember]) -> list[int]:
    """Return which members have a learned filter to draw, the weightiest first.

    Those of one operator: its frequencies are the axis of the picture. Of members with a share in
    the answer, unless no filter has one.
    """
    drawn = [i for i, member in enumerate(members) if _adaptive(member.network)]
    if not drawn:  # None is learned: fixed ones can be drawn too.
        drawn = [i for i, m in enumerate(members) if m.network.main_filter() is not None]
    drawn.sort(key=lambda i: -members[i].weight)
    drawn = [i for i in drawn if members[i].weight > 0] or drawn
    return [i for i in drawn if members[i].system.operator == members[drawn[0]].system.operator]


def size_of_kind(members: Sequence[FittedMember]) -> int:
    """Return how many networks there are of a kind in which some vertices were held out."""
    return 1 + max((m.held_fold for m in members if m.held_fold is not None), default=0)


def shares_in(prepared: Prepared) -> Array | None:
    """Return how much is known of each vertex (n,); None where all is, or nothing."""
    return None if prepared.known is None else prepared.known.shares(prepared.graph)


def has_folds(held: NDArray[np.int8] | None) -> bool:
    """Return whether vertices were held out in several folds, not validation vertices alone."""
    return held is not None and int(held.max(initial=NO_FOLD)) > 0


def describe_held(held: NDArray[np.int8], members: Sequence[FittedMember]) -> str:
    """Say that labelled vertices are answered for by networks that have not seen their labels."""
    n_labelled = int((held != NO_FOLD).sum())
    if not has_folds(held):
        titles = dict.fromkeys(m.system.title for m in members if m.held_fold is not None)
        return (
            f"in the end {listed_names(list(titles))} learned from the {n_labelled:,} validation "
            "vertices too; these are answered for by models that have not seen their label."
        )
    return (
        f"each network held a fifth of the {n_labelled:,} training and validation vertices out and "
        "learned from the others; each of these vertices is answered for by the networks that have "
        "not seen its label."
    )


def combine(
    answers: Sequence[Array],
    members: Sequence[FittedMember],
    task: Task,
    shares: Array | None = None,
) -> Array:
    """Return the combined outputs of members (n, C).

    ``shares`` (n,) say how much is known of each vertex, where the graph is partly known.
    """
    if shares is not None:
        return pooling_of(task).by_vertex(answers, [member.at(shares) for member in members])
    if members[0].coefficients is not None:
        return _pooled(answers, [member.coefficients for member in members], task)
    if len(answers) == 1 and members[0].temperature == 1:
        return answers[0]
    weights = np.array([member.weight for member in members])
    if not task.one_class:
        return np.einsum("m,mnc->nc", weights / weights.sum(), np.stack(answers))
    return _pooled(answers, [member.weight / member.temperature for member in members], task)


def _pooled(answers: Sequence[Array], coefficients: Sequence[Any], task: Task) -> Array:
    pool = pooling_of(task)
    return pool.combined(weighted_sum(np.stack(coefficients), pool.read(answers)))


@dataclass(frozen=True, eq=False)
class MemberAnswers:
    """The members' outputs for every vertex, in memory or on disk, and how they are combined.

    Attributes
    ----------
    graph : Graph
    task, scales, calibration
        Of the fit: what the outputs mean.
    members : sequence of FittedMember
    by_member : sequence of (n, C)
        What each says.
    shares : array (n,) or None
        How much is known of each vertex, where the graph is partly known.
    held : array (n,) or None
        The fold that each vertex was held out in, where some were.
    combined : tuple or None
        Outputs and folds of all vertices, where they are kept in place of the members' own.
    """

    graph: Graph
    task: Task
    scales: Sequence[TargetScale]
    calibration: Calibration | None
    members: Sequence[FittedMember]
    by_member: Sequence[Any]
    shares: Array | None = None
    held: NDArray[np.int8] | None = None
    combined: tuple[Array, Folded] | None = None

    @staticmethod
    def of_each(
        members: Sequence[FittedMember], prepared: Prepared, n_outputs: int, folder: Path | None
    ) -> list[Any]:
        """Ask every member about a graph; large answers go to files, where a folder is given."""
        n_bytes = 8 * prepared.graph.n_vertices * n_outputs * len(members)
        if folder is None or n_bytes <= IN_MEMORY:
            return [member.answer(prepared) for member in members]
        by_member = [RowsFile(folder / f"member{i}") for i in range(len(members))]
        for member, rows in zip(members, by_member, strict=True):
            network = member.network_on(prepared.device)
            predict_into(prepared, member.system, network, rows.append, folder)
        return by_member

    def kept(self) -> MemberAnswers:
        """Return the same answers, without those of each member."""
        return replace(self, members=(), by_member=(), combined=(self.outputs(), self.folds()))

    def outputs(self, rows: Rows = ALL) -> Array:
        """Return their combined outputs (m, C), in the units of y."""
        if self.combined is not None:
            return self.combined[0][rows].copy()
        each = combine(self._of(rows), self.members, self.task, self._shares(rows))
        outputs = in_units(each, self.scales)
        if not np.isfinite(outputs).all():
            raise GraphFilterError(
                "the model's answers must be finite; for these features they are not. Scale the "
                "features, or fit again with lower learning rates."
            )
        return outputs

    def folds(self, rows: Rows = ALL) -> Folded:
        """Return the outputs of each pool fitted without a fold, and how hard vertices are.

        One pool alone where there are no such: networks that count the same, and another graph.
        What may tell how far a number is from its answer (m, 3, T) is how far members disagree, the
        answer itself, and the degree of the vertex.
        """
        if self.combined is not None:
            outputs, hardness = self.combined[1]
            return [each[rows] for each in outputs], hardness[rows]
        answers, members, task = self._of(rows), self.members, self.task
        shares = self._shares(rows)
        if shares is not None or members[0].folds is None:
            outputs = [combine(answers, members, task, shares)]
        else:
            by_fold = np.stack([member.folds for member in members if member.folds is not None])
            outputs = [_pooled(answers, list(by_fold[:, k]), task) for k in range(by_fold.shape[1])]
        if task is not REGRESSION:
            return outputs, np.zeros((len(outputs[0]), 0, 0))
        weights = np.array([member.share for member in members])
        weights = weights if weights.sum() > 0 else np.ones(len(weights))
        weights = weights / weights.sum()
        stacked = np.stack(answers)
        mean = np.einsum("m,mnt->nt", weights, stacked)
        variance = np.einsum("m,mnt->nt", weights, np.square(stacked - mean))
        near = np.log1p(np.diff(self.graph.indptr)[rows])[:, None] + np.zeros_like(outputs[0])
        return outputs, np.stack([0.5 * np.log(variance + 1e-6), outputs[0], near], axis=1)

    def sets(self, rows: Rows, coverage: float) -> NDArray[np.bool_]:
        """Return which classes or labels are in the set of each vertex (m, C)."""
        calibration = check_calibrated(self.calibration)
        if calibration.is_diffused:
            p_values = self._diffused[rows]
        else:
            p_values = calibration.p_values(self.folds(rows)[0], self.graph, rows)
        several = not self.task.one_class
        return sets_at(p_values, self.outputs(rows), coverage, several=several)

    def intervals(self, rows: Rows, coverage: float) -> Array:
        """Return the ends (m, T, 2) of the interval of each number."""
        calibration = check_calibrated(self.calibration)
        return calibration.intervals_at(self.folds(rows), coverage, self.scales)

    @cached_property
    def _diffused(self) -> Array:
        """P-values of all vertices (n, C): the scores of neighbours count, wherever they are."""
        calibration = check_calibrated(self.calibration)
        return calibration.p_values(self.folds()[0], self.graph)

    def _of(self, rows: Rows) -> list[Array]:
        """Return the answers of members; of kinds with folds, that of the one that held each out.

        That network has not seen the vertex's label, and answers in the place of all of its kind.
        """
        answers = [outputs[rows] for outputs in self.by_member]
        for at, member in enumerate(self.members):
            if self.held is not None and member.held_fold == 0:  # The first of its kind.
                kind = slice(at, at + size_of_kind(self.members))
                answers[kind] = without_own_labels(answers[kind], self.held[rows])
        return answers

    def _shares(self, rows: Rows) -> Array | None:
        return None if self.shares is None else self.shares[rows]


def in_units(outputs: Array, scales: Sequence[TargetScale]) -> Array:
    """Return outputs (n, C) in the units of y; probabilities are as they are."""
    if not scales:
        return outputs
    columns = [scale.undo(t) for scale, t in zip(scales, outputs.T, strict=True)]
    return np.column_stack(columns)
