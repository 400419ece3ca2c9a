"""A progress bar for training, on standard error; silent unless asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from graphfilter.training import Progress

if TYPE_CHECKING:
    from rich.progress import TaskID

Report = Callable[[Progress], None]


@contextmanager
def training_bar(
    *, show: bool, and_tell: Report | None = None, title: str = "training"
) -> Iterator[Report | None]:
    """Give a callback for :func:`graphfilter.training.train` that moves a bar.

    A training after the first, such as that of a baseline, gets a line of its own.
    """
    if not show:
        yield and_tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("epoch {task.completed}/{task.total}"),
        TextColumn("loss {task.fields[loss]:.3f}, validation {task.fields[accuracy]:.1%}"),
        TimeElapsedColumn(),
    )
    bar = Bar(*columns, console=Console(stderr=True))

    def report(progress: Progress) -> None:
        # Started with the first epoch: what goes wrong before it leaves no bar behind.
        if not bar.tasks:
            bar.start()
        if not bar.tasks or progress.epoch <= bar.tasks[-1].completed:
            name = "comparing" if bar.tasks else title
            bar.add_task(name, total=progress.max_epochs, loss=0.0, accuracy=0.0)
        bar.update(
            bar.tasks[-1].id,
            completed=progress.epoch,
            loss=progress.loss,
            accuracy=progress.val_accuracy,
        )
        if and_tell is not None:
            and_tell(progress)

    try:
        yield report
    finally:
        bar.stop()


@contextmanager
def download_bar(*, show: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Give a callback for :func:`graphfilter.data.load_dataset` that shows its downloads."""
    if not show:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Bar(*columns, console=Console(stderr=True)) as bar:
        tasks: dict[str, TaskID] = {}

        def report(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=total or None)
            bar.update(tasks[name], completed=done, total=total or None)

        yield report
