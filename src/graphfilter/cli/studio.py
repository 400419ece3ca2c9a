"""graphfilter studio: a page on this machine to train a filter and watch it take shape."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from graphfilter.cli import sources
from graphfilter.cli.screen import say, tell
from graphfilter.cli.sources import column_choices, read_source
from graphfilter.run_folder import Source
from graphfilter.studio.server import UPLOAD_LIMIT_MB, Studio, serve


def studio(
    edges: sources.Edges = None,
    vertices: sources.Vertices = None,
    dataset: sources.DatasetName = None,
    graph: sources.GraphFile = None,
    label: sources.Label = None,
    port: Annotated[int, typer.Option(help="0 takes any that is free.", min=0, max=65535)] = 0,
    upload_limit: Annotated[
        int, typer.Option(help="Largest table to upload, in MB.", min=1)
    ] = UPLOAD_LIMIT_MB,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    quiet: sources.Quiet = False,
) -> None:
    """Train filters on a page of your own machine, and watch them take shape.

    Choose an embedded dataset, or upload two tables; compare runs with other operators, depths
    and starting values; download them as graphfilter fit would have written them. Nothing leaves
    this machine, and only this machine can see the page.

    Example:  graphfilter studio --dataset bipartite
    """
    found, arguments = _start(edges, vertices, dataset, graph, label, quiet)
    running = Studio(found, arguments, port=port, upload_limit_mb=upload_limit)

    def announce() -> None:
        say(f"The studio is at {running.url}")
        tell(["press Ctrl-C to end it; runs that were not downloaded are lost then."], quiet=quiet)
        if browser:
            webbrowser.open(running.url)

    serve(running, announce)


def _start(
    edges: Path | None,
    vertices: Path | None,
    dataset: str | None,
    graph: Path | None,
    label: str | None,
    quiet: bool,
) -> tuple[Source | None, tuple[str, ...]]:
    """Read the graph that was named, if one was, and repeat the words that named it."""
    named = {"--edges": edges, "--vertices": vertices, "--dataset": dataset, "--graph": graph}
    given = [(option, str(value)) for option, value in named.items() if value is not None]
    if not given:
        return None, ()
    columns = column_choices(
        id=None, label=label, source=None, target=None, weight=None
    )  # fmt: skip
    found = read_source(
        edges=edges, vertices=vertices, dataset=dataset, graph=graph, columns=columns, quiet=quiet
    )
    given += [] if label is None else [("--label", label)]
    return found, tuple(word for pair in given for word in pair)
