"""Why the vertices worth a look were answered as they were: the first of each list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.estimators.explained import STEPS, Explanation, Member
from graphfilter.estimators.explaining import explain_graph, members_of
from graphfilter.estimators.explaining_outputs import explain_output
from graphfilter.runs.fit import Fit
from graphfilter.training import REGRESSION
from graphfilter.util.words import number, signed

MOST_EXPLAINED = 5
MOST_NAMED = 6
# Multiplications to spend on the explanations of a page: a second or two.
_WORK = 4e9


@dataclass(frozen=True)
class Bar:
    """One line of a picture of signed numbers: its place on a scale from -1 to 1, in percent."""

    title: str
    detail: str
    value: float
    text: str
    left: float
    width: float


@dataclass(frozen=True)
class Why:
    """One vertex explained, as bars."""

    explanation: Explanation
    parts: tuple[Bar, ...]
    contributors: tuple[Bar, ...]
    features: tuple[Bar, ...]


def explain_rows(
    fit: Fit,
    vertices: NDArray[np.int64],
    *,
    against_given: bool = False,
    columns: NDArray[np.int64] | None = None,
) -> list[Why]:
    """Explain the first vertices of a list; fewer of a large graph, none of a huge one.

    With ``against_given`` the class that is answered is compared with the one that was given,
    otherwise with the second most probable. Of several labels or numbers, that of the vertex's
    column is explained.
    """
    estimator = fit.estimator
    prepared = estimator.prepare(estimator.graph_)
    chosen = vertices[: _affordable(fit.graph, members_of(estimator, prepared))].tolist()
    if not chosen:
        return []
    if not fit.task.one_class:
        assert columns is not None
        own = columns[: len(chosen)].tolist()
        named = [fit.names[column] for column in own]
        found = explain_output(estimator, prepared, fit.outputs, chosen, named, most=MOST_NAMED)
        return [
            _why(_with_numbers(e, fit, column) if fit.task is REGRESSION else e)
            for e, column in zip(found, own, strict=True)
        ]
    given = fit.target.codes[chosen].tolist()
    found = explain_graph(
        estimator,
        prepared,
        fit.outputs,
        chosen,
        answered=fit.answers[chosen].tolist(),
        against=given if against_given else [None] * len(chosen),
        most=MOST_NAMED,
    )
    return [_why(explanation) for explanation in found]


def _with_numbers(found: Explanation, fit: Fit, column: int) -> Explanation:
    """Put the known numbers of the vertices that add most in the place of their labels."""
    wanted = {contributor.vertex for contributor in found.contributors}
    ids = enumerate(fit.graph.vertex_names or range(fit.graph.n_vertices))
    values = {
        str(name): number(float(fit.plan.truth[v, column]))
        for v, name in ids
        if fit.plan.known[v] and str(name) in wanted
    }
    return replace(
        found,
        contributors=tuple(replace(s, label=values.get(s.vertex, "")) for s in found.contributors),
    )


def _affordable(graph: Graph, members: Sequence[Member]) -> int:
    """Return how many vertices to explain: fewer where members are taken apart by hiding."""
    features = graph.features
    size = 0 if features is None else int(np.prod(features.shape))
    stored = int(getattr(features, "nnz", size))
    # Sixteen products with the operator, and one of features of width 64: the usual network.
    products = 16 * (2 * graph.n_edges + graph.n_vertices)
    exact = sum(bool(member.terms) for member in members)
    hiding = len(members) - exact
    each = exact * (products + 64 * stored) + len(STEPS) * hiding * (products + 64 * size)
    return min(MOST_EXPLAINED, int(_WORK / max(each, 1)))


def _why(found: Explanation) -> Why:
    contributors = [
        (f"{s.vertex}{f' ({s.label})' if s.label else ''}", s.steps, s.contribution)
        for s in found.contributors
    ]
    features = [(f.name, f"{f.value:g}", f.own + f.others) for f in found.features]
    parts = [(name, "", value) for name, value in found.parts]
    return Why(found, _bars(parts), _bars(contributors), _bars(features))


def _bars(rows: Sequence[tuple[str, str, float]]) -> tuple[Bar, ...]:
    largest = max((abs(value) for _, _, value in rows), default=0.0) or 1.0
    made = []
    for title, detail, value in rows:
        width = 50 * abs(value) / largest
        left = 50 - width if value < 0 else 50
        made.append(Bar(title, detail, value, signed(value, largest), left, width))
    return tuple(made)
