"""Folders for files that are not needed afterwards."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from graphfilter.storage.atomic import unwritable
from graphfilter.storage.locks import lock, still_names

_LOCK_FILE = ".lock"


@contextmanager
def scratch_folder(prefix: str, place: Path | None = None) -> Generator[Path]:
    """Yield a new folder that is removed with everything in it when the block ends.

    It lies in ``place``, or where temporary files do.

    A killed process cannot remove its own: the next one that asks for the same prefix does. The
    lock in each folder, which ends with its process, tells which are in use.
    """
    place = Path(tempfile.gettempdir()) if place is None else place
    for left in place.glob(f"{prefix}*"):
        _remove_unused(left)
    folder, descriptor = _create(prefix, place)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def _create(prefix: str, place: Path) -> tuple[Path, int]:
    while True:
        try:
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        except OSError as error:
            raise unwritable(place, error) from None
        descriptor = os.open(folder / _LOCK_FILE, os.O_CREAT | os.O_RDWR, 0o600)
        lock(descriptor, wait=True)
        # Another process may have removed the folder between its creation and its lock.
        if still_names(folder / _LOCK_FILE, descriptor):
            return folder, descriptor
        os.close(descriptor)


def _remove_unused(folder: Path) -> None:
    # Folders of other users cannot be opened, and are theirs.
    with suppress(OSError):
        descriptor = os.open(folder / _LOCK_FILE, os.O_RDWR)
        try:
            if lock(descriptor):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(descriptor)
