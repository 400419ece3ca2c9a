"""graphfilter serve: score vertices over HTTP with the model of a run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from graphfilter.cli.explain import with_origin
from graphfilter.cli.options import argument, option_field, takes
from graphfilter.cli.screen import say, tell, waiting
from graphfilter.cli.sources import GraphOptions

if TYPE_CHECKING:
    from graphfilter.data.graph import Graph
    from graphfilter.runs.loading import RunDescription
    from graphfilter.tables.encoder import TableEncoder

LIMITS = "More: limits"


@dataclass(frozen=True)
class ServeOptions:
    """Say where to listen, who may ask, and how much at once."""

    host: str = option_field(
        "127.0.0.1", "Address to listen on. Requests from other machines need a token.", "ADDRESS"
    )
    port: int = option_field(8000, "Port; 0 for any free one.", "N", min=0, max=65535)
    token_file: Path | None = option_field(
        None,
        "File with the token that requests must carry. Default: one is made and printed if needed.",
        "FILE",
    )
    within: int | None = option_field(
        None,
        "Score new vertices on the vertices at most so many edges away: faster on large "
        "graphs, and an approximation, which the answer says. Default: the whole graph.",
        "N",
        min=1,
        show_default=False,
    )
    most_vertices: int = option_field(1000, "Most vertices per request.", "N", LIMITS, min=1)
    most_mb: int = option_field(1, "Largest request, in MB.", "N", LIMITS, min=1)
    seconds: float = option_field(
        30.0, "Longest time for a request with new vertices.", "SECONDS", LIMITS
    )
    most_waiting: int = option_field(
        64, "Most requests with new vertices at once, computed in turn.", "N", LIMITS, min=1
    )


@takes(GraphOptions, ServeOptions, first="host port token_file")
def serve(
    given: GraphOptions,
    how: ServeOptions,
    run: Annotated[Path, argument("The folder that fit wrote.", "RUN")],
) -> None:
    """Score vertices over HTTP: known ones by id, new ones by their features and neighbours.

    POST /score takes and returns JSON; /docs describes the requests, /openapi.json does so for
    programs. Only this machine can send requests, unless --host names another address; then every
    request needs a token. The answers are those of graphfilter predict.

    Without tables, the graph saved with the run is used; if there is none, the tables of the run
    are read again.

    Example:  graphfilter serve run
    """
    from graphfilter.runs.loading import load_run
    from graphfilter.web.endpoint import Endpoint, read_token
    from graphfilter.web.limits import Limits
    from graphfilter.web.scorer import Scorer
    from graphfilter.web.server import serve as serve_until_stopped

    limits = Limits(how.most_mb << 20, how.most_vertices, how.seconds, how.most_waiting)
    limits.check()
    token = None if how.token_file is None else read_token(how.token_file)
    estimator, about, encoder = load_run(run)
    graph = _take_graph(given, run, about, encoder)
    with waiting("scoring the vertices of the graph", quiet=given.quiet):
        scorer = Scorer(estimator, about, encoder, graph, how.within)
    running = Endpoint(scorer, host=how.host, port=how.port, token=token, limits=limits)

    def announce() -> None:
        say(f"Serving {run} at {running.url}")
        if running.token is not None and token is None:
            say(f"Requests must carry the header Authorization: Bearer {running.token}")
        notes = [f"{running.url}/docs describes the requests.", "press Ctrl-C to stop it."]
        tell(notes, quiet=given.quiet)

    serve_until_stopped(running, announce)


def _take_graph(
    given: GraphOptions, run: Path, about: RunDescription, encoder: TableEncoder | None
) -> Graph:
    """Return the graph that was named, the one kept with the run, or the one it was made from."""
    from graphfilter.runs.loading import read_kept_graph
    from graphfilter.util.words import count

    if given.words() or not about.graph_sha256:
        return with_origin(given, about).read(encoder=encoder, like=about.columns).graph
    graph = read_kept_graph(run, about)
    size = f"{count(graph.n_vertices, 'vertex', 'vertices')}, {count(graph.n_edges, 'edge')}"
    tell([f"using the graph saved with the run: {size}."], quiet=given.quiet)
    return graph
