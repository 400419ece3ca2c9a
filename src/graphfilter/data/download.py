"""Downloads of one file, its checksum verified, or an error that says what to put where."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from graphfilter.data.families import RemoteFile
from graphfilter.errors import DataFileError

Progress = Callable[[str, int, int], None]
TIMEOUT_S = 30


def download(
    file: RemoteFile, folder: Path, target: Path, progress: Progress | None, name: str = ""
) -> None:
    """Fetch one file completely and verify its checksum, or raise.

    ``name`` is what the dataset's file is called in a data folder, where not as ``target`` is.
    """
    import pooch

    path = folder / file.path
    bar: Any = False if progress is None else _Bar(path.name, progress)
    responses: list[Any] = []

    def remember(response: Any, *_: Any, **__: Any) -> None:
        responses.append(response)

    hooks = {"response": remember}
    downloader: Any = pooch.HTTPDownloader(timeout=TIMEOUT_S, progressbar=bar, hooks=hooks)
    known = None if file.sha256 is None else f"sha256:{file.sha256}"
    try:
        with _quiet(pooch.get_logger()):
            pooch.retrieve(file.url, known, path.name, path.parent, downloader=downloader)
    except OSError as error:
        raise DataFileError(
            file.url,
            f"cannot be downloaded ({_reason(error)}). Try again later; or, without a network, "
            f"load the dataset on a machine that has one and copy {target.name} from the cache "
            f"there to {target}; or put the converted {target.name} in a folder"
            f"{f' as {name}' if name else ''} and set GRAPHFILTER_DATA to it.",
        ) from None
    except ValueError as error:
        raise DataFileError(
            file.url,
            f"is not the expected file ({error}). Nothing was kept. Try again; if it persists, "
            "the source has changed.",
        ) from error
    finally:
        # pooch leaves the connection of a failed download open until it is collected.
        for response in responses:
            response.close()


def _reason(error: BaseException) -> str:
    """Return the root cause of a failed download: the layers above only repeat it."""
    while cause := error.__cause__ or error.__context__:
        error = cause
    return str(getattr(error, "strerror", None) or error)


class _Bar:
    """What pooch takes for a progress bar; passes the numbers on to a callable."""

    def __init__(self, name: str, progress: Progress) -> None:
        self._name, self._progress = name, progress
        self._done = self.total = 0

    def update(self, n: int) -> None:
        self._done = min(self._done + n, self.total) if self.total else self._done + n
        self._progress(self._name, self._done, self.total)

    def reset(self) -> None:
        self._done = 0

    def close(self) -> None:
        """Do nothing: whoever shows the numbers closes what shows them."""


@contextmanager
def _quiet(logger: logging.Logger) -> Generator[None]:
    """Keep pooch from printing what it does: the caller shows progress."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
