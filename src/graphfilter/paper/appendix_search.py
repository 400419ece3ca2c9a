"""The appendix's search of dropout, weight decay, learning rate and depth, remade."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from graphfilter.bench import OnProgress
from graphfilter.bench.protocol import GraphLoader
from graphfilter.bench.search import Found, SearchProgress, search
from graphfilter.paper.collect import at_hand, report
from graphfilter.paper.options import Options
from graphfilter.paper.published_accuracy import CHOSEN, DATASET_TITLES
from graphfilter.paper.records import append_json_line, read_lines_of
from graphfilter.paper.tables import Block, Rendered, Row
from graphfilter.paper.target import Target
from graphfilter.runtime.devices import pick_device
from graphfilter.storage import convert, find_lines

NAME = "search"
DATASETS = ("cora", "wisconsin", "chameleon")
QUICK = ("wisconsin",)
TRIALS = 50
QUICK_TRIALS = 3


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


def collect(folder: Path, options: Options, on_progress: OnProgress | None) -> list[str]:
    """Search what is not on record; return notes on what was left out."""
    datasets, notes = at_hand(QUICK if options.quick else DATASETS)
    name = options.file_name(NAME)
    done = {dataset for dataset, _ in _read(folder, name)} if find_lines(folder, name) else set()
    trials = QUICK_TRIALS if options.quick else TRIALS
    load = GraphLoader()
    for i, dataset in enumerate(datasets):
        if dataset in done:
            continue

        def on_trial(progress: SearchProgress, i: int = i, dataset: str = dataset) -> None:
            what = f"searching {dataset}: {progress.n_done} of {trials} trials"
            report(on_progress, i, len(datasets), what)

        graph, _ = load(dataset)
        result = search(
            graph,
            "sgf",
            trials=trials,
            storage=folder / f"{name}.sqlite",
            scaling="row",
            device=pick_device(options.device),
            max_epochs=options.max_epochs,
            on_trial=on_trial,
        )
        record = SearchRecord(
            dataset, trials, result.n_complete, result.n_pruned, result.n_failed,
            default=result.default, best=result.best,
        )  # fmt: skip
        append_json_line(folder, name, asdict(record))
    return notes


def build(folder: Path, options: Options) -> Rendered:
    """Show which setting won, next to the one the paper reports with."""
    name = options.file_name(NAME)
    blocks = tuple(block for _, block in _read(folder, name))
    note = "One split each; the validation part chose. The paper reports with its one setting."
    return Rendered("Appendix B.2: the search of hyper-parameters", blocks, notes=(note,))


def _read(folder: Path, name: str) -> list[tuple[str, Block]]:
    return read_lines_of(folder, name, _read_block, "a search's record")


def _read_block(line: bytes) -> tuple[str, Block]:
    """Read one line, as its dataset and what is shown of it; what cannot be shown raises."""
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
    return record.dataset, Block(
        heading, columns, rows, first_column="Setting", verbatim_columns=True
    )


def _cells(found: Found) -> tuple[str, ...]:
    setting = [f"{found.setting[name]:g}" for name in CHOSEN]
    scores = [f"{100 * value:.2f}" for value in (found.val_accuracy, found.test_accuracy)]
    return (*setting, *scores)


TARGET = Target(NAME, "the search of hyper-parameters (appendix B.2)", collect, build)
