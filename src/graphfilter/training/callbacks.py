"""Callback: what watches a training, may end it, and says where its state is kept.

One object goes from whoever starts a fit down to the training loop. What is trained on the way
(a member of a committee, a baseline) gets one that is derived from it.
"""

from __future__ import annotations

import logging
import math
import sys
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray

from graphfilter.training.epoch import Run
from graphfilter.util.errors import ConfigError

__all__ = ["Callback", "OnEpoch", "Progress"]

LOGGER = logging.getLogger("graphfilter")
SECONDS_BETWEEN_LINES = 2.0
SCORE_NAMES = {"accuracy": "accuracy", "micro_f1": "micro F1", "r2": "R²"}
# What 0.2 took one by one.
SEPARATE = ("on_epoch", "checkpoint", "checkpoint_seconds", "resume")


@dataclass(frozen=True)
class Progress:
    """What a callback may show after an epoch: averages over the runs still training.

    The scores are accuracies, or those of another task: ``score_name`` says which. ``monitored`` is
    the name and value of the validation score that chooses the epoch, if that is another.
    ``stage`` says what is trained, where that is one of several things; ``pool_score`` is then the
    validation accuracy of all of them together so far, ``seconds_left`` a guess of the time left.
    ``compared`` is true of a baseline or a repeat, which are trained to be compared with a fit.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> seen = []
    >>> def watch(progress):
    ...     seen.append(progress.epoch)
    ...     return progress.epoch == 3  # True ends training
    ...
    >>> callback = gf.training.Callback(watch)
    >>> _ = gf.SGFClassifier(max_epochs=5, random_state=0).fit(graph=g, callback=callback)
    >>> seen
    [1, 2, 3]
    """

    epoch: int
    max_epochs: int
    loss: float
    train_score: float
    val_score: float
    n_training: int
    runs: Sequence[Run] = field(repr=False)
    score_name: str = "accuracy"
    stage: str = ""
    pool_score: float = math.nan
    monitored: tuple[str, float] | None = None
    seconds_left: float = math.nan
    compared: bool = False

    @classmethod
    def of(cls, epoch: int, max_epochs: int, runs: Sequence[Run]) -> Self:
        """Return what to show after an epoch of these runs."""
        shown = [run for run in runs if not run.stopped] or list(runs)
        score, monitor = runs[0].task.score_name, runs[0].monitor

        def mean(name: str) -> float:
            return sum(run.history[name][-1] for run in shown) / len(shown)

        return cls(
            epoch,
            max_epochs,
            loss=mean("loss"),
            train_score=mean(f"train_{score}"),
            val_score=mean(f"val_{score}"),
            n_training=sum(not run.stopped for run in runs),
            runs=runs,
            score_name=score,
            monitored=(monitor, mean(f"val_{monitor}")) if monitor in runs[0].task.scores else None,
        )

    def scalars(self) -> dict[str, NDArray[Any]]:
        """Return the filter's scalars of the first run after this epoch, by name."""
        return self.runs[0].filter_scalars()


# Called after each epoch; returns True to end training. Runs keep their best weights.
OnEpoch = Callable[[Progress], bool | None]


class Callback:
    """Watches a training after every epoch, may end it, and says where its state is kept.

    Pass a function, or derive a class that has :meth:`on_epoch`.

    Parameters
    ----------
    function : callable, optional
        Called with the :class:`Progress` after every epoch. It may read the filter from it, and
        return True to end training: every run then keeps its best weights so far. If it raises,
        the state is kept in ``checkpoint``, to be resumed.
    checkpoint : path, optional
        Where to keep the state while training: after a second, then every
        ``checkpoint_seconds``, when interrupted and at the end. Parts of what is trained, such as
        the members of a committee, keep theirs in files beside it.
    resume : bool
        Resume from ``checkpoint`` if it exists: the result is the same to the bit as without
        the interruption.

    Examples
    --------
    End training early:

    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> enough = gf.training.Callback(lambda progress: progress.val_score > 0.9)
    >>> clf = gf.SGFClassifier(random_state=0).fit(graph=g, callback=enough)
    >>> clf.results_[0].stopped
    'asked'

    Log every epoch to a tracker, here one with the interface of MLflow:

    >>> class Tracker:
    ...     def log_metric(self, key, value, step):
    ...         print(f"{key} {value:.2f} at {step}")
    ...
    >>> class Tracking(gf.training.Callback):
    ...     def __init__(self, tracker):
    ...         super().__init__()
    ...         self.tracker = tracker
    ...
    ...     def on_epoch(self, progress):
    ...         self.tracker.log_metric("n_training", progress.n_training, step=progress.epoch)
    ...
    >>> clf = gf.SGFClassifier(max_epochs=2, random_state=0)
    >>> _ = clf.fit(graph=g, callback=Tracking(Tracker()))
    n_training 1.00 at 1
    n_training 1.00 at 2
    """

    # Here, too, for classes whose __init__ does not call this one's.
    function: OnEpoch | None = None
    checkpoint: Path | None = None
    checkpoint_seconds: float = 10.0
    resume: bool = False

    def __init__(
        self,
        function: OnEpoch | None = None,
        *,
        checkpoint: str | Path | None = None,
        checkpoint_seconds: float = 10.0,
        resume: bool = False,
    ) -> None:
        self.function = function
        self.checkpoint = None if checkpoint is None else Path(checkpoint)
        self.checkpoint_seconds = checkpoint_seconds
        self.resume = resume

    def on_epoch(self, progress: Progress) -> bool | None:
        """Take note of an epoch; return True to end training."""
        return None if self.function is None else self.function(progress)

    @property
    def watches(self) -> bool:
        """Whether anything is done after an epoch: otherwise nothing need be prepared for it."""
        return self.function is not None or type(self).on_epoch is not Callback.on_epoch

    def keeping(self, checkpoint: str | Path | None) -> Callback:
        """Return the same callback with the state in another file, or none."""
        return self._derived(self.on_epoch, checkpoint)

    def passing_on(self, function: OnEpoch) -> Callback:
        """Return the callback that calls another function instead, with the same checkpoint."""
        return self._derived(function, self.checkpoint)

    def part(self, name: str) -> Callback:
        """Return the callback of a part of what is trained, whose state has a file beside."""
        return self.keeping(self.file_of(name))

    def file_of(self, name: str) -> Path | None:
        """Return the file that holds the state of a part; None where none is kept."""
        path = self.checkpoint
        return None if path is None else path.with_name(f"{path.stem}-{name}{path.suffix}")

    def also(self, function: OnEpoch) -> Callback:
        """Return a callback that calls another function too; either ends the training."""

        def both(progress: Progress) -> bool:
            end = self.on_epoch(progress)
            return bool(function(progress)) or bool(end)

        return Callback(both, **self._kept_in(self.checkpoint))

    def within(self, seconds: float) -> Callback:
        """Return a callback that also ends the training after so many seconds."""
        end = time.monotonic() + seconds
        return self.also(lambda _: time.monotonic() >= end)

    def of_compared(self) -> Callback:
        """Return the callback of what is compared with a fit: nothing of it is kept on disk."""
        return self._derived(lambda progress: self.on_epoch(replace(progress, compared=True)), None)

    def _derived(self, function: OnEpoch, checkpoint: str | Path | None) -> Callback:
        return Callback(function if self.watches else None, **self._kept_in(checkpoint))

    def _kept_in(self, checkpoint: str | Path | None) -> dict[str, Any]:
        """Return the settings of a callback whose state is in this file, or nowhere."""
        return {
            "checkpoint": checkpoint,
            "checkpoint_seconds": self.checkpoint_seconds,
            "resume": self.resume and checkpoint is not None,
        }


SILENT = Callback()


def callback_from(callback: Callback | None, options: dict[str, Any]) -> Callback:
    """Return the callback of a call, whose further arguments may hold those of 0.2.

    Those are taken out of ``options``: they are replaced by one callback, and go in 0.4.
    """
    earlier = {name: options.pop(name) for name in SEPARATE if name in options}
    if not earlier:
        return SILENT if callback is None else callback
    names = ", ".join(f"`{name}`" for name in earlier)
    if callback is not None:
        raise ConfigError(f"a callback must hold {names}; got both. Pass the callback alone.")
    warnings.warn(
        f"{names} must be passed as callback=graphfilter.training.Callback(...) from 0.4 on.",
        DeprecationWarning,
        stacklevel=3,
    )
    return Callback(earlier.pop("on_epoch", None), **earlier)


@contextmanager
def logged(callback: Callback = SILENT) -> Generator[Callback]:
    """Log a line every two seconds and at the end, besides what a callback does.

    The lines go to the logger ``graphfilter`` at level INFO. Where nobody has configured logging,
    they go to standard error within the ``with`` block.
    """
    level, handler, last, at = LOGGER.level, None, list[Progress](), time.monotonic()

    def note(progress: Progress) -> None:
        nonlocal at
        last[:] = [progress]
        if time.monotonic() - at >= SECONDS_BETWEEN_LINES:
            at = time.monotonic()
            _log(progress)

    if not LOGGER.hasHandlers():
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(message)s"))
        LOGGER.addHandler(handler)
        LOGGER.setLevel(logging.INFO)
    try:
        yield callback.also(note)
    finally:
        for progress in last:
            _log(progress)
        if handler is not None:
            LOGGER.removeHandler(handler)
            LOGGER.setLevel(level)


def _log(progress: Progress) -> None:
    score = progress.val_score
    # Shares in percent, R² as it is.
    shown = f"{score:.3f}" if progress.score_name == "r2" else f"{100 * score:.1f} %"
    name = SCORE_NAMES[progress.score_name]
    LOGGER.info(
        "epoch %d of at most %d: loss %.3f, validation %s %s",
        progress.epoch, progress.max_epochs, progress.loss, name,
        shown if math.isfinite(score) else "unknown",
    )  # fmt: skip
