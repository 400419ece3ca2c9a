"""The page of a prediction, from the outputs of a run for a graph."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from graphfilter.fits import Drift
from graphfilter.report import PredictionPage, describe_size, write_prediction
from graphfilter.run_folder.predicting import Prediction
from graphfilter.version import __version__


def write_prediction_report(
    path: str | PathLike[str],
    prediction: Prediction,
    drift: Drift | None,
    *,
    folder: str | Path,
    out: str | Path,
    used: str,
    known: list[str],
) -> None:
    """Write the page of a prediction.

    Parameters
    ----------
    folder, out : path
        The run, and where the answers are.
    used : str
        The graph that was used, in words.
    known : list of str
        How right the answers are, where that is known.
    """
    run, task = prediction.run, prediction.estimator.task_
    names = ", ".join(prediction.names[:20])
    what = {"classification": "classes", "multilabel": "labels"}.get(task.name, "numbers")
    made = [
        ("Answers", str(out)),
        ("Run", str(folder)),
        ("Model", prediction.estimator.system_.title),
        (what.capitalize(), names + (", ..." if len(prediction.names) > 20 else "")),
        ("Fitted by", run.command or "no command"),
        ("Predicted by", f"graphfilter {__version__}"),
    ]
    page = PredictionPage(
        prediction.whole.name, describe_size(prediction.whole), drift, prediction.count_parts(),
        prediction.describe_parts(), used, known, prediction.describe_promise(), made,
    )  # fmt: skip
    write_prediction(path, page)
