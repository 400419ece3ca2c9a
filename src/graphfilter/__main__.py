"""The command ``graphfilter``, and ``python -m graphfilter``.

Imports next to nothing, so that Ctrl-C ends in one line from the first moment on.
"""

from __future__ import annotations

import atexit
import gc
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
    end = _End()
    # A command makes few cycles, but imports many objects, which every collection goes through.
    gc.set_threshold(10_000, 20, 20)
    try:
        from graphfilter.cli import main as run

        run()
    except SystemExit as done:
        end.code = done.code
        raise
    finally:
        # All output is written: while Python shuts down, a signal just ends it.
        for number in signals:
            signal.signal(number, signal.SIG_DFL)


class _End:
    """Ends the process when all is done that Python does before it takes itself apart.

    What it would do then is of no use to a command, and dangerous: a thread of a library (Arrow,
    DuckDB, gloo) that lets go of a Python object at that time aborts the process. Registered
    first, this is called last, after threads were waited for and other handlers were called.
    """

    def __init__(self) -> None:
        self.code: object = 1
        atexit.register(self)

    def __call__(self) -> None:
        if not isinstance(self.code, int):
            return
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()
        except (OSError, ValueError):
            return  # Python itself complains of what cannot be written.
        os._exit(self.code)


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
