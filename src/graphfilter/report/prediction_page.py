"""The page of a prediction: what to expect of its answers, and what has moved since the fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

from graphfilter.report.html import render_page, write_page
from graphfilter.runs.drift import Drift

# Rows of a table; columns of words can be many.
MOST_ROWS = 40


@dataclass(frozen=True, eq=False)
class PredictionPage:
    """What a page about one prediction is made from.

    Attributes
    ----------
    name, size : str
        Of the graph.
    drift : Drift or None
        None of a run that keeps nothing to compare with.
    parts : mapping of str to int
        How many vertices were what in the run.
    parts_said, used : str
        The same in a sentence, and the graph that was used.
    known, promised : lists of str
        How right the answers are where that is known, and what is promised of them.
    made : sequence of pairs
        How the prediction was made.
    """

    name: str
    size: str
    drift: Drift | None
    parts: Mapping[str, int]
    parts_said: str
    used: str
    known: list[str]
    promised: list[str]
    made: Sequence[tuple[str, str]]
    most: int = MOST_ROWS


def write_prediction(path: str | PathLike[str], page: PredictionPage) -> None:
    """Write the page of a prediction atomically: it holds all it needs."""
    write_page(path, render_page("prediction.html.j2", page=page))
