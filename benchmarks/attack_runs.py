"""Damaged files that were read, and soaks: what a run of either did goes on record.

    python -m tests.fuzz.run --jobs 16 --minutes 60
    python benchmarks/attack_runs.py fuzz-summary.json
    python -m tests.soak --fits 1000; python benchmarks/attack_runs.py soak-summary.json

Adds a line to docs/benchmark-history.md. A summary that is longer by now is put on record once
more, with all that it has done. ``--machine`` names the machines of a run on others than this one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from harness import machine
from series import FOLDER, append, commit_parser, read_series, table_of_runs, this_commit

RUNS = FOLDER / "attacks.jsonl"


@dataclass(frozen=True)
class AttackRun:
    """What was done, how often of each kind, how much was found, and how much of that is mended."""

    commit: str
    date: str
    done: dict[str, int]
    found: int
    measured_with: dict[str, Any]
    mended: int | None = None


def read_summary(path: Path) -> tuple[dict[str, int], int, int | None]:
    """Return what a summary says was done, found and mended: of a fuzzer or of a soak."""
    content = json.loads(path.read_text(encoding="utf-8"))
    if "formats" in content:
        formats = content["formats"]
        counts = [entry["mutants"] for entry in formats.values()]
        what = f"damaged files of {len(counts)} formats, of each at least {min(counts):,}"
        n_mended = len(content.get("mended", ()))
        return {what: sum(counts)}, len(content["findings"]) + n_mended, n_mended
    done = {kind: sum(sizes.values()) for kind, sizes in content["done"].items()}
    return done, len(content["problems"]), None


def read_attacks(path: Path = RUNS) -> list[AttackRun]:
    """Return what is on record."""
    return read_series(path, AttackRun, "an attack")


def section(runs: Sequence[AttackRun]) -> list[str]:
    """Return the lines of docs/benchmark-history.md on these runs, the latest first."""
    cells = [
        [
            ", ".join(f"{n:,} {kind}" for kind, n in run.done.items()),
            str(run.found),
            "" if run.mended is None else str(run.mended),
        ]
        for run in runs
    ]
    return [
        "## Damaged files, kills and long runs", "",
        "What `make fuzz` and `make soak` did, and how much they found. Mended are damaged files",
        "that do no harm any more when they are read again; each change has a test.", "",
        table_of_runs(runs, ["done", "found", "mended"], cells, "None yet."), "",
    ]  # fmt: skip


def main() -> None:
    from history import draw

    parser = commit_parser(__doc__)
    parser.add_argument("summary", type=Path)
    parser.add_argument("--machine", help="that it ran on, where not on this one")
    options = parser.parse_args()
    done, found, mended = read_summary(options.summary)
    commit, date = options.commit or this_commit()
    here = machine(torch.device("cpu"))
    ran_on = here if options.machine is None else {"device": options.machine}
    made = AttackRun(commit, date, done, found, ran_on, mended)
    append(made, RUNS)
    draw()


if __name__ == "__main__":
    main()
