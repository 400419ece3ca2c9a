"""graphfilter studio: a page on this machine to train a filter and watch it take shape."""

# Annotations of fields are evaluated here: typer reads them.
from dataclasses import dataclass, replace
from typing import ClassVar

from graphfilter.cli.options import option_field
from graphfilter.cli.screen import say, tell
from graphfilter.cli.sources import GraphOptions


@dataclass(frozen=True, kw_only=True)
class Studio(GraphOptions):
    """Train filters on a local web page, and watch them while they learn.

    Choose an embedded dataset, or upload two tables; compare runs with other operators, depths
    and starting values; download them as graphfilter fit would have written them. Nothing leaves
    this machine, and only this machine can see the page.

    Example:  graphfilter studio --dataset bipartite

    Attributes
    ----------
    port : N
        Port; 0 for any free one.
    upload_limit : N
        Largest table to upload, in MB.
    browser
        Open the page in a browser.
    """

    first: ClassVar[str] = "edges vertices label dataset port"
    port: int = option_field(0, min=0, max=65535)
    upload_limit: int | None = option_field(None, min=1, show_default="64")
    browser: bool = True

    def __call__(self) -> None:
        """Read the graph that is named, if any; serve the page until stopped."""
        import webbrowser

        from graphfilter.web.server import serve
        from graphfilter.web.studio import UPLOAD_LIMIT_MB, Studio

        source, words = None, self.words(GraphOptions)
        if words:
            source = replace(self.read(), words=words)
        limit = self.upload_limit or UPLOAD_LIMIT_MB
        running = Studio(source, port=self.port, upload_limit_mb=limit)

        def announce() -> None:
            say(f"The studio is at {running.url}")
            notes = ["press Ctrl-C to stop it; runs that were not downloaded are then lost."]
            tell(notes, quiet=self.quiet)
            if self.browser:
                webbrowser.open(running.url)

        serve(running, announce)
