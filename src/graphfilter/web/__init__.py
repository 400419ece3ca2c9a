"""Serving pages and requests from this machine: what the studio and the endpoint of a run share.

- :mod:`.server`: the socket, the thread that serves, the end by Ctrl-C or SIGTERM;
- :mod:`.connections`: connections that send too slowly are closed;
- :mod:`.requests`: who may ask, how much and how slowly a body may be sent, JSON in and out.

It knows no graph and no model.
"""

from graphfilter.web.requests import (
    HEADERS as HEADERS,
    PATIENCE as PATIENCE,
    BodySizeError as BodySizeError,
    SlowBodyError as SlowBodyError,
    as_json as as_json,
    is_own_host as is_own_host,
    is_right_token as is_right_token,
    parse_json as parse_json,
    read_body as read_body,
    with_headers as with_headers,
)
from graphfilter.web.server import (
    LOOPBACK as LOOPBACK,
    Service as Service,
    WebServer as WebServer,
    listen as listen,
    serve as serve,
)
