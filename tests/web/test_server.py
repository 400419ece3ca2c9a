"""What serving does to its process while it lasts."""

from __future__ import annotations

import gc

import pytest

from graphfilter.web.server import Service, serve


class Ended(Service):
    """A service that has ended as soon as it is started."""

    def __init__(self) -> None:
        self.seconds_to_end = 60.0

    def start(self) -> None: ...

    def wait(self, seconds: float | None = None) -> bool:
        return True

    def close(self) -> None: ...

    def abandon(self) -> None: ...


def test_what_was_there_is_not_collected_at_every_request() -> None:
    frozen: list[int] = []
    serve(Ended(), lambda: frozen.append(gc.get_freeze_count()))
    assert frozen[0] > 1000
    assert gc.get_freeze_count() == 0


def test_server_may_have_as_many_files_as_connections() -> None:
    resource = pytest.importorskip("resource", reason="limits are those of Unix")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    found: list[int] = []
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
        serve(Ended(), lambda: found.append(resource.getrlimit(resource.RLIMIT_NOFILE)[0]))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert found == [1000 if before[1] < 0 else min(1000, before[1])]
