"""The one pipeline: a graph is prepared, a system is trained on it, every vertex is predicted.

Estimators, benchmarks, baselines, the studio and the demo all come through here.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.filters import Filter
from graphfilter.models import Network
from graphfilter.splits import Split
from graphfilter.systems.committee import Committee, train_committee
from graphfilter.systems.networks import Outcome, Request, Start, predict_networks, train_networks
from graphfilter.systems.outcome import CommitteeOutcome, Part
from graphfilter.systems.pooling import Pool, log_probabilities, together
from graphfilter.systems.prepared import Prepared
from graphfilter.systems.system import System
from graphfilter.training import Callback
from graphfilter.training.callbacks import callback_from
from graphfilter.util.errors import ConfigError, GraphError


def train_system(
    prepared: Prepared,
    system: System,
    splits: Sequence[Split],
    seeds: Sequence[int],
    *,
    class_weight: NDArray[np.float64] | None = None,
    callback: Callback | None = None,
    start: Start | None = None,
    **earlier: Any,
) -> Sequence[Outcome]:
    """Train a system once per split and seed, and predict every vertex with its best weights.

    Parameters
    ----------
    class_weight : array (n_classes,), optional
    callback : Callback, optional
        As for :func:`graphfilter.training.train`.
    start : Start, optional
        Weights of an earlier fit, which networks of the same config begin with.

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
    past, of_many = prepared.past, isinstance(system, Committee)
    if past is not prepared and system.keeps_graph and not of_many:
        raise ConfigError(
            f"{system.name} can predict only the graph it was trained on, so it cannot be trained "
            "on earlier edges. Leave out `as_of`, or name another system."
        )
    request = Request(
        past, system, splits, seeds, class_weight, callback, start, of_past=past is not prepared
    )
    outcomes = train_committee(request) if of_many else train_networks(request)
    return outcomes if past is prepared else [answer_now(each, prepared) for each in outcomes]


def answer_now(outcome: Outcome, prepared: Prepared) -> Outcome:
    """Return the outputs of a run of the past with all edges of the graph.

    Of a committee, members that know the vertices of the graph they were trained on are not used:
    the graph is another one by now.
    """
    if not isinstance(outcome, CommitteeOutcome):
        (outputs,) = predict_networks(prepared, outcome.system, [outcome.network])
        return replace(outcome, probabilities=outputs)
    movable = np.array([not part.system.keeps_graph for part in outcome.parts])
    if not movable.any():
        raise ConfigError("no member that was trained on earlier edges can predict with all edges.")
    parts = list[Part]()
    for part, moves in zip(outcome.parts, movable, strict=True):
        runs = tuple(answer_now(run, prepared) for run in part.runs) if moves else part.runs
        outputs = together([run.probabilities for run in runs]) if moves else part.probabilities
        parts.append(replace(part, runs=runs, probabilities=outputs))
    weigh = outcome.weigh

    def weigh_movable(used: NDArray[np.bool_]) -> Pool:
        return weigh(used & movable if (used & movable).any() else movable)

    logits = log_probabilities([part.probabilities for part in parts])
    return replace(
        outcome,
        parts=tuple(parts),
        pool=outcome.elsewhere,
        probabilities=outcome.elsewhere.answer(logits),
        weigh=weigh_movable,
    )


def predict_untrained(
    graph: Graph, system: System, split: Split
) -> tuple[NDArray[np.float64], float]:
    """Predict with a system that is not trained; return probabilities and seconds."""
    if system.predict is None:
        raise GraphError(f"{system.name} must be a method that is not trained; it is.")
    started = time.perf_counter()
    probabilities = system.predict(graph, split)
    return np.asarray(probabilities, dtype=np.float64), time.perf_counter() - started


def learned_filters(networks: Sequence[Network[Any]]) -> list[Filter]:
    """Return the main filters of those networks that have one."""
    found = (network.main_filter() for network in networks)
    return [one for one in found if one is not None]
