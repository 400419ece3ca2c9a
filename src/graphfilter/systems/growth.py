"""The members' outputs for vertices they did not know, like those of a graph that has grown.

Members whose columns are vertices answer for a graph that shares vertices with the fitted one by
those that it shares. How far they are right then is found on validation vertices: a part of the
graph, theirs and others', is taken for new, and the members are asked about them. No network is
trained again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.inputs import Known
from graphfilter.models import Fitted, Network
from graphfilter.systems.committee_part import Part
from graphfilter.systems.networks import learned_targets, rows_of
from graphfilter.systems.predicting import predict_networks
from graphfilter.systems.prepared import Prepared
from graphfilter.systems.system import System

# Shares of a graph's vertices that are known, at which members are weighed as in between the
# fitted graph (1) and one of which nothing is known (0).
SHARES = (0.9, 0.7, 0.5)


def outputs_for_new(
    prepared: Prepared,
    parts: Sequence[Part],
    val: NDArray[np.int64],
    share: float,
    seed: int,
    *,
    train: NDArray[np.int64],
    class_weight: NDArray[np.float64] | None = None,
) -> list[NDArray[np.float64]]:
    """Return the outputs of each part for validation vertices (n_val, C) that are new to it.

    Of members whose columns are no vertices these are their usual outputs.
    """
    found = [part.probabilities[val].copy() for part in parts]
    if not len(val):
        return found
    place = np.full(prepared.graph.n_vertices, -1)
    place[val] = np.arange(len(val))
    for asked, new in parts_taken_out(prepared.graph.n_vertices, val, share, seed):
        partly = prepared.knowing(Known.all_but(prepared.graph.n_vertices, new))
        for outputs, part in zip(found, parts, strict=True):
            if part.system.recognises:
                networks = [
                    _fitted_to(
                        partly, part.system, run.network, part.learned_from(k, train), class_weight
                    )
                    for k, run in enumerate(part.runs)
                ]
                answers = predict_networks(partly, part.system, networks, rows=asked)
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
            answers = predict_networks(prepared, part.system, networks, rows=val)
            found[i] = part.together(answers, val, prepared.task)
    return found


def _fitted_to(
    partly: Prepared,
    system: System,
    network: Network[Any],
    train: NDArray[np.int64],
    class_weight: NDArray[np.float64] | None,
) -> Network[Any]:
    """Return a member as if it had been fitted to the part of the graph that is known.

    A network loses columns, and takes no harm; a kernel compares rows of which some have lost
    columns with others that have not, so that it is fitted again, to its landmarks alone.
    """
    if not isinstance(network, Fitted):
        return network
    targets = learned_targets(partly)[train]
    weight = None if class_weight is None else class_weight[targets]
    rows = rows_of(partly.seen_as(system.view, network.kept_view()))
    return network.refitted(rows[train], targets, weight)


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
