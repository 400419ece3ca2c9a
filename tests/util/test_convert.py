"""Dataclasses from what JSON holds: types checked, old and new files taken."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, strategies as st

from graphfilter.util.records import convert, matches, to_plain


@dataclass(frozen=True)
class Inner:
    weights: list[float]


@dataclass(frozen=True)
class Example:
    name: str
    count: int
    share: float | None
    inner: Inner
    status: Literal["ok", "failed"] = "ok"
    more: dict[str, Any] = field(default_factory=dict)


WHOLE = {"name": "a", "count": 3, "share": 1, "inner": {"weights": [1, 0.5]}}


def test_convert_gives_dataclasses_and_fills_in_defaults() -> None:
    assert convert(Example, WHOLE) == Example("a", 3, 1.0, Inner([1.0, 0.5]))


def test_convert_ignores_fields_of_newer_versions() -> None:
    newer = {**WHOLE, "added": {"later": 1}, "inner": {"weights": [], "bias": 0}}
    assert convert(Example, newer) == Example("a", 3, 1.0, Inner([]))


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"name": 1}, "$.name"),
        ({"name": None}, "$.name"),
        ({"count": 1.5}, "$.count"),
        ({"count": True}, "$.count"),
        ({"count": "1"}, "$.count"),
        ({"share": "1"}, "$.share"),
        ({"share": False}, "$.share"),
        ({"inner": [1]}, "$.inner"),
        ({"inner": {}}, "$.inner"),
        ({"inner": {"weights": [1, None]}}, "$.inner.weights[1]"),
        ({"status": "maybe"}, "$.status"),
        ({"more": []}, "$.more"),
    ],
)
def test_convert_names_the_field_of_a_wrong_type(change: dict[str, Any], where: str) -> None:
    with pytest.raises(TypeError) as caught:
        convert(Example, WHOLE | change)
    assert str(caught.value).startswith(f"{where}: ")


@pytest.mark.parametrize("missing", ["name", "count", "share", "inner"])
def test_convert_asks_for_every_field_without_a_default(missing: str) -> None:
    with pytest.raises(TypeError, match=missing):
        convert(Example, {name: value for name, value in WHOLE.items() if name != missing})


@pytest.mark.parametrize("content", [None, 1, "a", [], [WHOLE]])
def test_convert_refuses_what_is_no_object(content: Any) -> None:
    with pytest.raises(TypeError):
        convert(Example, content)
    assert not matches(content, Example)


@given(st.text(), st.integers(-(2**63), 2**63 - 1), st.none() | st.floats(allow_nan=False))
def test_convert_undoes_asdict_and_json(name: str, count: int, share: float | None) -> None:
    example = Example(name, count, share, Inner([0.1]), more={"any": [1, {"thing": None}]})
    assert convert(Example, json.loads(json.dumps(asdict(example)))) == example


def test_to_plain_is_standard_json() -> None:
    value = {1: (np.int64(2), np.float64("inf")), "x": [float("nan"), None, True, "s"]}
    assert to_plain(value) == {"1": [2, None], "x": [None, None, True, "s"]}
    json.dumps(to_plain(value), allow_nan=False)
