"""A filter's walk in single and in half precision on a CPU, turn by turn.

    python benchmarks/walk.py --threads 1
    python benchmarks/walk.py --small

16 layers on 64 columns, forward: all columns at once, in the blocks that the kernel chooses,
and in these with columns stored in bfloat16 (``operator.to(dtype=torch.bfloat16)``) and summed in
float32. Errors are against float64, the largest over the largest value.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from torch import Tensor

from graphfilter.filters import StackedFilter
from graphfilter.operators import Operator
from graphfilter.operators.kernels import native_kernel
from graphs import Degrees, make_graph
from harness import Record, Timing, main, markdown, option_parser, seconds_of, show_ratio, stage

N_LAYERS, N_COLUMNS = 16, 64
GRAPHS: tuple[tuple[int, int, Degrees], ...] = (
    (20_000, 110_000, "uniform"),
    (100_000, 2_100_000, "uniform"),
    (100_000, 2_100_000, "power-law"),
    (100_000, 2_100_000, "communities"),
)
SMALL: tuple[tuple[int, int, Degrees], ...] = ((500, 4_000, "communities"),)
WAYS = {"at_once": "at once", "blocks": "in blocks", "half": "in blocks, bfloat16"}


def at_once(*sizes: int) -> int:
    """Stand in for the choice of a block: all columns."""
    return sizes[2]


def walk(operator: Operator, x: Tensor, way: str) -> Tensor:
    """Filter these columns in one of the ways."""
    chosen = native_kernel.block_width
    native_kernel.block_width = at_once if way == "at_once" else chosen
    try:
        with torch.no_grad():
            return StackedFilter(N_LAYERS)(operator, x)
    finally:
        native_kernel.block_width = chosen


def measure(n: int, n_entries: int, degrees: Degrees, n_turns: int) -> Record:
    """Let the ways take turns on one graph; return their times, gains and errors."""
    operator = make_graph(n, n_entries, degrees).operator()
    x = torch.randn(n, N_COLUMNS, generator=torch.Generator().manual_seed(0)).relu()
    half = operator.to(dtype=torch.bfloat16), x.bfloat16()
    given = {way: half if way == "half" else (operator, x) for way in WAYS}
    calls: dict[str, Callable[[], Tensor]] = {
        way: lambda way=way: walk(*given[way], way) for way in WAYS
    }
    exact = StackedFilter(N_LAYERS).double()(operator.to(dtype=torch.float64), x.double())
    row: Record = {"n": n, "n_entries": n_entries, "degrees": degrees, "error": {}}
    for way, call in calls.items():
        row["error"][way] = ((call().double() - exact).abs().max() / exact.abs().max()).item()
    turns = [
        {way: seconds_of(call, x.device) for way, call in calls.items()} for _ in range(n_turns)
    ]
    for way in WAYS:
        row[way] = Timing.of([turn[way] for turn in turns]).to_json()
    row["gain"] = {
        way: Timing.of([turn["at_once"] / turn[way] for turn in turns]).to_json() for way in WAYS
    }
    return row


def run(options: argparse.Namespace, device: torch.device) -> Record:
    """Measure every graph."""
    rows = []
    for n, n_entries, degrees in SMALL if options.small else GRAPHS:
        with stage(f"{n:,} vertices, {degrees}"):
            rows.append(measure(n, n_entries, degrees, 3 if options.small else 5))
    return {"rows": rows}


def table(record: Record) -> str:
    """Show what blocks and half precision gain over all columns at once, with the errors."""
    rows = []
    for row in record["rows"]:
        gains = [f"**{show_ratio(row['gain'][way]['median'])}**" for way in ("blocks", "half")]
        errors = [f"{row['error'][way]:.1e}" for way in ("blocks", "half")]
        size = f"{row['n']:,} × {row['n_entries']:,}, {row['degrees']}"
        rows.append([size, f"{1e3 * row['at_once']['median']:,.0f} ms", *gains, *errors])
    head = ["a walk", WAYS["at_once"], "gain of blocks", "of blocks and bfloat16"]
    return markdown([*head, "error, float32", "error, bfloat16"], rows)


if __name__ == "__main__":
    main("walk", option_parser(__doc__), run, table)
