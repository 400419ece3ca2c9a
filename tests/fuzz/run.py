"""Run the fuzzers: ``python -m tests.fuzz.run --budget 100000 [--format npz ...] [--start 0]``.

Each mutant must end in a sound result or in an error of ours. Reported and saved are those that
end in another exception, end the process, take more than half a minute or more than 500 MB.
"""

from __future__ import annotations

import argparse
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.fuzz.formats import FORMATS

ROOT = Path(__file__).parents[2]
WORKER = (sys.executable, "-m", "tests.fuzz.worker")
HANG_SECONDS = 30.0
START_SECONDS = 300.0
MOST_FINDINGS = 100


@dataclass(frozen=True)
class Finding:
    """A mutant that did harm; the number makes it again."""

    format: str
    number: int
    problem: str

    def __str__(self) -> str:
        return f"{self.format} {self.number}: {self.problem}"


def run(budgets: Mapping[str, int], start: int = 0) -> list[Finding]:
    """Read so many mutants of each format; return those that did harm."""
    findings: list[Finding] = []
    left = [(name, start, start + budget) for name, budget in budgets.items()]
    while left and len(findings) < MOST_FINDINGS:
        left, found = _run_worker(left)
        findings += found
    return findings


def save(finding: Finding, folder: Path) -> Path:
    """Write the files of a mutant."""
    target = folder / f"{finding.format}-{finding.number}"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        job = f"{finding.format}:{finding.number}"
        subprocess.run([*WORKER, job, target], check=True, cwd=ROOT)
    return target


def _run_worker(
    jobs: list[tuple[str, int, int]],
) -> tuple[list[tuple[str, int, int]], list[Finding]]:
    """Read mutants until the worker ends, by itself or by a mutant; return the jobs left."""
    command = [*WORKER, *(f"{name}:{number}:{stop}" for name, number, stop in jobs)]
    findings: list[Finding] = []
    at: tuple[str, int] | None = None
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as worker:
        assert worker.stdout is not None
        lines = _pump(worker.stdout)
        try:
            while line := lines.get(timeout=START_SECONDS if at is None else HANG_SECONDS):
                what, name, number, *problem = line.split(maxsplit=3)
                if what == "at":
                    at = name, int(number)
                else:
                    findings.append(Finding(name, int(number), "".join(problem).strip()))
        except queue.Empty:
            worker.kill()
            while lines.get():
                pass
    code = worker.wait()
    if code == 0:
        return [], findings
    if at is None:
        raise RuntimeError(f"the worker did not start (exit code {code})")
    end = "took too long" if code == -signal.SIGKILL else f"ended the process ({code})"
    findings.append(Finding(*at, end))
    place = [name for name, *_ in jobs].index(at[0])
    return [(at[0], at[1] + 1, jobs[place][2]), *jobs[place + 1 :]], findings


def _pump(stream: IO[str]) -> queue.Queue[str | None]:
    """Return the lines of a stream as they come; None ends them."""
    lines: queue.Queue[str | None] = queue.Queue()

    def pump() -> None:
        for line in stream:
            lines.put(line)
        lines.put(None)

    threading.Thread(target=pump, daemon=True).start()
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=100_000, help="mutants per format")
    parser.add_argument("--format", nargs="*", choices=sorted(FORMATS), default=sorted(FORMATS))
    parser.add_argument("--start", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--save", type=Path, default=Path("fuzz-findings"))
    options = parser.parse_args()
    n_findings = 0
    for name in options.format:
        findings = run({name: options.budget}, options.start)
        print(f"{name}: {options.budget:,} mutants, {len(findings)} findings", flush=True)
        for finding in findings:
            print(f"  {finding}; saved to {save(finding, options.save)}", flush=True)
        n_findings += len(findings)
    return 1 if n_findings else 0


if __name__ == "__main__":
    sys.exit(main())
