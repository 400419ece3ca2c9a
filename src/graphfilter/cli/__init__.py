"""The command line: the only part of the package that prints.

Results go to standard output; progress, notes and errors to standard error. What a command needs
is imported when it runs: ``--help`` waits for neither torch nor a dataset.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise
from typing import Any, NoReturn

EXIT_BAD_INPUT = 2
NO_MEMORY = (
    "not enough memory for this graph with these settings. Free some, raise a limit (ulimit -v), "
    "or ask for less: fit --dry-run says what it takes."
)


def main() -> NoReturn:
    """Run a command; bad input ends in one line on standard error and exit code 2."""
    from graphfilter.cli.screen import complain, end_stopped, prepare_streams, tell

    prepare_streams()
    from graphfilter.util.errors import GraphFilterError
    from graphfilter.util.machine import check_surroundings, prepare_threads

    code = EXIT_BAD_INPUT
    try:
        check_surroundings()
        # Before torch loads, which reads it once.
        prepare_threads()
        code = _run(sys.argv[1:])
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
        complain(f"{where}{error.strerror or error}.{_remedy(error)}")
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


def _remedy(error: OSError) -> str:
    import errno

    if error.errno in (errno.EMFILE, errno.ENFILE):
        return " Raise the limit of open files (ulimit -n)."
    return ""


def says_no_memory(error: Exception) -> bool:
    """Return whether an error of another kind is about memory that could not be had.

    >>> says_no_memory(ImportError("libx.so: failed to map segment from shared object"))
    True
    >>> says_no_memory(RuntimeError("CUDA error: an illegal memory access was encountered"))
    False
    """
    signs = ("allocate", "failed to map segment", "out of memory", "enough memory")
    return any(sign in str(error).lower() for sign in signs)


def _without_value(command: Any, words: list[str]) -> tuple[str, str] | None:
    """Return an option that needs a value, and the option that stands in its place, if any.

    The parser would take the name of the next option for the value.
    """
    names: dict[str, bool] = {}
    for word in words:
        command = getattr(command, "commands", {}).get(word, command)
    for option in command.params:
        needs_value = not getattr(option, "is_flag", True)
        # The name of an argument is no word of a command line.
        own = [name for name in (*option.opts, *option.secondary_opts) if name[:1] == "-"]
        names |= dict.fromkeys(own, needs_value)
    pairs = pairwise(words)
    return next((pair for pair in pairs if names.get(pair[0]) and pair[1] in names), None)


def _run(words: list[str]) -> int:
    """Run the command that these words name; return its exit code."""
    import typer

    from graphfilter.cli.app import app
    from graphfilter.cli.screen import complain

    # The parser's errors are all of this kind.
    usage_error: type[BaseException] = typer.BadParameter.__mro__[1]
    command = typer.main.get_command(app)
    if missing := _without_value(command, words):
        complain(f"{missing[0]} needs a value; got the option {missing[1]}.")
        return EXIT_BAD_INPUT
    try:
        with command.make_context("graphfilter", words) as context:
            command.invoke(context)
    except typer.Exit as stop:
        return stop.exit_code
    except usage_error as error:
        raised: Any = error
        path = raised.ctx.command_path if raised.ctx else "graphfilter"
        message = " ".join(raised.format_message().split())
        # Empty where a command without words has shown its help.
        if message:
            end = "" if message.endswith((".", "?")) else "."
            complain(f"{message}{end} See {path} --help.")
        return EXIT_BAD_INPUT
    return 0
