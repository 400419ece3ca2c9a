"""The files of a run folder, and whether a run may be written to one."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from graphfilter.estimators.saving import CONFIG_FILE, MODEL_FILE
from graphfilter.util.errors import ConfigError
from graphfilter.util.files import LOCK_FILE, OWN, files_in, in_use, locked, make_folder

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

# One per member or fit.
_CHECKPOINTS = CHECKPOINT_FILE.replace(".", "*.", 1)
# Where a run is trained that replaces a finished one, which is whole until then.
_NEW = f"{OWN}new"


@contextmanager
def open_folder(out: str | Path, *, overwrite: bool, resume: bool) -> Generator[Path]:
    """Lock a run folder for the length of the block; yield the folder to train in.

    That is another one within it where a finished run is there, until :func:`finish_run`. The lock
    ends with this process, however it ends.
    """
    folder = check_folder(out, overwrite=overwrite, resume=resume)
    make_folder(folder)
    with locked(folder / LOCK_FILE, _busy(folder)):
        # Another fit may have finished since.
        _check_contents(folder, overwrite=overwrite, resume=resume)
        if overwrite:
            _remove_new(folder)
            if (folder / CONFIG_FILE).exists():
                make_folder(folder / _NEW)
            else:
                _remove_files(folder)
        try:
            yield training_folder(folder)
        finally:
            if not _checkpoints_in(folder / _NEW):
                _remove_new(folder)


def training_folder(out: str | Path) -> Path:
    """Return the folder that a run is trained in: one within ``out`` where it replaces another."""
    new = Path(out) / _NEW
    return new if new.is_dir() and not new.is_symlink() else Path(out)


def finish_run(out: str | Path) -> None:
    """Put a run that was trained in the place of an earlier one, and remove its checkpoints.

    A process that is killed meanwhile leaves an interrupted run, which can be resumed.
    """
    folder, new = Path(out), training_folder(out)
    if new != folder:
        _remove_files(folder)
        names = {*RUN_FILES, CHANNELS_FILE} - {CONFIG_FILE, CHECKPOINT_FILE}
        for name in (*sorted(names), CONFIG_FILE):
            if (new / name).exists():
                (new / name).replace(folder / name)
        _remove_new(folder)
    for path in _checkpoints_in(folder):
        path.unlink(missing_ok=True)


def _remove_new(folder: Path) -> None:
    """Remove the folder of a run that was to replace another, or what is in its place."""
    new = folder / _NEW
    if new.is_symlink() or new.is_file():
        new.unlink()
    shutil.rmtree(new, ignore_errors=True)


def _remove_files(folder: Path) -> None:
    """Remove the files of a run, first the one by which it is finished."""
    names = (CONFIG_FILE, *RUN_FILES, CHANNELS_FILE)
    for path in (*(folder / name for name in names), *_checkpoints_in(folder)):
        path.unlink(missing_ok=True)


def checkpoints(folder: str | Path) -> list[Path]:
    """Return the states of training of a run: one, or one per member or fit."""
    return _checkpoints_in(training_folder(folder))


def _checkpoints_in(folder: Path) -> list[Path]:
    return sorted(folder.glob(_CHECKPOINTS)) if folder.is_dir() else []


def check_folder(out: str | Path, *, overwrite: bool, resume: bool) -> Path:
    """Check the run folder before any work: no file of the user is deleted silently."""
    folder = Path(out)
    if folder.is_dir() and in_use(folder / LOCK_FILE):
        raise ConfigError(_busy(folder))
    _check_contents(folder, overwrite=overwrite, resume=resume)
    return folder


def check_outputs(run: str | Path, *files: Path | None) -> None:
    """Raise where a file that a command is to write is one of the run's own."""
    for file in (file for file in files if file is not None and file.exists()):
        for own in (Path(run) / name for name in (*RUN_FILES, CHANNELS_FILE)):
            if own.exists() and file.samefile(own):
                raise ConfigError(f"{file}: belongs to the run itself; give another file.")


def _busy(folder: Path) -> str:
    return f"{folder}: another fit is writing to it; wait for it, or give another folder."


def _check_contents(folder: Path, *, overwrite: bool, resume: bool) -> None:
    present = files_in(folder, *RUN_FILES, CHANNELS_FILE, _CHECKPOINTS)
    if resume and overwrite:
        raise ConfigError("`resume` continues a run, `overwrite` starts again: choose one.")
    if resume and CONFIG_FILE in present and not _checkpoints_in(folder / _NEW):
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
