"""What the benchmarks share: their options, timing, progress, the machine, the record they write.

A benchmark is a script with a ``run`` that gives its measurements, and a ``table`` and mostly a
``draw`` that show a record of them. It prints the table; ``--out FILE`` writes the record as JSON.
The committed records in ``results/`` become the tables and pictures of docs/performance.md by
``python benchmarks/write_docs.py``.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch

import graphfilter
from graphfilter.operators.kernels.native_kernel import native_library
from graphfilter.util.errors import ConfigError, GraphFilterError, check_count
from graphfilter.util.records import write_json
from graphfilter_research.bench.record import content_hash

Record = dict[str, Any]
Tick = Callable[[], None]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Timing:
    """Seconds of a call: the median of the repeats, the fastest and the slowest."""

    median: float
    low: float
    high: float
    repeats: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Timing:
        return cls(statistics.median(seconds), min(seconds), max(seconds), len(seconds))

    def to_json(self) -> dict[str, float]:
        return asdict(self)


def time_calls(
    call: Callable[[], object],
    device: torch.device,
    *,
    seconds: float,
    least: int = 3,
    most: int = 50,
    tick: Tick | None = None,
) -> Timing:
    """Time a call again and again for about ``seconds``, after one that does not count."""
    call()
    spent: list[float] = []
    while len(spent) < least or (len(spent) < most and sum(spent) < seconds):
        spent.append(seconds_of(call, device))
        if tick is not None:
            tick()
    return Timing.of(spent)


def time_epochs(
    train_for: Callable[[int], object],
    device: torch.device,
    *,
    seconds: float,
    repeats: int = 5,
    tick: Tick | None = None,
) -> Timing:
    """Time an epoch of ``train_for(n_epochs)``, which trains anew, for about ``seconds``.

    A long training less the fastest short one, over the epochs between them: what happens once a
    training (set-up, compilation, capture) does not count.
    """
    # On a GPU the first epochs compile and are captured: keep them in both.
    short, extra = 3 if device.type == "cuda" else 1, 1
    train_for(short)
    once = seconds_of(lambda: train_for(short), device)

    def long() -> float:
        return seconds_of(lambda: train_for(short + extra), device)

    while extra < 1000 and long() - once < seconds / repeats / 2:
        extra *= 2
    spent = []
    for _ in range(repeats):
        once = min(once, seconds_of(lambda: train_for(short), device))
        spent.append(long())
        if tick is not None:
            tick()
    return Timing.of([(each - once) / extra for each in spent])


def processor_clock() -> Callable[[], float]:
    """Return the clock of a CPU's benchmarks.

    On one thread it counts the processor's time: what other processes take does not count.
    """
    return time.process_time if torch.get_num_threads() == 1 else time.perf_counter


def seconds_of(call: Callable[[], object], device: torch.device) -> float:
    """Return the seconds one call takes; on a GPU until the last of its kernels has ended."""
    if device.type == "cuda":
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize(device)
        begin.record()
        call()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1e3
    clock = processor_clock()
    started = clock()
    call()
    return clock() - started


def copy_bandwidth(device: torch.device, n_bytes: int) -> float:
    """Return the bytes a second that a copy reads and writes, the best of ten."""
    source = torch.ones(n_bytes // 4, device=device)
    target = torch.empty_like(source)
    timing = time_calls(lambda: target.copy_(source), device, seconds=0, least=10)
    return 2 * source.nbytes / timing.low


@contextmanager
def stage(title: str) -> Iterator[Tick]:
    """Say on standard error what is being measured, a dot a tick, and how long it took."""
    print(title, end=" ", file=sys.stderr, flush=True)
    started = time.perf_counter()
    try:
        yield lambda: print(".", end="", file=sys.stderr, flush=True)
    finally:
        print(f" {time.perf_counter() - started:.1f} s", file=sys.stderr, flush=True)


def option_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser with the options every benchmark has."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--small", action="store_true", help="a quick look, in seconds")
    parser.add_argument("--device", default="cpu", help="cpu (default) or cuda")
    parser.add_argument("--threads", type=int, metavar="N", help="of torch on a CPU")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the record as JSON")
    return parser


def check_device(name: str) -> torch.device:
    """Return the device, or raise where this machine has none such."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"unknown device {name!r}; use cpu or cuda.") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError("this machine has no CUDA device that torch can use; use --device cpu.")
    return device


def machine(device: torch.device) -> Record:
    """Say what the numbers were measured with."""
    versions = {
        "graphfilter": graphfilter.__version__,
        "code": content_hash(),
        "torch": torch.__version__,
    }
    for name in ("triton", "torch_geometric"):
        module = sys.modules.get(name)
        if module is not None:
            versions[name] = module.__version__
    if device.type == "cuda":
        chip = torch.cuda.get_device_name(device)
    else:
        kernel = "torch's products" if native_library() is None else "compiled kernel"
        threads = f"{torch.get_num_threads()} threads of {os.cpu_count()} cores"
        chip = f"{processor()}, {threads}, {kernel}"
    return {"device": chip, "python": platform.python_version(), **versions}


def processor() -> str:
    """Return the processor's name, where Linux tells it."""
    listing = Path("/proc/cpuinfo")
    lines = listing.read_text().splitlines() if listing.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def main(
    benchmark: str,
    parser: argparse.ArgumentParser,
    run: Callable[[argparse.Namespace, torch.device], Record],
    table: Callable[[Record], str],
) -> None:
    """Run a benchmark from the command line: print its table, and write its record if asked to."""
    options = parser.parse_args()
    try:
        device = check_device(options.device)
        if options.threads is not None:
            torch.set_num_threads(check_count("threads", options.threads))
        measured = run(options, device)
        record = make_record(benchmark, options.small, device, measured, options.threads)
    except GraphFilterError as error:
        parser.error(str(error))
    print(f"{table(record)}\n\n{footing(record)}")
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        write_json(options.out, record)


def make_record(
    benchmark: str, small: bool, device: torch.device, measured: Record, threads: int | None = None
) -> Record:
    """Put measurements, the command and the machine into one record."""
    where = "" if device.type == "cpu" else f" --device {device.type}"
    size = (" --small" if small else "") + (f" --threads {threads}" if threads else "")
    return {
        "benchmark": benchmark,
        "device": device.type,
        "small": small,
        "command": f"python benchmarks/{benchmark}.py{where}{size}",
        "measured_with": machine(device),
        **measured,
    }


def apart(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in a fresh process, whose memory has held nothing yet."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def footing(record: Record) -> str:
    """Return one line on where the numbers come from."""
    about = dict(record["measured_with"])
    chip = about.pop("device")
    versions = ", ".join(f"{name} {version}" for name, version in about.items())
    return f"Made by `{record['command']}` on {chip}; {versions}."


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table whose first column is text and whose others are numbers."""
    lines = [head, [":--", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def show_seconds(timing: Record) -> str:
    """Show a timing and its spread, such as 4.21 ms (4.10 to 4.53)."""
    units = (("s", 1.0), ("ms", 1e3), ("µs", 1e6))
    unit, factor = next((u for u in units if timing["median"] * u[1] >= 1), units[-1])
    median, low, high = (three_digits(timing[key] * factor) for key in ("median", "low", "high"))
    return f"{median} {unit} ({low} to {high})"


def three_digits(value: float) -> str:
    """Show a positive number with three digits, and all those before the point.

    >>> three_digits(0.0512), three_digits(5.123), three_digits(5123.4)
    ('0.0512', '5.12', '5,123')
    """
    decimals = max(0, 2 - math.floor(math.log10(value))) if value > 0 else 2
    return f"{value:,.{decimals}f}"


def show_ratio(ratio: float) -> str:
    return f"{ratio:.2f}×" if ratio < 10 else f"{ratio:.0f}×"
