"""Whether sets and intervals hold the truth as often as they promise: coverage and size.

    python benchmarks/promises.py --jobs 8 --seconds 540     ten splits of each dataset
    python benchmarks/promises.py --table

The committee is fitted on 60/20/20 splits, of classes (stratified) and of numbers
(numbers_of_vertices.py). As ``fit --coverage`` does, half of the validation part is set aside where
that is enough for a coverage of 0.95, and sets or intervals at coverages 0.8, 0.9 and 0.95 are
calibrated on it; and once more on all of the validation part, with none set aside. They are counted
on the test part. "Below chance" says in how many splits the coverage of the test part is below the
95 % interval that exchangeable vertices give (``graphfilter.runs.answers.chance_of_coverage``).
Sets always hold the most probable class, so that a model which is right more often than promised is
above it. The size of an interval is its median width in standard deviations of the number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import graphfilter
import numbers_of_vertices
import resumable
from graphfilter import Graph, GraphClassifier, GraphRegressor, load_dataset
from graphfilter.data import make_csbm
from graphfilter.runs.answers import calibration_share, chance_of_coverage
from graphfilter.splits import stratified
from graphfilter.util.errors import ConfigError
from graphfilter_research.bench.record import content_hash
from graphfilter_research.paper.committee_table import DATASETS
from resumable import Record

COVERAGES = (0.8, 0.9, 0.95)
N_SPLITS = 10
WAYS = {"aside": "half, set aside", "all": "all"}


def load(name: str) -> tuple[Graph, np.ndarray]:
    """Return a registered dataset, or a small made graph, and its numbers or class numbers."""
    if name in numbers_of_vertices.GRAPHS:
        return numbers_of_vertices.GRAPHS[name]()
    graph = make_csbm(200, frequency=0.5, n_features=5) if name == "csbm" else load_dataset(name)
    assert graph.labels is not None
    return graph, graph.labels


def measure(task: tuple[str, str, int, dict[str, Any]]) -> Record:
    """Fit the committee on a split, and count what its sets or intervals hold."""
    name, way, seed, options = task
    graph, truth = load(name)
    is_number = name in numbers_of_vertices.GRAPHS
    split = stratified(np.zeros(len(truth), dtype=np.int64) if is_number else truth, seed)
    share = calibration_share(len(split.val), max(COVERAGES)) if way == "aside" else 0.0
    if way == "aside" and not share:
        raise ConfigError("half of the validation part is too few to calibrate.")
    make: Any = GraphRegressor if is_number else GraphClassifier
    model = make(random_state=seed, calibration_fraction=share, **options)
    model.fit(graph.features, truth, graph=graph, split=split)
    promise, test = model.calibration_, split.test
    assert promise is not None
    found: Record = {
        "dataset": name,
        "way": way,
        "split": seed,
        "n_calibrated": promise.n_vertices,
        "n_test": len(test),
        "version": graphfilter.__version__,
        "code": content_hash(),
    }
    if not is_number:
        found["accuracy"] = float((model.predict_proba()[test].argmax(1) == truth[test]).mean())
    for coverage in COVERAGES:
        if is_number:
            low, high = model.predict_interval(coverage=coverage)[test].T
            held = ((low <= truth[test]) & (truth[test] <= high)).mean()
            sizes = np.median(high - low) / truth.std()
        else:
            sets = model.predict_set(coverage=coverage)[test]
            held, sizes = sets[np.arange(len(test)), truth[test]].mean(), sets.sum(axis=1)
            found[f"single{coverage}"] = float((sizes == 1).mean())
        found[f"held{coverage}"] = float(held)
        found[f"size{coverage}"] = float(np.mean(sizes))
    return found


def table(records: list[Record]) -> str:
    """Return the coverage and size of every dataset, as Markdown."""
    heads = [f"held at {c} | size | below chance" for c in COVERAGES]
    lines = [
        f"| dataset | version | calibrated on | splits | accuracy | {' | '.join(heads)} |",
        f"|---|---|---|---|---|{'---|' * (3 * len(COVERAGES))}",
    ]
    groups: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        # Those of 0.2 name neither; their validation parts were as large as their test parts.
        half = record["n_calibrated"] < 0.75 * record["n_test"]
        way = record.get("way", "aside" if half else "all")
        key = record["dataset"], record.get("version", "0.2.0.dev0"), way
        groups.setdefault(key, []).append(record)
    for (name, version, way), own in sorted(groups.items()):
        cells = []
        for c in COVERAGES:
            held = [record[f"held{c}"] for record in own]
            lowest = [chance_of_coverage(c, r["n_calibrated"], r["n_test"])[0] for r in own]
            below = sum(h < low for h, low in zip(held, lowest, strict=True))
            size = np.mean([record[f"size{c}"] for record in own])
            cells.append(f"{np.mean(held):.3f} | {size:.2f} | {below} of {len(own)}")
        scored = [record["accuracy"] for record in own if "accuracy" in record]
        accuracy = f"{np.mean(scored):.3f}" if scored else "–"
        row = (name, version, WAYS[way], str(len(own)), accuracy, *cells)
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def list_tasks(small: bool) -> dict[str, Any]:
    """Return what is fitted, by its key."""
    numbers = [name for name in numbers_of_vertices.GRAPHS if name != "made"]
    names, n, quick = [*DATASETS, *numbers], N_SPLITS, {}
    if small:
        names, n, quick = ["csbm", "made"], 2, {"effort": "low", "max_epochs": 5}
    return resumable.grid(names, list(WAYS), n, quick)


def main(words: list[str] | None = None) -> None:
    """Make the records that are missing, and print the table."""
    resumable.main(__doc__, "promises", list_tasks, measure, table, words)


if __name__ == "__main__":
    main()
