"""Run the peers of later papers, and the holes of the other records, for as long as is given.

    python tools/peer_runs.py --out OUT --jobs 10 --minutes 8.5
    python tools/peer_runs.py --list

Pairs of a dataset and a system stand in the order of their worth, so that what is on record when
the time is up is what matters most. Called again with the file it wrote, it continues. What is on
record elsewhere in ``results`` is not run again. The records are written to ``OUT/peers.jsonl``
and, at the end, to ``OUT/peers.jsonl.gz``.
"""

from __future__ import annotations

import argparse
import gzip
import shutil
import signal
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FrameType

from graphfilter.util.machine import pick_device
from graphfilter_research.bench.matrix import BenchProgress, run_matrix
from graphfilter_research.bench.pair import Pair
from graphfilter_research.bench.record import RecordFile
from graphfilter_research.paper.collect import known_records
from graphfilter_research.paper.committee_table import DATASETS

NAME = "peers"
ELSEWHERE = ("table2", "table3", "table5", "systems", "settings", "others", "committee")
TUNED = ("gcn-tuned", "sage-tuned", "gat-tuned")
BLOCKS = ("gcn-blocks", "sage-blocks", "gat-blocks", "gat-sep")
MIXED = ("fsgnn", "acm-gcn", "glognn")
OWN_SPLITS = ("minesweeper", "tolokers", "chameleon_filtered", "squirrel_filtered")
BY_AUC = ("minesweeper", "tolokers")
WEB = ("wisconsin", "cornell", "cornell_geomgcn", "texas")
LARGE = ("photo", "computers", "pubmed")
CITED = ("cora", "citeseer")
WIKI = ("chameleon", "squirrel", "actor")
PRINTED = (*CITED, "pubmed", "chameleon", "wisconsin", "cornell_geomgcn", "texas")
# Less decay; and, in GCNII's comparison, the size and rate of all networks there.
JKNETS = (
    "jknet-dropedge@weight_decay=5e-6",
    "jknet-dropedge@hidden_size=64@learning_rate=0.01@n_layers=4",
)
MADE = ("bipartite_paper", "bipartite_sparse")
# System, dataset, split rule and scaling.
Run = tuple[str, str, str, str]


def protocol(systems: Iterable[str], datasets: Iterable[str], scaling: str = "auto") -> list[Run]:
    """Return runs on the splits of the committee's tables."""
    return [(s, d, DATASETS.get(d, "stratified"), scaling) for d in datasets for s in systems]


def fixed(systems: Iterable[str], datasets: Iterable[str], scaling: str = "row") -> list[Run]:
    """Return runs on the splits that the authors print numbers of."""
    return [(s, d, "fixed", scaling) for d in datasets for s in systems]


STAGES: dict[str, list[Run]] = {
    # What the table of printed numbers lacks, and the strongest peers as averages of five seeds.
    "now": [
        *fixed(("glognn",), ("squirrel",)),
        *protocol(("glognn",), ("squirrel", "chameleon")),
        *protocol(("gcn-blocks", "sage-blocks"), ("minesweeper",)),
        *protocol(("fsgnn*5", "acm-gcn*5"), (*WEB, "cora")),
        *protocol(("gat",), ("bipartite_sparse",)),
        *protocol(("linkx", "graphsage"), ("chameleon",)),
        *protocol(("gcn-tuned",), ("computers",)),
        *protocol(("fsgnn", "glognn"), ("cora",)),
        *protocol(("fsgnn", "acm-gcn", "glognn"), ("citeseer",)),
        *protocol(("fsgnn*5", "acm-gcn*5"), ("chameleon", "squirrel", "actor")),
        *protocol(("sage-tuned",), ("minesweeper",)),
        *protocol(TUNED, (*WEB, *CITED)),
    ],
    # One printed number of each peer, and where a reviewer looks first.
    "first": [
        *protocol(TUNED, ("minesweeper",)),
        *protocol(("gcn-blocks", "sage-blocks"), BY_AUC),
        *protocol(TUNED, ("tolokers", "squirrel_filtered", "chameleon_filtered")),
        *protocol(("fsgnn", "acm-gcn"), ("chameleon", "squirrel")),
        *fixed(MIXED, ("cora",)),
        *fixed(("acm-gcn", "glognn"), ("chameleon", "squirrel")),
        *protocol(TUNED, ("photo", "computers")),
        *protocol(("gat-sep", "gat-blocks"), ("minesweeper",)),
    ],
    "protocol": [
        *protocol(MIXED, (*WEB, *WIKI, *CITED, *LARGE, *OWN_SPLITS, *MADE)),
        *protocol(("committee",), ("photo_lcc", "computers_lcc")),
        *protocol(("correct-and-smooth",), (*LARGE, *CITED, *WEB, *WIKI, *OWN_SPLITS, *MADE)),
        *protocol(("trees",), ("tolokers", "minesweeper", "pubmed", *MADE, *WEB)),
        *protocol(TUNED, (*WEB, *CITED, *WIKI, "pubmed", *MADE)),
        *protocol(BLOCKS, ("chameleon_filtered", "squirrel_filtered", *WEB)),
    ],
    "holes": [
        *protocol(("gat",), ("bipartite_sparse", "computers", *OWN_SPLITS, *WIKI, "photo")),
        *protocol(("linkx", "graphsage"), ("chameleon",)),
        *protocol(("graphsage", "gcnii"), ("computers", "squirrel_filtered", "chameleon_filtered")),
        *protocol(("gat",), (*CITED, "pubmed", *WEB, "bipartite_paper")),
        *protocol(("gcn@dropout=0.5@monitor=roc_auc",), BY_AUC),
        *protocol(
            ("graphsage@monitor=roc_auc", "gcnii@monitor=roc_auc"), ("minesweeper", "tolokers")
        ),
    ],
    "paper": [
        *protocol(("sgf-authors@dropout=0.5",), ("photo_lcc", "computers_lcc", "pubmed"), "none"),
        *protocol(("sgf-authors@dropout=0.5",), ("photo_lcc", "computers_lcc", "pubmed"), "row"),
        *protocol(("sgf-authors",), ("computers_lcc",), "row"),
        *protocol(
            ("sgf-cheby-authors", "sgf-cheby-authors-1.5"), (*CITED, *WEB, "chameleon"), "row"
        ),
        *fixed(("appnp@alpha=0.2@dropout=0.5", "appnp@alpha=0.5", "appnp@alpha=0.9"), PRINTED),
        *fixed(JKNETS, PRINTED),
    ],
    # Minutes each, alone on a GPU.
    "long": [
        *protocol(("gat-sep", "gat-blocks"), ("tolokers",)),
        *protocol(BLOCKS, ("actor", "photo", "computers", *CITED, "chameleon", "squirrel")),
    ],
}


def pairs_of(stages: Sequence[str], device: str, runs: int, max_epochs: int | None) -> list[Pair]:
    """Return the pairs of these stages, each once."""
    wanted = dict.fromkeys(run for stage in stages for run in STAGES[stage])
    return [
        Pair(
            dataset=dataset,
            model=system,
            split_rule=rule,
            runs=runs,
            scaling=scaling,
            device=device,
            max_epochs=max_epochs,
        )
        for system, dataset, rule, scaling in wanted
    ]


class OutOfTimeError(BaseException):
    """Raised by the alarm; not an Exception, which would be recorded as a failed run."""


def _stop(number: int, frame: FrameType | None) -> None:
    raise OutOfTimeError


def main() -> None:
    """Run what is not on record until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("results"))
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--stages", default=",".join(STAGES))
    parser.add_argument("--datasets", default="", help="Only these.")
    parser.add_argument("--models", default="", help="Only these.")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=8.5)
    parser.add_argument("--max-epochs", type=int)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--list", action="store_true", help="Say what would be run.")
    given = parser.parse_args()
    pairs = pairs_of(
        given.stages.split(","), pick_device(given.device), given.runs, given.max_epochs
    )
    for wanted, field in ((given.datasets, "dataset"), (given.models, "model")):
        if wanted:
            pairs = [p for p in pairs if getattr(p, field) in wanted.split(",")]
    if given.list:
        for pair in pairs:
            print(pair.dataset, pair.model, pair.split_rule, pair.scaling)
        return
    given.out.mkdir(parents=True, exist_ok=True)
    path, packed = given.out / f"{NAME}.jsonl", given.results / f"{NAME}.jsonl.gz"
    if not path.exists() and packed.exists():
        path.write_bytes(gzip.decompress(packed.read_bytes()))
    # An attempt of two epochs must not be taken for a run.
    known = {} if given.max_epochs else known_records(given.results, ELSEWHERE)

    def report(progress: BenchProgress) -> None:
        if not progress.epoch:
            print(f"{progress.done}/{progress.total} {progress.what}", flush=True)

    signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, 60 * given.minutes)
    try:
        run_matrix(pairs, RecordFile(path), known=known, jobs=given.jobs, on_progress=report)
        print("everything is on record")
    except OutOfTimeError:
        print("the time is up; the same command continues")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        with path.open("rb") as plain, gzip.open(f"{path}.gz", "wb") as packing:
            shutil.copyfileobj(plain, packing)
    records = RecordFile(path).records
    print(f"{sum(r.ok for r in records)} runs on record, {sum(not r.ok for r in records)} failed")
    for record in records:
        if not record.ok:
            print(f"failed: {record.dataset} {record.model}: {record.reason}")


if __name__ == "__main__":
    main()
