"""The versions that are promised are the versions that are tested."""

from __future__ import annotations

import re
import tomllib
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return dict(line.lower().split("==") for line in lines if line and not line.startswith("#"))


def lower_bounds() -> dict[str, str]:
    """The lower bounds of what the package needs, and of what the tests need besides."""
    extras = PROJECT["optional-dependencies"]
    asked = [*PROJECT["dependencies"], *extras["test"]]
    plain = (re.sub(r"\[.*\]", "", words).lower() for words in asked)
    return dict(words.split(">=") for words in plain)


def padded(version: str) -> list[int]:
    return [*map(int, re.findall(r"\d+", version)), 0, 0][:3]


def test_oldest_constraints_are_the_lower_bounds() -> None:
    oldest, bounds = pins("constraints-oldest.txt"), lower_bounds()
    assert {name: padded(oldest[name]) for name in bounds} == {
        name: padded(bound) for name, bound in bounds.items()
    }


def test_extras_agree_on_their_bounds() -> None:
    bounds = lower_bounds()
    for words in chain.from_iterable(PROJECT["optional-dependencies"].values()):
        name, _, bound = re.sub(r"\[.*\]", "", words).lower().partition(">=")
        assert bounds.get(name, bound) == bound, words


def test_pinned_versions_are_within_the_bounds() -> None:
    pinned = {name.replace("_", "-"): version for name, version in pins("constraints.txt").items()}
    for name, bound in lower_bounds().items():
        assert padded(pinned[name.replace("_", "-")]) >= padded(bound), name
