"""The commands, one module each. Their modules import what they need when they run."""

from __future__ import annotations

import typer

from graphfilter.cli import (
    bench,
    data,
    demo,
    explain,
    fit,
    inspect,
    predict,
    reproduce,
    search,
    serve,
    store,
    studio,
    suggest,
    table,
)
from graphfilter.cli.help import Command, Group
from graphfilter.version import __version__

app = typer.Typer(
    name="graphfilter",
    help="Label the vertices of a graph with a filter that is learned, not assumed.",
    epilog="Start with: graphfilter demo --out demo",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    cls=Group,
)
for command in (
    demo.demo, inspect.inspect, fit.fit, explain.explain, predict.predict, suggest.suggest,
    serve.serve, store.store, studio.studio, table.table, search.search, reproduce.reproduce,
):  # fmt: skip
    app.command(command.__name__, cls=Command)(command)
app.add_typer(data.app, name="data")
app.add_typer(bench.app, name="bench")


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
