"""Whatever is sent, the answer is JSON with a message and a remedy, and the endpoint stays up."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from tests.web_client import Reply, WebClient

from graphfilter.web.endpoint import Limits, read_score_request
from graphfilter.web.server import RequestError

GOOD = {"age": 0.4, "size": 1.0, "colour": "red"}


def vertex(**changes: Any) -> dict[str, Any]:
    own = {"features": GOOD, "neighbours": ["v1"], **changes}
    return {"vertices": [{name: value for name, value in own.items() if value is not None}]}


def features(**changes: Any) -> dict[str, Any]:
    return vertex(features={**GOOD, **changes})


def check_error(reply: Reply, status: int, words: str) -> None:
    assert reply.status == status, reply.body
    assert set(reply.json) == {"error", "remedy"}
    assert words in reply.json["error"] + reply.json["remedy"]
    assert "\n" not in reply.json["error"]
    assert reply.json["remedy"]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"", 400, "must be JSON"),
        (b"{", 400, "must be JSON"),
        (b"[" * 50_000, 422, "Expected `object`, got `array`"),
        (b'{"vertices": [{"features": ' + b"[" * 10_000, 400, "recursion depth"),
        (b"\xff\xfe{}", 400, "must be JSON"),
        (b"[]", 422, "Expected `object`, got `array`"),
        (b"null", 422, "Expected `object`, got `null`"),
        (b'{"ids": [NaN]}', 400, "must be JSON"),
        (b'{"vertices": [{"features": {"age": Infinity}}]}', 400, "must be JSON"),
        (b'{"vertices": [{"features": {"age": 1e999}}]}', 422, "Number out of range"),
        (b'{"ids": ["\\ud800"]}', 400, "must be JSON"),
        (b'{"\xed\xa0\x80": [1]}', 400, "must be JSON"),
        (b'{"ids": [' + b"1" * 5000 + b"]}", 422, "out of range"),
    ],
)
def test_what_is_no_json_object_is_refused(
    ask: WebClient, body: bytes, status: int, words: str
) -> None:
    check_error(ask("POST", "/score", body=body), status, words)


@pytest.mark.parametrize(
    ("content", "status", "words"),
    [
        ({}, 422, "at least one vertex"),
        ({"ids": "v1"}, 422, "ids: Expected `array | null`, got `str`"),
        ({"ids": [True]}, 422, "ids[0]: Expected `int | str`, got `bool`"),
        ({"ids": ["v1"], "id": "v2"}, 422, "a request: Object contains unknown field `id`"),
        ({"ids": ["v1", "v99", "no"]}, 404, "it has no 'v99', 'no'."),
        ({"ids": ["v1"] * 21}, 422, "at most 20 vertices; got 21"),
        ({"vertices": ["a"]}, 422, "vertices[0]: Expected `object`, got `str`"),
        (vertex(features=None), 422, "vertices[0]: Object missing required field `features`"),
        (vertex(features=[1.0, 2.0]), 422, "must be an object; got a list"),
        (
            vertex(features={"age": 1.0}),
            422,
            'must hold every column of the fit, and no other; see "colour"',
        ),
        (features(colr="red"), 422, "did you mean 'colour'?"),
        (features(size={"a": 1}), 422, "must hold one number per row; got struct"),
        (features(size=[[1.0]]), 422, "must hold one number per row"),
        (features(size="1" * 9000), 422, "1" * 80 + " is infinite"),
        (features(size="large"), 422, "'large' is not a number"),
        (features(size=1e39), 422, "too large for float32"),
        (features(size=10**300), 422, "too large to convert"),
        (vertex(neighbours=["v99"]), 422, 'got "v99"'),
        (vertex(neighbours="v1"), 422, "neighbours: Expected `array | null`, got `str`"),
        (vertex(neighbours=[{"id": "v1", "weight": -1}]), 422, "weight: Expected `float` > 0.0"),
        (vertex(neighbours=[{"id": "v1", "weight": 2}]), 422, "must have weight 1"),
        (vertex(neighbours=[{"id": "v1", "kind": "call"}]), 422, "it has none"),
        (
            vertex(neighbours=[{"id": "v1", "direction": "up"}]),
            422,
            "direction: Invalid enum value 'up'",
        ),
        (vertex(neighbours=[{"weight": 1}]), 422, "[0]: Object missing required field `id`"),
        (vertex(id="v1"), 422, 'must have a new id; got "v1"'),
        (vertex(id="me", neighbours=["me"]), 422, "another vertex"),
        ({"vertices": [{"id": "a", "features": GOOD}] * 2}, 422, 'got "a" twice'),
        (
            {"vertices": [{"features": GOOD}, {"features": {**GOOD, "size": "1"}}]},
            422,
            "Could not convert '1'",
        ),
    ],
)
def test_what_cannot_be_answered_is_refused(
    ask: WebClient, content: Any, status: int, words: str
) -> None:
    check_error(ask("POST", "/score", content), status, words)
    assert ask("POST", "/score", {"ids": ["v1"]}).status == 200


def test_body_beyond_the_limit_is_refused(ask: WebClient) -> None:
    content = {"ids": ["v1"], "vertices": ["x" * (1 << 17)]}
    check_error(ask("POST", "/score", content), 413, "at most 65,536 bytes")


def test_body_without_end_is_cut_off(ask: WebClient) -> None:
    def endless():
        for _ in range(100):
            yield b"x" * (1 << 16)

    try:
        reply = ask("POST", "/score", body=endless())
    except (BrokenPipeError, ConnectionResetError):
        pass  # Cut off while sending, which is an answer too.
    else:
        check_error(reply, 413, "at most 65,536 bytes")
    assert ask("GET", "/health").status == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("POST", "/score/", 404),
        ("GET", "/score", 405),
        ("POST", "/docs", 405),
        ("GET", "/a/../b", 404),
    ],
)
def test_other_addresses_and_methods_are_refused_as_json(
    ask: WebClient, method: str, path: str, status: int
) -> None:
    check_error(ask(method, path), status, "/score")


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["ids", "vertices", "features", "neighbours", "id", "weight", "x"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=200)
@given(JSON)
def test_any_json_is_read_or_refused_with_a_remedy(content: Any) -> None:
    body, refused = json.dumps(content).encode(), None
    ids, vertices = [], []
    try:
        ids, vertices = read_score_request(body, Limits(vertices=3))
    except RequestError as error:
        refused = error
    if refused is None:
        assert 0 < len(ids) + len(vertices) <= 3
    else:
        assert refused.status in (400, 422)
        assert refused.remedy


def test_ids_of_very_many_new_vertices_are_compared_once() -> None:
    """Where the limit is raised: each with all before it would take minutes."""
    limits, vertices = Limits(vertices=100_000, bytes=1 << 26), [{"features": []}] * 99_999
    body = json.dumps({"vertices": vertices}).encode()
    assert len(read_score_request(body, limits)[1]) == 99_999
    with pytest.raises(RequestError, match='got "new 5" twice'):
        read_score_request(
            json.dumps({"vertices": [*vertices, {"features": [], "id": "new 5"}]}).encode(), limits
        )
