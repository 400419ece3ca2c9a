"""What a user wants of a fit beyond labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class FitRequest:
    """Wishes that change the answer, not the training.

    Attributes
    ----------
    threshold : str
        Of two classes: a probability, or what to choose it by on the validation vertices, one of
        :data:`~graphfilter.metrics.thresholds.DECISION_METRICS`.
    costs : tuple of str
        Of errors, as ``true:predicted=cost``.
    positive : str
        Which of two classes is looked for; otherwise the one whose error the first cost is of, or
        the rarer one.
    embeddings : Path or None
        Where to write the filtered hidden layer of every vertex, as Parquet or CSV.
    repeats : int
        Splits to train on in all; the model that is kept is that of the first.
    title : str
        Of the report; the graph's name where empty.
    coverage : float or None
        How often a set or an interval shall hold the truth; none are made where None.
    keep_graph : bool or None
        Whether to keep the graph with the run; where None, if it is small.
    excel_safe : bool
        Whether text that a spreadsheet would run as a formula is written with an apostrophe.
    forget_ids : bool
        Whether to leave the ids of the vertices out of the model.
    """

    threshold: str = ""
    costs: tuple[str, ...] = ()
    positive: str = ""
    embeddings: Path | None = None
    repeats: int = 1
    title: str = ""
    coverage: float | None = None
    keep_graph: bool | None = None
    excel_safe: bool = False
    forget_ids: bool = False


DEFAULT_REQUEST = FitRequest()
