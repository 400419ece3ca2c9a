"""From a vertex's id and a fitted classifier to its explanation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.estimators.asking import AskedEstimator
from graphfilter.estimators.explained import (
    Explanation,
    LastColumns,
    Member,
    explain_vertices,
    member_of,
)
from graphfilter.estimators.members import FittedMember, held_factor
from graphfilter.splits import NO_FOLD
from graphfilter.systems import Prepared
from graphfilter.util.errors import GraphError, check_count
from graphfilter.util.machine import own_torch_state

# Among more names, finding the nearest takes too long.
_MOST_NAMES = 20_000


def explain_graph(
    classifier: AskedEstimator,
    prepared: Prepared,
    probabilities: NDArray[np.float64],
    vertices: Sequence[int],
    *,
    answered: Sequence[int] | None = None,
    against: Sequence[int | None] | None = None,
    most: int = 10,
) -> list[Explanation]:
    """Explain the predictions of a classifier for some vertices of a prepared graph.

    ``answered`` and ``against`` hold class numbers: those that are predicted, where they are not
    the most probable, and those to compare them with.
    """
    check_count("most", most, most=2**63)

    def explain(members: list[Member], own: Sequence[int]) -> list[Explanation]:
        return explain_vertices(
            members,
            prepared.graph,
            classifier.target_names_,
            probabilities,
            [vertices[i] for i in own],
            answered=None if answered is None else [answered[i] for i in own],
            against=None if against is None else [against[i] for i in own],
            most=most,
        )

    with own_torch_state(gradients=False):
        members, fitted = members_of(classifier, prepared), classifier.members_of(prepared)
        shares, held = prepared.shares, classifier.held_in(prepared)
        # Members count differently for vertices that were held out in another fold, and for every
        # vertex where a part of the graph is known.
        groups: dict[tuple[int, int], list[int]] = {}
        for i, vertex in enumerate(vertices):
            fold = NO_FOLD if held is None else int(held[vertex])
            groups.setdefault((-1 if shares is None else i, fold), []).append(i)
        found: dict[int, Explanation] = {}
        for (_, fold), own in groups.items():
            known = None if shares is None else shares[[vertices[own[0]]]]
            counted = [
                _counted(member, one, known, fold)
                for member, one in zip(members, fitted, strict=True)
            ]
            found |= zip(own, explain([m for m in counted if m.weight > 0], own), strict=True)
        return [found[i] for i in range(len(vertices))]


def _counted(
    member: Member, fitted: FittedMember, known: NDArray[np.float64] | None, fold: int
) -> Member:
    """Return a member as it counts for a vertex: by what share is known, and where it was held."""
    if known is not None:
        member = replace(member, weight=float(fitted.at(known)[0]), temperature=1.0)
    return replace(member, weight=member.weight * held_factor(fitted, fold))


def members_of(estimator: AskedEstimator, prepared: Prepared) -> list[Member]:
    """Return the networks of an estimator as they predict, with what each sees and counts."""
    views: dict[str, LastColumns] = {}
    return [
        member_of(
            prepared,
            member.system,
            member.network_on(prepared.device),
            weight=member.weight,
            temperature=member.temperature,
            views=views,
        )
        for member in estimator.members_of(prepared)
    ]


def find_vertex(graph: Graph, vertex: Any) -> int:
    """Return the number of a vertex, given by its name or, in a graph without names, by number."""
    names = graph.vertex_names
    if names is None:
        number = int(vertex) if str(vertex).isdecimal() else -1
        if 0 <= number < graph.n_vertices:
            return number
        raise GraphError(
            f"a vertex must be a number from 0 to {graph.n_vertices - 1}; got {vertex!r}."
        )
    text = str(vertex)
    for number, name in enumerate(names):
        if name == vertex or str(name) == text:
            return number
    hint = ""
    # As a spreadsheet writes a number that was 00000013.
    bare = [str(name) for name in names if str(name).lstrip("0") == text.lstrip("0")]
    if bare:
        hint = f" Did you mean {bare[0]!r}?"
    elif len(names) <= _MOST_NAMES:
        from difflib import get_close_matches

        near = get_close_matches(text, [str(name) for name in names], n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
    raise GraphError(f"there is no vertex {text!r} among the {graph.n_vertices:,} ids.{hint}")


def class_number(classifier: AskedEstimator, name: Any) -> int:
    """Return the number of a class, given by its name."""
    names = [str(c) for c in classifier.target_names_]
    if str(name) in names:
        return names.index(str(name))
    raise GraphError(f"against must be one of the classes {', '.join(names)}; got {str(name)!r}.")
