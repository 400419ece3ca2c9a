"""A training epoch beside what a careful user would run, turn by turn.

    python benchmarks/turns.py
    python benchmarks/turns.py --small    Cora only, and nothing compiled

The model and its peers are those of epoch.py, on a CPU. Ours and the peers take turns, so that
whatever else the machine does slows all of them; a ratio is the median over turns of the peer's
time over ours in the same turn. Predictions are compared in the same way. What compiled passes take
of our epoch is measured too, in a training of its own: the peer's time over that is the ratio there
would be if nothing else took time.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import torch

from epoch import DATASETS, EPOCH_GOALS, HIDDEN, PEERS, PREDICTION_GOALS, Case
from graphfilter.operators.kernels.native_kernel import native_library
from graphfilter.training import TrainConfig, train
from harness import (
    Record,
    Timing,
    main,
    markdown,
    option_parser,
    processor_clock,
    seconds_of,
    show_ratio,
    show_seconds,
    stage,
)

Clock = Callable[[], float]


def train_for(case: Case, epochs: int) -> None:
    """Train ours for so many epochs."""
    config = TrainConfig(max_epochs=epochs, patience=epochs)
    train([case.network()], case.operator, case.x, case.labels, [case.split], config, seeds=[0])


def our_clock(case: Case, n_epochs: int) -> Clock:
    """Return a call that gives the seconds of one of our epochs, set-up not counted."""

    def seconds() -> float:
        once = seconds_of(lambda: train_for(case, 1), case.device)
        return (seconds_of(lambda: train_for(case, 1 + n_epochs), case.device) - once) / n_epochs

    return seconds


def compiled_clock(case: Case, n_epochs: int) -> Clock:
    """Return a call that gives what compiled passes take of one of our epochs."""

    def seconds() -> float:
        with compiled_seconds() as spent:
            train_for(case, n_epochs)
        return sum(spent) / n_epochs

    return seconds


@contextmanager
def compiled_seconds() -> Generator[list[float]]:
    """Within, take the seconds of every call of compiled code."""
    library, clock, spent = native_library(), processor_clock(), []
    functions = {k: f for k, f in vars(library).items() if k.startswith("graphfilter_")}

    def timed(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            started = clock()
            result = function(*arguments)
            spent.append(clock() - started)
            return result

        return call

    for name, function in functions.items():
        setattr(library, name, timed(function))
    try:
        yield spent
    finally:
        for name, function in functions.items():
            setattr(library, name, function)


def peer_clock(case: Case, kind: str, n_epochs: int) -> Clock:
    """Return a call that gives the seconds of one epoch of a peer, which has compiled before."""
    epoch = case.peer_epoch(kind)
    epoch()

    def epochs() -> None:
        for _ in range(n_epochs):
            epoch()

    return lambda: seconds_of(epochs, case.device) / n_epochs


def prediction_clocks(case: Case) -> dict[str, Clock]:
    """Return calls that give the seconds of a prediction: ours, on hidden columns, two peers'."""
    calls: dict[str, Callable[[], object]] = {
        "ours": case.prediction(narrow=True),
        "hidden": case.prediction(narrow=False),
    }
    calls |= {kind: case.peer_prediction(kind) for kind in ("plain_csr", "pyg")}

    def clock(call: Callable[[], object], n_calls: int) -> float:
        def several() -> None:
            for _ in range(n_calls):
                call()

        return seconds_of(several, case.device) / n_calls

    # Ours take little longer than the clock is exact.
    return {
        name: lambda call=call, n=20 if name in ("ours", "hidden") else 2: clock(call, n)
        for name, call in calls.items()
    }


def measure(case: Case, kinds: list[str], n_turns: int, seconds: float) -> Record:
    """Let ours and the peers take turns; return times, and ratios turn by turn."""
    estimate = max(our_clock(case, 5)(), 1e-4)
    n_ours = min(50, max(5, int(seconds / estimate)))
    clocks = {"ours": our_clock(case, n_ours)}
    if native_library() is not None:
        clocks["compiled"] = compiled_clock(case, n_ours)
    clocks |= {kind: peer_clock(case, kind, max(1, n_ours // 10)) for kind in kinds}
    turns = [{name: clock() for name, clock in clocks.items()} for _ in range(n_turns)]
    return _compared(turns)


def _compared(turns: list[dict[str, float]]) -> Record:
    """Return the times of each, and the ratios to ours turn by turn."""
    row: Record = {name: Timing.of([turn[name] for turn in turns]).to_json() for name in turns[0]}
    row["ratios"] = {
        kind: Timing.of([turn[kind] / turn["ours"] for turn in turns]).to_json()
        for kind in turns[0]
        if kind not in ("ours", "compiled")
    }
    if "compiled" in turns[0]:
        bounds = [turn["plain_sparse"] / turn["compiled"] for turn in turns]
        row["bound"] = Timing.of(bounds).to_json()
    return row


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Measure every dataset."""
    names = options.datasets.split(",") if options.datasets else DATASETS
    # Compiling takes longer than all the rest of a small run.
    kinds = [kind for kind in PEERS if kind != "pyg_compiled" or not options.small]
    rows = []
    for name in names[:1] if options.small else names:
        with stage(f"{name}: turn by turn"):
            case, n_turns = Case(name, device), 3 if options.small else 5
            measured = measure(case, kinds, n_turns, 0.4)
            clocks = prediction_clocks(case)
            turns = [{kind: clock() for kind, clock in clocks.items()} for _ in range(n_turns)]
        rows.append({"dataset": name, **measured, "prediction": _compared(turns)})
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {"epochs": rows, "load": load}


def table(record: Record) -> str:
    """Show the ratios of the turns: the times themselves depend on what else the machine does."""
    rows = []
    for row in record["epochs"]:
        for kind, ratio in row["ratios"].items():
            goal = EPOCH_GOALS["cpu"].get(kind, {}).get(row["dataset"])
            spread = f"{show_ratio(ratio['low'])} to {show_ratio(ratio['high'])}"
            shown = [f"**{show_ratio(ratio['median'])}**", spread, f"≥ {goal}×" if goal else ""]
            rows.append([row["dataset"], PEERS[kind], *shown])
    head = ["an epoch", "peer", "peer / ours", "least and greatest turn", "goal"]
    others = {"hidden": f"ours, on {HIDDEN} hidden columns", **PEERS}
    predicted = []
    for row in record["epochs"]:
        for kind, ratio in row.get("prediction", {"ratios": {}})["ratios"].items():
            goal = PREDICTION_GOALS.get(row["dataset"]) if kind == "pyg" else None
            spread = f"{show_ratio(ratio['low'])} to {show_ratio(ratio['high'])}"
            shown = [f"**{show_ratio(ratio['median'])}**", spread, f"≥ {goal}×" if goal else ""]
            predicted.append([row["dataset"], others[kind], *shown])
    load = record["load"]
    note = (
        "" if load is None else f"\n\nAverage load of the machine meanwhile: {load:.1f} processes."
    )
    tables = [markdown(head, rows), *_bounds(record["epochs"])]
    if predicted:
        tables.append(markdown(["a prediction", *head[1:]], predicted))
    return "\n\n".join(tables) + note


def _bounds(epochs: list[Record]) -> list[str]:
    """Show what compiled passes take of an epoch, and the ratio that they alone would leave."""
    rows = []
    for row in epochs:
        if "bound" not in row:
            return []  # Of a record made before they were measured.
        goal, bound = EPOCH_GOALS["cpu"]["plain_sparse"].get(row["dataset"]), row["bound"]
        spread = f"{show_ratio(bound['low'])} to {show_ratio(bound['high'])}"
        shown = [show_seconds(row["ours"]), show_seconds(row["compiled"])]
        wanted = f"≥ {goal}×" if goal else ""
        rows.append([row["dataset"], *shown, f"**{show_ratio(bound['median'])}**", spread, wanted])
    head = ["an epoch", "ours", "compiled passes of it", "sparse peer / these"]
    return [markdown([*head, "least and greatest turn", "goal of the ratio"], rows)]


if __name__ == "__main__":
    parser = option_parser(__doc__)
    parser.add_argument("--datasets", help="names with commas between them")
    main("turns", parser, run, table)
