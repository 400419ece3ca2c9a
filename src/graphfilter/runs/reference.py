"""What a fit saw of its vertices and said of them, in small, to compare later graphs with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.runs.fit import PARTS, Fit
from graphfilter.runs.observed import (
    ANSWERS,
    DEGREE,
    FEATURES,
    VARIATION,
    answer_frequency,
    columns_of,
    sample,
    signals_and_losses,
)
from graphfilter.training import REGRESSION
from graphfilter.training.comparing import ColumnSummary
from graphfilter.training.scores import LossBins


@dataclass(frozen=True, eq=False)
class Reference:
    """Summaries of a fit's vertices and answers.

    Attributes
    ----------
    columns : dict of str to ColumnSummary
        Features, degrees, how far neighbours' answers differ, and answers. The last two of
        vertices that were not trained on, where there are some.
    losses : tuple of LossBins
        Of the judged vertices: what answers lose by how sure they are; of numbers one each.
    promised : array (k,)
        The mean of each of those losses.
    part : str
        Which vertices are judged: test, or val or train where there are no others.
    deviation : array (T,)
        Of the answers, where they are numbers.
    frequency : float or None
        The mean graph frequency of the answers.
    """

    columns: dict[str, ColumnSummary]
    losses: tuple[LossBins, ...]
    promised: NDArray[np.float64]
    part: str
    deviation: NDArray[np.float64]
    frequency: float | None

    @classmethod
    def of(cls, fit: Fit) -> Reference:
        """Summarise a fit."""
        graph, task, outputs, answers = fit.graph, fit.task, fit.outputs, fit.answers
        every = np.arange(graph.n_vertices)
        unseen = np.setdiff1d(every, fit.split.train)
        seen = sample(every, graph.n_features, fit.plan.seed)
        sampled = sample(unseen if len(unseen) else every, len(fit.names), fit.plan.seed)
        deviation = np.ones(1)
        if task is REGRESSION:
            deviation = np.maximum(outputs.std(axis=0), 1e-12)
        numbers = columns_of(
            graph,
            task,
            outputs[sampled],
            answers,
            seen,
            sampled,
            n=len(fit.names),
            deviation=deviation,
        )
        if not fit.plan.has_features:
            numbers.pop(FEATURES, None)
        judged = fit.judged
        pairs = signals_and_losses(task, outputs[judged], answers[judged], fit.plan.truth[judged])
        return cls(
            {name: ColumnSummary.of(values) for name, values in numbers.items() if values.shape[0]},
            tuple(LossBins.of(*pair) for pair in pairs),
            np.array([losses.mean() for _, losses in pairs]),
            fit.part,
            deviation,
            answer_frequency(graph, task, answers, len(fit.names)),
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as arrays, to be saved."""
        found: dict[str, NDArray[Any]] = {
            "promised": self.promised,
            "part": np.array([PARTS.index(self.part)]),
            "deviation": self.deviation,
            "frequency": np.array([np.nan if self.frequency is None else self.frequency]),
        }
        for name, summary in self.columns.items():
            found |= {f"columns.{name}.{k}": v for k, v in summary.to_arrays().items()}
        for t, bins in enumerate(self.losses):
            found |= {f"losses.{t}.{k}": v for k, v in bins.to_arrays().items()}
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Reference:
        """Return what :meth:`to_arrays` returned; ValueError or KeyError where it did not."""
        nested: dict[str, dict[str, dict[str, Any]]] = {"columns": {}, "losses": {}}
        for key, values in arrays.items():
            if values.dtype.kind not in "biuf":
                raise ValueError(f"a reference must hold numbers; {key} holds {values.dtype}")
            kind, _, rest = key.partition(".")
            name, _, part = rest.partition(".")
            if kind in nested and part:
                nested[kind].setdefault(name, {})[part] = values
        promised, deviation = arrays["promised"], arrays["deviation"]
        part, frequency = (float(np.asarray(arrays[k]).item()) for k in ("part", "frequency"))
        if not (np.isfinite(promised).all() and np.isfinite(deviation).all()):
            raise ValueError("a reference must hold finite numbers")
        if promised.shape != (len(nested["losses"]),) or not (deviation > 0).all():
            raise ValueError("a reference whose losses do not fit together")
        try:
            columns = {n: ColumnSummary.from_arrays(**v) for n, v in nested["columns"].items()}
            losses = [
                LossBins.from_arrays(**nested["losses"][str(t)]) for t in range(len(promised))
            ]
        except TypeError as error:
            raise ValueError(str(error)) from None
        if not set(columns) <= {FEATURES, DEGREE, VARIATION, ANSWERS}:
            raise ValueError(f"a reference with other columns: {sorted(columns)}")
        return cls(
            columns,
            tuple(losses),
            np.asarray(promised, dtype=np.float64),
            PARTS[int(part)],
            np.asarray(deviation, dtype=np.float64),
            frequency if np.isfinite(frequency) else None,
        )
