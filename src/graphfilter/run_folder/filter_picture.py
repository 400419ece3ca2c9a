"""``filter.png``: the response of the filter, at the start and learned."""

from __future__ import annotations

from copy import deepcopy
from os import PathLike

import numpy as np

from graphfilter.estimators.sgf import SGFClassifier
from graphfilter.filters import StackedFilter
from graphfilter.graph import Graph
from graphfilter.run_folder.run_metrics import RunMetrics


def draw_filter_picture(
    classifier: SGFClassifier, graph: Graph, metrics: RunMetrics, path: str | PathLike[str]
) -> None:
    """Draw the response at the start and learned, with the labels' frequencies marked."""
    from graphfilter.report.figures import FilterView, draw_filter, save_figure
    from graphfilter.report.numbers import percent

    scores = metrics["scores"]
    part = "test" if "test" in scores else "val" if "val" in scores else "train"
    frequencies = metrics["label_frequency"]
    view = FilterView(
        operator=classifier.operator,
        start=filter_at_start(classifier),
        learned=classifier.filters_,
        label_frequency={k: np.nan if v is None else v for k, v in frequencies.items()},
        title=f"{graph.name}: the filter that was learned",
        corner=f"{part} accuracy {percent(scores[part]['accuracy'])}",
    )
    save_figure(draw_filter(view), path)


def filter_at_start(classifier: SGFClassifier) -> StackedFilter:
    """Return the filter the first member started from."""
    import torch

    start = deepcopy(classifier.filter_)
    assert isinstance(start, StackedFilter)
    with torch.no_grad():
        start.alpha.copy_(torch.from_numpy(classifier.history_["alpha"][0]))
        start.beta.copy_(torch.from_numpy(classifier.history_["beta"][0]))
    return start
