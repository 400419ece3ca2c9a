"""What a user asks of a fit beyond labels."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Asked:
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
    """

    threshold: str = ""
    costs: tuple[str, ...] = ()
    positive: str = ""


NOTHING_ASKED = Asked()
