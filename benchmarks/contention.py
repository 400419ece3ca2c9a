"""Training on a busy machine: alone, and beside other processes that never wait.

    python benchmarks/contention.py
    python benchmarks/contention.py --small    fewer epochs

The work is one setting (SGF) on three small graphs, as in the demo, on Pubmed and on Computers. Its
fair share of the cores beside b busy processes is cores / (b + 1), or what it used when alone where
that is less. The ratio is its time to what the same CPU time takes on that share (the goal: at most
1.3). The same is timed on one thread, turn by turn: more threads are never to be slower (the goal:
at most 1.05, which is noise). CPU only. Datasets are looked for in GRAPHFILTER_DATA.
"""

# ruff: noqa: E402 - threads are set before torch loads, as the command line does.
from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from graphfilter.util.machine import prepare_threads, usable_cores

prepare_threads()

import torch

from graphfilter.data import load_dataset
from graphfilter.splits import stratified
from graphfilter.systems import Prepared, get_system, train_system
from graphfilter.training import Callback, Progress
from graphfilter_research.bench.matrix import worker_environment
from harness import (
    Record,
    Tick,
    apart,
    main,
    markdown,
    option_parser,
    show_ratio,
    stage,
    three_digits,
)

WORKS = {"three small graphs": ("digits", "csbm", "bipartite"), "Pubmed": ("pubmed",),
         "Computers": ("computers",)}  # fmt: skip
BUSY = (0, 1, 2, 4)
GOAL, GOAL_OF_ONE = 1.3, 1.05


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Time the same work beside ever more busy processes."""
    epochs, repeats = (20, 1) if options.small else (100, 3)
    cores, rows = usable_cores(), []
    for name, graphs in WORKS.items():
        alone: Record = {}
        for n_busy in BUSY:
            title = f"{name}, beside {n_busy} busy processes"
            with stage(title) as tick, busy_processes(n_busy):
                (seconds, cpu), (one, _) = time_turns(graphs, epochs, cores, repeats, tick)
            row: Record = {"work": name, "busy": n_busy, "seconds": seconds, "cpu_seconds": cpu}
            alone = alone or row
            fair = fair_seconds(alone["seconds"], alone["cpu_seconds"], cores, n_busy)
            row |= {"fair_seconds": fair, "ratio": seconds / fair}
            rows.append(row | {"one_thread": one, "of_one_thread": seconds / one})
    return {"cores": cores, "epochs": epochs, "rows": rows}


def time_turns(
    graphs: Sequence[str], epochs: int, cores: int, repeats: int, tick: Tick
) -> list[tuple[float, float]]:
    """Return the median seconds and CPU time on all threads and on one, taken turn by turn."""
    spent: dict[int, list[tuple[float, float]]] = {cores: [], 1: []}
    for _ in range(repeats):
        for threads, times in spent.items():
            with worker_environment(threads):
                times.append(apart(work, graphs, epochs))
            tick()
    pairs = (zip(*spent[threads], strict=True) for threads in (cores, 1))
    return [(statistics.median(wall), statistics.median(cpu)) for wall, cpu in pairs]


def fair_seconds(seconds: float, cpu_seconds: float, cores: int, n_busy: int) -> float:
    """Return the time that work takes on its fair share, from its times when it was alone.

    >>> fair_seconds(10.0, 10.0, cores=2, n_busy=1), fair_seconds(10.0, 10.0, cores=2, n_busy=4)
    (10.0, 25.0)
    """
    used = cpu_seconds / seconds
    return cpu_seconds / min(used, cores / (n_busy + 1))


def work(names: Sequence[str], epochs: int) -> tuple[float, float]:
    """Train on every graph, after one epoch that does not count; return seconds and CPU time."""
    system = get_system("sgf")
    graphs = [load_dataset(name) for name in names]
    given = [(Prepared.of(graph), [stratified(graph.labels, 0)]) for graph in graphs]  # pyright: ignore

    def train_for(n_epochs: int) -> None:
        def stop(progress: Progress) -> bool:
            return progress.epoch >= n_epochs

        for prepared, splits in given:
            train_system(prepared, system, splits, range(len(splits)), callback=Callback(stop))

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
    """Show times beside the fair ones and those on one thread, and the ratios."""
    rows = []
    for row in record["rows"]:
        # Records made before other graphs and one thread were timed do not have them.
        work, one = row.get("work", next(iter(WORKS))), row.get("one_thread")
        beside = "alone" if row["busy"] == 0 else f"beside {row['busy']} busy"
        times = [f"{three_digits(row[k])} s" for k in ("seconds", "cpu_seconds", "fair_seconds")]
        of_one = (
            ["", ""]
            if one is None
            else [f"{three_digits(one)} s", show_ratio(row["of_one_thread"])]
        )
        rows.append([f"{work}, {beside}", *times, show_ratio(row["ratio"]), *of_one])
    rows.append(["goal", "", "", "", f"≤ {GOAL}×", "", f"≤ {GOAL_OF_ONE}×"])
    title = f"{record['epochs']} epochs of SGF; {record['cores']} cores."
    head = ["processes", "time", "CPU time", "time on a fair share", "ratio"]
    return f"{title}\n\n{markdown([*head, 'time on one thread', 'ratio'], rows)}"


if __name__ == "__main__":
    main("contention", option_parser(__doc__), run, table)
