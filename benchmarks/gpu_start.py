"""The first fit of a process on a GPU: how long one waits, and for what.

    python benchmarks/gpu_start.py --device cuda
    python benchmarks/gpu_start.py --small            Karate, on the CPU

Every dataset is fitted once by the committee, in a process of its own whose Triton cache is empty,
on one stratified 60/20/20 split: imports, the CUDA context with the first product, reading, and the
fit, all in wall-clock seconds. Of the fit: Triton's own seconds and kernels, the C compiler's for
what launches them, and the members'. Members without epochs are fitted beside the networks, so
parts may add up to more than the whole. ``--profile`` also lists every phase of a fit with the
moment it began, and ``--json`` prints the record instead of a table.
"""

# ruff: noqa: E402 - the imports are timed, and threads are set before torch loads.
from __future__ import annotations

import time

BEGAN = time.perf_counter()

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from default_fit import ARXIV, FIRST_GOALS, fit_committee, read_graph, stratified, torch

IMPORTED = time.perf_counter()

from graphfilter.operators import kernels
from graphfilter.systems import committee, outcome as committee_outcome
from harness import Record, main, markdown, option_parser, stage, three_digits

DATASETS = ("cora", "pubmed", ARXIV)


class Compilations:
    """What Triton compiles from now on, and the C compiler for it."""

    def __init__(self) -> None:
        self.kernels: list[Record] = []
        self.launchers: list[float] = []
        try:
            from triton import knobs
            from triton.runtime import build
        except ImportError:
            return
        knobs.compilation.listener = self._add
        compile_c: Any = build._build

        def timed(*arguments: Any, **options: Any) -> Any:
            started = time.perf_counter()
            try:
                return compile_c(*arguments, **options)
            finally:
                self.launchers.append(time.perf_counter() - started)

        build._build = timed

    def _add(self, *, times: Any, cache_hit: bool, **_: Any) -> None:
        stages = {"ast": times.ir_initialization, **dict(times.lowering_stages)}
        seconds = {name: spent / 1e6 for name, spent in stages.items()}
        self.kernels.append({"cached": cache_hit, "seconds": times.total / 1e6, "stages": seconds})

    def record(self) -> Record:
        made = [kernel for kernel in self.kernels if not kernel["cached"]]
        names = {name for kernel in made for name in kernel["stages"]}
        return {
            "kernels": len(made),
            "kernel_seconds": sum(kernel["seconds"] for kernel in made),
            "stages": {name: sum(k["stages"].get(name, 0.0) for k in made) for name in names},
            "launchers": len(self.launchers),
            "launcher_seconds": sum(self.launchers),
        }


class Phases:
    """When the phases of a fit began from now on, and how long each took."""

    def __init__(self) -> None:
        self.rows: list[Record] = []
        self._began = time.perf_counter()
        member: Any = committee.Member
        training: Any = committee._Training  # pyright: ignore[reportPrivateUsage]
        self._watch(kernels, "_runs_a_kernel", lambda *_: "first kernel")
        self._watch(member, "begin", lambda own: f"{own.system.name}: prepared")
        self._watch(member, "advance", lambda own, end, *_: f"{own.system.name}: to epoch {end}")
        self._watch(member, "join", lambda own, *_: f"{own.system.name}: other seeds")
        self._watch(training, "advance", lambda own, end: f"all: to epoch {end}")
        self._watch(training, "judge", lambda own, epoch: f"all: judged at {epoch}")
        self._watch(training, "end", lambda own: "all: answers")
        self._watch(committee, "weigh_parts", lambda *_: "weighed")
        self._watch(
            committee_outcome, "outputs_for_new", lambda *given: f"{given[3]:.0%} of vertices known"
        )

    def _watch(self, owner: Any, name: str, title: Callable[..., str]) -> None:
        done = getattr(owner, name)

        def timed(*given: Any, **options: Any) -> Any:
            started = time.perf_counter()
            try:
                return done(*given, **options)
            finally:
                spent = time.perf_counter() - started
                at = started - self._began
                self.rows.append({"phase": title(*given), "at": at, "seconds": spent})

        setattr(owner, name, timed)


def first_fit(name: str, device: torch.device, *, profile: bool = False) -> Record:
    """Fit a dataset in this process, which has done nothing else."""
    times = {"imports": IMPORTED - BEGAN}
    last = time.perf_counter()

    def done(what: str) -> None:
        nonlocal last
        times[what] = time.perf_counter() - last
        last = time.perf_counter()

    if device.type == "cuda":
        one = torch.ones(64, 64, device=device)
        (one @ one).cpu()
        done("context")
    compilations = Compilations()
    graph = read_graph(name)
    split = stratified(graph.labels, 0)  # pyright: ignore
    done("reading")
    phases = Phases() if profile else None
    processor = time.process_time()
    accuracy, members = fit_committee(graph, split, device)
    done("fit")
    return {
        "dataset": name,
        "seconds": times,
        "processor_seconds": time.process_time() - processor,
        "accuracy": accuracy,
        "members": members,
        **compilations.record(),
        **({} if phases is None else {"phases": phases.rows}),
    }


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Start a process per dataset, each with an empty cache."""
    if options.first_fit is not None:
        print(json.dumps(first_fit(options.first_fit, device, profile=options.profile)))
        sys.exit()
    names = options.datasets.split(",") if options.datasets else DATASETS
    rows = []
    for name in ["karate"] if options.small else names:
        command = [sys.executable, __file__, "--device", device.type, "--first-fit", name]
        command += ["--profile"] if options.profile else []
        with stage(f"{name}: first fit"), tempfile.TemporaryDirectory() as cache:
            started = time.perf_counter()
            kept = {**os.environ, "TRITON_CACHE_DIR": cache}
            made = subprocess.run(command, env=kept, check=True, stdout=subprocess.PIPE)
            row = json.loads(made.stdout)
        rows.append({**row, "process_seconds": time.perf_counter() - started})
    return {"rows": rows}


def table(record: Record) -> str:
    """Show what a process waits for."""
    rows = []
    for row in record["rows"]:
        spent, goal = row["seconds"], FIRST_GOALS.get(row["dataset"])
        parts = [spent.get(part, 0.0) for part in ("imports", "context", "reading", "fit")]
        members = ", ".join(
            f"{m['member']} {three_digits(m['seconds'])} s"
            for m in sorted(row["members"], key=lambda m: -m["seconds"])
        )
        rows.append(
            [
                row["dataset"],
                *(f"{three_digits(part)} s" for part in (row["process_seconds"], *parts)),
                "" if goal is None else f"≤ {goal} s",
                f"{row['kernels']}: {three_digits(row['kernel_seconds'])} s",
                f"{row['launchers']}: {three_digits(row['launcher_seconds'])} s",
                f"{100 * row['accuracy']:.1f}",
                members,
            ]
        )
    head = ["the first fit", "process", "imports", "CUDA context", "reading", "fit", "goal"]
    shown = [markdown([*head, "kernels", "launchers", "accuracy", "members"], rows)]
    for row in record["rows"]:
        lines = [
            [each["phase"], *(f"{three_digits(each[key])} s" for key in ("at", "seconds"))]
            for each in sorted(row.get("phases", ()), key=lambda each: each["at"])
            if each["seconds"] >= 0.001
        ]
        shown += [markdown([row["dataset"], "began", "took"], lines)] if lines else []
    return "\n\n".join(shown)


if __name__ == "__main__":
    parser = option_parser(__doc__)
    parser.add_argument("--datasets", help="names with commas between them")
    parser.add_argument("--profile", action="store_true", help="list the phases of each fit")
    parser.add_argument("--json", action="store_true", help="print the record, not a table")
    parser.add_argument("--first-fit", help=argparse.SUPPRESS)
    as_json = "--json" in sys.argv
    main("gpu_start", parser, run, (lambda record: json.dumps(record)) if as_json else table)
