"""Serving pages and requests from this machine: what the studio and the endpoint of a run share.

- :mod:`.server`: the socket, the thread that serves, the end by Ctrl-C or SIGTERM;
- :mod:`.connections`: connections that send too slowly are closed;
- :mod:`.requests`: who may ask, how much and how slowly a body may be sent, JSON in and out.

It knows no graph and no model.
"""

from graphfilter.web.requests import (
    HEADERS,
    PATIENCE,
    BodySizeError,
    SlowBodyError,
    as_json,
    is_own_host,
    is_right_token,
    parse_json,
    read_body,
    with_headers,
)
from graphfilter.web.server import (
    LOOPBACK,
    Service,
    WebServer,
    listen,
    serve,
)

__all__ = [
    "HEADERS",
    "LOOPBACK",
    "PATIENCE",
    "BodySizeError",
    "Service",
    "SlowBodyError",
    "WebServer",
    "as_json",
    "is_own_host",
    "is_right_token",
    "listen",
    "parse_json",
    "read_body",
    "serve",
    "with_headers",
]
