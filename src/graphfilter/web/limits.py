"""How much may be asked of an endpoint, and the errors that a request can cause."""

from __future__ import annotations

from dataclasses import dataclass, fields

from graphfilter.util.errors import GraphFilterError, check_count, check_number


@dataclass(frozen=True)
class Limits:
    """What one request may hold and take.

    Attributes
    ----------
    bytes : int
        Of a body.
    vertices : int
        Known and new ones, per request.
    seconds : float
        For a request with new vertices, from its arrival to its answer.
    waiting : int
        Requests with new vertices at a time; they are computed one after another.
    """

    bytes: int = 1 << 20
    vertices: int = 1000
    seconds: float = 30.0
    waiting: int = 64

    def check(self) -> None:
        """Raise where a limit is not positive."""
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name != "seconds":
                check_count(field.name, value, most=2**63)
            elif check_number("seconds", value) <= 0:
                raise GraphFilterError(f"seconds must be positive; got {value}.")


class RequestError(GraphFilterError):
    """A request that cannot be answered.

    Attributes
    ----------
    status : int
        Of HTTP.
    remedy : str
        What to do instead.
    wait : int or None
        Seconds after which to try again, where that helps.
    """

    def __init__(self, status: int, message: str, remedy: str, *, wait: int | None = None) -> None:
        super().__init__(message)
        self.status, self.remedy, self.wait = status, remedy, wait
