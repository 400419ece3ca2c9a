"""The tests that need a GPU, or the real datasets: which no machine runs by itself.

    python benchmarks/suite_runs.py gpu     run them, and add a line to docs/benchmark-history.md
    python benchmarks/suite_runs.py data

A test has the marker ``gpu`` where it runs on a CUDA GPU if there is one, and ``data`` where it
reads a real dataset (``GRAPHFILTER_DATA``, or shared/data beside the checkout). A run that skips
all of them is no run: it fails, with the reason.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import torch

from graphfilter.errors import ConfigError
from harness import machine
from series import FOLDER, ROOT, append, commit_parser, read_series, table_of_runs, this_commit

RUNS = FOLDER / "tests.jsonl"
KINDS = {"gpu": "a CUDA GPU", "data": "the real datasets"}


@dataclass(frozen=True)
class SuiteRun:
    """One run of the tests with a marker."""

    commit: str
    date: str
    kind: str
    passed: int
    failed: int
    skipped: int
    measured_with: dict[str, Any]


def count_tests(report: Path) -> tuple[int, int, int]:
    """Return how many tests passed, failed and were skipped, from a JUnit report."""
    suites = ElementTree.parse(report).getroot().iter("testsuite")
    sums = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for suite in suites:
        sums = {name: n + int(suite.get(name, 0)) for name, n in sums.items()}
    failed = sums["failures"] + sums["errors"]
    return sums["tests"] - failed - sums["skipped"], failed, sums["skipped"]


def run(kind: str, commit: str, date: str, words: Sequence[str] = ()) -> SuiteRun:
    """Run the tests with a marker; ``words`` go to pytest."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        # One process: several would share one GPU's memory, and datasets are read once.
        command = ["-m", "pytest", "-q", "-m", kind, f"--junitxml={report}", "tests", *words]
        subprocess.run([sys.executable, *command], cwd=ROOT, check=False)
        if not report.exists():
            raise ConfigError(f"the tests marked {kind!r} could not be run; see above.")
        counts = count_tests(report)
    device = torch.device("cuda" if kind == "gpu" and torch.cuda.is_available() else "cpu")
    return SuiteRun(commit, date, kind, *counts, machine(device))


def read_runs(path: Path = RUNS) -> list[SuiteRun]:
    """Return what is on record."""
    return read_series(path, SuiteRun, "a run of tests")


def section(runs: Sequence[SuiteRun]) -> list[str]:
    """Return the lines of docs/benchmark-history.md on these runs, the latest first."""
    cells = [[KINDS[r.kind], str(r.passed), str(r.failed), str(r.skipped)] for r in runs]
    heads = ["tests that need", "passed", "failed", "skipped"]
    return [
        "## Tests on a GPU and on real data", "",
        "The tests that the suite skips where there is no GPU or no dataset, run by",
        "`make test-gpu` and `make test-data`.", "",
        table_of_runs(runs, heads, cells, "None is on record yet."), "",
    ]  # fmt: skip


def main() -> int:
    from history import draw

    parser = commit_parser(__doc__)
    parser.add_argument("kind", choices=KINDS)
    options, words = parser.parse_known_args()
    if options.kind == "gpu" and not torch.cuda.is_available():
        raise SystemExit("there is no CUDA GPU here: run this on a machine with one.")
    commit, date = options.commit or this_commit()
    made = run(options.kind, commit, date, words)
    if not made.passed + made.failed:
        raise SystemExit(f"all tests were skipped: {KINDS[options.kind]} must be at hand.")
    append(made, RUNS)
    draw()
    return 1 if made.failed else 0


if __name__ == "__main__":
    sys.exit(main())
