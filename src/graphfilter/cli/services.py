"""graphfilter serve and studio: a run behind HTTP, and a page for a table."""

# Annotations of fields are evaluated here: typer reads them.
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from graphfilter.cli.app import option_field
from graphfilter.cli.screen import say, tell, waiting
from graphfilter.cli.sources import GraphOptions, RunOptions
from graphfilter.util.words import count

if TYPE_CHECKING:
    from graphfilter.data.graph import Graph
    from graphfilter.runs.loading import RunDescription
    from graphfilter.tables.encoder import TableEncoder

LIMITS = "More: limits"


@dataclass(frozen=True, kw_only=True)
class Serve(RunOptions):
    """Score vertices over HTTP: known ones by id, new ones by their features and neighbours.

    POST /score takes and returns JSON; /docs describes the requests, /openapi.json does so for
    programs. Only this machine can send requests, unless --host names another address; then every
    request needs a token. The answers are those of graphfilter predict.

    Without tables, the graph saved with the run is used; if there is none, the tables of the run
    are read again.

    Example:  graphfilter serve run

    Attributes
    ----------
    host : ADDRESS
        Address to listen on. Requests from other machines need a token.
    port : N
        Port; 0 for any free one.
    token_file : FILE
        File with the token that requests must carry. Default: one is made and printed if needed.
    within : N
        Score new vertices on the vertices at most so many edges away: faster on large graphs, and
        an approximation, which the answer says. Default: the whole graph.
    most_vertices : N
        Most vertices per request.
    most_mb : N
        Largest request, in MB.
    seconds : SECONDS
        Longest time for a request with new vertices.
    most_waiting : N
        Most requests with new vertices at once, computed in turn.
    """

    first: ClassVar[str] = "host port token_file"
    host: str = "127.0.0.1"
    port: int = option_field(8000, min=0, max=65535)
    token_file: Path | None = None
    within: int | None = option_field(None, min=1, show_default=False)
    most_vertices: int = option_field(1000, LIMITS, min=1)
    most_mb: int = option_field(1, LIMITS, min=1)
    seconds: float = option_field(30.0, LIMITS)
    most_waiting: int = option_field(64, LIMITS, min=1)

    def __call__(self) -> None:
        """Load the model and its graph, score the graph once, and serve until stopped."""
        from graphfilter.web.endpoint import Endpoint, Limits, Scorer, read_token
        from graphfilter.web.server import serve

        limits = Limits(self.most_mb << 20, self.most_vertices, self.seconds, self.most_waiting)
        limits.check()
        token = None if self.token_file is None else read_token(self.token_file)
        estimator, about, encoder = self.load()
        graph, folder = self._take_graph(about, encoder)
        with waiting("scoring the vertices of the graph", quiet=self.quiet):
            scorer = Scorer(estimator, about, encoder, graph, self.within, folder)
        running = Endpoint(scorer, host=self.host, port=self.port, token=token, limits=limits)

        def announce() -> None:
            say(f"Serving {self.run} at {running.url}")
            if running.token is not None and token is None:
                say(f"Requests must carry the header Authorization: Bearer {running.token}")
            notes = [
                f"{running.url}/docs describes the requests, {running.url}/why says why.",
                "press Ctrl-C to stop it.",
            ]
            tell(notes, quiet=self.quiet)

        serve(running, announce)

    def _take_graph(
        self, about: "RunDescription", encoder: "TableEncoder | None"
    ) -> "tuple[Graph, Path | None]":
        """Return the graph that was named or that the run was made from; or the one kept with it,
        and its folder where it keeps what was answered, too.
        """
        from graphfilter.runs.loading import read_kept_graph

        if self.words(GraphOptions) or not about.graph_sha256:
            return self.read_as(about, encoder), None
        graph = read_kept_graph(self.run, about)
        n, m = count(graph.n_vertices, "vertex", "vertices"), count(graph.n_edges, "edge")
        tell([f"using the graph saved with the run: {n}, {m}."], quiet=self.quiet)
        return graph, self.run if about.cases_sha256 else None


@dataclass(frozen=True, kw_only=True)
class Studio(GraphOptions):
    """Fit tables on a local web page: drop them, see how each column was read, fit, watch.

    Nothing leaves this machine, and only this machine can see the page. Runs can be downloaded as
    graphfilter fit would have written them.

    Example:  graphfilter studio

    Example:  graphfilter studio --vertices vertices.csv --edges edges.csv

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
