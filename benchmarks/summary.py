"""The speed of the package in three rows, for the README, from the records that are there."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import epoch
from harness import Record, markdown, show_ratio, show_seconds, three_digits

HEAD = ["on a CPU", "graphfilter", "beside it", "ratio"]
# What a careful user would run, if it is on record.
CAREFUL = ("plain_sparse", "plain_csr")
DATASET, DEPTH = "cora", 16


def table(records: dict[str, Record]) -> str:
    """Return the default fit, an epoch and the memory of a step, each beside a peer."""
    return markdown(HEAD, list(_rows(records)))


def _rows(records: dict[str, Record]) -> Iterator[list[str]]:
    if row := _on(records.get("default_fit-cpu", {}).get("rows", [])):
        yield _default_fit(row)
    if row := _on(records.get("turns-cpu", {}).get("epochs", [])):
        kind = next(kind for kind in CAREFUL if kind in row["ratios"])
        name = f"{DATASET.capitalize()}: an epoch of SGF, {DEPTH} layers, turn by turn"
        yield [
            name,
            _median(row["ours"]),
            f"{epoch.PEERS[kind]}: {_median(row[kind])}",
            show_ratio(row["ratios"][kind]["median"]),
        ]
    memory = records.get("memory-cpu", {})
    for row in memory.get("peak_bytes", []):
        if row["K"] == DEPTH:
            yield [
                f"{memory['n_vertices']:,} vertices: peak memory of its filter's step",
                f"{row['ours'] / 2**20:,.0f} MiB",
                f"autograd: {row['autograd'] / 2**20:,.0f} MiB",
                show_ratio(row["autograd"] / row["ours"]),
            ]


def _on(rows: list[Record]) -> Record | None:
    return next((row for row in rows if row["dataset"] == DATASET), None)


def _default_fit(row: Record) -> list[str]:
    """Return the time and the test accuracy of the committee and of a GCN."""
    first = {who: [turn[who][0] for turn in row["turns"]] for who in ("committee", "gcn")}
    ours, theirs = (f"{three_digits(statistics.median(times))} s" for times in first.values())
    ratio = statistics.median(b / a for a, b in zip(*first.values(), strict=True))
    return [
        f"{DATASET.capitalize()}: the default fit, one split",
        f"{ours}, {100 * row['accuracy']:.1f} % right",
        f"PyG's GCN, 200 epochs: {theirs}, {100 * row['gcn_accuracy']:.1f} %",
        show_ratio(ratio),
    ]


def _median(timing: Record) -> str:
    return show_seconds(timing).partition(" (")[0]
