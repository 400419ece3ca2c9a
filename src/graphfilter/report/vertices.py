"""The vertices worth a look: the answers to check first, and what is known that may be wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.data.graph import Graph
from graphfilter.report.whys import Why, explain_rows
from graphfilter.runs.fit import Fit
from graphfilter.training import REGRESSION
from graphfilter.util.words import number

MOST_VERTICES = 200


@dataclass(frozen=True)
class VertexTable:
    """A list of vertices: heads and cells, numbers from column ``first_number`` on."""

    id: str
    title: str
    why: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    first_number: int
    whys: tuple[Why, ...] = ()


def vertex_tables(fit: Fit) -> list[VertexTable]:
    """Return the lists of a page."""
    return _of_classes(fit) if fit.task.one_class else [_of_values(fit)]


def to_answer(fit: Fit) -> NDArray[np.int64]:
    """Return the vertices whose answer is of use: unlabelled ones, or else test ones.

    Only those that can have a label.
    """
    parts = fit.plan.parts
    kinds = (~fit.plan.known, parts == "test", parts == "val", np.full(len(parts), True))
    can = fit.plan.side.can
    return next(np.flatnonzero(kind & can) for kind in kinds if (kind & can).any())


def most_likely(fit: Fit, positive: int) -> NDArray[np.int64]:
    """Return the vertices to answer whose probability of a class is highest, the first ones."""
    asked = to_answer(fit)
    return asked[np.argsort(-fit.outputs[asked, positive], kind="stable")][:MOST_VERTICES]


def least_sure(fit: Fit) -> NDArray[np.int64]:
    """Return the vertices to answer whose answer is least sure.

    Where one class is answered from a threshold, sure is what lies far from it.
    """
    asked = to_answer(fit)
    if fit.asked is None:
        sure = fit.outputs[asked].max(axis=1)
    else:
        sure = np.abs(fit.outputs[asked, fit.positive] - fit.asked.threshold)
    return asked[np.argsort(sure, kind="stable")][:MOST_VERTICES]


def most_doubted(fit: Fit) -> NDArray[np.int64]:
    """Return the labelled vertices that are answered otherwise, the least probable label first.

    Labels that a model rejects though it was trained on them are often wrong (Northcutt et al.
    2021, Confident Learning).
    """
    known = np.flatnonzero(fit.plan.known)
    rejected = known[fit.answers[known] != fit.target.codes[known]]
    own = fit.outputs[rejected, fit.target.codes[rejected]]
    return rejected[np.argsort(own, kind="stable")][:MOST_VERTICES]


def most_missed(fit: Fit) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the vertices whose known values are missed most, which of the values, and by how much.

    Of several numbers the one that is missed by most deviations counts; labels count together.
    """
    known = np.flatnonzero(fit.plan.known)
    truth, outputs = fit.plan.truth[known], fit.outputs[known]
    if fit.task is REGRESSION:
        errors = outputs - truth
        spread = truth.std(axis=0)
        sizes = np.abs(errors) / np.where(spread > 0, spread, 1)
        columns = sizes.argmax(axis=1)
        error, size = errors[np.arange(len(known)), columns], sizes.max(axis=1)
    else:
        clipped = np.clip(outputs, 1e-15, 1 - 1e-15)
        losses = -np.where(truth > 0.5, np.log(clipped), np.log1p(-clipped))
        columns, error = losses.argmax(axis=1), losses.mean(axis=1)
        size = error
    order = np.argsort(-size, kind="stable")[:MOST_VERTICES]
    return known[order], columns[order], error[order]


def vertex_ids(graph: Graph) -> Sequence[Any]:
    """Return the names of the vertices, or their numbers."""
    return graph.vertex_names or range(graph.n_vertices)


def _of_classes(fit: Fit) -> list[VertexTable]:
    unsure, doubted = least_sure(fit), most_doubted(fit)
    rule = "whose most probable class is the least probable"
    if fit.asked is not None:
        rule = (
            f"whose probability of “{fit.asked.positive}” is nearest to {fit.asked.threshold:.3g}"
        )
    return [
        *([] if fit.positive is None else [_of_positive(fit, fit.positive)]),
        VertexTable(
            "least-sure",
            "Least sure",
            f"The predictions to check first: the vertices {rule}{_cut(unsure)}.",
            *_listed(fit, unsure),
            tuple(explain_rows(fit, unsure)),
        ),
        VertexTable(
            "possible-label-errors",
            "Possible label errors",
            "Labelled vertices with another prediction than their label, the least probable "
            f"label first, training vertices included{_cut(doubted)}.",
            *_listed(fit, doubted),
            tuple(explain_rows(fit, doubted, against_given=True)),
        ),
    ]


def _of_positive(fit: Fit, positive: int) -> VertexTable:
    """Return the list of those most likely of the class of two that is looked for."""
    likely, name = most_likely(fit, positive), f"“{fit.names[positive]}”"
    labelled = fit.plan.known[likely].any()
    return VertexTable(
        "most-likely",
        f"Most likely {name}",
        f"The vertices {'not trained on' if labelled else 'without a label'} whose probability of "
        f"{name} is highest{_cut(likely)}.",
        ("Vertex", "Part", "Predicted", f"Probability of {name}"),
        tuple(
            (
                str(vertex_ids(fit.graph)[v]),
                str(fit.plan.parts[v]),
                fit.names[int(fit.answers[v])],
                f"{fit.outputs[v, positive]:.3f}",
            )
            for v in likely.tolist()
        ),
        3,
        tuple(explain_rows(fit, likely)),
    )


def _listed(
    fit: Fit, vertices: NDArray[np.int64]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], int]:
    """Return heads, cells and the first column of numbers; without labels where all lack them."""
    heads = ("Vertex", "Part", "Given", "Predicted", "Probability", "Of the given")
    rows = [_cells(fit, v) for v in vertices.tolist()]
    shown = range(len(heads)) if fit.plan.known[vertices].any() else (0, 1, 3, 4)
    cut = tuple(tuple(row[i] for i in shown) for row in (heads, *rows))
    return cut[0], cut[1:], cut[0].index("Probability")


def _cells(fit: Fit, vertex: int) -> tuple[str, ...]:
    label, answer = int(fit.target.codes[vertex]), int(fit.answers[vertex])
    return (
        str(vertex_ids(fit.graph)[vertex]),
        str(fit.plan.parts[vertex]),
        "" if label < 0 else fit.names[label],
        fit.names[answer],
        f"{fit.outputs[vertex, answer]:.3f}",
        "" if label < 0 else f"{fit.outputs[vertex, label]:.3f}",
    )


def _of_values(fit: Fit) -> VertexTable:
    numbers, ids = fit.task is REGRESSION, vertex_ids(fit.graph)
    vertices, columns, errors = most_missed(fit)
    several = ("Number",) if numbers and len(fit.names) > 1 else ()
    rows = tuple(
        (
            str(ids[v]),
            str(fit.plan.parts[v]),
            *(several and (fit.names[column],)),
            _written(fit, fit.plan.truth[v], column),
            _written(fit, fit.answers[v], column),
            number(error) if numbers else f"{error:.3f}",
        )
        for v, column, error in zip(
            vertices.tolist(), columns.tolist(), errors.tolist(), strict=True
        )
    )
    what = "labels"
    if numbers:
        what = "numbers, in deviations," if several else "number"
    return VertexTable(
        "largest-errors",
        "Largest errors",
        f"Vertices with the largest error in their known {what}, training vertices "
        f"included{_cut(vertices)}: exceptions, or mistakes in the table.",
        ("Vertex", "Part", *several, "Given", "Predicted", "Error" if numbers else "Log loss"),
        rows,
        2 + len(several) if numbers else 4,
        tuple(explain_rows(fit, vertices, columns=columns)),
    )


def _written(fit: Fit, values: NDArray[Any], column: int) -> str:
    if fit.task is REGRESSION:
        return number(float(values[column]))
    has = [name for name, value in zip(fit.names, values, strict=True) if value > 0.5]
    return ", ".join(has) or "none"


def _cut(vertices: NDArray[np.int64]) -> str:
    return f" (the first {MOST_VERTICES})" if len(vertices) == MOST_VERTICES else ""
