"""The filter of a fitted estimator, as a picture and as what a notebook shows."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from graphfilter.estimators.members import FittedEstimator
from graphfilter.filters import Filter
from graphfilter.spectral.diagnosis import known_frequency
from graphfilter.spectral.plot import FilterView, plot_view
from graphfilter.training import FitResult
from graphfilter.util.errors import GraphFilterError
from graphfilter.util.pictures import card


def filter_at(learned: Filter, result: FitResult, epoch: int) -> Filter:
    """Return a filter as it was after an epoch; one that stopped earlier is as it ended."""
    made = copy.deepcopy(learned).double().cpu()
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            rows = result.history[name]
            parameter.copy_(torch.as_tensor(rows[min(epoch, len(rows) - 1)]).view_as(parameter))
    return made


def filter_view(
    estimator: FittedEstimator,
    label_frequency: Mapping[Any, float] | None = None,
    *,
    title: str = "",
    corner: str = "",
) -> FilterView:
    """Return what a picture of the filters of a fitted estimator shows.

    A loaded model knows neither how its filter started nor the labels it was fitted on.
    """
    if not estimator.filters_:
        raise GraphFilterError(
            "plot_filter needs a model with a graph filter; "
            f"{type(estimator).__name__} was fitted with {estimator.system_.title}, which has none."
        )
    if label_frequency is None:
        label_frequency = {}
        prepared = getattr(estimator, "prepared_", None)
        if prepared is not None and estimator.task_.one_class and prepared.graph.n_edges:
            graph = prepared.graph
            frequency = known_frequency(graph, np.flatnonzero(graph.labels >= 0)).value
            label_frequency = dict(zip(graph.classes.tolist(), frequency.tolist(), strict=True))
    results: list[FitResult] = getattr(estimator, "filter_results_", [])
    return FilterView(
        operator=estimator.filter_operator,
        start=filter_at(estimator.filter_, results[0], 0) if results else None,
        learned=estimator.filters_,
        label_frequency=label_frequency,
        title=title,
        corner=corner,
    )


def fitted_card(estimator: FittedEstimator) -> str:
    """Return what a notebook shows of a fitted estimator below its parameters, as HTML."""
    rows = [("fitted on", repr(estimator.graph_))] if hasattr(estimator, "graph_") else []
    if hasattr(estimator, "n_epochs_"):
        rows.append(("epochs", f"{estimator.n_epochs_:,}"))
    weights: dict[str, float] = getattr(estimator, "weights_", {})
    if weights:
        used = [f"{name} {share:.0%}" for name, share in weights.items() if share >= 0.005]
        rows.append(("members", ", ".join(used)))
    if not estimator.filters_:
        return card("Fitted", rows)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.4, 2.4), layout="constrained")
    plot_view(filter_view(estimator), figure.subplots())
    return card("Fitted", rows, figure, "Response of the learned filter over graph frequency.")
