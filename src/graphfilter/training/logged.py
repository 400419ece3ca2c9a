"""Training progress as log lines, for those who train without a progress bar."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from math import isfinite

from graphfilter.training.progress import OnEpoch, Progress

LOGGER = logging.getLogger("graphfilter")
SECONDS_BETWEEN_LINES = 2.0
SCORE_NAMES = {"accuracy": "accuracy", "micro_f1": "micro F1", "r2": "R²"}


@contextmanager
def logged_progress(
    on_epoch: OnEpoch | None = None,
) -> Generator[OnEpoch]:
    """Yield an ``on_epoch`` callback that also logs a line every two seconds and at the end.

    The lines go to the logger ``graphfilter`` at level INFO. Where nobody has configured logging,
    they go to standard error while the block runs.
    """
    handler = None
    level = LOGGER.level
    if not LOGGER.hasHandlers():
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(message)s"))
        LOGGER.addHandler(handler)
        LOGGER.setLevel(logging.INFO)
    last: Progress | None = None
    logged = time.monotonic()

    def report(progress: Progress) -> bool | None:
        nonlocal last, logged
        last = progress
        if time.monotonic() - logged >= SECONDS_BETWEEN_LINES:
            logged = time.monotonic()
            _log(progress)
        return None if on_epoch is None else on_epoch(progress)

    try:
        yield report
    finally:
        if last is not None:
            _log(last)
        if handler is not None:
            LOGGER.removeHandler(handler)
            LOGGER.setLevel(level)


def _log(progress: Progress) -> None:
    LOGGER.info(
        "epoch %d of at most %d: loss %.3f, validation %s %s",
        progress.epoch,
        progress.max_epochs,
        progress.loss,
        SCORE_NAMES[progress.score_name],
        _written(progress),
    )


def _written(progress: Progress) -> str:
    """Write the validation score: shares in percent, R² as it is."""
    if not isfinite(progress.val_score):
        return "unknown"
    if progress.score_name == "r2":
        return f"{progress.val_score:.3f}"
    return f"{100 * progress.val_score:.1f} %"
