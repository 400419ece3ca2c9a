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
app.command("demo", cls=Command)(demo.demo)
app.command("inspect", cls=Command)(inspect.inspect)
app.command("fit", cls=Command)(fit.fit)
app.command("explain", cls=Command)(explain.explain)
app.command("predict", cls=Command)(predict.predict)
app.command("suggest", cls=Command)(suggest.suggest)
app.command("serve", cls=Command)(serve.serve)
app.command("store", cls=Command)(store.store)
app.command("studio", cls=Command)(studio.studio)
app.command("table", cls=Command)(table.table)
app.command("search", cls=Command)(search.search)
app.command("reproduce", cls=Command)(reproduce.reproduce)
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
