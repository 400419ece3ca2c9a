"""graphfilter studio: a page on this machine to train a filter and watch it take shape."""

from __future__ import annotations

from typing import Annotated

from graphfilter.cli.options import option, takes
from graphfilter.cli.screen import say, tell
from graphfilter.cli.sources import GraphOptions


@takes(GraphOptions, first="edges vertices label dataset port")
def studio(
    given: GraphOptions,
    port: Annotated[int, option("Port; 0 for any free one.", "N", min=0, max=65535)] = 0,
    upload_limit: Annotated[
        int | None, option("Largest table to upload, in MB.", "N", min=1, show_default="64")
    ] = None,
    browser: Annotated[bool, option("Open the page in a browser.")] = True,
) -> None:
    """Train filters on a local web page, and watch them while they learn.

    Choose an embedded dataset, or upload two tables; compare runs with other operators, depths
    and starting values; download them as graphfilter fit would have written them. Nothing leaves
    this machine, and only this machine can see the page.

    Example:  graphfilter studio --dataset bipartite
    """
    import webbrowser

    from graphfilter.web.server import serve
    from graphfilter.web.studio import UPLOAD_LIMIT_MB, Studio

    running = Studio(
        given.read() if given.words() else None,
        port=port,
        upload_limit_mb=upload_limit or UPLOAD_LIMIT_MB,
    )

    def announce() -> None:
        say(f"The studio is at {running.url}")
        notes = ["press Ctrl-C to stop it; runs that were not downloaded are then lost."]
        tell(notes, quiet=given.quiet)
        if browser:
            webbrowser.open(running.url)

    serve(running, announce)
