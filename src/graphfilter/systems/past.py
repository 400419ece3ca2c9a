"""Answers with all edges of a graph, by what was trained on its past."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import ConfigError
from graphfilter.systems.committee import Committee
from graphfilter.systems.committee_outcome import CommitteeOutcome
from graphfilter.systems.committee_part import Part
from graphfilter.systems.networks import Outcome
from graphfilter.systems.pooling import Pool, log_probabilities, together
from graphfilter.systems.predicting import predict_networks
from graphfilter.systems.prepared import Prepared
from graphfilter.systems.system import System


def check_leaves_its_past(prepared: Prepared, system: System) -> None:
    """Raise where a system answers on the graph it was trained on alone, and that is the past."""
    alone = system.keeps_graph and not isinstance(system, Committee)
    if alone and prepared.past is not prepared:
        raise ConfigError(
            f"{system.name} can predict only the graph it was trained on, so it cannot be trained "
            "on earlier edges. Leave out `as_of`, or name another system."
        )


def answer_now(outcome: Outcome, prepared: Prepared) -> Outcome:
    """Return the outputs of a run of the past with all edges of the graph.

    Of a committee, members that know the vertices of the graph they were trained on are not used:
    the graph is another one by now.
    """
    if not isinstance(outcome, CommitteeOutcome):
        return replace(outcome, probabilities=_predict(outcome, prepared))
    movable = np.array([not part.system.keeps_graph for part in outcome.parts])
    if not movable.any():
        raise ConfigError("no member that was trained on earlier edges can predict with all edges.")
    parts = tuple(
        _part_now(part, prepared) if moves else part
        for part, moves in zip(outcome.parts, movable.tolist(), strict=True)
    )
    weigh = outcome.weigh

    def weigh_movable(used: NDArray[np.bool_]) -> Pool:
        return weigh(used & movable if (used & movable).any() else movable)

    logits = log_probabilities([part.probabilities for part in parts])
    return replace(
        outcome,
        parts=parts,
        pool=outcome.elsewhere,
        probabilities=outcome.elsewhere.answer(logits),
        weigh=weigh_movable,
    )


def _part_now(part: Part, prepared: Prepared) -> Part:
    runs = tuple(replace(run, probabilities=_predict(run, prepared)) for run in part.runs)
    return replace(part, runs=runs, probabilities=together([run.probabilities for run in runs]))


def _predict(run: Outcome, prepared: Prepared) -> NDArray[np.float64]:
    return predict_networks(prepared, run.system, [run.network])[0]
