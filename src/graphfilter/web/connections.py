"""Connections that are opened and hardly used: closed, so that they keep nobody else out.

One whose bytes are no HTTP is told so in JSON, as of everything else that is wrong.
"""

from __future__ import annotations

import functools
import importlib
import json
import math
from typing import Any

# Stands for uvicorn's protocol, which is not imported before it is used.
_Protocol: Any = object

# Connections at a time; one more is closed.
MOST_CONNECTIONS = 500
# Bytes of answers that nobody takes, of all connections; one more that is not taken is closed.
MOST_UNTAKEN = 256 << 20
_NO_HTTP = json.dumps({
    "error": "a request must be HTTP/1.1 with a Host and at most 64 KiB of headers; this is not.",
    "remedy": "Send it with a client for HTTP, to an address that begins with http://.",
}).encode()  # fmt: skip


@functools.cache
def prompt_protocol(seconds: float, seconds_to_take: float) -> type[Any]:
    """Return uvicorn's protocol with limits on the time between two requests and of an answer.

    uvicorn itself waits without end for the rest of a request line or of a header, and for a
    client that does not read. The time to send runs from the start of a connection, or the first
    byte after an answer, to the end of the headers; that of the body is limited where it is read.
    """
    base: Any = importlib.import_module("uvicorn.protocols.http.h11_impl").H11Protocol
    limits = {"seconds": seconds, "seconds_to_take": seconds_to_take}
    return type("PromptProtocol", (_Prompt, base), limits)


class _Prompt(_Protocol):
    seconds: float
    seconds_to_take: float
    _late: Any = None
    _untaken: Any = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        # Whatever the system does not take at once is waited for, and timed.
        transport.set_write_buffer_limits(high=0)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.close()
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watch()
        self._stop_waiting()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_for_less()
        others = (one.transport for one in self.connections if one is not self)
        if sum(other.get_write_buffer_size() for other in others) > MOST_UNTAKEN:
            self.transport.abort()

    def _wait_for_less(self, than: float = math.inf) -> None:
        if (size := self.transport.get_write_buffer_size()) >= than:
            self.transport.abort()
        else:
            self._untaken = self.loop.call_later(self.seconds_to_take, self._wait_for_less, size)

    def resume_writing(self) -> None:
        self._stop_waiting()
        super().resume_writing()

    def send_400_response(self, msg: str) -> None:
        if self.cycle is None or not self.cycle.response_started or self.cycle.response_complete:
            head = "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\n"
            head += f"Content-Length: {len(_NO_HTTP)}\r\nConnection: close\r\n\r\n"
            self.transport.write(head.encode() + _NO_HTTP)
        self.transport.close()

    def _watch(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_watch()
        elif self._late is None:
            self._late = self.loop.call_later(self.seconds, self.transport.close)

    def _stop_watch(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _stop_waiting(self) -> None:
        if self._untaken is not None:
            self._untaken.cancel()
            self._untaken = None
