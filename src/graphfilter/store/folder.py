"""The folder of a store: who may write to it, and what is in the way."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from graphfilter.errors import ConfigError
from graphfilter.storage import LOCK_FILE, files_in, locked, make_folder
from graphfilter.store.header import HEADER_FILE, is_store


def check_folder(folder: Path, overwrite: bool) -> Path:
    """Return the folder for a store; raise where another file, folder or store is in the way."""
    present = files_in(folder, HEADER_FILE, "*.bin")
    if (folder / HEADER_FILE).exists():
        if not overwrite:
            raise ConfigError(f"{folder}: holds a store; pass `overwrite=True` to replace it.")
    elif not is_store(folder) and present:
        raise ConfigError(f"{folder}: exists and is not empty; give another folder.")
    return folder


@contextmanager
def replacing(folder: Path, overwrite: bool) -> Generator[None]:
    """Hold a folder for writing a store to it: one process at a time, and no store until the end.

    A graph that another process has opened there stays as it is: files are replaced, not changed.
    """
    make_folder(folder)
    busy = f"{folder}: another process is building it; wait for it, or give another folder."
    with locked(folder / LOCK_FILE, busy):
        # Another process may have built it since it was looked at.
        check_folder(folder, overwrite)
        (folder / HEADER_FILE).unlink(missing_ok=True)
        yield
