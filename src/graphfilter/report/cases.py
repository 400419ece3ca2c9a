"""The section on cases: lists of vertices worth a look, with bars that say why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import zip_longest
from typing import Any

import numpy as np

from graphfilter.estimators.earlier import ids_of
from graphfilter.estimators.explanation import Explanation
from graphfilter.report.html import render_page
from graphfilter.report.neighbourhood import view_around
from graphfilter.runs import cases
from graphfilter.runs.fit import PARTS, Fit
from graphfilter.training import REGRESSION
from graphfilter.util.words import Noun, number

MOST_FIRST = 20
MOST_COLUMNS, ALL_NEIGHBOURS = 15, "all neighbours together"


def cases_section(
    fit: Fit, lists: Iterable[cases.WorkList], reasons: Mapping[int, Explanation] | None = None
) -> dict[str, Any]:
    """Return the lists as tables: heads and cells, numbers from column ``first_number`` on."""
    return {"tables": [_table(fit, one, reasons or {}) for one in lists]}


def _table(fit: Fit, listed: cases.WorkList, reasons: Mapping[int, Explanation]) -> dict[str, Any]:
    cut = f" (the first {cases.MOST_LISTED})" if len(listed.vertices) == cases.MOST_LISTED else ""
    if listed.name == cases.LARGEST_ERRORS:
        table = _errors_table(fit, listed, cut)
    else:
        table = _classes_table(fit, listed, cut, reasons)
    whys = [view_case(*both) for both in zip_longest(listed.explanations, listed.neighbourhoods)]
    return {"id": listed.name, **table, "whys": whys}


def columns_section(reasons: Mapping[int, Explanation]) -> dict[str, Any] | None:
    """Return how far each column, and all neighbours together, move the explained answers."""
    moved = defaultdict[str, float](float)
    for why in reasons.values():
        own = defaultdict[str, float](float)
        for one in why.reasons:
            own[one.name if one.kind == "column" else ALL_NEIGHBOURS] += one.contribution
        for name, value in own.items():
            moved[name] += abs(value) / len(reasons)
    first = sorted(moved.items(), key=lambda item: -item[1])[:MOST_COLUMNS]
    if not first:
        return None
    of_share, most = next(iter(reasons.values())).probability is not None, first[0][1] or 1.0
    rows = [
        {"title": name, "value": value, "left": 0, "width": 100 * value / most,
         "text": f"{100 * value:.1f}" if of_share else number(value)}
        for name, value in first
    ]  # fmt: skip
    return {"rows": rows, "n": len(reasons), "left_out": len(moved) - len(first)}


def part_of(fit: Fit, vertex: int) -> str:
    """Return the part of a vertex in words."""
    part = str(fit.plan.parts[vertex])
    return PARTS.get(part, part)


def _classes_table(
    fit: Fit, listed: cases.WorkList, cut: str, reasons: Mapping[int, Explanation]
) -> dict[str, Any]:
    names, codes, noun = fit.names, fit.plan.target.codes, fit.plan.noun
    labelled = fit.plan.is_labelled[listed.vertices].any()
    ids = fit.plan.graph.vertex_names or range(fit.plan.graph.n_vertices)
    of, name = fit.positive, "" if fit.positive is None else fit.plan.quote(names[fit.positive])
    heads = ["Part", "Label"] if listed.name == cases.DOUBTED else ["Label"] if labelled else []
    if listed.name == cases.MOST_LIKELY:
        heads, title = ["Because"] if reasons else [], f"Most likely {name}"
        which = "not trained on" if labelled else "without a label"
        text = f"The {noun.many} {which} whose probability of {name} is highest{cut}."
    elif listed.name == cases.LEAST_SURE:
        title, rule = "Least sure", "most probable class is the least probable"
        if (decision := fit.user_decision) is not None:
            rule = f"probability of “{decision.positive}” is nearest to {decision.threshold:.3g}"
        text = f"The predictions to check first: the {noun.many} whose {rule}{cut}."
    else:
        title = "Possible label errors"
        text = f"Labelled {noun.many}, trained ones too, for which another class is predicted{cut}."
    rows = []
    for v in listed.vertices.tolist():
        label, answer = int(codes[v]), int(fit.answers[v])
        cells = {
            "Part": part_of(fit, v),
            "Label": "" if label < 0 else names[label],
            "Because": reasons[v].because() if v in reasons else "",
        }
        shown = [f"{fit.outputs[v, answer if of is None else of]:.3f}"]
        if listed.name == cases.DOUBTED and of is None:
            shown.append(f"{fit.outputs[v, label]:.3f}")
        rows.append([str(ids[v]), names[answer], *(cells[head] for head in heads), *shown])
    last = [f"Probability of {name}" if name else "Probability"]
    last += ["That of its label"] if listed.name == cases.DOUBTED and of is None else []
    return {
        "title": title, "why": text, "heads": [noun.one.capitalize(), "Predicted", *heads, *last],
        "rows": rows, "first_number": 2 + len(heads),
    }  # fmt: skip


def _errors_table(fit: Fit, listed: cases.WorkList, cut: str) -> dict[str, Any]:
    assert listed.columns is not None
    assert listed.errors is not None
    numbers, several = fit.task is REGRESSION, fit.task is REGRESSION and len(fit.names) > 1
    ids = fit.plan.graph.vertex_names or range(fit.plan.graph.n_vertices)
    rows = []
    for v, column, error in zip(
        listed.vertices.tolist(), listed.columns.tolist(), listed.errors.tolist(), strict=True
    ):
        values = (fit.plan.truth[v], fit.answers[v])
        if numbers:
            written = [number(float(each[column])) for each in values]
        else:
            has = ([n for n, x in zip(fit.names, each, strict=True) if x > 0.5] for each in values)
            written = [", ".join(each) or "none" for each in has]
        which = [fit.names[column]] if several else []
        shown = number(error) if numbers else f"{error:.3f}"
        part = part_of(fit, v)
        rows.append([str(ids[v]), part, *which, *written, shown])
    return {
        "title": "Largest errors",
        "why": f"{fit.plan.noun.many.capitalize()}, trained ones too, whose known value is missed "
        f"most{cut}: exceptions, or mistakes in the table.",
        "heads": [
            fit.plan.noun.one.capitalize(), "Part", *(["Number"] if several else []), "Known",
            "Predicted",
            "Error" if numbers else "Log loss",
        ],
        "rows": rows,
        "first_number": 2 + several if numbers else 4,
    }  # fmt: skip


def view_case(listed: Explanation, found: cases.Neighbourhood | None = None) -> dict[str, Any]:
    """Return an explanation with what adds to it as bars, and what is around the vertex."""
    return {
        "explanation": listed,
        "sentence": listed.sentence,
        "around": None if found is None else view_around(found),
        "parts": _bars(listed),
    }


def _bars(listed: Explanation) -> list[dict[str, Any]]:
    """Return what adds to the answer on a scale of 100 % whose middle is zero."""
    largest = max((abs(value) for _, value in listed.parts), default=0.0) or 1.0
    bars = []
    for i, (title, value) in enumerate(listed.parts):
        width = 50 * abs(value) / largest
        bar = {"title": title, "value": value, "text": listed.write(value, part=i > 0)}
        bars.append(bar | {"left": 50 - width if value < 0 else 50, "width": width})
    return bars


def render_why(book: cases.CaseBook, noun: Noun, id: str) -> str:
    """Return the page that says why a vertex is answered so; of none the first of the list."""
    decision, case, by = book.decision, None, book.outputs.max(axis=1)
    if decision is not None:
        names = [str(name) for name in book.estimator.target_names_]
        by = book.outputs[:, names.index(decision.positive)]
    ids = ids_of(book.graph)
    first = [(str(ids[v]), by[v]) for v in np.argsort(-by, kind="stable")[:MOST_FIRST].tolist()]
    if id:
        number = book.number(id)
        (explanation,) = book.explain([number])
        around = book.neighbourhood(number) if book.graph.n_edges else None
        case = view_case(explanation, around)
    return render_page(
        "why.html.j2", noun=noun, case=case, first=first, decision=decision,
        title=id or noun.put("Why is a vertex predicted so?"),
        is_share=book.estimator.task_ is not REGRESSION,
    )  # fmt: skip
