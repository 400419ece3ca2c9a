"""Series of records, one per line, each of a commit: what the scripts behind the history share."""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from graphfilter.storage import append_lines, convert, read_lines
from harness import markdown

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "benchmarks" / "history"
T = TypeVar("T")


def read_series(path: Path, kind: type[T], what: str) -> list[T]:
    """Return what is on record."""
    if not path.exists():
        return []
    return read_lines(path, lambda line: convert(kind, json.loads(line)), what)[0]


def append(made: Any, path: Path) -> None:
    append_lines(path, [json.dumps(asdict(made))])


def commit_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the option that names the commit."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--commit", nargs=2, metavar=("NAME", "DATE"), help="of the code that was run"
    )
    return parser


def table_of_runs(
    runs: Sequence[Any], heads: Sequence[str], cells: Sequence[Sequence[str]], none: str
) -> str:
    """Return a table of runs, the latest first: commit, date, cells and machine of each."""
    rows = [
        [f"`{run.commit}`", run.date, *own, str(run.measured_with.get("device", ""))]
        for run, own in zip(reversed(runs), reversed(cells), strict=True)
    ]
    return markdown(["commit", "date", *heads, "machine"], rows) if rows else none


def this_commit() -> tuple[str, str]:
    """Return the name and the date of the commit; a + where the files differ from it."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--", "src")
    name = git("rev-parse", "--short=7", "HEAD") + "+" * bool(changed)
    return name, git("show", "-s", "--format=%cs")
