"""The files of a run folder, and whether a run may be written to one."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from graphfilter.errors import ConfigError
from graphfilter.estimators import CONFIG_FILE, MODEL_FILE
from graphfilter.runtime import current
from graphfilter.storage import LOCK_FILE, files_in, in_use, locked, make_folder

CHECKPOINT_FILE = "checkpoint.safetensors"
PREDICTIONS_FILE = "predictions.csv"
METRICS_FILE = "metrics.json"
FILTER_FILE = "filter.png"
REPORT_FILE = "report.html"
# Where the graph is kept.
GRAPH_FILE = "graph.npz"
# What later graphs are compared with, where the model predicts some.
REFERENCE_FILE = "reference.safetensors"
RUN_FILES = (
    PREDICTIONS_FILE, METRICS_FILE, FILTER_FILE, REPORT_FILE, MODEL_FILE, CONFIG_FILE,
    CHECKPOINT_FILE, GRAPH_FILE, REFERENCE_FILE,
)  # fmt: skip

# Where edges have directions or kinds: their filters.
CHANNELS_FILE = "channels.png"


@contextmanager
def open_folder(out: str | Path, *, overwrite: bool, resume: bool) -> Generator[Path]:
    """Lock a run folder for the length of the block; remove an earlier run if asked to.

    The lock ends with this process, however it ends.
    """
    folder = check_folder(out, overwrite=overwrite, resume=resume)
    make_folder(folder)
    with locked(folder / LOCK_FILE, _busy(folder)):
        # Another fit may have finished since.
        _check_contents(folder, overwrite=overwrite, resume=resume)
        if overwrite:
            for name in (*RUN_FILES, CHANNELS_FILE):
                (folder / name).unlink(missing_ok=True)
            remove_checkpoints(folder)
        yield folder


def wait_for_folder() -> None:
    """Let other processes begin when the first has its folder."""
    if (group := current()) is not None:
        group.on_first(lambda: None)


def checkpoints(folder: str | Path) -> list[Path]:
    """Return the states of training in a folder: one, or one per member or fit."""
    pattern = CHECKPOINT_FILE.replace(".", "*.", 1)
    return sorted(Path(folder).glob(pattern)) if Path(folder).is_dir() else []


def remove_checkpoints(folder: str | Path) -> None:
    """Remove the states of training, of which a finished run has no need."""
    for path in checkpoints(folder):
        path.unlink(missing_ok=True)


def check_folder(out: str | Path, *, overwrite: bool, resume: bool) -> Path:
    """Check the run folder before any work: no file of the user is deleted silently."""
    folder = Path(out)
    if folder.is_dir() and in_use(folder / LOCK_FILE):
        raise ConfigError(_busy(folder))
    _check_contents(folder, overwrite=overwrite, resume=resume)
    return folder


def _busy(folder: Path) -> str:
    return f"{folder}: another fit is writing to it; wait for it, or give another folder."


def _check_contents(folder: Path, *, overwrite: bool, resume: bool) -> None:
    present = files_in(folder)
    if resume and overwrite:
        raise ConfigError("`resume` continues a run, `overwrite` starts again: choose one.")
    if resume and CONFIG_FILE in present:
        raise ConfigError(
            f"{folder}: holds a finished run; there is nothing to resume. "
            "Pass `overwrite=True` to fit it again."
        )
    if not resume and not overwrite and checkpoints(folder):
        raise ConfigError(
            f"{folder}: holds an interrupted run; pass `resume=True` to continue it, or "
            "`overwrite=True` to start again."
        )
    if not resume and not overwrite and present:
        raise ConfigError(
            f"{folder}: exists and is not empty; pass `overwrite=True` to replace the run "
            "in it, or give another folder."
        )
