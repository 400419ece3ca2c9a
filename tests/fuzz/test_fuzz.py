"""A small budget of the fuzzers, and checks of the fuzzers themselves."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tests.fuzz import worker
from tests.fuzz.built import BUILT
from tests.fuzz.formats import FORMATS
from tests.fuzz.memory import PeakMemory
from tests.fuzz.mutate import mutate
from tests.fuzz.requests import REQUESTS
from tests.fuzz.run import BLOCK, Finding, Summary, WorkerError, run, run_blocks
from tests.fuzz.samples import Format, Samples
from tests.fuzz.signed import SIGNED

pytestmark = [
    pytest.mark.fuzz,
    pytest.mark.skipif(sys.platform != "linux", reason="the memory of a process is read in /proc"),
]

SLOW = ("checkpoint", "planetoid", *SIGNED, *BUILT, *REQUESTS)


def test_no_mutant_does_harm() -> None:
    findings = run({name: 8 if name in SLOW else 60 for name in FORMATS})
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
    worker.write_mutant("edge_list", 7, tmp_path / "one")
    worker.write_mutant("edge_list", 7, tmp_path / "two")
    (one,), (two,) = ((tmp_path / name).iterdir() for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


def test_peak_memory_sees_what_is_gone() -> None:
    for _ in range(2):  # the second time the C library may have the memory still
        _use_64_mib()
        peak = PeakMemory()
        _use_64_mib()
        assert peak.grown() >= 60 << 20


def _use_64_mib() -> None:
    del [bytes(range(256)) * (1 << 18)][0]


def test_runner_goes_on_where_its_summary_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []

    def count(self: object, name: str, start: int, stop: int) -> list[object]:
        started.append(start)
        return []

    monkeypatch.setattr("tests.fuzz.run.Worker.read", count)
    monkeypatch.setattr("tests.fuzz.run.BLOCK", 10)
    for budget, ends, expected in ((30, -1.0, []), (20, 1e9, [0, 10]), (30, 1e9, [0, 10, 20])):
        summary = Summary.read(tmp_path / "summary.json")
        run_blocks(["npz"], budget, 1, ends, summary, tmp_path)
        assert started == expected


def test_finding_that_does_no_harm_any_more_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(self: object, name: str, start: int, stop: int) -> list[Finding]:
        return [Finding(name, n, "harm") for n in range(start, stop) if n == 7]

    monkeypatch.setattr("tests.fuzz.run.Worker.read", read)
    summary = Summary(tmp_path / "summary.json", command=["--jobs", "2"])
    summary.findings += ["npz 7: harm", "csv 9: TypeError: harm"]
    summary.read_again()
    assert summary.findings == ["npz 7: harm"]
    assert summary.mended == ["csv 9: TypeError: harm"]
    assert Summary.read(summary.path) == summary


def test_worker_that_does_not_start_fails_its_block_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(self: object, name: str, start: int, stop: int) -> list[object]:
        if start == 0:
            raise WorkerError("no memory")
        return []

    monkeypatch.setattr("tests.fuzz.run.Worker.read", read)
    summary = Summary(tmp_path / "summary.json")
    assert run_blocks(["npz"], 3 * BLOCK, 1, 1e9, summary, tmp_path) == 1
    assert summary.done == Summary.read(summary.path).done == {"npz": {1, 2}}


def test_worker_that_ends_at_once_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.run.WORKER", (sys.executable, "-c", "raise SystemExit(3)"))
    with pytest.raises(WorkerError, match=r"did not start with npz: it ended the process \(3\)"):
        run({"npz": 1})


def test_half_of_the_mutants_with_checksums_are_signed_again(tmp_path: Path) -> None:
    form = Format(lambda folder: (folder / "a").write_bytes(b"x" * 99), lambda _: None, _touch)
    samples = Samples("signed", form, tmp_path)
    unsigned = sum(samples.mutate(number) for number in range(200))
    assert 70 < unsigned < 130


def _touch(folder: Path) -> None:
    (folder / "signed").write_bytes(b"")


def test_answers_are_held_to_the_good_one() -> None:
    good = np.ones(3)
    assert "not finite" in worker.wrong_answer(good * np.nan, good, must_be_good=False)
    assert "another" in worker.wrong_answer(good + 1, good, must_be_good=True)
    assert not worker.wrong_answer(good + 1, good, must_be_good=False)
    assert not worker.wrong_answer(b"x", b"x", must_be_good=True)
