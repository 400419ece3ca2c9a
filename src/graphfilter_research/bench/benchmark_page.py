"""The page of a file of records: who is ahead where, by how much, and whether that is chance."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from graphfilter.data.datasets import dataset_names
from graphfilter.report.html import render_page, write_page
from graphfilter.systems import find_system
from graphfilter.training.scores import METRICS
from graphfilter.util.words import count
from graphfilter_research.bench.learned_filters import LearnedFilter, learned_filters
from graphfilter_research.bench.ranking import (
    Ranking,
    by_mean,
    formatter,
    headline,
    rank_systems,
    system_title,
)
from graphfilter_research.bench.record import Record
from graphfilter_research.bench.summary import Summary, summarise
from graphfilter_research.bench.tables import legend, mean_and_deviation, title

TEMPLATES = Path(__file__).parent / "templates"
SPLITS = {
    "stratified": "60/20/20 of every class, drawn again for each run",
    "per_class": "the same number of training vertices per class, drawn again for each run",
    "fixed": "the splits that come with the data",
    "public": "the one public split of the data; runs differ by their seed alone",
    "fraction": "that share of the vertices for training, drawn again for each run",
}


@dataclass(frozen=True, eq=False)
class Table:
    """What is shown of the records of one split rule and one feature scaling."""

    title: str
    summary: Summary
    rankings: list[Ranking]
    filters: dict[str, list[LearnedFilter]]
    times: TimeTable

    @property
    def models(self) -> list[str]:
        """The systems, the best on average first."""
        order = {title: i for i, title in enumerate(by_mean(self.rankings))}
        return sorted(
            self.summary.models, key=lambda model: order.get(system_title(model), len(order))
        )


@dataclass(frozen=True)
class TimeTable:
    """Milliseconds per epoch (mean over runs) and epochs, by system, device and dataset."""

    datasets: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[tuple[float, float] | None, ...]], ...]


def page_of(records: str | PathLike[str]) -> Path:
    """Return the path of the page of a file of records: next to it, under its name.

    >>> page_of("out/records.jsonl").name, page_of("systems.jsonl.gz").name
    ('records.html', 'systems.html')
    """
    path = Path(records)
    return path.with_name(f"{path.name.removesuffix('.gz').removesuffix('.jsonl')}.html")


def write_benchmark(
    path: str | PathLike[str], records: Iterable[Record], *, name: str, metric: str = "accuracy"
) -> None:
    """Write the page of some records atomically."""
    write_page(path, render_benchmark(records, name=name, metric=metric))


def render_benchmark(
    records: Iterable[Record], *, name: str = "records.jsonl", metric: str = "accuracy"
) -> str:
    """Return the page of some records; ``name`` is that of their file."""
    records = list(records)
    tables = [_table(summary, records) for summary in summarise(records, metric)]
    models = list(dict.fromkeys(record.model for record in records))
    return render_page(
        "benchmark.html.j2",
        folder=TEMPLATES,
        name=name,
        size=", ".join((
            count(len(models), "system"),
            count(len({record.dataset for record in records}), "dataset"),
            count(len(records), "run"),
        )),
        metric=METRICS[metric].name,
        form=formatter(metric),
        spread=lambda cell: mean_and_deviation(cell, metric),
        headlines=[(table, headline(table.rankings)) for table in tables],
        tables=tables,
        legend=legend("Bold:", "≈"),
        failures=_failures(records),
        system_title=system_title,
        systems=[system for model in models if (system := find_system(model))],
        datasets={r.dataset: r.data_checksum for r in records if r.data_checksum},
        split_rules={
            rule: SPLITS[rule.partition(":")[0]] for rule in {r.split_rule for r in records}
        },
        made=made_with(vars(record) for record in records),
        commands=commands(records, name.removesuffix(".gz")),
    )  # fmt: skip


def _table(summary: Summary, records: Sequence[Record]) -> Table:
    wanted = (summary.split_rule, summary.scaling)
    mine = [record for record in records if (record.split_rule, record.scaling) == wanted]
    return Table(
        title(summary),
        summary,
        rank_systems(summary, mine),
        learned_filters(mine),
        time_table(mine),
    )


def time_table(records: Iterable[Record]) -> TimeTable:
    """Return how long an epoch took, and how many there were; systems without epochs are left out.

    A run's time is its share of the runs trained side by side with it.
    """
    found: dict[tuple[str, str], dict[str, list[tuple[float, float]]]] = defaultdict(dict)
    for r in records:
        if r.ok and r.seconds_per_epoch is not None:
            times = found[r.model, r.device].setdefault(r.dataset, [])
            times.append((1000 * r.seconds_per_epoch, r.epochs))
    datasets = tuple(dict.fromkeys(d for of_system in found.values() for d in of_system))
    rows = []
    for (model, device), of_system in found.items():
        means = tuple(
            tuple(np.mean(of_system[d], axis=0).tolist()) if d in of_system else None
            for d in datasets
        )
        rows.append((system_title(model), device, means))
    return TimeTable(datasets, tuple(rows))


def made_with(lines: Iterable[Any]) -> dict[str, str]:
    """Return the devices and versions that runs name, each value once."""
    found: dict[str, dict[str, None]] = {}
    for line in lines:
        named = {"device": line.get("device"), **(line.get("versions") or {})}
        for key, value in named.items():
            if value:
                found.setdefault(key, {})[str(value)] = None
    return {key: ", ".join(values) for key, values in found.items()}


def commands(records: Iterable[Record], name: str) -> list[str]:
    """Return commands that make these runs again; datasets with the same systems share one.

    Systems and graphs that are not in the registry cannot be named to a command, and are left out.
    """
    matrices: dict[tuple[Any, ...], dict[str, dict[str, None]]] = defaultdict(dict)
    runs: dict[tuple[Any, ...], int] = defaultdict(int)
    named = dataset_names()
    for r in records:
        system = find_system(r.model)
        if system is None or not (r.dataset in named or r.dataset.lower().endswith(".npz")):
            continue
        own = system.for_dataset(r.dataset).config.max_epochs
        epochs = r.config.get("max_epochs", own)
        key = (r.split_rule, r.scaling, None if epochs == own else epochs)
        matrices[key].setdefault(r.dataset, {})[r.model] = None
        runs[key] = max(runs[key], r.seed + 1)
    made = []
    for (split_rule, scaling, epochs), by_dataset in matrices.items():
        alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for dataset, models in by_dataset.items():
            alike[tuple(sorted(models))].append(dataset)
        for models, datasets in alike.items():
            words = ["graphfilter", "bench", "--datasets", ",".join(datasets), "--models",
                     ",".join(models), "--runs", str(runs[split_rule, scaling, epochs]),
                     "--split-rule", split_rule, "--scaling", scaling]  # fmt: skip
            words += [] if epochs is None else ["--max-epochs", str(epochs)]
            made.append(shlex.join([*words, "--out", name]))
    return made


def _failures(records: Iterable[Record]) -> list[tuple[str, str, int]]:
    """Return what failed and never succeeded: (where, reason, how many runs)."""
    records = list(records)
    went_well = {record.asked for record in records if record.ok}
    last = {record.asked: record for record in records if record.asked not in went_well}
    found: dict[tuple[str, str], int] = defaultdict(int)
    for r in last.values():
        found[f"{r.dataset}, {system_title(r.model)}", r.reason] += 1
    return [(where, reason, n) for (where, reason), n in found.items()]
