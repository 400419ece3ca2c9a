from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from graphfilter.cli import main


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def graphfilter(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """Run the command in this process; give its exit code and what it printed."""

    def run(*words: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["graphfilter", *map(str, words)])
        capfd.readouterr()
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        captured = capfd.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run
