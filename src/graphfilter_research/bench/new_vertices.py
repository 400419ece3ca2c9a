"""Runs whose test vertices are new: fitted without them, asked on the graph with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.estimators.members import combine, fitted_members
from graphfilter.models import Network
from graphfilter.models.views import Known
from graphfilter.splits import Split
from graphfilter.systems import Outcome, Prepared, System, predict_networks, train_system
from graphfilter.systems.outcome import CommitteeOutcome
from graphfilter.training import Callback
from graphfilter.util.errors import ConfigError


def train_without(
    graph: Graph,
    system: System,
    split: Split,
    seed: int,
    *,
    scaling: str,
    device: str,
    callback: Callback | None = None,
) -> Outcome:
    """Train a system on the graph without the test vertices; answer with them.

    Everything that is fitted, the scale of the features too, is fitted without them. A committee
    knows the other vertices, as by their ids.
    """
    new = np.zeros(graph.n_vertices, dtype=bool)
    new[split.test] = True
    numbers = np.where(new, -1, np.cumsum(~new) - 1)
    old = Prepared.of(graph.subgraph(np.flatnonzero(~new)), scaling=scaling, device=device)
    none = np.empty(0, dtype=np.int64)
    within = Split(numbers[split.train], numbers[split.val], none, rule=split.rule)
    (outcome,) = train_system(old, system, [within], [seed], callback=callback)
    known = Known(numbers, int((~new).sum()))
    # Only what recognises vertices makes use of it.
    whole = Prepared.of(graph, scaling=old.scaler, device=device, known=known)
    return replace(outcome, probabilities=_answer(outcome, old, whole, seed))


def _answer(outcome: Outcome, old: Prepared, whole: Prepared, seed: int) -> NDArray[np.float64]:
    if not isinstance(outcome, CommitteeOutcome):
        network = _on_graph(outcome.system, outcome.network, whole.graph, seed)
        plain = replace(whole, known=None, _views={})
        return predict_networks(plain, outcome.system, [network.to(whole.device)])[0]
    members, _ = fitted_members([outcome], old)
    if not outcome.growing:
        plain = replace(whole, known=None, _views={})
        there = [m for member in members if (m := member.elsewhere()).weight > 0]
        return combine([member.answer(plain) for member in there], there, old.task)
    grown = [m for m in members if m.growing is not None and m.growing.any()]
    return combine([member.answer(whole) for member in grown], grown, old.task, whole.shares)


def _on_graph(system: System, network: Network[Any], graph: Graph, seed: int) -> Network[Any]:
    """Return a network with the same weights for another graph, where it is built on its own."""
    if not system.keeps_graph:
        return network
    made = system.build(graph, seed)
    own, trained = dict(made.named_parameters()), dict(network.named_parameters())
    if any(own[name].shape != weight.shape for name, weight in trained.items()):
        raise ConfigError(
            f"{system.name} has one weight per vertex it has seen: it cannot predict new ones."
        )
    for name, weight in trained.items():
        own[name].data.copy_(weight.data)
    return made
