"""Run the fuzzers: ``python -m tests.fuzz.run --budget 100000 --jobs 16 --minutes 60``.

Each mutant must end in a sound result or in an error of ours. Reported and saved are those that
end in another exception, end the process, take more than half a minute or more than 500 MB; that
answer with numbers that are not finite; or, damaged where a checksum should tell, answer otherwise
than the good sample.

Formats take turns, a block of mutants each, so that a run that ends by time has read as many of
each. ``--summary`` names a file of what is done: the same command goes on from there.
"""

from __future__ import annotations

import argparse
import json
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from tests.fuzz.formats import FORMATS

from graphfilter.storage import write_json

ROOT = Path(__file__).parents[2]
WORKER = (sys.executable, "-m", "tests.fuzz.worker")
HANG_SECONDS = 30.0
START_SECONDS = 300.0
MOST_FINDINGS = 100
# Mutants that one process reads: as many as make its start worth while.
BLOCK = 1000


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


@dataclass
class Summary:
    """What is done of each format, kept in a file after every block."""

    path: Path
    done: dict[str, list[int]] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Summary:
        """Return what a summary file says; nothing is done where there is none."""
        if not path.is_file():
            return cls(path)
        content = json.loads(path.read_text())
        blocks = {name: entry["blocks"] for name, entry in content["formats"].items()}
        return cls(path, blocks, content["findings"])

    def add(self, name: str, block: int, findings: Sequence[str]) -> None:
        """Note a block that is done."""
        self.done.setdefault(name, []).append(block)
        self.findings += findings
        formats = {
            form: {"mutants": BLOCK * len(blocks), "blocks": sorted(blocks)}
            for form, blocks in sorted(self.done.items())
        }
        content = {"command": sys.argv[1:], "formats": formats, "findings": self.findings}
        write_json(self.path, content)


def run_blocks(
    names: Sequence[str], budget: int, jobs: int, end: float, summary: Summary, folder: Path
) -> None:
    """Read so many mutants of each format, until a time comes, in several processes."""
    blocks = [
        (name, block)
        for block in range(-(-budget // BLOCK))
        for name in names
        if block not in summary.done.get(name, ())
    ]

    def work(name: str, block: int) -> tuple[str, int, list[Finding]] | None:
        if time.monotonic() > end:
            return None
        return name, block, run({name: BLOCK}, block * BLOCK)

    with ThreadPoolExecutor(jobs) as pool:
        for ended in as_completed([pool.submit(work, *block) for block in blocks]):
            if (result := ended.result()) is None:
                continue
            name, block, findings = result
            said = [f"{finding}; saved to {save(finding, folder)}" for finding in findings]
            summary.add(name, block, said)
            n = BLOCK * len(summary.done[name])
            print(f"{name}: {n:,} mutants, {len(findings)} new findings", flush=True)
            for line in said:
                print(f"  {line}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=100_000, help="mutants per format")
    parser.add_argument("--format", nargs="*", choices=sorted(FORMATS), default=sorted(FORMATS))
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--minutes", type=float, default=1e6, help="start nothing after so many")
    parser.add_argument("--save", type=Path, default=Path("fuzz-findings"))
    parser.add_argument("--summary", type=Path, default=Path("fuzz-summary.json"))
    options = parser.parse_args()
    summary = Summary.read(options.summary)
    end = time.monotonic() + 60 * options.minutes
    run_blocks(options.format, options.budget, options.jobs, end, summary, options.save)
    n_mutants = sum(BLOCK * len(blocks) for blocks in summary.done.values())
    print(f"{n_mutants:,} mutants of {len(summary.done)} formats: {len(summary.findings)} findings")
    return 1 if summary.findings else 0


if __name__ == "__main__":
    sys.exit(main())
