"""Whether a file or a folder may be written to: checked before any work."""

from __future__ import annotations

from pathlib import Path

from graphfilter.errors import ConfigError
from graphfilter.storage.atomic import check_target

# Locks, temporary files of a killed process, a run under way: not the user's.
OWN = ".graphfilter-"
LOCK_FILE = f"{OWN}lock"


def check_file(path: Path, *, overwrite: bool) -> None:
    """Raise where a file is in the way, or no folder is there to write it to."""
    check_target(path)
    if path.exists() and not overwrite:
        raise ConfigError(f"{path}: exists; pass `overwrite=True` to replace it, or another name.")
    if not path.parent.is_dir():
        raise ConfigError(f"{path.parent}: there is no such folder to write {path.name} to.")


def files_in(folder: Path, *written: str) -> set[str]:
    """Return the names of what a user has in a folder, if it is there; raise where it is a file.

    Raise too where something else than a file has a name that is to be written there (patterns).
    """
    if not folder.exists():
        return set()
    if not folder.is_dir():
        raise ConfigError(f"{folder}: a file is in the way; give the name of a folder.")
    for path in (path for name in (*written, LOCK_FILE) for path in folder.glob(name)):
        check_target(path)
    return {path.name for path in folder.iterdir() if not path.name.startswith(OWN)}
