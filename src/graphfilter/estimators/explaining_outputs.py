"""Why a vertex has a label or not, or why its number is what it is: one output of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators.asking import AskedEstimator
from graphfilter.estimators.explained import Contributions, Explanation, explain_members, name_parts
from graphfilter.estimators.explaining import find_vertex, members_of
from graphfilter.estimators.inputs import take_target
from graphfilter.estimators.members import FittedMember, held_factor
from graphfilter.splits import NO_FOLD
from graphfilter.systems import Prepared
from graphfilter.training import TargetScale
from graphfilter.util.errors import check_count, check_name
from graphfilter.util.machine import own_torch_state
from graphfilter.util.words import number


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
    output : name, or list of one per vertex, optional
        Of the label or number. Otherwise the most probable label of each vertex, or the first
        number.
    """
    check_count("most", most, most=2**63)
    names, scales = [str(name) for name in estimator.target_names_], estimator.target_scales_
    wanted = output if isinstance(output, list) else [output] * len(vertices)
    found = []
    # Its labels only say of which vertices something is known.
    graph = prepared.graph.replace(labels=None)
    with own_torch_state(gradients=False):
        members, fitted = members_of(estimator, prepared), estimator.members_of(prepared)
        held = estimator.held_in(prepared)
        for vertex, name in zip(vertices, wanted, strict=True):
            if name is None:
                column = 0 if scales else int(outputs[vertex].argmax())
            else:
                column = names.index(check_name("output", str(name), names))
            fold = NO_FOLD if held is None else int(held[vertex])
            weights = _weights(fitted, prepared, vertex, column)
            own = [
                replace(member, weight=weight * held_factor(one, fold), temperature=1.0)
                for member, one, weight in zip(members, fitted, weights, strict=True)
                if weight * held_factor(one, fold) > 0
            ]
            answer = float(outputs[vertex, column])
            sign, words = 1.0, _words_of_number(names[column], answer)
            if not scales:
                sign, words = _words_of_label(names[column], answer)
            directions = sign * np.eye(len(names))[[column]]
            (sums,) = explain_members(own, graph, [vertex], directions)
            if scales:
                sums = _in_units(sums, scales[column])
            found.append(name_parts(sums, own, graph, vertex, most, **words))
    return found


def _in_units(sums: Contributions, scale: TargetScale) -> Contributions:
    r"""Return contributions on the scale of a number as contributions to the number itself.

    With y = u(s) of a score s that starts from b, a part c of s adds
    :math:`c \, (u(s) - u(b)) / (s - b)`: its Aumann-Shapley value, the mean slope of u times c.
    """
    base, score = sums.base, sums.score
    # Parts that cancel have the slope of where they start.
    far = score if abs(score - base) > 1e-6 else base + 1e-3
    start, end = scale.undo(np.array([base, far])).tolist()
    slope = (end - start) / (far - base)

    def times(part: Any) -> Any:
        return None if part is None else slope * part

    return Contributions(
        start, times(sums.structure), times(sums.steps), times(sums.vertices),
        times(sums.own_features), times(sums.other_features),
    )  # fmt: skip


def _words_of_number(name: str, answer: float) -> dict[str, Any]:
    """Return what is said of a number; "0" is a single one of an array, which has no name."""
    name = "number" if name == "0" else name
    predicted = f"{name} {number(answer)}"
    return {"predicted": predicted, "against": "", "probability": None, "unit": name}


def _words_of_label(name: str, answer: float) -> tuple[float, dict[str, Any]]:
    """Return the sign of its log-odds that is explained, and what is said of a label."""
    if answer > 0.5:
        return 1.0, {"predicted": name, "against": f"not {name}", "probability": answer}
    return -1.0, {"predicted": f"not {name}", "against": name, "probability": 1 - answer}


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
