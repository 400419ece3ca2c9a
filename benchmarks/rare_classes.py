"""Whether members weighed by a loss that favours a rare class find it better.

    python benchmarks/rare_classes.py                 eight seeds of three made graphs
    python benchmarks/rare_classes.py --table

A committee is trained once per graph and seed, as `fit` does it: average precision chooses the
epochs. Its members are then weighed on the same validation vertices in four ways: by the log loss
(what the committee does), by log losses in which both classes weigh the same, or an error on the
rare class eight times as much, and not at all (equal shares). On test vertices: the average
precision of the rare class, and the mean cost where missing it costs eight times a false alarm, at
the threshold that is cheapest on the validation vertices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import resumable
from graphfilter import Graph
from graphfilter.runs.answers import Costs, choose_threshold, score_decision
from graphfilter.splits import Split, stratified
from graphfilter.systems import Prepared, get_system, train_system
from graphfilter.systems.outcome import CommitteeOutcome, prior_weights
from graphfilter.systems.pooling import Pool, fit_pool
from resumable import Record

N_SEEDS = 8
MISSED = 8.0
RARE = 0.06
WAYS = ("log loss", "balanced", "by cost", "equal shares")


def draw_rare(n: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which of n vertices are of the rare class."""
    return rng.permutation(n) < round(RARE * n)


def make_rings(n: int, rng: np.random.Generator) -> Graph:
    """Make accounts and their devices: half of what frauds use are a few devices that they share.

    No two accounts are adjacent, and devices have no label.
    """
    n_devices = n // 3
    rare, ring = draw_rare(n, rng), max(3, n_devices // 20)
    edges = []
    for account in range(n):
        for _ in range(2):
            shared = rare[account] and rng.random() < 0.5
            edges.append((account, n + rng.integers(ring if shared else n_devices)))
    features = rng.normal(size=(n + n_devices, 6))
    features[:n, 0] += 0.7 * rare
    labels = np.concatenate([rare.astype(int), np.full(n_devices, -1)])
    return Graph.from_edges(np.array(edges), features=features, labels=labels)


def make_callers(n: int, rng: np.random.Generator) -> Graph:
    """Make customers who call each other; the rare ones call each other more often."""
    rare = draw_rare(n, rng)
    members = np.flatnonzero(rare)
    first = rng.integers(n, size=4 * n)
    like = rare[first] & (rng.random(4 * n) < 0.4)
    second = np.where(like, rng.choice(members, 4 * n), rng.integers(n, size=4 * n))
    features = rng.normal(size=(n, 6)) + 0.6 * rare[:, None] * (np.arange(6) < 2)
    return Graph.from_edges(np.stack([first, second], 1), features=features, labels=rare * 1)


def make_baits(n: int, rng: np.random.Generator) -> Graph:
    """Make profiles of which the rare ones link to those of a high feature, not to their like."""
    rare = draw_rare(n, rng)
    features = rng.normal(size=(n, 6))
    targets = np.argsort(features[:, 0])[-n // 4 :]
    first = rng.integers(n, size=4 * n)
    lured = rare[first] & (rng.random(4 * n) < 0.6)
    second = np.where(lured, rng.choice(targets, 4 * n), rng.integers(n, size=4 * n))
    return Graph.from_edges(np.stack([first, second], 1), features=features, labels=rare * 1)


GRAPHS = {"rings": make_rings, "callers": make_callers, "baits": make_baits}


def class_weights(way: str, truth: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Return the weight of each class in the loss that weighs members."""
    if way == "balanced":
        return 1 / np.maximum(np.bincount(truth, minlength=2), 1)
    return np.array([1.0, MISSED]) if way == "by cost" else None


def measure(task: tuple[str, int, int, dict[str, Any]]) -> Record:
    """Train a committee on a made graph, and weigh its members in each way."""
    from sklearn.metrics import average_precision_score

    name, seed, n, options = task
    graph = GRAPHS[name](n, np.random.default_rng([seed, n]))
    assert graph.labels is not None
    split = stratified(graph.labels, seed)
    system = get_system("committee").with_(**options).choosing_by("average_precision")
    (outcome,) = train_system(Prepared.of(graph), system, [split], [seed])
    assert isinstance(outcome, CommitteeOutcome)
    found: Record = {"graph": name, "seed": seed, "n_rare": int((graph.labels == 1).sum())}
    truth = graph.labels[split.test] == 1
    for way in WAYS:
        scores = weigh(way, outcome, graph, split)[:, 1]
        costs = Costs(missed=MISSED)
        threshold = choose_threshold(scores[split.val], graph.labels[split.val] == 1, "cost", costs)
        decided = score_decision(scores[split.test], truth, threshold, costs)
        found[f"ap {way}"] = float(average_precision_score(truth, scores[split.test]))
        found[f"cost {way}"] = float(decided["cost"])
    return found


def weigh(way: str, outcome: CommitteeOutcome, graph: Graph, split: Split) -> NDArray[np.float64]:
    """Return what the members say together, weighed in one way."""
    assert graph.labels is not None
    if way == "equal shares":
        return Pool.equal(len(outcome.parts)).answer(outcome.pooled)
    truth = graph.labels[split.val]
    weights = class_weights(way, truth)
    pool = fit_pool(
        outcome.pooled[:, split.val], truth, weight=None if weights is None else weights[truth],
        prior=prior_weights([part.system for part in outcome.parts], graph, split),
    )  # fmt: skip
    return pool.answer(outcome.pooled)


def table(records: list[Record]) -> str:
    """Return the mean of each score, and its difference to the log loss's, as Markdown."""
    lines = [
        f"| graph | seeds | score | {' | '.join(WAYS)} |",
        f"|---|---|---|{'---|' * len(WAYS)}",
    ]
    graphs = [*sorted({record["graph"] for record in records}), "all"]
    for name in graphs:
        own = [record for record in records if name in (record["graph"], "all")]
        for score in ("ap", "cost"):
            base = np.array([record[f"{score} {WAYS[0]}"] for record in own])
            cells = [f"{base.mean():.3f}"]
            for way in WAYS[1:]:
                values = np.array([record[f"{score} {way}"] for record in own])
                error = (values - base).std(ddof=1) / np.sqrt(len(own)) if len(own) > 1 else 0.0
                change = (values - base).mean()
                cells.append(f"{values.mean():.3f} ({change:+.3f} ± {error:.3f})")
            lines.append(f"| {name} | {len(own)} | {score} | {' | '.join(cells)} |")
    return "\n".join(lines)


def list_tasks(small: bool) -> dict[str, Any]:
    """Return what is fitted, by its key."""
    n_seeds, n, settings = N_SEEDS, 1200, {"max_epochs": 200}
    if small:
        n_seeds, n, settings = 1, 300, {"max_epochs": 3}
    return {
        f"{name}/{seed}": (name, seed, n, settings) for seed in range(n_seeds) for name in GRAPHS
    }


def main(words: list[str] | None = None) -> None:
    """Make the records that are missing, and print the table."""
    resumable.main(__doc__, "rare_classes", list_tasks, measure, table, words)


if __name__ == "__main__":
    main()
