"""``filter.png``: the response of the filter, at the start and learned."""

from __future__ import annotations

from os import PathLike

import numpy as np

from graphfilter.estimators.base import VertexClassifier
from graphfilter.estimators.drawing import filter_view
from graphfilter.graph import Graph
from graphfilter.run_folder.run_metrics import RunMetrics


def draw_filter_picture(
    classifier: VertexClassifier, graph: Graph, metrics: RunMetrics, path: str | PathLike[str]
) -> None:
    """Draw the response at the start and learned, with the labels' frequencies marked.

    Nothing is drawn for a network without a filter.
    """
    if not classifier.filters_:
        return
    from graphfilter.report.figures import draw_filter, save_figure
    from graphfilter.report.numbers import percent

    scores = metrics["scores"]
    part = "test" if "test" in scores else "val" if "val" in scores else "train"
    frequencies = metrics["label_frequency"]
    view = filter_view(
        classifier,
        {k: np.nan if v is None else v for k, v in frequencies.items()},
        title=f"{graph.name}: the filter that was learned",
        corner=f"{part} accuracy {percent(scores[part]['accuracy'])}",
    )
    save_figure(draw_filter(view), path)
