"""Run the fuzzers: ``python -m tests.fuzz.run --budget 100000 --jobs 16 --minutes 60``.

Each mutant must end in a sound result or in an error of ours. Reported and saved are those that
end in another exception, end the process, take more than half a minute or more than 500 MB; that
answer with numbers that are not finite; or, damaged where a checksum should tell, answer otherwise
than the good sample.

Formats take turns, a block of mutants each, so that a run that ends by time has read as many of
each. ``--summary`` names a file of what is done: the same command goes on from there. First it
reads what was found again; what does no harm any more is listed as *mended*. The summary on record
is ``benchmarks/history/fuzz.json``; requests wait, so that 20 jobs fill 16 cores:

    python -m tests.fuzz.run --jobs 20 --minutes 8 --summary benchmarks/history/fuzz.json
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tests.fuzz.formats import FORMATS

from graphfilter.runtime import worker_environment
from graphfilter.storage import write_json

ROOT = Path(__file__).parents[2]
WORKER = (sys.executable, "-m", "tests.fuzz.worker")
HANG_SECONDS = 30.0
START_SECONDS = 300.0
MOST_FINDINGS = 100
# Mutants that one process reads: as many as make its start worth while.
BLOCK = 1000


class WorkerError(RuntimeError):
    """A worker that ended before its first mutant: not by one."""


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
    with Worker() as worker:
        return [
            finding
            for name, budget in budgets.items()
            for finding in worker.read(name, start, start + budget)
        ]


def save(finding: Finding, folder: Path) -> Path:
    """Write the files of a mutant."""
    target = folder / f"{finding.format}-{finding.number}"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        job = f"{finding.format}:{finding.number}"
        subprocess.run([*WORKER, job, target], check=True, cwd=ROOT)
    return target


class Worker:
    """A process that reads mutants, and another one where a mutant has ended it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def read(self, name: str, start: int, stop: int) -> list[Finding]:
        """Read some mutants of a format; return those that did harm."""
        findings: list[Finding] = []
        while start < stop and len(findings) < MOST_FINDINGS:
            found, start = self._read_on(name, start, stop)
            findings += found
        return findings

    def _read_on(self, name: str, start: int, stop: int) -> tuple[list[Finding], int]:
        """Read mutants until all are read or one ends the process; return where to go on."""
        findings: list[Finding] = []
        at: int | None = None
        process = self._process or self._start()
        try:
            print(f"{name}:{start}:{stop}", file=self._jobs, flush=True)
            while line := self._lines.get(timeout=START_SECONDS if at is None else HANG_SECONDS):
                what, *said = line.split(maxsplit=3)
                if what == "done":
                    return findings, stop
                if what == "at":
                    at = int(said[1])
                else:
                    findings.append(Finding(name, int(said[1]), "".join(said[2:]).strip()))
            end = f"ended the process ({process.wait()})"
        except queue.Empty:
            end = "took too long"
        except BrokenPipeError:
            end = f"ended the process ({process.wait()})"
        self._end()
        if at is None:
            raise WorkerError(f"the worker did not start with {name}: it {end}")
        return [*findings, Finding(name, at, end)], at + 1

    def _start(self) -> subprocess.Popen[str]:
        # Files in memory, where there is room for them; what a killed worker leaves goes with it.
        self._folder = tempfile.TemporaryDirectory(prefix="fuzz-", dir=_fast_folder())
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        # Threads that wait for each other would take the cores from the other workers.
        with worker_environment(1):
            surroundings = os.environ | {"TMPDIR": self._folder.name}
        self._process = subprocess.Popen(WORKER, cwd=ROOT, env=surroundings, **pipes)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._jobs = self._process.stdin
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._pumping = threading.Thread(target=_pump, args=(self._process.stdout, self._lines))
        self._pumping.start()
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._pumping.join()
            with suppress(BrokenPipeError):
                self._jobs.close()
            self._process = None
            self._folder.cleanup()


def _fast_folder() -> str | None:
    shared = Path("/dev/shm")
    return str(shared) if shared.is_dir() and shutil.disk_usage(shared).free > 4 << 30 else None


def _pump(stream: IO[str], lines: queue.Queue[str | None]) -> None:
    """Pass on the lines of a stream as they come; None ends them."""
    with stream:
        for line in stream:
            lines.put(line)
    lines.put(None)


@dataclass
class Summary:
    """What is done of each format, kept in a file after every block."""

    path: Path
    done: dict[str, set[int]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    findings: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Summary:
        """Return what a summary file says; nothing is done where there is none."""
        if not path.is_file():
            return cls(path)
        content = json.loads(path.read_text())
        formats = content["formats"].items()
        done = {
            name: set(range(entry["mutants"] // BLOCK + len(entry["left_out"])))
            - set(entry["left_out"])
            for name, entry in formats
        }
        seconds = {name: entry["seconds"] for name, entry in formats}
        mended = content.get("mended", [])
        return cls(path, done, seconds, content["findings"], mended, content["command"])

    def add(self, name: str, block: int, findings: Sequence[str], seconds: float = 0.0) -> None:
        """Note a block that is done."""
        self.done.setdefault(name, set()).add(block)
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        self.findings += findings
        self.command = sys.argv[1:]
        self.write()

    def read_again(self) -> None:
        """Move findings whose mutants do no harm any more to those that are mended."""
        with Worker() as worker:
            for said in list(self.findings):
                name, number = said.partition(":")[0].split()
                if not worker.read(name, int(number), int(number) + 1):
                    self.findings.remove(said)
                    self.mended.append(said)
                    self.write()

    def write(self) -> None:
        content = {
            "command": self.command,
            "formats": {form: self._entry(form) for form in sorted(self.done)},
            "findings": self.findings,
            "mended": self.mended,
        }
        write_json(self.path, content)

    def _entry(self, name: str) -> dict[str, Any]:
        """Return the numbers of a format; ``left_out`` are blocks before the last that is done."""
        blocks, seconds = self.done[name], round(self.seconds[name], 1)
        n_mutants = BLOCK * len(blocks)
        left_out = sorted(set(range(max(blocks))) - blocks)
        rate = round(n_mutants / seconds, 1) if seconds else None
        counted = {"mutants": n_mutants, "left_out": left_out}
        return {**counted, "seconds": seconds, "per_second": rate}


def run_blocks(
    names: Sequence[str], budget: int, jobs: int, end: float, summary: Summary, folder: Path
) -> int:
    """Read mutants of each format, until a time comes, in several processes.

    Return the number of blocks that no worker could start with.
    """
    blocks = [
        (name, block)
        for block in range(-(-budget // BLOCK))
        for name in names
        if block not in summary.done.get(name, ())
    ]

    workers = [Worker() for _ in range(jobs)]
    idle: queue.SimpleQueue[Worker] = queue.SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def work(name: str, block: int) -> tuple[list[Finding], float] | None:
        if (start := time.monotonic()) > end:
            return None
        worker = idle.get()
        try:
            findings = worker.read(name, block * BLOCK, (block + 1) * BLOCK)
            return findings, time.monotonic() - start
        finally:
            idle.put(worker)

    n_failed = 0
    with ThreadPoolExecutor(jobs) as pool, ExitStack() as stack:
        for worker in workers:
            stack.enter_context(worker)
        running = {pool.submit(work, *block): block for block in blocks}
        for ended in as_completed(running):
            name, block = running[ended]
            try:
                result = ended.result()
            except WorkerError as error:
                n_failed += 1
                print(f"{name}: {error}; the same command tries it again", flush=True)
                continue
            if result is None:
                continue
            findings, seconds = result
            summary.add(name, block, list(map(str, findings)), seconds)
            n = BLOCK * len(summary.done[name])
            print(f"{name}: {n:,} mutants, {len(findings)} new findings", flush=True)
            for finding in findings:
                print(f"  {finding}; saved to {save(finding, folder)}", flush=True)
    return n_failed


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
    summary.read_again()
    end = time.monotonic() + 60 * options.minutes
    names, budget, jobs = options.format, options.budget, options.jobs
    n_failed = run_blocks(names, budget, jobs, end, summary, options.save)
    n_mutants = sum(BLOCK * len(blocks) for blocks in summary.done.values())
    found = f"{len(summary.findings)} findings, and {len(summary.mended)} that are mended"
    print(f"{n_mutants:,} mutants of {len(summary.done)} formats: {found}")
    return 1 if summary.findings or n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
