"""What the package is worth in four rows, for the README, from the records that are there."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

import real_tables
import resumable
from graphfilter_research.paper.committee_table import DATASETS, in_one_line
from harness import Record, markdown, three_digits

HEAD = ["measured", "graphfilter", "beside it", "command"]
RESULTS = Path(__file__).resolve().parents[1] / "results"
DATASET, DEPTH = "cora", 16


def table(records: dict[str, Record], results: Path = RESULTS) -> str:
    """Return real tables, graphs, the time of a fit and the memory of a step, each beside peers."""
    return markdown(HEAD, list(_rows(records, results)))


def _rows(records: dict[str, Record], results: Path) -> Iterator[list[str]]:
    if (file := resumable.records_of("real_tables")).exists():
        yield [
            *real_tables.in_one_line(resumable.read_records(file)),
            "`python benchmarks/real_tables.py`",
        ]
    yield [
        f"{len(DATASETS)} graphs, one setting, ten splits each",
        *in_one_line(results),
        "`graphfilter reproduce committee`",
    ]
    fits = [records.get(name, {}) for name in ("default_fit-cora-cpu", "default_fit-cpu")]
    for record in fits:
        row = next((row for row in record.get("rows", []) if row["dataset"] == DATASET), None)
        if row is not None and "processor_turns" in row:
            yield [*_default_fit(row), f"`{record['command']}`"]
            break
    memory = records.get("memory-cpu", {})
    for row in memory.get("peak_bytes", []):
        if row["K"] == DEPTH:
            yield [
                f"the paper's filter, {memory['n_vertices']:,} vertices: peak of a step",
                f"{row['ours'] / 2**20:,.0f} MiB",
                f"autograd, same products: {row['autograd'] / 2**20:,.0f} MiB",
                f"`{memory['command']}`",
            ]


def _default_fit(row: Record) -> list[str]:
    """Return the processor time and test accuracy of the committee, and of a GCN in two ways."""

    def of(who: str, accuracy: str) -> str:
        spent = statistics.median(turn[who][0] for turn in row["processor_turns"])
        return f"{three_digits(spent)} s ({100 * row[accuracy]:.1f} %)"

    theirs = f"PyG's GCN, 200 epochs: {of('gcn', 'gcn_accuracy')}"
    if row.get("gcn_sparse_accuracy") is not None:
        theirs += f"; with sparse features {of('gcn_sparse', 'gcn_sparse_accuracy')}"
    name = f"{DATASET.capitalize()}, one split: a core's time, and test accuracy"
    return [name, of("committee", "accuracy"), theirs]
