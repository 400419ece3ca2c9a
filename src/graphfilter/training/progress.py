"""What a caller is told while training, after every epoch."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from numpy.typing import NDArray

from graphfilter.runtime import current
from graphfilter.training.run import Run

T = TypeVar("T")

WAITING = "waiting for the other processes"


@dataclass(frozen=True)
class Progress:
    """What a caller may show after an epoch: averages over the runs still training.

    The scores are accuracies, or those of another task: ``score_name`` says which. ``monitored`` is
    the name and value of the validation score that chooses the epoch, if that is another.
    ``stage`` says what is trained, where that is one of several things; ``pool_score`` is then the
    validation accuracy of all of them together so far, ``seconds_left`` a guess of the time left.

    Examples
    --------
    >>> import graphfilter as gf
    >>> g = gf.load_dataset("karate")
    >>> seen = []
    >>> def watch(progress):
    ...     seen.append(progress.epoch)
    ...     return progress.epoch == 3  # True ends training
    ...
    >>> _ = gf.SGFClassifier(max_epochs=5, random_state=0).fit(graph=g, on_epoch=watch)
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

    def scalars(self) -> dict[str, NDArray[Any]]:
        """Return the filter's scalars of the first run after this epoch, by name."""
        return self.runs[0].filter_scalars()


# Called after each epoch; returns True to end training. Runs keep their best weights.
OnEpoch = Callable[[Progress], bool | None]


def progress_of(epoch: int, max_epochs: int, runs: Sequence[Run]) -> Progress:
    """Return what to show after an epoch of these runs."""
    shown = [run for run in runs if run.training] or list(runs)
    score = runs[0].task.score_name
    monitor = runs[0].monitor

    def mean(name: str) -> float:
        return sum(run.history[name][-1] for run in shown) / len(shown)

    return Progress(
        epoch,
        max_epochs,
        loss=mean("loss"),
        train_score=mean(f"train_{score}"),
        val_score=mean(f"val_{score}"),
        n_training=sum(run.training for run in runs),
        runs=runs,
        score_name=score,
        monitored=(monitor, mean(f"val_{monitor}")) if monitor in runs[0].task.scores else None,
    )


def shared(n_tasks: int, work: Callable[[int], T], on_epoch: OnEpoch | None) -> list[T]:
    """Return the results of tasks: divided among the processes, where there are several.

    Ends after the first that gives None: it was stopped. ``on_epoch`` is told of waiting for
    others, and may raise to end it.
    """
    group = current()
    if group is None:
        results: list[T] = []
        for number in range(n_tasks):
            results.append(work(number))
            if results[-1] is None:
                break
        return results
    progress = Progress(0, 1, math.nan, math.nan, math.nan, 1, [], stage=WAITING)
    wait = (lambda: None) if on_epoch is None else (lambda: on_epoch(progress))
    return group.share(n_tasks, work, wait)
