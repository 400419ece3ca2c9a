"""The command line: the only part of the package that prints.

Results go to standard output; progress, notes and errors to standard error.
"""

from __future__ import annotations

import sys

import typer

from graphfilter.cli import bench, data, demo, fit, inspect, predict, reproduce, search, studio
from graphfilter.cli.screen import complain
from graphfilter.errors import GraphFilterError
from graphfilter.version import __version__

EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130
NO_MEMORY = "not enough memory for this graph in this setting."

app = typer.Typer(
    name="graphfilter",
    help="Label the vertices of a graph with a filter that is learned, not assumed.",
    epilog="Start with: graphfilter demo --out demo",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("fit")(fit.fit)
app.command("predict")(predict.predict)
app.command("inspect")(inspect.inspect)
app.command("studio")(studio.studio)
app.add_typer(data.app, name="data")
app.add_typer(bench.app, name="bench")
app.command("search")(search.search)
app.command("reproduce")(reproduce.reproduce)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"graphfilter {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Label the vertices of a graph with a filter that is learned, not assumed."""


def main() -> None:
    """Run a command; bad input ends in one line on standard error and exit code 2."""
    try:
        app()
    except GraphFilterError as error:
        complain(str(error))
        sys.exit(EXIT_BAD_INPUT)
    except KeyboardInterrupt:
        complain("interrupted.")
        sys.exit(EXIT_INTERRUPTED)
    except MemoryError:
        complain(NO_MEMORY)
        sys.exit(1)
    except RuntimeError as error:
        # What torch says in place of a MemoryError.
        if "allocate" not in str(error):
            raise
        complain(NO_MEMORY)
        sys.exit(1)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        complain(f"{where}{error.strerror or error}.")
        sys.exit(EXIT_BAD_INPUT)
