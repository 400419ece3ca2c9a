"""Fits and builds that are killed at a write, and begun again: run in a process apart."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import graphfilter as gf
from graphfilter.data import make_karate
from graphfilter.runs.folder import fit_folder
from graphfilter.runs.loading import load_run
from graphfilter.runs.plan import Source, plan_fit
from graphfilter.training import Callback
from graphfilter.util.errors import ModelFileError

# Every so many writes a process is killed here; with 1, at each (in minutes).
STEP = 26
CHANGES = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def killed(work: Callable[[], Any], folder: Path, k: int) -> bool:
    """Do something in a process that is killed before its k-th change in a folder, if it has k."""
    if (child := os.fork()) == 0:
        left = [k]

        def watch(event: str, about: tuple[Any, ...]) -> None:
            if event not in CHANGES or not str(about[0]).startswith(str(folder)):
                return
            if event != "open" or (isinstance(about[2], int) and about[2] & WRITES):
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)
        try:
            work()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def fit(out: Path, seed: int = 0, *, overwrite: bool = False, resume: bool = False) -> bytes:
    estimator = gf.SGFClassifier(n_layers=2, hidden_size=4, max_epochs=4, random_state=seed)
    fit_folder(
        plan_fit(Source(make_karate()), 0), estimator, out, overwrite=overwrite, baselines=False,
        callback=Callback(resume=resume, checkpoint_seconds=0.0),
    )  # fmt: skip
    return answers(out)


def answers(run: Path) -> bytes:
    load_run(run)
    return (run / "predictions.csv").read_bytes()


def kill_fits(folder: Path) -> int:
    whole, again, n = fit(folder / "whole"), fit(folder / "again", 1), 0
    assert again != whole
    for k in range(STEP, 1000, STEP):
        run = folder / f"new{k}"
        if not killed(lambda run=run: fit(run), run, k):
            break
        n += 1
        is_done = (run / "config.json").exists()
        assert (answers(run) if is_done else fit(run, resume=True)) == whole
        assert is_done or not [path.name for path in run.iterdir() if path.name.startswith(".")]
    for k in range(70, 1000, STEP // 2):  # From when the earlier run is replaced.
        run = folder / f"earlier{k}"
        shutil.copytree(folder / "whole", run)
        if not killed(lambda run=run: fit(run, 1, overwrite=True), run, k):
            break
        n += 1
        try:
            assert answers(run) in (whole, again)
        except ModelFileError:
            assert fit(run, 1, resume=True) == again
        else:
            assert fit(run, 1, overwrite=True) == again
    return n


def kill_builds(folder: Path) -> int:
    ids, n = [f"v{i}" for i in range(60)], 0
    rows = [f"{id},{i % 7}.5,{'abc'[i % 3]},{'pq'[i % 2]}\n" for i, id in enumerate(ids)]
    vertices, edges = folder / "v.csv", folder / "e.csv"
    vertices.write_text("id,x,word,label\n" + "".join(rows))
    edges.write_text("source,target\n" + "".join(f"v{i},v{(7 * i + 1) % 60}\n" for i in range(60)))

    def build(out: Path) -> str:
        gf.build_store(edges, vertices, out)
        return gf.open_store(out).checksum()

    whole = build(folder / "whole")
    for k in range(STEP, 1000, STEP):
        store = folder / f"store{k}"
        if not killed(lambda store=store: build(store), store, k):
            break
        n += 1
        is_done = (store / "store.json").exists()
        assert (gf.open_store(store).checksum() if is_done else build(store)) == whole
    return n
