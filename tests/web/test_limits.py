"""An endpoint that is asked too much says so, and answers again when it can."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.web_client import WebClient

from graphfilter.util.errors import GraphFilterError
from graphfilter.web.endpoint import Endpoint, Limits

ONE = {"vertices": [{"features": {"age": 0.4, "size": 1.0, "colour": "red"}}]}


@pytest.fixture
def gate(scorer, monkeypatch) -> Iterator[threading.Semaphore]:
    """Hold every computation until it is let through."""
    passes = threading.Semaphore(0)
    score = scorer.score_new

    def wait(vertices: Any) -> Any:
        assert passes.acquire(timeout=60)
        return score(vertices)

    monkeypatch.setattr(scorer, "score_new", wait)
    yield passes
    passes.release(100)


def test_more_requests_than_may_wait_are_told_to_come_again(scorer, gate) -> None:
    with Endpoint(scorer, limits=Limits(waiting=3)) as endpoint, ThreadPoolExecutor(4) as pool:
        ask = WebClient(endpoint.url)
        sent = [pool.submit(ask, "POST", "/score", ONE) for _ in range(4)]
        refused = next(_refused(sent))
        assert refused.status == 429
        assert int(refused.headers["retry-after"]) > 0
        assert refused.json["remedy"]
        # Known vertices need no computing.
        assert ask("POST", "/score", {"ids": ["v1"]}).status == 200
        gate.release(3)
        assert sorted(one.result().status for one in sent) == [200, 200, 200, 429]
        gate.release()
        assert ask("POST", "/score", ONE).status == 200


def _refused(sent: list[Any]) -> Iterator[Any]:
    from concurrent.futures import as_completed

    for one in as_completed(sent, timeout=60):
        yield one.result()


def test_computation_that_takes_too_long_is_answered_in_time(scorer, gate) -> None:
    with Endpoint(scorer, limits=Limits(seconds=0.05, waiting=1)) as endpoint:
        ask = WebClient(endpoint.url)
        reply = ask("POST", "/score", ONE)
        assert reply.status == 503
        assert "within 0.05 seconds" in reply.json["error"]
        assert int(reply.headers["retry-after"]) > 0
        # It is still being computed, and counts.
        assert ask("POST", "/score", ONE).status == 429
        gate.release(100)


def test_error_of_our_own_is_told_as_json(scorer, monkeypatch) -> None:
    def fail(vertices: Any) -> Any:
        raise RuntimeError("a bug")

    monkeypatch.setattr(scorer, "score_new", fail)
    with Endpoint(scorer) as endpoint:
        ask = WebClient(endpoint.url)
        reply = ask("POST", "/score", ONE)
        assert reply.status == 500
        assert set(reply.json) == {"error", "remedy"}
        assert "a bug" not in reply.json["error"]
        assert ask("GET", "/health").json["status"] == "ok"


@pytest.mark.parametrize("change", [{"bytes": 0}, {"vertices": 0}, {"seconds": 0}, {"waiting": -1}])
def test_limits_must_be_positive(change: dict[str, Any]) -> None:
    with pytest.raises(GraphFilterError, match="must be"):
        Limits(**change).check()
