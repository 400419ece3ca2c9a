"""Hidden columns divided among 1, 2 and 4 processes: time, bytes exchanged and memory of a step.

    python benchmarks/scale_out.py                  100,000 vertices, 2 million entries
    python benchmarks/scale_out.py --small            2,000 vertices
    python benchmarks/scale_out.py --network 100    two processes, 100 Mbit/s between them (root)

A FilterNetwork (K = 16, 64 hidden columns, 16 classes, dropout 0.7) is trained by the package's own
loop, each process on one thread, as torchrun would start it. The numbers of processes take turns,
and a ratio is the median over the turns. Where there are fewer cores than processes, the seconds
that a process computes (its processor time) say what it would take on a core of its own.

``--network`` puts each process into a network namespace of its own, with a token bucket (tc) of
so many Mbit/s on either end of the cable between them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from graphfilter.filters import StackedFilter
from graphfilter.models import FilterNetwork
from graphfilter.splits import Split
from graphfilter.training import FitResult, TrainConfig, train
from graphfilter.util import processes
from graphs import make_graph
from harness import Record, main, markdown, option_parser, show_ratio, stage, three_digits

SIZES = {"cpu": (100_000, 2_000_000), "small": (2_000, 20_000)}
N_FEATURES, HIDDEN, N_CLASSES, K = 32, 64, 16, 16
COUNTS = (1, 2, 4)
EPOCHS, TURNS = 4, 3
PORT = 29517
MIB = 2**20


def numbers_per_step(n: int) -> int:
    """Return how many numbers a step exchanges: logits, moments, and the gradient of the bias."""
    return n * N_CLASSES + (K + 1) + N_CLASSES


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Let 1, 2 and 4 processes take turns, and compare what they learn."""
    n, n_entries = SIZES["small" if options.small else "cpu"]
    counts = (1, 2) if options.network else COUNTS
    turns: list[dict[int, list[Record]]] = []
    for turn in range(1 if options.small else TURNS):
        with stage(f"turn {turn + 1}") as tick:
            done: dict[int, list[Record]] = {}
            for count in counts:
                done[count] = launch(count, n, n_entries, options.network)
                tick()
            turns.append(done)
    rows = [_summary(count, turns) for count in counts]
    slow = f" --network {options.network}" if options.network else ""
    return {
        "command": f"python benchmarks/scale_out.py{' --small' if options.small else slow}",
        "n_vertices": n,
        "n_entries": n_entries,
        "network_mbit": options.network,
        "numbers_per_step": numbers_per_step(n),
        "rows": rows,
    }


def _summary(count: int, turns: list[dict[int, list[Record]]]) -> Record:
    """Summarise the turns of so many processes beside those of one."""

    def slowest(done: dict[int, list[Record]], size: int, what: str) -> float:
        return max(each[what] for each in done[size])

    found: Record = {"processes": count}
    for what in ("seconds", "computing"):
        found[what] = statistics.median(slowest(done, count, what) for done in turns)
    # The process that comes last waits least for others.
    least = [min(each["exchanging"] for each in done[count]) for done in turns]
    found["exchanging"] = statistics.median(least)
    for what in ("seconds", "computing"):
        ratios = [slowest(done, 1, what) / slowest(done, count, what) for done in turns]
        found[f"{what}_ratio"] = statistics.median(ratios)
    every = [each for done in turns for each in done[count]]
    found["bytes_per_step"] = max(each["bytes_per_step"] for each in every)
    found["peak_bytes"] = max(each["peak_bytes"] for each in every)
    alone = turns[0][1][0]["loss"]
    found["loss_difference"] = max(abs(each["loss"] - alone) for each in every)
    return found


def launch(count: int, n: int, n_entries: int, mbit: int | None) -> list[Record]:
    """Start processes as torchrun does; return what each has measured."""
    with ExitStack() as stack:
        prefixes: list[list[str]] = [[]] * count
        limited = False
        if mbit is not None and count > 1:
            limited, prefixes = True, stack.enter_context(_cable(mbit))
        started = []
        for rank in range(count):
            place = {
                "RANK": rank, "WORLD_SIZE": count, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": count,
                "MASTER_ADDR": "10.99.0.1" if limited else "127.0.0.1", "MASTER_PORT": PORT,
                "GRAPHFILTER_THREADS": 1, "OMP_NUM_THREADS": 1, "GRAPHFILTER_MEMORY": "100G",
            }  # fmt: skip
            if limited:
                place["GLOO_SOCKET_IFNAME"] = f"gf{rank}"
            words = [sys.executable, str(Path(__file__).resolve()), "--work", f"{n},{n_entries}"]
            environment = {**os.environ, **{name: str(value) for name, value in place.items()}}
            started.append(
                subprocess.Popen([*prefixes[rank], *words], env=environment, stdout=subprocess.PIPE)
            )
        said = [process.communicate()[0] for process in started]
    return [json.loads(text.splitlines()[-1]) for text in said]


@contextmanager
def _cable(mbit: int) -> Generator[list[list[str]]]:
    """Yield what puts a command into one of two namespaces with a slow cable between them."""
    names = ["gf-one", "gf-two"]
    for name in names:
        _do("ip", "netns", "add", name)
    try:
        _do("ip", "link", "add", "gf0", "netns", names[0], "type", "veth",
            "peer", "name", "gf1", "netns", names[1])  # fmt: skip
        for i, name in enumerate(names):
            _do("ip", "-n", name, "addr", "add", f"10.99.0.{i + 1}/24", "dev", f"gf{i}")
            for device in (f"gf{i}", "lo"):
                _do("ip", "-n", name, "link", "set", device, "up")
            _do("tc", "-n", name, "qdisc", "add", "dev", f"gf{i}", "root", "tbf",
                "rate", f"{mbit}mbit", "burst", "128kb", "latency", "400ms")  # fmt: skip
        yield [["ip", "netns", "exec", name] for name in names]
    finally:
        for name in names:
            _do("ip", "netns", "del", name)


def _do(*words: str) -> None:
    subprocess.run(words, check=True)


def work(n: int, n_entries: int) -> Record:
    """Train in one of the processes, and return what was measured here."""
    torch.set_num_threads(1)
    group = processes.start()
    graph = make_graph(n, n_entries, "power-law")
    operator = graph.operator()
    operator.csr()
    draws = torch.Generator().manual_seed(0)
    x = torch.randn(n, N_FEATURES, generator=draws)
    labels = torch.randint(N_CLASSES, (n,), generator=draws)
    network = FilterNetwork(
        N_FEATURES, N_CLASSES, StackedFilter(K), hidden_size=HIDDEN, generator=draws
    )
    half = np.arange(n // 2)
    split = Split(half[: n // 4], half[n // 4 :], np.arange(n // 2, n))
    exchanging = [0.0]
    if group is not None:
        _time_sums(group, exchanging)

    def learn(n_epochs: int) -> FitResult:
        config = TrainConfig(max_epochs=n_epochs)
        return train([network], operator, x, labels, [split], config, seeds=[0])[0]

    # What is loaded or made once does not count.
    learn(1)
    exchanging[0] = 0.0
    started, computed = time.perf_counter(), time.process_time()
    result = learn(EPOCHS)
    seconds, computing = time.perf_counter() - started, time.process_time() - computed
    processes.end()
    return {
        "seconds": seconds / EPOCHS,
        "computing": computing / EPOCHS,
        "exchanging": exchanging[0] / EPOCHS,
        "bytes_per_step": result.communicated.get("step", 0),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "loss": float(result.history["loss"][-1]),
    }


def _time_sums(group: processes.Group, seconds: list[float]) -> None:
    """Count the seconds that this process spends in sums, waiting for others included."""
    inner = group.sum_

    def sum_(tensor: Tensor, purpose: str) -> Tensor:
        started = time.perf_counter()
        try:
            return inner(tensor, purpose)
        finally:
            seconds[0] += time.perf_counter() - started

    setattr(group, "sum_", sum_)  # noqa: B010 - of this object alone


def table(record: Record) -> str:
    """Show a row for every number of processes."""
    head = ["processes", "s per epoch", "speed-up", "computing", "speed-up", "exchanging",
            "MB per step", "by the formula", "peak memory"]  # fmt: skip
    rows = []
    for row in record["rows"]:
        computed = 4 * record["numbers_per_step"] if row["processes"] > 1 else 0
        rows.append(
            [
                str(row["processes"]),
                three_digits(row["seconds"]),
                show_ratio(row["seconds_ratio"]),
                f"{three_digits(row['computing'])} s",
                show_ratio(row["computing_ratio"]),
                f"{three_digits(row['exchanging'])} s" if row["exchanging"] else "",
                f"{row['bytes_per_step'] / 1e6:.3f}" if row["bytes_per_step"] else "",
                f"{computed / 1e6:.3f}" if computed else "",
                f"{row['peak_bytes'] / MIB:,.0f} MiB",
            ]
        )
    network = record["network_mbit"]
    between = f"{network} Mbit/s between the processes" if network else "processes of one machine"
    about = (
        f"{record['n_vertices']:,} vertices, {record['n_entries']:,} entries, {HIDDEN} columns, "
        f"K = {K}, {N_CLASSES} classes, one thread each; {between}. An epoch is a step and a "
        "scoring, each with a sum of the logits; exchanging includes waiting for the others."
    )
    return f"{about}\n\n{markdown(head, rows)}"


if __name__ == "__main__":
    parser = option_parser(__doc__)
    parser.add_argument("--network", type=int, metavar="MBIT", help="two processes, a slow cable")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    asked = parser.parse_known_args()[0].work
    if asked:
        print(json.dumps(work(*(int(word) for word in asked.split(",")))))
    else:
        main("scale_out", parser, run, table)
