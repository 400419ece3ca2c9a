"""Why a vertex has a label or not, or why its number is what it is: one output of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.errors import check_count, check_name
from graphfilter.estimators.asking import AskedEstimator
from graphfilter.estimators.explaining import find_vertex, members_of
from graphfilter.estimators.inputs import take_target
from graphfilter.estimators.members import FittedMember
from graphfilter.explain import Explanation, explain_members, name_parts
from graphfilter.runtime import own_torch_state
from graphfilter.systems import Prepared
from graphfilter.training import TargetScale
from graphfilter.wording import number

# What a score is measured in, by the scale on which a number was learned.
UNITS = {"identity": "the number itself", "log": "as log(1 + y)", "rank": "by its rank"}


def explain_vertex(
    estimator: AskedEstimator, vertex: Any, X: Any, graph: Any, output: Any, most: int
) -> Explanation:
    """Explain one label, or one number, of a vertex; ``X`` and ``graph`` as in ``predict``."""
    given = X if estimator.graph is None else None
    target, _ = take_target(estimator, given, graph)
    own, outputs = [find_vertex(target, vertex)], estimator.answers(given, graph)
    return explain_output(estimator, estimator.prepare(target), outputs, own, output, most=most)[0]


def explain_output(
    estimator: AskedEstimator,
    prepared: Prepared,
    outputs: NDArray[np.float64],
    vertices: Sequence[int],
    output: Any = None,
    *,
    most: int = 10,
) -> list[Explanation]:
    """Explain one label, or one number, of some vertices of a graph that is ready for prediction.

    Parameters
    ----------
    outputs : array (n, L)
        What is answered: probabilities of labels, or numbers in their units.
    output : name, optional
        Of the label or number. Otherwise the most probable label of each vertex, or the first
        number.
    """
    check_count("most", most)
    names, scales = [str(name) for name in estimator.target_names_], estimator.target_scales_
    named = None if output is None else names.index(check_name("output", str(output), names))
    found = []
    # Its labels only say of which vertices something is known.
    graph = prepared.graph.replace(labels=None)
    with own_torch_state(gradients=False):
        members, fitted = members_of(estimator, prepared), estimator.members_of(prepared)
        for vertex in vertices:
            column = named
            if column is None:
                column = 0 if scales else int(outputs[vertex].argmax())
            weights = _weights(fitted, prepared, vertex, column)
            own = [
                replace(member, weight=weight, temperature=1.0)
                for member, weight in zip(members, weights, strict=True)
                if weight > 0
            ]
            answer = float(outputs[vertex, column])
            if scales:
                factor, start, words = _of_number(names[column], answer, scales[column])
            else:
                factor, start, words = _of_label(names[column], answer)
            directions = factor * np.eye(len(names))[[column]]
            (sums,) = explain_members(own, graph, [vertex], directions)
            sums = replace(sums, base=sums.base + start)
            found.append(name_parts(sums, own, graph, vertex, most, **words))
    return found


def _of_number(name: str, answer: float, scale: TargetScale) -> tuple[float, float, dict[str, Any]]:
    """Return what an output is multiplied by, what is added, and what is said of a number."""
    words = {"predicted": f"{name} {number(answer)}", "against": "", "probability": None}
    return scale.deviation, scale.mean, {**words, "unit": UNITS[scale.name]}


def _of_label(name: str, answer: float) -> tuple[float, float, dict[str, Any]]:
    """Return the same of a label: the log-odds of having it, or of not having it."""
    if answer > 0.5:
        words = {"predicted": name, "against": f"not {name}", "probability": answer}
        return 1.0, 0.0, words
    return -1.0, 0.0, {"predicted": f"not {name}", "against": name, "probability": 1 - answer}


def _weights(
    fitted: Sequence[FittedMember], prepared: Prepared, vertex: int, column: int
) -> list[float]:
    """Return what multiplies an output of each member in the answer for a vertex."""
    if prepared.shares is not None:
        return [float(m.at(prepared.shares[[vertex]]).reshape(1, -1)[0, column]) for m in fitted]
    if fitted[0].coefficients is not None:
        return [float(np.asarray(member.coefficients)[column]) for member in fitted]
    total = sum(member.weight for member in fitted)
    return [member.weight / total for member in fitted]
