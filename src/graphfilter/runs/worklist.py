"""The vertices worth a look, in order, and why the first ones are predicted so."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from graphfilter.data.graph import Graph
from graphfilter.estimators.explanation import Explanation
from graphfilter.runs.cases import CaseBook, Neighbourhood
from graphfilter.runs.fit import Fit
from graphfilter.training import REGRESSION

Index = NDArray[np.int64]

MOST_LIKELY, LEAST_SURE, DOUBTED = "most-likely", "least-sure", "possible-label-errors"
LARGEST_ERRORS = "largest-errors"
MOST_LISTED = 200
# Labels that lie on one side by chance would do so with probability 2^-k.
LEAST_EVIDENCE = 10
# The most features, vertices times columns, to compare.
MOST_COMPARED = 10**8
MOST_EXPLAINED, MOST_LIKELY_EXPLAINED = 5, 10
# Rows that members are asked about, for each list, and for the reasons: about two seconds.
WORK = 2e6
# Vertices and features that an explanation names.
MOST_NAMED = 6


@dataclass(frozen=True, eq=False)
class WorkList:
    """Vertices in the order in which to look at them.

    Attributes
    ----------
    name : str
    vertices : int array (k,)
    columns, errors : arrays (k,), optional
        Of largest errors: which of the labels or numbers is missed, and by how much.
    explanations : tuple of Explanation
        Of the first ones; fewer of a large graph, none of a huge one.
    """

    name: str
    vertices: Index
    columns: Index | None = None
    errors: NDArray[np.float64] | None = None
    explanations: tuple[Explanation, ...] = ()
    neighbourhoods: tuple[Neighbourhood, ...] = ()


def make_worklists(fit: Fit, book: CaseBook | None) -> list[WorkList]:
    """Return the lists of a fit, the first vertices of each explained by its cases.

    Classes: the vertices most likely of the one of two that is looked for, the least sure ones,
    and labels that may be wrong, explained against the label. Otherwise the largest errors.
    """
    if fit.task.one_class:
        lists = [WorkList(LEAST_SURE, least_sure(fit)), WorkList(DOUBTED, most_doubted(fit))]
        if fit.positive is not None:
            lists = [WorkList(MOST_LIKELY, most_likely(fit, fit.positive)), *lists]
    else:
        lists = [WorkList(LARGEST_ERRORS, *most_missed(fit))]
    if book is None:
        return lists
    explained = [replace(one, explanations=_explain(fit, book, one)) for one in lists]
    if not fit.plan.graph.n_edges:
        return explained
    first, *others = explained
    some = first.vertices[: len(first.explanations)].tolist()
    around = tuple(book.neighbourhood(v, fit.positive) for v in some)
    return [replace(first, neighbourhoods=around), *others]


def _explain(fit: Fit, book: CaseBook, listed: WorkList) -> tuple[Explanation, ...]:
    """Explain the first vertices of a list."""
    most = MOST_LIKELY_EXPLAINED if listed.name == MOST_LIKELY else MOST_EXPLAINED
    some = listed.vertices[:most].tolist()
    about: dict[str, Any] = {}
    if listed.columns is not None:
        about = {"output": [fit.names[c] for c in listed.columns[: len(some)].tolist()]}
    elif listed.name == MOST_LIKELY:
        about = {"answered": [fit.positive] * len(some)}
    elif listed.name == DOUBTED:
        about = {"against": fit.plan.target.codes[some].tolist()}
    return tuple(book.explain(some, most=MOST_NAMED, work=WORK, **about))


def rank(fit: Fit) -> Index:
    """Return all vertices in order: most certain of the class looked for, largest number first.

    Of more classes, or labels, by how certain the most certain one is. Ties stay as they are.
    """
    if fit.positive is not None:
        by = fit.outputs[:, fit.positive]
    else:
        by = fit.outputs[:, 0] if fit.task is REGRESSION else fit.outputs.max(axis=1)
    return np.argsort(-by, kind="stable")


def find_reasons(fit: Fit, book: CaseBook, order: Index) -> dict[int, str]:
    """Return the two strongest reasons for the first vertices that are to be answered, in words.

    ``order`` is of all vertices; as many have some as can be afforded.
    """
    answered = np.zeros(len(order), dtype=bool)
    answered[to_answer(fit)] = True
    some = order[answered[order]][:MOST_LISTED].tolist()
    about: dict[str, Any] = {}
    if fit.positive is not None:
        about = {"answered": [fit.positive] * len(some)}
    found = book.explain(some, quick=True, work=WORK, **about)
    return {v: why.because() for v, why in zip(some, found, strict=False)}


def to_answer(fit: Fit) -> Index:
    """Return the vertices whose prediction is of use: unlabelled ones, or else test ones.

    Only those that can have a label.
    """
    parts, can = fit.plan.parts, labelled_side(fit.plan.graph, fit.plan.is_labelled)
    kinds = (~fit.plan.is_labelled, parts == "test", parts == "val", np.full(len(parts), True))
    return next(np.flatnonzero(kind & can) for kind in kinds if (kind & can).any())


def labelled_side(graph: Graph, labelled: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Find the side of a bipartite graph that has all the labels, as accounts beside devices.

    Where no cycle is odd, a connected part has two sides. If its labels all lie on one of them,
    each but the first says so with probability ½ by chance; with ten of them, over all parts, the
    other sides are taken to be vertices of a kind that is never labelled. Of parts without labels,
    those vertices are taken for it too that a feature tells apart: one that is the same on all
    vertices of that kind, and another on all labelled ones. The rest stay in.
    """
    n, adjacency = graph.n_vertices, graph.adjacency
    # In the double cover (u, 0)-(v, 1), (u, 1)-(v, 0) the two sides of a part fall apart.
    cover = sp.block_array([[None, adjacency], [adjacency.T, None]], format="csr")
    component = connected_components(cover, directed=False)[1]
    here, opposite = component[:n], component[n:]
    n_labels = np.bincount(here[labelled], minlength=component.max() + 1)
    one_sided = np.unique(here[labelled & (n_labels[opposite] == 0)])
    if int((n_labels[one_sided] - 1).sum()) < LEAST_EVIDENCE:
        return np.ones(n, dtype=bool)
    never, x = (n_labels[opposite] > 0) & (n_labels[here] == 0), graph.features
    if never.any() and x is not None and np.prod(x.shape) <= MOST_COMPARED:
        columns = x.toarray() if sp.issparse(x) else np.asarray(x)
        kind = columns[never]
        tells = (kind == kind[0]).all(axis=0) & (columns[labelled] != kind[0]).all(axis=0)
        alike = (columns[:, tells] == kind[0, tells]).all(axis=1) & tells.any()
        never |= alike & (n_labels[here] == 0)
    return ~never


def most_likely(fit: Fit, positive: int) -> Index:
    """Return the vertices to answer whose probability of a class is highest, the first ones."""
    vertices = to_answer(fit)
    return vertices[np.argsort(-fit.outputs[vertices, positive], kind="stable")][:MOST_LISTED]


def least_sure(fit: Fit) -> Index:
    """Return the vertices to answer whose prediction is least sure.

    Where one class is predicted from a threshold, what lies far from it is sure.
    """
    vertices, decision = to_answer(fit), fit.user_decision
    if decision is None:
        sure = fit.outputs[vertices].max(axis=1)
    else:
        sure = np.abs(fit.outputs[vertices, fit.positive] - decision.threshold)
    return vertices[np.argsort(sure, kind="stable")][:MOST_LISTED]


def most_doubted(fit: Fit) -> Index:
    """Return the labelled vertices with another prediction, the least probable label first.

    Labels that a model rejects though it was trained on them are often wrong (Northcutt et al.
    2021, Confident Learning).
    """
    labelled = np.flatnonzero(fit.plan.is_labelled)
    rejected = labelled[fit.answers[labelled] != fit.plan.target.codes[labelled]]
    of_label = fit.outputs[rejected, fit.plan.target.codes[rejected]]
    return rejected[np.argsort(of_label, kind="stable")][:MOST_LISTED]


def most_missed(fit: Fit) -> tuple[Index, Index, NDArray[np.float64]]:
    """Return the vertices whose known values are missed most, which of the values, and by how much.

    Of several numbers the one that is missed by most deviations counts; labels count together.
    """
    labelled = np.flatnonzero(fit.plan.is_labelled)
    truth, outputs = fit.plan.truth[labelled], fit.outputs[labelled]
    if fit.task is REGRESSION:
        errors = outputs - truth
        spread = truth.std(axis=0)
        sizes = np.abs(errors) / np.where(spread > 0, spread, 1)
        columns = sizes.argmax(axis=1)
        error, size = errors[np.arange(len(labelled)), columns], sizes.max(axis=1)
    else:
        clipped = np.clip(outputs, 1e-15, 1 - 1e-15)
        losses = -np.where(truth > 0.5, np.log(clipped), np.log1p(-clipped))
        columns, error = losses.argmax(axis=1), losses.mean(axis=1)
        size = error
    order = np.argsort(-size, kind="stable")[:MOST_LISTED]
    return labelled[order], columns[order], error[order]
