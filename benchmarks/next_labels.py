"""Labels chosen by ``graphfilter suggest`` beside labels drawn at random.

    python benchmarks/next_labels.py --jobs 8 --seconds 540     six datasets, ten seeds
    python benchmarks/next_labels.py --table
    python benchmarks/write_docs.py         table and picture in the how-to

A fifth of the vertices is tested on, and never labelled. Both ways start from the same 20 labels
drawn at random, and get 20 more in each of five rounds: those that the fitted model suggests, or
those drawn at random. The model is the committee of low effort, fitted anew every round, with a
quarter of the labels to validate on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import resumable
from graphfilter import Graph, GraphClassifier, load_dataset
from graphfilter.data import make_csbm
from graphfilter.estimators.suggestions import suggest_labels
from graphfilter.util.pictures import COLOURS, MARKERS
from pictures import make_figure
from resumable import Record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DATASETS = ("cora", "citeseer", "photo", "chameleon", "wisconsin", "actor")
N_SEEDS, N_ROUNDS, N_LABELS = 10, 5, 20
WAYS = ("suggest", "random")


def load(name: str) -> Graph:
    """Return a registered dataset, or a small made graph."""
    return make_csbm(200, frequency=0.5, n_features=5) if name == "made" else load_dataset(name)


def measure(task: tuple[str, int, str, int, dict[str, Any]]) -> Record:
    """Label round after round in one way; return the accuracy after each."""
    name, seed, way, n_rounds, options = task
    graph = load(name)
    assert graph.labels is not None
    rng = np.random.default_rng(seed)
    drawn = rng.permutation(np.flatnonzero(graph.labels >= 0))
    test, pool = drawn[: len(drawn) // 5], drawn[len(drawn) // 5 :]
    labelled = pool[:N_LABELS]
    accuracies = []
    for step in range(n_rounds + 1):
        model = fit(graph, labelled, seed, options)
        # Its classes are the numbers of the graph's.
        accuracies.append(float((model.predict()[test] == graph.labels[test]).mean()))
        rest = np.setdiff1d(pool, labelled)
        if step == n_rounds or not len(rest):
            break
        chosen = rng.permutation(rest)[:N_LABELS]
        if way == "suggest":
            found = suggest_labels(model, model.graph_, labelled, rest, N_LABELS, seed)
            chosen = np.array([one.vertex for one in found])
        labelled = np.concatenate([labelled, chosen])
    return {"dataset": name, "seed": seed, "way": way, "accuracies": accuracies}


def fit(
    graph: Graph, labelled: NDArray[np.int64], seed: int, options: dict[str, Any]
) -> GraphClassifier:
    """Fit to these labels alone."""
    assert graph.labels is not None
    y = np.full(graph.n_vertices, -1, dtype=np.int64)
    y[labelled] = graph.labels[labelled]
    model = GraphClassifier(effort="low", random_state=seed, **options)
    return model.fit(graph.features, y, graph=graph)


def pairs(records: list[Record]) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Return the accuracies (seeds, rounds + 1) of each dataset and way, of seeds with both."""
    found = {}
    for name in sorted({record["dataset"] for record in records}):
        own = [record for record in records if record["dataset"] == name]
        by_way = {way: {r["seed"]: r["accuracies"] for r in own if r["way"] == way} for way in WAYS}
        seeds = sorted(set(by_way["suggest"]) & set(by_way["random"]))
        if seeds:
            found[name] = {way: np.array([by_way[way][s] for s in seeds]) for way in WAYS}
    return found


def table(records: list[Record]) -> str:
    """Return the accuracy after the last round in both ways, as Markdown."""
    heads = ("dataset", "seeds", "start", "random", "suggest", "difference")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    gains = []
    for name, both in pairs(records).items():
        drawn, suggested = both["random"][:, -1], both["suggest"][:, -1]
        gain = suggested - drawn
        gains.append(gain.mean())
        error = f" ± {gain.std() / np.sqrt(len(gain) - 1):.3f}" if len(gain) > 1 else ""
        lines.append(
            f"| {name} | {len(gain)} | {both['random'][:, 0].mean():.3f} | {drawn.mean():.3f} | "
            f"{suggested.mean():.3f} | {gain.mean():+.3f}{error} |"
        )
    return "\n".join([*lines, f"| mean | | | | | {np.mean(gains):+.3f} |"] if gains else lines)


def draw(records: list[Record]) -> Figure:
    """Draw the mean accuracy after each round in both ways, with standard errors."""
    found = pairs(records)
    figure, axes = make_figure(2.4 * len(found), 2.6, len(found))
    for each, (name, both) in zip(axes, found.items(), strict=True):
        for i, (way, accuracies) in enumerate(both.items()):
            n_seeds, n_points = accuracies.shape
            error = accuracies.std(axis=0) / np.sqrt(max(n_seeds - 1, 1))
            labels = N_LABELS * (1 + np.arange(n_points))
            mean = accuracies.mean(axis=0)
            line = each.errorbar(labels, mean, error, color=COLOURS[i], capsize=2, label=way)[0]
            line.set_marker(MARKERS[i])
        each.set_title(f"{name} (seeds: {len(both['random'])})", fontsize=9)
        each.set_xlabel("labels")
    axes[0].set_ylabel("test accuracy")
    axes[0].legend(frameon=False, fontsize=8)
    return figure


def list_tasks(small: bool) -> dict[str, Any]:
    """Return what is fitted, by its key."""
    names, n, n_rounds, quick = DATASETS, N_SEEDS, N_ROUNDS, {}
    if small:
        names, n, n_rounds, quick = ("made",), 1, 1, {"max_epochs": 5}
    return {
        f"{name}/{seed}/{way}": (name, seed, way, n_rounds, quick)
        for seed in range(n)
        for name in names
        for way in WAYS
    }


def main(words: list[str] | None = None) -> None:
    """Make the records that are missing, and print the table."""
    resumable.main(__doc__, "next_labels", list_tasks, measure, table, words)


if __name__ == "__main__":
    main()
