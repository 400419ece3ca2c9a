"""Memory, open files and threads of a process over many fits or requests."""

from __future__ import annotations

import gc
import gzip
import http.client
import itertools
import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from tests.processes import Command

N_SAMPLES = 50
# Growth of memory that is allowed after the caches are filled.
MOST_GROWTH_MB = 24.0
# A studio keeps its runs, and so their memory: a few, at the beginning.
MOST_RUNS = 2


@dataclass(frozen=True)
class Usage:
    """What a process holds at a moment, as the system tells (Linux only)."""

    memory_mb: float
    n_open_files: int
    n_threads: int

    @classmethod
    def of(cls, pid: int) -> Usage:
        place = Path(f"/proc/{pid}")
        pages = int((place / "statm").read_text().split()[1])
        return cls(
            pages * os.sysconf("SC_PAGE_SIZE") / 2**20,
            len(list((place / "fd").iterdir())),
            len(list((place / "task").iterdir())),
        )


def repeat(
    what: str,
    n: int,
    pid: int,
    act: Callable[[int], None],
    most_growth_mb: float,
    warm_up: int = 1,
) -> list[str]:
    """Act n times; return what grew after the first quarter, in which caches fill.

    ``warm_up`` is the least number of times for that.
    """
    warm_up = max(warm_up, n // 4)
    every = max(1, (n - warm_up) // N_SAMPLES)
    seen: list[tuple[int, Usage]] = []
    for i in range(n):
        act(i)
        if i >= warm_up and i % every == 0:
            seen.append((i, Usage.of(pid)))
    at, memory = np.array([i for i, _ in seen]), np.array([u.memory_mb for _, u in seen])
    slope = float(np.polyfit(at, memory, 1)[0]) if len(seen) > 2 else 0.0
    growth = slope * (n - warm_up)
    first, last = seen[0][1], seen[-1][1]
    print(
        f"{n} {what}: memory {first.memory_mb:.0f} to {last.memory_mb:.0f} MB, slope "
        f"{1000 * slope:+.2f} MB per 1,000; open files {first.n_open_files} to "
        f"{last.n_open_files}; threads {first.n_threads} to {last.n_threads}",
        flush=True,
    )
    problems = []
    if growth > most_growth_mb:
        problems.append(f"{what}: memory grew by {growth:.0f} MB")
    if last.n_open_files > first.n_open_files + 2:
        problems.append(f"{what}: open files {first.n_open_files} to {last.n_open_files}")
    if last.n_threads > first.n_threads + 2:
        problems.append(f"{what}: threads {first.n_threads} to {last.n_threads}")
    return problems


def left_files(folder: Path, what: str) -> list[str]:
    """Return what is left of ours in the temporary folder; torch keeps a cache there."""
    left = [p.name for p in folder.iterdir() if not p.name.startswith("torchinductor")]
    return [f"{what}: left behind {', '.join(left)}"] if left else []


def soak_fits(folder: Path, n: int, most_growth_mb: float) -> list[str]:
    """Fit small graphs into folders, one after the other, in this process."""
    from graphfilter import SGFClassifier
    from graphfilter.data import make_karate
    from graphfilter.fits import Source, plan_fit
    from graphfilter.run_folder import fit_folder, load_run

    source = Source(make_karate())
    place = folder / "run"

    def fit(i: int) -> None:
        classifier = SGFClassifier(n_layers=2, hidden_size=8, max_epochs=5, random_state=i)
        fit_folder(plan_fit(source, i), classifier, place, baselines=i % 10 == 0)
        load_run(place)
        shutil.rmtree(place)
        # Figures hold themselves in cycles, which go when Python looks for them.
        gc.collect()

    return repeat("fits", n, os.getpid(), fit, most_growth_mb) + left_files(folder, "fits")


EDGES = "source,target\n" + "".join(f"v{i},v{(i + 1) % 12}\n" for i in range(12))
VERTICES = "id,x,label\n" + "".join(f"v{i},{i / 10},{'ab'[i % 2]}\n" for i in range(12))


def soak_studio(folder: Path, n: int, most_growth_mb: float) -> list[str]:
    """Send a studio requests of every kind, good and bad, and end it by SIGTERM."""
    words = ("studio", "--no-browser", "--upload-limit", 1)
    environment = {"TMPDIR": str(folder), "COLUMNS": "300"}
    with Command(words, folder / "said", environment) as studio:
        ask = Asker(studio.first_line().split()[-1])
        kinds = ask.kinds()
        every_kind = itertools.cycle(kinds)
        try:
            problems = repeat(
                "requests", n, studio.pid, lambda _: next(every_kind)(), most_growth_mb,
                warm_up=(MOST_RUNS + 1) * len(kinds),
            )  # fmt: skip
            (own,) = folder.glob("graphfilter-studio-*")
            uploads = list(own.glob("upload-*"))
            if len(uploads) > 8:
                problems.append(f"requests: {len(uploads)} uploads kept")
        finally:
            studio.send(signal.SIGTERM)
            studio.wait()
    shutil.rmtree(folder / "said")
    return problems + left_files(folder, "requests")


class Asker:
    """Sends requests, and checks that each gets the answer it should."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host, self.port, self.base = parts.hostname or "", parts.port, parts.path
        self.n_runs = 0

    def __call__(
        self, wanted: int, method: str, path: str, content: Any = None, name: str = ""
    ) -> Any:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        body = content if isinstance(content, str | bytes | None) else json.dumps(content)
        try:
            connection.request(method, self.base + path, body, {"X-File-Name": name})
            reply = connection.getresponse()
            text = reply.read()
        finally:
            connection.close()
        assert reply.status == wanted, (path, reply.status, text[:500])
        return json.loads(text) if path.startswith("api/") else text

    def kinds(self) -> list[Callable[[], Any]]:
        """Return one function per kind of request; most are cheap, as a page's are."""
        polls = [lambda: self(200, "GET", "api/runs")] * 6
        return [
            *polls,
            lambda: self(200, "GET", ""),
            lambda: self(200, "GET", "assets/studio.js"),
            lambda: self(200, "POST", "api/graphs", {"dataset": "karate"}),
            self.send_tables,
            lambda: self(200, "POST", "api/uploads", EDGES, "forgotten.csv"),
            lambda: self(413, "POST", "api/uploads", gzip.compress(bytes(2 << 20)), "e.csv.gz"),
            lambda: self(422, "POST", "api/uploads", EDGES, "picture.png"),
            lambda: self(422, "POST", "api/graphs", {"edges": "no", "vertices": "no"}),
            lambda: self(422, "POST", "api/runs", "[" * 1000),
            self.break_off,
            self.train,
        ]

    def send_tables(self) -> Any:
        keys = [self(200, "POST", "api/uploads", text, name)["key"]
                for text, name in ((EDGES, "e.csv"), (VERTICES, "v.csv"))]  # fmt: skip
        return self(200, "POST", "api/graphs", {"edges": keys[0], "vertices": keys[1]})

    def break_off(self) -> None:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        connection.putrequest("POST", f"{self.base}api/uploads")
        connection.putheader("X-File-Name", "e.csv")
        connection.putheader("Content-Length", "100000")
        connection.endheaders(b"source,target\n")
        connection.close()

    def train(self) -> None:
        """Train in a setting that is refused and, at the beginning, in one that is not."""
        graph = self(200, "POST", "api/graphs", {"dataset": "karate"})["key"]
        setting = {"max_epochs": 3, "n_layers": 2, "baselines": False}
        self(422, "POST", "api/runs", {"graph": graph, "setting": {**setting, "seed": 2**32}})
        if self.n_runs < MOST_RUNS:
            self.n_runs += 1
            self(200, "POST", "api/runs", {"graph": graph, "setting": setting})
            # Training goes on in the background, and must not be counted as growth later.
            while any(not run["kept"] for run in self(200, "GET", "api/runs")["runs"]):
                time.sleep(0.1)
