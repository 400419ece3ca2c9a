"""The command ``graphfilter``, and ``python -m graphfilter``.

Imports next to nothing, so that Ctrl-C ends in one line from the first moment on.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn


def main() -> NoReturn:
    """Run the command line; a signal ends it in one line, never in a traceback."""
    signals = (signal.SIGINT, signal.SIGTERM)
    for number in signals:
        signal.signal(number, _stop)
    try:
        from graphfilter.cli import main as run

        run()
    finally:
        # All output is written: while Python shuts down, a signal just ends it.
        for number in signals:
            signal.signal(number, signal.SIG_DFL)


def _stop(number: int, frame: FrameType | None) -> None:
    """Interrupt the work, or exit at once while something is being imported.

    Libraries that are interrupted while they load turn that into errors of their own.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            word = "interrupted" if number == signal.SIGINT else "terminated"
            os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, f"error: {word}.\n".encode())
            os._exit(128 + number)
        frame = frame.f_back
    raise KeyboardInterrupt(number)


if __name__ == "__main__":
    main()
