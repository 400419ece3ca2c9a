"""Run the package for long, and kill it often: nothing may grow, and nothing may be lost.

    python -m tests.soak --fits 1000 --requests 10000 --kills 200 --builds 500 --minutes 60

Kinds of work take turns, a block of each in a process of its own, so that a soak that ends by time
has done some of all. ``--summary`` names a file of what is done: the same command goes on from
there. Ends with exit code 1 where something grew, differs after it was resumed, or aborted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from tests.soak.block import KINDS

from graphfilter.storage import write_json

ROOT = Path(__file__).parents[2]
Block = tuple[str, int, int]


@dataclass
class Summary:
    """What is done: of each kind, the size of every block by its number; and what went wrong."""

    path: Path
    done: dict[str, dict[str, int]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Summary:
        """Return what a summary file says; nothing is done where there is none."""
        if not path.is_file():
            return cls(path)
        content = json.loads(path.read_text())
        return cls(path, content["done"], content["problems"])

    def left(self, asked: Mapping[str, int]) -> list[Block]:
        """Return the blocks to do, by turns: kind, number and size."""
        blocks = [
            (at / n, (kind, at // KINDS[kind][0], min(KINDS[kind][0], n - at)))
            for kind, n in asked.items()
            for at in range(0, n, KINDS[kind][0])
        ]
        by_share = sorted(blocks, key=lambda block: block[0])
        return [b for _, b in by_share if self.done.get(b[0], {}).get(str(b[1]), 0) < b[2]]

    def add(self, block: Block, problems: Sequence[str]) -> None:
        """Note a block that is done."""
        kind, number, size = block
        self.done.setdefault(kind, {})[str(number)] = size
        self.problems += problems
        write_json(self.path, {"done": self.done, "problems": self.problems})

    def __str__(self) -> str:
        parts = [f"{sum(sizes.values()):,} {kind}" for kind, sizes in self.done.items()]
        return f"{', '.join(parts) or 'nothing'}: {len(self.problems)} problems"


def run_blocks(
    asked: Mapping[str, int], jobs: int, end: float, summary: Summary,
    run: Callable[[Block], list[str]],
) -> None:  # fmt: skip
    """Do what is left of a soak until a time comes, several blocks at once."""

    def work(block: Block) -> list[str] | None:
        return None if time.monotonic() > end else run(block)

    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(work, block): block for block in summary.left(asked)}
        for ended in as_completed(running):
            if (problems := ended.result()) is not None:
                summary.add(running[ended], problems)
                for problem in problems:
                    print(f"PROBLEM: {problem}", flush=True)


def run_process(block: Block) -> list[str]:
    """Do a block in a process of its own."""
    kind, number, size = block
    with tempfile.TemporaryDirectory(prefix="soak-result-") as folder:
        result = Path(folder) / "result.json"
        words = [sys.executable, "-m", "tests.soak.block", kind, str(number), str(size), result]
        code = subprocess.run(words, cwd=ROOT, check=False).returncode
        if not result.exists():
            return [f"{kind}: block {number} ended with code {code}"]
        return json.loads(result.read_text())


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=0, help="small fits, many to a process")
    parser.add_argument("--requests", type=int, default=0, help="to a studio")
    parser.add_argument("--kills", type=int, default=0, help="of fit, and as many of bench")
    parser.add_argument("--builds", type=int, default=0, help="of one store by two processes")
    parser.add_argument("--jobs", type=int, default=1, help="blocks at a time")
    parser.add_argument("--minutes", type=float, default=1e6, help="start nothing after so many")
    parser.add_argument("--summary", type=Path, default=Path("soak-summary.json"))
    options = parser.parse_args(words)
    sizes = options.fits, options.requests, options.kills, options.kills, options.builds
    asked = dict(zip(KINDS, sizes, strict=True))
    summary, end = Summary.read(options.summary), time.monotonic() + 60 * options.minutes
    run_blocks(asked, options.jobs, end, summary, run_process)
    print(summary)
    return 1 if summary.problems else 0


if __name__ == "__main__":
    sys.exit(main())
