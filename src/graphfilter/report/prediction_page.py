"""The page of a prediction: what to expect of its answers, and what has moved since the fit."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from graphfilter.report.html import render_page, write_page
from graphfilter.report.page import describe_size
from graphfilter.runs.drift import Drift
from graphfilter.runs.predict import Prediction
from graphfilter.version import __version__

# Rows of a table; columns of words can be many.
MOST_ROWS = 40


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
    drift : Drift or None
        None of a run that keeps nothing to compare with.
    folder, out : path
        The run, and where the predictions are.
    used : str
        The graph that was used, in words.
    known : list of str
        How many predictions are right, where that is known.
    """
    names = ", ".join(prediction.names[:20]) + (", ..." if len(prediction.names) > 20 else "")
    words = {"classification": "Classes", "multilabel": "Labels"}
    page = {
        "name": prediction.whole.name,
        "size": describe_size(prediction.whole),
        "drift": drift,
        "parts": prediction.count_parts(),
        "parts_said": prediction.describe_parts(),
        "used": used,
        "known": known,
        "coverage": prediction.describe_coverage(),
        "most": MOST_ROWS,
        "made": [
            ("Answers", str(out)),
            ("Run", str(folder)),
            ("Model", prediction.estimator.system_.title),
            (words.get(prediction.estimator.task_.name, "Numbers"), names),
            ("Fitted by", prediction.run.command or "no command"),
            ("Predicted by", f"graphfilter {__version__}"),
        ],
    }
    write_page(path, render_page("prediction.html.j2", page=page))
