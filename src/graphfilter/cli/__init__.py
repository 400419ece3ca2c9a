"""The command line: the only part of the package that prints.

Results go to standard output; progress, notes and errors to standard error. What a command needs
is imported when it runs: ``--help`` waits for neither torch nor a dataset.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import NoReturn

NO_MEMORY = (
    "not enough memory for this graph with these settings. Free some, raise a limit (ulimit -v), "
    "or ask for less: fit --dry-run says what it takes."
)


def main() -> NoReturn:
    """Run a command; bad input ends in one line on standard error and exit code 2."""
    from graphfilter.cli.screen import complain, end_stopped, prepare_streams, tell

    prepare_streams()
    from graphfilter.util.errors import GraphFilterError
    from graphfilter.util.machine import prepare_threads

    code = 2
    try:
        # Before torch loads, which reads it once.
        prepare_threads()
        from graphfilter.cli.app import run_command

        code = run_command(sys.argv[1:])
    except GraphFilterError as error:
        # What was found and guessed until then: often the cause.
        tell(getattr(error, "__notes__", ()), quiet="--quiet" in sys.argv)
        complain(str(error))
    except KeyboardInterrupt as stop:
        code = end_stopped(stop)
    except (MemoryError, RuntimeError, ImportError) as error:
        # The last two are what torch, and a library that cannot be loaded, say in its place.
        if not isinstance(error, MemoryError) and not says_no_memory(error):
            raise
        code = _end_without_memory(error)
    except BrokenPipeError:
        # The reader has closed the pipe. Nothing is left to flush into it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 0
    except OSError as error:
        tell(getattr(error, "__notes__", ()))
        where = f"{error.filename}: " if error.filename else ""
        too_many = error.errno in (errno.EMFILE, errno.ENFILE)
        remedy = " Raise the limit of open files (ulimit -n)." if too_many else ""
        complain(f"{where}{error.strerror or error}.{remedy}")
    sys.exit(code)


def _end_without_memory(error: BaseException) -> int:
    """Say that memory is spent, in whatever is left of it; return the exit code."""
    from graphfilter.cli.screen import complain, tell

    try:
        tell(getattr(error, "__notes__", ()))
        complain(NO_MEMORY)
    except MemoryError:
        os.write(2, f"error: {NO_MEMORY}\n".encode())
    return 1


def says_no_memory(error: Exception) -> bool:
    """Return whether an error of another kind is about memory that could not be had.

    >>> says_no_memory(ImportError("libx.so: failed to map segment from shared object"))
    True
    >>> says_no_memory(RuntimeError("CUDA error: an illegal memory access was encountered"))
    False
    """
    signs = ("allocate", "failed to map segment", "out of memory", "enough memory")
    return any(sign in str(error).lower() for sign in signs)
