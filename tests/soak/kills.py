"""Runs that are killed at random moments and resumed: they must end with the same bits."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.processes import Command

from graphfilter.bench import Record, read_records

# Each run is killed several times on its way.
KILLS_PER_RUN = 5
# Seconds after which a command is taken to hang.
HANGS = 300
SAME_FILES = ("predictions.csv", "model.safetensors")
FIT = (
    "fit", "--dataset", "karate", "--epochs", "400", "--patience", "400", "--layers", "4",
    "--model", "sgf", "--no-baselines", "--quiet",
)  # fmt: skip
BENCH = (
    "bench", "--datasets", "karate", "--models", "sgf,mlp,appnp", "--runs", "6",
    "--max-epochs", "120", "--quiet",
)  # fmt: skip


def kill_fit(folder: Path, n_kills: int, seed: int) -> list[str]:
    """Kill and resume fits; compare predictions and weights with those of an undisturbed one."""
    whole = folder / "whole"
    seconds = finish([*FIT, "--out", str(whole)])
    wanted = [(whole / name).read_bytes() for name in SAME_FILES]

    def check(i: int, n_done: int) -> list[str]:
        run = folder / f"killed-{i}"
        # One that was killed after its last file was written is finished.
        if not (run / "config.json").exists():
            finish([*FIT, "--out", str(run), "--resume"])
        differ = [
            f"fit {i}: {name} differs after {n_done} kills"
            for name, content in zip(SAME_FILES, wanted, strict=True)
            if (run / name).read_bytes() != content
        ]
        left = [f"fit {i}: {p.name} is left" for p in run.iterdir() if p.name.startswith(".")]
        return differ + left

    def command(i: int) -> list[str]:
        return [*FIT, "--out", str(folder / f"killed-{i}"), "--resume"]

    return _kill("fit", n_kills, random.Random(seed), seconds, command, check)


def kill_bench(folder: Path, n_kills: int, seed: int) -> list[str]:
    """Kill and repeat benchmarks; compare the scores of every run with an undisturbed one."""
    seconds = finish([*BENCH, "--out", str(folder / "whole.jsonl")])
    wanted = results(read_records(folder / "whole.jsonl"))

    def command(i: int) -> list[str]:
        return [*BENCH, "--out", str(folder / f"killed-{i}.jsonl")]

    def check(i: int, n_done: int) -> list[str]:
        finish(command(i))
        records = read_records(folder / f"killed-{i}.jsonl")
        if results(records) != wanted or len(records) != len(wanted):
            return [f"bench {i}: {len(records)} records differ after {n_done} kills"]
        return []

    return _kill("bench", n_kills, random.Random(seed), seconds, command, check)


def results(records: Sequence[Record]) -> dict[str, object]:
    """Return what a run found, by what was asked; times and machines aside."""
    return {r.key: (r.status, r.scores, r.best_epoch, r.epochs, r.filter) for r in records}


def _kill(
    what: str,
    n_kills: int,
    moments: random.Random,
    seconds: float,
    command: Callable[[int], list[str]],
    check: Callable[[int, int], list[str]],
) -> list[str]:
    """Kill n times, several times per run, within ``seconds``; check each run in the end."""
    done = early = runs = 0
    problems: list[str] = []
    while done < n_kills:
        in_this = 0
        while done < n_kills and in_this < KILLS_PER_RUN:
            with start(command(runs)) as process:
                began = time.perf_counter()
                ended = process.wait(moments.uniform(0.2, 1.0) * seconds)
            if ended:
                # The machine is less busy than it was: kill earlier from now on.
                early, seconds = early + 1, min(seconds, time.perf_counter() - began)
                break
            done, in_this = done + 1, in_this + 1
        found = check(runs, in_this)
        print(f"{what} {runs}: {in_this} kills, {found or 'the same in the end'}", flush=True)
        problems += found
        runs += 1
    print(f"{done} kills of {what} in {runs} runs ({early} ended before their kill)", flush=True)
    return problems


def start(words: Sequence[str]) -> Command:
    """Start a command, which is killed at the end of the block."""
    return Command(words, Path(tempfile.gettempdir()) / "said", {"TMPDIR": tempfile.gettempdir()})


def finish(words: Sequence[str]) -> float:
    """Run a command to its end; return the seconds it took."""
    with start(words) as process:
        began = time.perf_counter()
        process.wait(HANGS)
    if process.code != 0:
        raise RuntimeError(f"graphfilter {' '.join(words)} ended with code {process.code}")
    return time.perf_counter() - began
