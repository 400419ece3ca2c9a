"""Two builds of one store at a time: one builds it, the other is told so, and neither aborts.

    python -m tests.soak.builds FOLDER ROUNDS SEED

Each build is forked off a process that has imported the package, and ends as a command of its own
does: Python shuts down, whatever threads its libraries have left behind. That process must have
no threads and nothing to clean up, so it is one of its own.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).parents[2]
HANGS = 120
N_VERTICES = 40
BUILT, REFUSED = "stored in", ("another process is building it", "holds a store")


def race_builds(folder: Path, n: int, seed: int) -> list[str]:
    """Build a store n times by two processes at once; return what went wrong."""
    command = [sys.executable, "-m", "tests.soak.builds", str(folder / "builds"), str(n), str(seed)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    *problems, said = found.stdout.splitlines() or [""]
    if found.returncode:
        problems.append(f"builds: ended with code {found.returncode}: {found.stderr[-300:]!r}")
    print(said, flush=True)
    shutil.rmtree(folder / "builds", ignore_errors=True)
    return problems


def _race(folder: Path, n: int, seed: int) -> None:
    """Print what went wrong, and in the last line how often it went how."""
    moments, ends = random.Random(seed), {"refused": 0, "both built": 0}
    folder.mkdir(parents=True)
    edges, vertices = _write_tables(folder)
    began = time.perf_counter()
    _wait(_fork(["store", str(edges), "--out", str(folder / "alone")], folder / "said0"))
    seconds = time.perf_counter() - began
    for i in range(n):
        out = folder / f"store-{i}"
        # Every other round both may replace the store, as two nightly jobs would.
        words = ["store", str(edges), str(vertices), "--out", str(out), "--quiet"]
        words += ["--overwrite"] * (i % 2)
        builds = [_fork(words, folder / "said0")]
        # Now and then after the end of the first.
        time.sleep(moments.uniform(0, 1.3 * seconds))
        builds.append(_fork(words, folder / "said1"))
        codes = [_wait(pid) for pid in builds]
        said = [(folder / f"said{k}").read_text().strip() for k in (0, 1)]
        ends["both built" if codes == [0, 0] else "refused"] += 1
        for problem in _problems(codes, said, out, may_replace=i % 2 == 1):
            print(f"builds, round {i} of seed {seed}: {problem}", flush=True)
        shutil.rmtree(out, ignore_errors=True)
    print(f"{n} pairs of builds: {ends}", flush=True)


def _problems(codes: list[int], said: list[str], out: Path, *, may_replace: bool) -> list[str]:
    from graphfilter.store import open_store

    for code, text in zip(codes, said, strict=True):
        refused = code == 2 and any(words in text for words in REFUSED) and "\n" not in text
        if not refused and not (code == 0 and BUILT in text):
            return [f"ended with codes {codes}: {said}"]
    if sorted(codes) != [0, 2] and not (may_replace and codes == [0, 0]):
        return [f"ended with codes {codes}"]
    left = [path.name for path in out.iterdir() if path.name.startswith(".")]
    graph = open_store(out, verify=True)
    if (graph.n_vertices, graph.n_edges) != (N_VERTICES, N_VERTICES):
        left.append(f"another graph: {graph}")
    return [f"left {', '.join(left)}"] if left else []


def _fork(words: list[str], said: Path) -> int:
    """Start a command in a process of its own; return its number."""
    sys.stdout.flush()
    if not (pid := os.fork()):
        _run(words, said)
    return pid


def _run(words: list[str], said: Path) -> NoReturn:
    kept = os.open(said, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(kept, 1)
    os.dup2(kept, 2)
    sys.argv = ["graphfilter", *words]
    from graphfilter.__main__ import main

    main()


def _wait(pid: int) -> int:
    """Return the exit code of a process, or less than 0 the signal that ended it."""
    end = time.monotonic() + HANGS
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, 9)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _write_tables(folder: Path) -> tuple[Path, Path]:
    edges, vertices = folder / "edges.csv", folder / "vertices.csv"
    around = ((i, (i + 1) % N_VERTICES) for i in range(N_VERTICES))
    edges.write_text("source,target,weight\n" + "".join(f"v{a},v{b},{a + 1}\n" for a, b in around))
    rows = (f"v{i},{i / 7},{'red' if i % 3 else 'blue'},{'ab'[i % 2]}\n" for i in range(N_VERTICES))
    vertices.write_text("id,x,colour,label\n" + "".join(rows))
    return edges, vertices


if __name__ == "__main__":
    # What a build imports, once for all of them.
    import duckdb  # noqa: F401
    import pyarrow.csv
    import pyarrow.parquet  # noqa: F401

    import graphfilter.cli.app
    import graphfilter.store  # noqa: F401

    _race(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
