"""Damaged files that were read, and soaks: what a run of either did goes on record.

    python -m tests.fuzz.run --minutes 60; python benchmarks/attack_runs.py fuzz-summary.json
    python -m tests.soak --fits 1000; python benchmarks/attack_runs.py soak-summary.json

Adds a line to docs/benchmark-history.md. A summary that is longer by now is put on record once
more, with all that it has done.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from graphfilter.storage import append_lines, convert, read_lines
from harness import machine, markdown

ROOT = Path(__file__).resolve().parents[1]
RUNS = ROOT / "benchmarks" / "history" / "attacks.jsonl"


@dataclass(frozen=True)
class AttackRun:
    """What was done, how often of each kind, and what was found."""

    commit: str
    date: str
    done: dict[str, int]
    found: int
    measured_with: dict[str, Any]


def read_summary(path: Path) -> tuple[dict[str, int], int]:
    """Return what a summary says was done, and how much was found: of a fuzzer or of a soak."""
    content = json.loads(path.read_text(encoding="utf-8"))
    if "formats" in content:
        formats = content["formats"]
        mutants = {f"damaged files of {len(formats)} formats": _sum(formats, "mutants")}
        return mutants, len(content["findings"])
    done = {kind: sum(sizes.values()) for kind, sizes in content["done"].items()}
    return done, len(content["problems"])


def _sum(entries: dict[str, dict[str, Any]], name: str) -> int:
    return sum(entry[name] for entry in entries.values())


def read_attacks(path: Path = RUNS) -> list[AttackRun]:
    """Return what is on record."""
    if not path.exists():
        return []
    return read_lines(path, lambda line: convert(AttackRun, json.loads(line)), "an attack")[0]


def section(runs: Sequence[AttackRun]) -> list[str]:
    """Return the lines of docs/benchmark-history.md on these runs, the latest first."""
    rows = [
        [f"`{r.commit}`", r.date, ", ".join(f"{n:,} {kind}" for kind, n in r.done.items()),
         str(r.found), str(r.measured_with.get("device", ""))]
        for r in reversed(runs)
    ]  # fmt: skip
    return [
        "## Damaged files, kills and long runs", "",
        "What `make fuzz` and `make soak` did, and how much they found; what was found was mended",
        "afterwards, with a test.", "",
        markdown(["commit", "date", "done", "found", "machine"], rows) if rows else "None yet.", "",
    ]  # fmt: skip


def main() -> None:
    from history import draw, this_commit

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("summary", type=Path)
    parser.add_argument(
        "--commit", nargs=2, metavar=("NAME", "DATE"), help="of the code that was run"
    )
    options = parser.parse_args()
    done, found = read_summary(options.summary)
    commit, date = options.commit or this_commit()
    made = AttackRun(commit, date, done, found, machine(torch.device("cpu")))
    append_lines(RUNS, [json.dumps(asdict(made))])
    draw()


if __name__ == "__main__":
    main()
