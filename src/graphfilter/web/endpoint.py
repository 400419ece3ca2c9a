"""Serving a scorer: on this machine only unless said otherwise, and then with a token."""

from __future__ import annotations

import ipaddress
import secrets
from contextlib import ExitStack
from pathlib import Path

from graphfilter.util.errors import ConfigError
from graphfilter.web.limits import Limits
from graphfilter.web.scorer import Scorer
from graphfilter.web.serve_app import Handlers, make_app
from graphfilter.web.server import LOOPBACK, Service, WebServer, listen

# A token shorter than this could be guessed.
_SHORTEST_TOKEN = 16
_SECONDS_TO_ANSWER = 5.0


class Endpoint(Service):
    """A running endpoint; a context manager that stops it.

    Parameters
    ----------
    scorer : Scorer
    host : str
        The address to listen on. Beyond this machine's own (127.0.0.1) a token is asked for.
    port : int
        0 takes any that is free.
    token : str, optional
        Asked for in every request; made where the address needs one.
    limits : Limits

    Attributes
    ----------
    url : str
    token : str or None
    """

    # Requests under way are answered, and what goes on for longer is given up.
    seconds_to_end = _SECONDS_TO_ANSWER + 1

    def __init__(
        self,
        scorer: Scorer,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        token: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        limits = limits or Limits()
        limits.check()
        local = _is_loopback(host)
        self.token = token if token or local else secrets.token_urlsafe(24)
        with ExitStack() as stack:
            listener = stack.enter_context(
                listen(port, host, what="graphfilter serve", extra="serve")
            )
            handlers = Handlers(scorer, limits, token=self.token is not None)
            stack.callback(handlers.close)
            self._stack = stack.pop_all()
        bound, number, *_ = listener.getsockname()
        # As clients write it, however it was given: 0:0:0:0:0:0:0:1 is [::1].
        own, *others = (
            f"[{name}]:{number}" if ":" in name else f"{name}:{number}"
            for name in (bound if ":" in host else host, bound, LOOPBACK, "localhost")
        )
        self.url = f"http://{own}"
        hosts = {own, *others} if local else None
        app = make_app(handlers, self.token, hosts)
        self._server = WebServer(app, listener, seconds_to_end=_SECONDS_TO_ANSWER)


def read_token(path: Path) -> str:
    """Read a token from a file, where no list of processes shows it."""
    try:
        token = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: the token cannot be read ({error}).") from None
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or any(c.isspace() for c in token):
        raise ConfigError(
            f"{path}: a token must be one word of {_SHORTEST_TOKEN} characters or more, letters "
            "and digits; it is not. Make one with: openssl rand -hex 24"
        )
    return token


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
