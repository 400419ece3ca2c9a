"""Many fits, one record per line: those on file are not made again, and a limit of time may end it.

A script gives its tasks, each with a key, and a function from a task to its record. Records are
appended as they are made, so that a killed run loses only what was being fitted.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from graphfilter.util.errors import GraphFilterError
from graphfilter_research.bench.matrix import worker_environment
from graphfilter_research.lines import append_lines, read_lines

RESULTS = Path(__file__).resolve().parent / "results"

Record = dict[str, Any]
Work = Callable[[Any], Record]


def main(
    description: str | None,
    name: str,
    list_tasks: Callable[[bool], Mapping[str, Any]],
    work: Work,
    table: Callable[[list[Record]], str],
    words: Sequence[str] | None = None,
) -> None:
    """Make the records that are missing, and print their table.

    They are in ``NAME.jsonl`` of the folder of results, unless another file is given.
    ``list_tasks`` gives the tasks by their keys, tiny ones where it is given True.
    """
    options = parser(description, records_of(name)).parse_args(words)
    if not options.table:
        tasks = list_tasks(options.small)
        left = make_records(
            tasks, work, options.records, jobs=options.jobs, seconds=options.seconds
        )
        print(f"{left} fits are left.")
    print(table(read_records(options.records)))


def grid(
    names: Iterable[str], models: Iterable[str], n_splits: int, options: Record
) -> dict[str, tuple[str, str, int, Record]]:
    """Return every model on every split of every graph, by its key; the first splits first."""
    return {
        f"{name}/{model}/{split}": (name, model, split, options)
        for split in range(n_splits)
        for name in names
        for model in models
    }


def records_of(name: str) -> Path:
    """Return where the records of a script are."""
    return RESULTS / f"{name}.jsonl"


def parser(description: str | None, out: Path) -> argparse.ArgumentParser:
    """Return the options that all such scripts have."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--records", type=Path, default=out, metavar="FILE")
    options.add_argument("--jobs", type=int, default=1, help="processes that fit at a time")
    options.add_argument("--seconds", type=float, default=1e9, help="start no fit after so many")
    options.add_argument("--small", action="store_true", help="tiny, to see that it works")
    options.add_argument("--table", action="store_true", help="print the table of the records only")
    return options


def read_records(path: Path) -> list[Record]:
    """Return the records on file, by their keys in order; the last of a key counts."""
    if not path.exists():
        return []
    found, _ = read_lines(path, json.loads, "a record")
    by_key = {record["key"]: record for record in found}
    return [by_key[key] for key in sorted(by_key)]


def make_records(
    tasks: Mapping[str, Any], work: Work, path: Path, *, jobs: int = 1, seconds: float = 1e9
) -> int:
    """Make the records that are not on file; return how many are left."""
    started = time.monotonic()
    done = {record["key"] for record in read_records(path)}
    left = [key for key in tasks if key not in done]
    path.parent.mkdir(parents=True, exist_ok=True)
    if jobs == 1:
        while left and time.monotonic() - started < seconds:
            _keep(path, *_attempt(left.pop(0), tasks, work))
        return len(left)
    running: dict[Any, str] = {}
    # One thread each: fits side by side would wait for one another's.
    with worker_environment(1), ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        while left or running:
            while left and len(running) < jobs and time.monotonic() - started < seconds:
                key = left.pop(0)
                running[pool.submit(_attempt, key, {key: tasks[key]}, work)] = key
            if not running:
                break
            for ended in wait(running, return_when=FIRST_COMPLETED).done:
                del running[ended]
                _keep(path, *ended.result())
    return len(left)


def _attempt(key: str, tasks: Mapping[str, Any], work: Work) -> tuple[str, Record | str]:
    started = time.perf_counter()
    try:
        record = work(tasks[key])
    except GraphFilterError as error:
        return key, str(error)
    return key, {**record, "seconds": round(time.perf_counter() - started, 2)}


def _keep(path: Path, key: str, found: Record | str) -> None:
    if isinstance(found, str):
        print(f"{key} is left out: {found}", flush=True)
        return
    append_lines(path, [json.dumps({"key": key, **found})])
    print(key, found, flush=True)


def ranked(
    records: list[Record],
    graphs: Collection[str],
    models: Sequence[str],
    score: str,
    *,
    highest: bool = False,
) -> str:
    """Return the score of every model on every graph as Markdown, and mean ranks.

    Of each graph the splits count that every model was fitted on. The least score is the best,
    or else the highest.
    """
    there = [m for m in models if any(r["model"] == m for r in records)]
    lines = [f"| graph | splits | {' | '.join(there)} |", f"|---|---|{'---|' * len(there)}"]
    ranks: dict[str, list[int]] = {model: [] for model in there}
    for name in graphs:
        by_model = {
            m: {r["split"]: r[score] for r in records if (r["graph"], r["model"]) == (name, m)}
            for m in there
        }
        splits = sorted(set.intersection(*map(set, by_model.values()))) if there else []
        if not splits:
            continue
        scores = {m: np.array([own[s] for s in splits]) for m, own in by_model.items()}
        cells = [f"{scores[m].mean():.4g} ± {scores[m].std():.2g}" for m in there]
        lines.append(f"| {name} | {len(splits)} | {' | '.join(cells)} |")
        order = sorted(there, key=lambda m: scores[m].mean(), reverse=highest)
        for rank, m in enumerate(order, start=1):
            ranks[m].append(rank)
    shown = [f"{np.mean(ranks[m]):.2f}" if ranks[m] else "–" for m in there]
    return "\n".join([*lines, f"| mean rank | | {' | '.join(shown)} |"])
