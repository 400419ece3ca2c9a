"""The members of a fitted estimator: networks, what each sees, and what each counts."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.models import Network
from graphfilter.splits import N_FOLDS, NO_FOLD
from graphfilter.systems import Outcome, Prepared, System, predict_networks
from graphfilter.systems.committee import without_own_labels
from graphfilter.systems.outcome import SHARES, CommitteeOutcome
from graphfilter.systems.pipeline import learned_filters
from graphfilter.systems.pooling import pooling_of
from graphfilter.training import FitResult, Task

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
        Of a committee that knows vertices: the same in the pools for graphs of which the shares
        ``KNOWN_SHARES`` are known.
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
    coefficients: NDArray[np.float64] | None = None
    coefficients_elsewhere: NDArray[np.float64] | None = None
    folds: NDArray[np.float64] | None = None
    growing: NDArray[np.float64] | None = None
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

    def at(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what multiplies its outputs where such shares are known: (n,) or (n, T)."""
        assert self.growing is not None
        grid = self.growing.reshape(len(KNOWN_SHARES), -1)
        columns = [np.interp(shares, KNOWN_SHARES, column) for column in grid.T]
        return columns[0] if self.growing.ndim == 1 else np.column_stack(columns)

    def network_on(self, device: str) -> Network[Any]:
        """Return the network on a device; a copy where it must move, so that the fitted stays."""
        return self.network if device == "cpu" else copy.deepcopy(self.network).to(device)

    def answer(
        self, prepared: Prepared, only: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Return its outputs for every vertex (n, C), or for some."""
        network = self.network_on(prepared.device)
        return predict_networks(prepared, self.system, [network], rows=only)[0]


def fitted_members(
    outcomes: Sequence[Outcome], prepared: Prepared
) -> tuple[list[FittedMember], list[NDArray[np.float64]]]:
    """Return the trained members of runs, and the outputs of each for the vertices.

    Several runs count the same. Of a committee, those that count somewhere, and the adaptive
    filter, which is drawn in any case.
    """
    share = 1 / len(outcomes)
    made: list[tuple[FittedMember, NDArray[np.float64]]] = []
    for outcome in outcomes:
        if isinstance(outcome, CommitteeOutcome):
            made += _of_committee(outcome, prepared, share)
        else:
            network = outcome.network.cpu()
            member = FittedMember(
                outcome.system, network, outcome.result, share, weight_elsewhere=share
            )
            made.append((member, outcome.probabilities))
    return [member for member, _ in made], [outputs for _, outputs in made]


def _of_committee(
    outcome: CommitteeOutcome, prepared: Prepared, share: float
) -> list[tuple[FittedMember, NDArray[np.float64]]]:
    here, there = outcome.pool, outcome.elsewhere
    members = []
    for i, part in enumerate(outcome.parts):
        adaptive = _adaptive(part.runs[0].network)
        pools = (here, there, *outcome.growing)
        if not (any(pool.weights[i].any() for pool in pools) or adaptive):
            continue
        each = share / len(part.runs)
        columns = prepared.seen_as(part.system.view).graph.n_features
        by_output = None if here.weights.ndim == 1 else each * here.coefficients[i]
        by_output_there = None if here.weights.ndim == 1 else each * there.coefficients[i]
        folds = each * np.stack([pool.coefficients[i] for pool in outcome.folds])
        growing = None
        if outcome.growing:
            # From nothing that is known to all.
            pools = (there, *reversed(outcome.growing), here)
            growing = each * np.stack([pool.coefficients[i] for pool in pools])
        members += [
            (
                FittedMember(
                    part.system,
                    run.network.cpu(),
                    run.result,
                    each * float(here.weights[i].mean()),
                    float(here.temperatures[i]) if by_output is None else 1.0,
                    each * float(there.weights[i].mean()),
                    float(there.temperatures[i]) if by_output is None else 1.0,
                    columns,
                    float(here.shares[i]) / len(part.runs),
                    by_output,
                    by_output_there,
                    folds,
                    growing,
                    None if part.held is None else fold,
                ),
                run.probabilities,
            )
            for fold, run in enumerate(part.runs)
        ]
    return members


def _adaptive(network: Network[Any]) -> bool:
    """Return whether a network has a filter that is learned."""
    return any(True for f in learned_filters([network]) for _ in f.parameters())


def combine(
    answers: Sequence[NDArray[np.float64]],
    members: Sequence[FittedMember],
    task: Task,
    shares: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
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


def unseen(
    answers: Sequence[NDArray[np.float64]],
    members: Sequence[FittedMember],
    held: NDArray[np.int8] | None,
) -> list[NDArray[np.float64]]:
    """Return the answers of members with those of the network that has not seen a vertex's label.

    ``held`` (n,) is the fold that each vertex was held out in: then the answer is that of its
    network, in the place of all of its kind.
    """
    made, at = list(answers), 0
    while held is not None and at < len(members):
        of_kind = 1 if members[at].held_fold is None else N_FOLDS
        if of_kind > 1:
            made[at : at + of_kind] = without_own_labels(answers[at : at + of_kind], held)
        at += of_kind
    return made


def describe_held(held: NDArray[np.int8]) -> str:
    """Say that labelled vertices are answered for by networks that have not seen their labels."""
    n_labelled = int((held != NO_FOLD).sum())
    return (
        f"each network held a fifth of the {n_labelled:,} training and validation vertices out and "
        "learned from the others; each of these vertices is answered for by the networks that have "
        "not seen its label."
    )


def held_factor(member: FittedMember, fold: int) -> int:
    """Return how often a member counts for a vertex that was held out in a fold; -1 in none."""
    if member.held_fold is None or fold == NO_FOLD:
        return 1
    return N_FOLDS if member.held_fold == fold else 0


def combine_folds(
    answers: Sequence[NDArray[np.float64]],
    members: Sequence[FittedMember],
    task: Task,
    shares: NDArray[np.float64] | None = None,
) -> list[NDArray[np.float64]]:
    """Return the combined outputs of members for each pool fitted without one fold.

    One answer alone where there are no such pools: networks that count the same, and another graph.
    """
    if shares is not None or members[0].folds is None:
        return [combine(answers, members, task, shares)]
    coefficients = np.stack([member.folds for member in members if member.folds is not None])
    return [_pooled(answers, list(coefficients[:, k]), task) for k in range(coefficients.shape[1])]


def _pooled(
    answers: Sequence[NDArray[np.float64]], coefficients: Sequence[Any], task: Task
) -> NDArray[np.float64]:
    pooling, weights = pooling_of(task), np.stack(coefficients)
    pool = pooling.kind(weights, np.ones(weights.shape), np.ones(weights.shape))
    return pool.answer(pooling.read(answers))


def drawn_members(members: Sequence[FittedMember]) -> list[int]:
    """Return which members have a learned filter to draw, the weightiest first.

    Those of one operator: its frequencies are the axis of the picture. Of members with a share in
    the answer, unless no filter has one.
    """
    found = [i for i, member in enumerate(members) if _adaptive(member.network)]
    if not found:  # None is learned: fixed ones can be drawn too.
        found = [i for i, member in enumerate(members) if learned_filters([member.network])]
    found.sort(key=lambda i: -members[i].weight)
    found = [i for i in found if members[i].weight > 0] or found
    return [i for i in found if members[i].system.operator == members[found[0]].system.operator]
