"""Training on a busy machine: alone, and beside other processes that never wait.

    python benchmarks/contention.py
    python benchmarks/contention.py --small    fewer epochs

The work is that of the demo: one setting on three small graphs. Its fair share of the cores beside
b busy processes is cores / (b + 1), or what it used when alone where that is less. The ratio is its
time to what the same CPU time takes on that share (the goal: at most 1.3). CPU only.
"""

# ruff: noqa: E402 - threads are set before torch loads, as the command line does.
from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from graphfilter.runtime.threads import prepare_threads, usable_cores

prepare_threads()

import torch

from graphfilter.data import load_dataset
from graphfilter.splits import stratified
from graphfilter.systems import Prepared, get_system
from graphfilter.systems.pipeline import train_system
from graphfilter.training import Progress
from harness import Record, apart, main, markdown, option_parser, show_ratio, stage, three_digits

GRAPHS = ("digits", "csbm", "bipartite")
BUSY = (0, 1, 4)
GOAL = 1.3


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Time the same work beside ever more busy processes."""
    epochs, repeats = (20, 1) if options.small else (100, 3)
    rows = []
    for n_busy in BUSY:
        with stage(f"beside {n_busy} busy processes") as tick, busy_processes(n_busy):
            spent = []
            for _ in range(repeats):
                spent.append(apart(work, epochs))
                tick()
        seconds, cpu = (statistics.median(each) for each in zip(*spent, strict=True))
        rows.append({"busy": n_busy, "seconds": seconds, "cpu_seconds": cpu})
    cores = usable_cores()
    alone = rows[0]
    for row in rows:
        row["fair_seconds"] = fair_seconds(
            alone["seconds"], alone["cpu_seconds"], cores, row["busy"]
        )
        row["ratio"] = row["seconds"] / row["fair_seconds"]
    return {"cores": cores, "epochs": epochs, "graphs": list(GRAPHS), "rows": rows}


def fair_seconds(seconds: float, cpu_seconds: float, cores: int, n_busy: int) -> float:
    """Return the time that work takes on its fair share, from its times when it was alone.

    >>> fair_seconds(10.0, 10.0, cores=2, n_busy=1), fair_seconds(10.0, 10.0, cores=2, n_busy=4)
    (10.0, 25.0)
    """
    used = cpu_seconds / seconds
    return cpu_seconds / min(used, cores / (n_busy + 1))


def work(epochs: int) -> tuple[float, float]:
    """Train on every graph, after one epoch that does not count; return seconds and CPU time."""
    system = get_system("sgf")
    graphs = [load_dataset(name) for name in GRAPHS]
    given = [(Prepared.of(graph), [stratified(graph.labels, 0)]) for graph in graphs]  # pyright: ignore

    def train_for(n_epochs: int) -> None:
        def stop(progress: Progress) -> bool:
            return progress.epoch >= n_epochs

        for prepared, splits in given:
            train_system(prepared, system, splits, range(len(splits)), on_epoch=stop)

    train_for(1)
    started, used = time.perf_counter(), time.process_time()
    train_for(epochs)
    return time.perf_counter() - started, time.process_time() - used


@contextmanager
def busy_processes(n: int) -> Iterator[None]:
    """Keep so many cores busy."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def table(record: Record) -> str:
    """Show times beside the fair ones, and their ratio."""
    rows = [
        [
            "alone" if row["busy"] == 0 else f"beside {row['busy']} busy",
            f"{three_digits(row['seconds'])} s",
            f"{three_digits(row['cpu_seconds'])} s",
            f"{three_digits(row['fair_seconds'])} s",
            show_ratio(row["ratio"]),
        ]
        for row in record["rows"]
    ]
    rows.append(["goal", "", "", "", f"≤ {GOAL}×"])
    title = (
        f"{record['epochs']} epochs on each of {', '.join(record['graphs'])}; "
        f"{record['cores']} cores."
    )
    head = ["processes", "time", "CPU time", "time on a fair share", "ratio"]
    return f"{title}\n\n{markdown(head, rows)}"


if __name__ == "__main__":
    main("contention", option_parser(__doc__), run, table)
