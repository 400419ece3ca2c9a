"""Connections that are opened and hardly used: closed, so that they keep nobody else out."""

from __future__ import annotations

import functools
import importlib
from typing import Any

# Connections at a time; one more is closed.
MOST_CONNECTIONS = 1000


@functools.cache
def prompt_protocol(seconds: float) -> type[Any]:
    """Return uvicorn's protocol with a limit on the time between two requests.

    uvicorn itself waits without end for the rest of a request line or of a header. The time runs
    from the start of a connection, or the first byte after an answer, to the end of the headers;
    that of the body is limited where it is read.
    """
    base: Any = importlib.import_module("uvicorn.protocols.http.h11_impl").H11Protocol

    class PromptProtocol(base):
        _late: Any = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > MOST_CONNECTIONS:
                transport.close()
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_watch()
            super().connection_lost(exc)

        def _watch(self) -> None:
            if self.cycle is not None and not self.cycle.response_complete:
                self._stop_watch()
            elif self._late is None:
                self._late = self.loop.call_later(seconds, self.transport.close)

        def _stop_watch(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None

    return PromptProtocol
