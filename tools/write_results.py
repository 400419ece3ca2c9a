"""Rebuild from the records what they say of the committee and its peers.

    python tools/write_results.py
    python tools/write_results.py --committee committee.jsonl --peers peers.jsonl

Writes the tables of results/committee.* and results/peers.*, and what stands in docs/compare.md
between ``<!-- begin:committee -->`` and ``<!-- end:committee -->``. New records, if given, are
taken first: a system's ten runs on a dataset replace those on record; fewer are left out. A test
holds tables and page to the records. The line of the README is by ``benchmarks/write_docs.py``.
"""

from __future__ import annotations

import argparse
import gzip
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from graphfilter.util.files import atomic_file
from graphfilter_research.bench.record import Record, read_records
from graphfilter_research.paper.committee_table import summarise

ROOT = Path(__file__).resolve().parents[1]
TARGETS = ("committee", "peers")
MARKED = re.compile(r"(<!-- begin:committee -->\n).*?(<!-- end:committee -->)", re.S)
RUNS = 10


def replaced(old: Sequence[Record], new: Sequence[Record]) -> list[Record]:
    """Return the records with every complete pair of the new ones in place of the old."""
    pairs: dict[tuple[str, ...], dict[int, Record]] = {}
    for record in new:
        if record.ok:
            pairs.setdefault(pair_of(record), {})[record.seed] = record
    complete = {pair: runs for pair, runs in pairs.items() if len(runs) == RUNS}
    for pair in sorted(pairs.keys() - complete.keys()):
        print(f"left out, {len(pairs[pair])} runs: {' '.join(pair)}")
    kept = [record for record in old if pair_of(record) not in complete]
    return [record for runs in complete.values() for record in runs.values()] + kept


def pair_of(record: Record) -> tuple[str, ...]:
    """Return what ten runs have in common."""
    return record.dataset, record.model, record.split_rule, record.scaling


def pack(records: Sequence[Record], path: Path) -> None:
    """Write records, the same ones to the same bytes."""
    lines = "".join(f"{record.to_json()}\n" for record in records)
    with atomic_file(path) as temporary:
        temporary.write_bytes(gzip.compress(lines.encode(), mtime=0))


def main() -> None:
    """Take new records, if any, and rebuild."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name in TARGETS:
        parser.add_argument(f"--{name}", type=Path, help="new records, plain or gzipped")
    given = vars(parser.parse_args())
    results = ROOT / "results"
    for name in TARGETS:  # All first: the committee's table reads the peers' records.
        path = results / f"{name}.jsonl.gz"
        if given[name] is not None:
            pack(replaced(read_records(path), read_records(given[name])), path)
    for name in TARGETS:
        with tempfile.TemporaryDirectory() as folder:
            rebuild = ("reproduce", name, "--from-records", str(results), "--out", folder)
            subprocess.run(
                [sys.executable, "-m", "graphfilter", *rebuild],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            for suffix in (".md", ".csv", ".tex"):
                shutil.copy(Path(folder) / f"{name}{suffix}", results)
    path = ROOT / "docs" / "compare.md"
    page = path.read_text(encoding="utf-8")
    text = summarise(results)
    with atomic_file(path) as temporary:
        temporary.write_text(
            MARKED.sub(lambda m: f"{m[1]}\n{text}\n\n{m[2]}", page), encoding="utf-8"
        )
    print(text)


if __name__ == "__main__":
    main()
