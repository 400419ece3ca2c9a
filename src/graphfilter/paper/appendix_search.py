"""The appendix's search of dropout, weight decay, learning rate and depth, remade.

One split shows which setting a search finds; only several show whether it is better, since the
best of many settings looks good on the vertices that chose it. ``--variants`` searches every
dataset on as many splits as there are runs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from graphfilter.bench import Found, GraphLoader, OnProgress, SearchProgress, search
from graphfilter.metrics import corrected_t_test
from graphfilter.paper.collect import at_hand, report
from graphfilter.paper.options import Options
from graphfilter.paper.published_accuracy import CHOSEN, DATASET_TITLES, LOW, MIDDLE_AND_HIGH
from graphfilter.paper.records import append_json_line, read_lines_of
from graphfilter.paper.tables import Block, Rendered, Row
from graphfilter.paper.target import Target
from graphfilter.runtime import pick_device
from graphfilter.storage import convert, find_lines

NAME = "search"
DATASETS = ("cora", "wisconsin", "chameleon")
QUICK = ("wisconsin",)
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


@dataclass(frozen=True)
class Task:
    """One search that is to be made; the seed is the split's number."""

    dataset: str
    split: int
    trials: int
    storage: Path
    device: str
    max_epochs: int | None


def collect(folder: Path, options: Options, on_progress: OnProgress | None) -> list[str]:
    """Search what is not on record; return notes on what was left out."""
    named = (*LOW, *MIDDLE_AND_HIGH) if options.variants else DATASETS
    datasets, notes = at_hand(QUICK if options.quick else named)
    name = options.file_name(NAME)
    known = _read(folder, name) if find_lines(folder, name) else []
    done = {(record.dataset, record.split) for record, _ in known}
    tasks = [
        Task(
            dataset,
            split,
            QUICK_TRIALS if options.quick else TRIALS,
            folder / f"{name}-{dataset}-{split}.sqlite",
            pick_device(options.device),
            options.max_epochs,
        )
        for split in range(options.n_runs if options.variants else 1)
        for dataset in datasets
        if (dataset, split) not in done
    ]
    for record in _search_all(tasks, options.jobs, on_progress):
        append_json_line(folder, name, asdict(record))
    return notes


def _search_all(
    tasks: Sequence[Task], jobs: int, on_progress: OnProgress | None
) -> Iterator[SearchRecord]:
    """Make the searches, ``jobs`` at a time, and yield each as it ends."""
    if min(jobs, len(tasks)) <= 1:
        for i, task in enumerate(tasks):

            def on_trial(progress: SearchProgress, i: int = i, task: Task = task) -> None:
                done = f"{progress.n_done} of {task.trials} trials"
                report(on_progress, i, len(tasks), f"searching {task.dataset}: {done}")

            yield _search_one(task, on_trial)
        return
    # Spawned: a forked process must not use torch's threads or CUDA.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(_search_one, task) for task in tasks]
        for i, ended in enumerate(as_completed(waiting)):
            record = ended.result()
            report(on_progress, i + 1, len(tasks), f"searched {record.dataset}")
            yield record


def _search_one(
    task: Task, on_trial: Callable[[SearchProgress], None] | None = None
) -> SearchRecord:
    graph, _ = GraphLoader()(task.dataset)
    result = search(
        graph,
        "sgf",
        trials=task.trials,
        split=task.split,
        seed=task.split,
        storage=task.storage,
        scaling="row",
        device=task.device,
        max_epochs=task.max_epochs,
        on_trial=on_trial,
    )
    return SearchRecord(
        task.dataset, task.trials, result.n_complete, result.n_pruned, result.n_failed,
        default=result.default, best=result.best, split=task.split,
    )  # fmt: skip


def build(folder: Path, options: Options) -> Rendered:
    """Show which setting won, next to the one the paper reports with, and what it gains."""
    found = _read(folder, options.file_name(NAME))
    blocks = [block for record, block in found if record.split == 0]
    records = [record for record, _ in found]
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


def _read(folder: Path, name: str) -> list[tuple[SearchRecord, Block]]:
    return read_lines_of(folder, name, _read_line, "a search's record")


def _read_line(line: bytes) -> tuple[SearchRecord, Block]:
    """Read one line, and what is shown of it; what cannot be shown raises."""
    record = convert(SearchRecord, json.loads(line))
    rows = (
        Row("the paper's setting", _cells(record.default)),
        Row("search's best", _cells(record.best)),
    )
    heading = (
        f"{DATASET_TITLES.get(record.dataset, record.dataset)}: {record.complete} trials, "
        f"{record.pruned} given up early, {record.failed} failed"
    )
    columns = (*CHOSEN, "validation", "test")
    return record, Block(heading, columns, rows, first_column="Setting", verbatim_columns=True)


def _cells(found: Found) -> tuple[str, ...]:
    setting = [f"{found.setting[name]:g}" for name in CHOSEN]
    scores = [f"{100 * value:.2f}" for value in (found.val_accuracy, found.test_accuracy)]
    return (*setting, *scores)


TARGET = Target(NAME, "the search of hyper-parameters (appendix B.2)", collect, build)
