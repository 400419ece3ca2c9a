"""The report of a run that predicts numbers, or several labels per vertex."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphfilter.estimators.regressor import SGFRegressor
from graphfilter.estimators.sgf import SGFClassifier
from graphfilter.estimators.targets import Target
from graphfilter.graph import Graph
from graphfilter.metrics.values import LABEL_METRICS, NUMBER_METRICS
from graphfilter.report.curves import describe_shape, filter_data, mean_response
from graphfilter.report.html import plotly_source, render_page, write_page
from graphfilter.report.numbers import percent, plain, spread_out
from graphfilter.report.value_comparison import Rival, ValueConclusion, conclude_values, number
from graphfilter.spectral import spectral_density
from graphfilter.splits import Split
from graphfilter.training import REGRESSION
from graphfilter.wording import count

MOST_POINTS = 3000
MOST_ROWS = 200
MOST_EPOCHS = 150
_SHOWN_PARTS = ("test", "val", "train")


@dataclass(frozen=True, eq=False)
class ValueFacts:
    """What a page about one run is made from; as ``RunFacts``, with values in place of classes.

    Attributes
    ----------
    target : Target
        What was learned.
    said : array (n, T)
        Predicted numbers, or the probability of every label.
    rivals : sequence of Rival
        Plain models on the same split; empty where they were not requested.
    """

    estimator: SGFRegressor | SGFClassifier
    target: Target
    graph: Graph
    split: Split
    parts: NDArray[np.str_]
    said: NDArray[np.float64]
    metrics: Mapping[str, Any]
    notes: Sequence[str]
    made: Mapping[str, Any]
    rivals: Sequence[Rival] = ()

    @property
    def truth(self) -> NDArray[np.float64]:
        assert self.target.values is not None
        return self.target.values

    @property
    def numbers(self) -> bool:
        """Whether numbers are predicted, not labels."""
        return self.target.task is REGRESSION

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self.target.names]


def write_value_report(path: str | PathLike[str], facts: ValueFacts) -> None:
    """Write the page of a run atomically."""
    write_page(path, render_value_report(facts))


def conclude_facts(facts: ValueFacts) -> ValueConclusion:
    """Compare the model of a run with its rivals on the test part, or the last there is."""
    part = next(p for p in _SHOWN_PARTS if p in facts.metrics["scores"])
    scored = getattr(facts.split, part)
    return conclude_values(
        part,
        facts.names[0],
        facts.truth[scored],
        facts.said[scored],
        facts.truth[facts.split.train],
        [(rival, rival.said[scored]) for rival in facts.rivals],
        numbers=facts.numbers,
    )


def render_value_report(facts: ValueFacts) -> str:
    """Return the page of a run."""
    graph, estimator = facts.graph, facts.estimator
    found = conclude_facts(facts)
    scored = getattr(facts.split, found.part)
    density = spectral_density(graph)
    learned = mean_response(estimator.filters_, estimator.operator)
    data = filter_data(estimator.results_, estimator.filters_, estimator.operator)
    data |= {"density": plain(density.values), "bins": plain(density.centres)}
    data["frequency"] = plain(list(facts.metrics["target_frequency"].values()))
    data["names"] = facts.names
    return render_page(
        "values.html.j2",
        name=graph.name,
        facts=facts,
        conclusion=found,
        size=_size(facts),
        what=_what(facts),
        shape=describe_shape(learned, density),
        frequencies=facts.metrics["target_frequency"],
        metrics=NUMBER_METRICS if facts.numbers else LABEL_METRICS,
        labels=[] if facts.numbers else label_rows(facts, scored),
        errors=largest_errors(facts),
        most_rows=MOST_ROWS,
        write=number if facts.numbers else percent,
        number=number,
        setting=_setting(estimator),
        data={
            "filter": data,
            "training": _training_data(facts),
            "scatter": _scatter_data(facts, scored) if facts.numbers else None,
        },
        plotly=plotly_source(),
    )  # fmt: skip


@dataclass(frozen=True)
class LabelRow:
    """One label: how many vertices are known to have it, and how well it is found."""

    name: str
    n_known: int
    n_scored: int
    precision: float
    recall: float
    f1: float
    average_precision: float


def label_rows(facts: ValueFacts, scored: NDArray[np.int64]) -> list[LabelRow]:
    """Score each label on the scored vertices; NaN where a share has no vertices."""
    from sklearn.metrics import average_precision_score

    known = facts.target.codes >= 0
    rows = []
    for c, name in enumerate(facts.names):
        true, probability = facts.truth[scored, c] > 0.5, facts.said[scored, c]
        said = probability > 0.5
        right = int((true & said).sum())
        f1_of = int(true.sum() + said.sum())
        rows.append(
            LabelRow(
                name,
                int(np.nansum(facts.truth[known, c])),
                int(true.sum()),
                right / said.sum() if said.any() else float("nan"),
                right / true.sum() if true.any() else float("nan"),
                2 * right / f1_of if f1_of else float("nan"),
                float(average_precision_score(true, probability)) if true.any() else float("nan"),
            )
        )
    return rows


@dataclass(frozen=True)
class ErrorRow:
    """One vertex whose known value the model misses."""

    id: str
    part: str
    given: str
    predicted: str
    error: float


def largest_errors(facts: ValueFacts) -> list[ErrorRow]:
    """Return the vertices with known values that are missed most, the worst first."""
    known = np.flatnonzero(facts.target.codes >= 0)
    truth, said = facts.truth[known], facts.said[known]
    if facts.numbers:
        error = (said - truth)[:, 0]
    else:
        clipped = np.clip(said, 1e-15, 1 - 1e-15)
        error = -np.where(truth > 0.5, np.log(clipped), np.log1p(-clipped)).mean(axis=1)
    order = np.argsort(-np.abs(error), kind="stable")[:MOST_ROWS]
    ids = facts.graph.vertex_names or range(facts.graph.n_vertices)
    return [
        ErrorRow(
            str(ids[known[i]]),
            str(facts.parts[known[i]]),
            _written(facts, truth[i]),
            _written(facts, said[i]),
            float(error[i]),
        )
        for i in order
    ]


def _written(facts: ValueFacts, values: NDArray[np.float64]) -> str:
    if facts.numbers:
        return number(float(values[0]))
    has = [name for name, value in zip(facts.names, values, strict=True) if value > 0.5]
    return ", ".join(has) or "none"


def _scatter_data(facts: ValueFacts, scored: NDArray[np.int64]) -> dict[str, Any]:
    """Return observed and predicted numbers of the scored vertices, thinned evenly."""
    shown = scored[spread_out(len(scored), MOST_POINTS)]
    ids = facts.graph.vertex_names or range(facts.graph.n_vertices)
    return {
        "observed": plain(facts.truth[shown, 0], 6),
        "predicted": plain(facts.said[shown, 0], 6),
        "ids": [str(ids[v]) for v in shown],
    }


def _training_data(facts: ValueFacts) -> dict[str, Any]:
    result = facts.estimator.results_[0]
    shown = spread_out(result.n_epochs, MOST_EPOCHS)
    score = facts.target.task.score_name
    names = {**NUMBER_METRICS, **LABEL_METRICS}
    return {
        "epochs": [i + 1 for i in shown],
        "loss": plain(result.history["loss"][shown]),
        "train": plain(result.history[f"train_{score}"][shown]),
        "val": plain(result.history[f"val_{score}"][shown]),
        "score": names[score],
        "kept_epoch": result.best_epoch,
    }


def _size(facts: ValueFacts) -> str:
    graph = facts.graph
    return ", ".join(
        (
            count(graph.n_vertices, "vertex", "vertices"),
            count(graph.n_edges, "edge"),
            count(graph.n_features, "feature"),
            _what(facts),
        )
    )


def _what(facts: ValueFacts) -> str:
    if facts.numbers:
        return f"predicting the number {facts.names[0]!r}"
    return f"predicting {count(len(facts.names), 'label')}"


def _setting(estimator: SGFRegressor | SGFClassifier) -> list[tuple[str, str]]:
    shown = estimator.get_params(deep=False)
    return [(name, str(v)) for name, v in shown.items() if name not in ("graph", "verbose")]
