"""Does the suite notice a fault? Apply each of ``faults.FAULTS`` to a copy of the tree and see.

    python tools/mutation.py              # all of them, some ten minutes; make mutation
    python tools/mutation.py --list       # which there are, and which no longer apply
    python tools/mutation.py --only splits

A fault is *caught* where its tests fail, and *survives* where they pass: then a test is missing.
One whose text is no longer in its file, because that was rewritten, is reported and left out of
the score. The exit status is 1 where a fault survives.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from faults import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[1]
NEEDED = ("src", "tests", "tools", "pyproject.toml")
# A fault may make a loop endless: that it does not end is noticed too.
LIMIT_SECONDS = 300


def main() -> int:
    parser = argparse.ArgumentParser(description="Whether the tests notice deliberate faults.")
    parser.add_argument("--list", action="store_true", help="list the faults and run nothing")
    parser.add_argument("--only", default="", metavar="TEXT", help="in their file or name")
    options = parser.parse_args()
    chosen = [f for f in FAULTS if options.only in f"{f.file} {f.what}"]
    fitting = [fault for fault in chosen if fault.applies(ROOT)]
    for fault in chosen:
        if fault not in fitting:
            print(f"no longer applies: {fault}")
    if options.list:
        print("\n".join(map(str, fitting)))
        return 0
    with tempfile.TemporaryDirectory() as place:
        copy_tree(Path(place))
        return run(Path(place), fitting)


def run(tree: Path, faults: list[Fault]) -> int:
    """Apply the faults one after the other, print what becomes of each and the score."""
    tests = sorted({test for fault in faults for test in fault.tests})
    print(f"without a fault: {len(tests)} test files", flush=True)
    if noticed(tree, tests, limit=None):
        print("the tests fail without a fault; fix that first.")
        return 1
    survivors = []
    for number, fault in enumerate(faults, start=1):
        path = tree / fault.file
        whole = path.read_text(encoding="utf-8")
        path.write_text(whole.replace(fault.old, fault.new, 1), encoding="utf-8")
        started = time.monotonic()
        caught = noticed(tree, fault.tests, fault.only)
        path.write_text(whole, encoding="utf-8")
        if not caught:
            survivors.append(fault)
        said = "caught  " if caught else "SURVIVES"
        seconds = time.monotonic() - started
        print(f"{number:3} of {len(faults)}  {said}  {seconds:5.0f} s  {fault}", flush=True)
    print(f"caught {len(faults) - len(survivors)} of {len(faults)} faults.")
    return 1 if survivors else 0


def noticed(
    tree: Path, tests: Sequence[str], only: str = "", limit: float | None = LIMIT_SECONDS
) -> bool:
    """Return whether these tests fail, or do not end, in this tree."""
    words = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestWarning"]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words, "-k", only, *tests],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            timeout=limit,
            check=False,
        )
    except subprocess.TimeoutExpired:
        print(f"not ended after {limit:g} s", file=sys.stderr)
        return True
    if done.returncode in (4, 5):
        # pytest's own: what it was asked to run is not there.
        raise SystemExit(f"there are no such tests: {' '.join(tests)} -k '{only}'")
    return done.returncode != 0


def copy_tree(place: Path) -> None:
    """Copy what the tests need, the compiled kernel included."""
    skipped = shutil.ignore_patterns("__pycache__", "*.pyc", "*.egg-info")
    for name in NEEDED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, place / name, ignore=skipped)
        else:
            shutil.copy(source, place / name)


if __name__ == "__main__":
    sys.exit(main())
