"""A small budget of the fuzzers, and checks of the fuzzers themselves."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest
from tests.fuzz import worker
from tests.fuzz.formats import FORMATS
from tests.fuzz.memory import PeakMemory
from tests.fuzz.mutate import mutate
from tests.fuzz.run import run

pytestmark = [
    pytest.mark.fuzz,
    pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read in /proc"),
]

SLOW = ("checkpoint", "model", "planetoid")


def test_no_mutant_does_harm() -> None:
    findings = run({name: 15 if name in SLOW else 60 for name in FORMATS})
    assert not findings, "\n".join(map(str, findings))


def test_mutants_are_the_same_every_time() -> None:
    data = bytes(range(256)) * 4
    mutants = [mutate(data, [b"other"], Random(seed)) for seed in range(200)]
    assert mutants == [mutate(data, [b"other"], Random(seed)) for seed in range(200)]
    assert len(set(mutants)) > 150


def test_runner_finds_what_it_looks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception, a process that ends, one that hangs, and memory: each found and made again."""
    monkeypatch.setattr("tests.fuzz.run.WORKER", (sys.executable, "-m", "tests.fuzz.broken"))
    monkeypatch.setattr("tests.fuzz.run.HANG_SECONDS", 4.0)
    problems = {finding.number: finding.problem for finding in run({"broken": 10})}
    assert sorted(problems) == [1, 3, 5, 7]
    assert "KeyError" in problems[1]
    assert "ended the process" in problems[3]
    assert "too long" in problems[5]
    assert "MB of memory" in problems[7]


def test_saved_mutant_is_the_one_that_was_read(tmp_path: Path) -> None:
    worker.main("edge_list:7", str(tmp_path / "one"))
    worker.main("edge_list:7", str(tmp_path / "two"))
    (one,), (two,) = ((tmp_path / name).iterdir() for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


def test_peak_memory_sees_what_is_gone() -> None:
    peak = PeakMemory()
    del [bytes(range(256)) * (1 << 18)][0]
    assert peak.grown() >= 60 << 20
