"""Whether sets of classes hold the truth as often as they promise: coverage and size.

    python benchmarks/promises.py --jobs 8 --seconds 540     ten stratified splits of each dataset
    python benchmarks/promises.py --table

The committee is fitted on 60/20/20 splits. As ``fit --coverage`` does, half of the validation part
is set aside, and sets at coverages 0.8, 0.9 and 0.95 are calibrated on it. They are counted on the
test part. "Below chance" says in how many splits the coverage of the test part is below the 95 %
interval that exchangeable vertices give (``graphfilter.runs.answers.chance_of_coverage``). Sets
always hold the most probable class, so that a model which is right more often than promised is
above it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import resumable
from graphfilter import Graph, GraphClassifier, load_dataset
from graphfilter.data import make_csbm
from graphfilter.runs.answers import calibration_share, chance_of_coverage
from graphfilter.splits import stratified
from graphfilter_research.paper.committee_table import DATASETS
from resumable import Record

COVERAGES = (0.8, 0.9, 0.95)
N_SPLITS = 10


def load(name: str) -> Graph:
    """Return a registered dataset, or a small made graph."""
    return make_csbm(200, frequency=0.5, n_features=5) if name == "made" else load_dataset(name)


def measure(task: tuple[str, int, dict[str, Any]]) -> Record:
    """Fit the committee on a split, and count what its sets hold."""
    name, seed, options = task
    graph = load(name)
    assert graph.labels is not None
    split = stratified(graph.labels, seed)
    share = calibration_share(len(split.val), max(COVERAGES))
    model = GraphClassifier(random_state=seed, calibration_fraction=share, **options)
    model.fit(graph=graph, split=split)
    promise, test = model.calibration_, split.test
    assert promise is not None
    found: Record = {
        "dataset": name,
        "split": seed,
        "n_calibrated": promise.n_vertices,
        "n_test": len(test),
    }
    found["accuracy"] = float((model.predict_proba()[test].argmax(1) == graph.labels[test]).mean())
    for coverage in COVERAGES:
        sets = model.predict_set(coverage=coverage)[test]
        held = sets[np.arange(len(test)), graph.labels[test]].mean()
        sizes = sets.sum(axis=1)
        found[f"held{coverage}"] = float(held)
        found[f"size{coverage}"] = float(sizes.mean())
        found[f"single{coverage}"] = float((sizes == 1).mean())
    return found


def table(records: list[Record]) -> str:
    """Return the coverage and size of every dataset, as Markdown."""
    heads = [f"held at {c} | size | below chance" for c in COVERAGES]
    lines = [
        f"| dataset | splits | accuracy | {' | '.join(heads)} |",
        f"|---|---|---|{'---|' * (3 * len(COVERAGES))}",
    ]
    for name in sorted({record["dataset"] for record in records}):
        own = [record for record in records if record["dataset"] == name]
        cells = []
        for c in COVERAGES:
            held = [record[f"held{c}"] for record in own]
            lowest = [chance_of_coverage(c, r["n_calibrated"], r["n_test"])[0] for r in own]
            below = sum(h < low for h, low in zip(held, lowest, strict=True))
            size = np.mean([record[f"size{c}"] for record in own])
            cells.append(f"{np.mean(held):.3f} | {size:.2f} | {below} of {len(own)}")
        accuracy = np.mean([record["accuracy"] for record in own])
        lines.append(f"| {name} | {len(own)} | {accuracy:.3f} | {' | '.join(cells)} |")
    return "\n".join(lines)


def list_tasks(small: bool) -> dict[str, Any]:
    """Return what is fitted, by its key."""
    names, n, quick = list(DATASETS), N_SPLITS, {}
    if small:
        names, n, quick = ["made"], 2, {"effort": "low", "max_epochs": 5}
    return {f"{name}/{seed}": (name, seed, quick) for seed in range(n) for name in names}


def main(words: list[str] | None = None) -> None:
    """Make the records that are missing, and print the table."""
    resumable.main(__doc__, "promises", list_tasks, measure, table, words)


if __name__ == "__main__":
    main()
