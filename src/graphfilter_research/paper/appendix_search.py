"""The appendix's search of dropout, weight decay, learning rate and depth, remade.

One split shows which setting a search finds; only several show whether it is better, since the
best of many settings looks good on the vertices that chose it. ``--variants`` searches every
dataset on as many splits as there are runs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from graphfilter.runs.comparing import corrected_t_test
from graphfilter.util.records import convert
from graphfilter_research.bench.protocol import GraphLoader
from graphfilter_research.bench.search import Found, SearchProgress, search
from graphfilter_research.paper.collect import Options
from graphfilter_research.paper.published import CHOSEN, DATASET_TITLES, LOW, MIDDLE_AND_HIGH
from graphfilter_research.paper.tables import Block, Rendered, Row
from graphfilter_research.paper.target import Say, TaskTable

# One of each range of frequencies; --variants searches them all.
DATASETS = ("cora", "wisconsin", "chameleon")
EVERY = (*LOW, *MIDDLE_AND_HIGH)
TRIALS = 50
QUICK_TRIALS = 3
NOTE = "One split each; the validation part chose. The paper reports with its one setting."
SPLITS_NOTE = (
    "The settings above are those of split 0. Gain: the search's best less the paper's setting, in "
    "points; on the validation vertices, which chose it, it cannot be negative. p: paired t-test "
    "of the gain on test vertices, corrected for overlapping splits and not for the number of "
    "datasets."
)


@dataclass(frozen=True)
class SearchRecord:
    """What a search of one dataset found: how its trials ended, and two of them."""

    dataset: str
    trials: int
    complete: int
    pruned: int
    failed: int
    default: Found
    best: Found
    split: int = 0

    @property
    def task(self) -> tuple[str, int]:
        return self.dataset, self.split

    @classmethod
    def from_json(cls, line: bytes) -> Self:
        """Read one line; what cannot be shown raises."""
        record = convert(cls, json.loads(line))
        for found in (record.default, record.best):
            _cells(found)
        return record


def tasks(datasets: Sequence[str], options: Options) -> list[tuple[str, int]]:
    """List the datasets and splits to search."""
    n_splits = options.n_runs if options.variants else 1
    return [(dataset, split) for split in range(n_splits) for dataset in datasets]


def search_one(task: tuple[str, int], folder: Path, options: Options, say: Say) -> SearchRecord:
    """Search for a setting; the seed is the split's number, and the study in the folder resumes."""
    dataset, split = task
    trials = QUICK_TRIALS if options.quick else TRIALS

    def on_trial(progress: SearchProgress) -> None:
        say(f"searching {dataset}: {progress.n_done} of {trials} trials")

    graph, _ = GraphLoader()(dataset)
    result = search(
        graph,
        "sgf",
        trials=trials,
        split=split,
        seed=split,
        storage=folder / f"{options.file_name(TARGET.name)}-{dataset}-{split}.sqlite",
        scaling="row",
        device=options.device,
        max_epochs=options.max_epochs,
        on_trial=on_trial,
    )
    return SearchRecord(
        dataset, trials, result.n_complete, result.n_pruned, result.n_failed,
        default=result.default, best=result.best, split=split,
    )  # fmt: skip


def show(records: Sequence[SearchRecord], datasets: Sequence[str]) -> Rendered:
    """Show which setting won, next to the one the paper reports with, and what it gains."""
    blocks = [_settings(record) for record in records if record.split == 0]
    several = any(record.split for record in records)
    if several:
        blocks.append(_gains(records))
    title = "Appendix B.2: the search of hyper-parameters"
    return Rendered(title, tuple(blocks), notes=(SPLITS_NOTE if several else NOTE,))


def _gains(records: Sequence[SearchRecord]) -> Block:
    """Return what the search gains over the paper's setting, over the splits of each dataset."""
    rows = []
    for dataset in dict.fromkeys(record.dataset for record in records):
        # A search that was made twice counts once.
        mine = list({r.split: r for r in records if r.dataset == dataset}.values())
        val = [100 * (r.best.val_accuracy - r.default.val_accuracy) for r in mine]
        test = [100 * (r.best.test_accuracy - r.default.test_accuracy) for r in mine]
        # 20 % of the vertices are tested by what 60 % were trained on.
        p = corrected_t_test(test, 1 / 3) if len(test) > 1 and any(test) else math.nan
        cells = (
            str(len(mine)),
            _mean([100 * r.default.test_accuracy for r in mine]),
            _mean([100 * r.best.test_accuracy for r in mine]),
            f"{np.mean(val):+.2f}",
            f"{np.mean(test):+.2f}",
            "" if math.isnan(p) else f"{p:.2f}",
        )
        rows.append(Row(DATASET_TITLES.get(dataset, dataset), cells))
    columns = ("splits", "the paper's", "search's best", "gain, validation", "gain, test", "p")
    return Block("Over splits, test accuracy", columns, tuple(rows), first_column="Datasets")


def _mean(values: Sequence[float]) -> str:
    return f"{np.mean(values):.2f} ± {np.std(values):.2f}"


def _settings(record: SearchRecord) -> Block:
    rows = (
        Row("the paper's setting", _cells(record.default)),
        Row("search's best", _cells(record.best)),
    )
    heading = (
        f"{DATASET_TITLES.get(record.dataset, record.dataset)}: {record.complete} trials, "
        f"{record.pruned} given up early, {record.failed} failed"
    )
    columns = (*CHOSEN, "validation", "test")
    return Block(heading, columns, rows, first_column="Setting", verbatim_columns=True)


def _cells(found: Found) -> tuple[str, ...]:
    setting = [f"{found.setting[name]:g}" for name in CHOSEN]
    scores = [f"{100 * value:.2f}" for value in (found.val_accuracy, found.test_accuracy)]
    return (*setting, *scores)


TARGET = TaskTable(
    name="search",
    summary="the search of hyper-parameters (appendix B.2)",
    datasets=EVERY,
    variants=tuple(dataset for dataset in EVERY if dataset not in DATASETS),
    quick=("wisconsin",),
    pairs=tasks,
    run=search_one,
    read_line=SearchRecord.from_json,
    what="a search's record",
    show=show,
)
