"""Several labels of each vertex: the committee beside boosted trees, GCN, GraphSAGE and one SGF.

    python benchmarks/several_labels.py --jobs 8 --seconds 540     five splits of each graph
    python benchmarks/several_labels.py --table

Every split is 60/20/20 at random. Labels are whether eight pixels of the digits are dark, from the
other pixels and a graph of nearest neighbours; the ten most frequent words of Cora, from the other
words; and five made ones, of a vertex's own features, of its neighbours' and of the difference.
Trees are scikit-learn's HistGradientBoostingClassifier, one per label, on the features, averages
over neighbours and log degrees, stopped early on the validation part as the networks are. Models
are ranked by the mean average precision of the labels on the test part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import resumable
from graphfilter import Graph, GraphClassifier, SGFClassifier, SystemClassifier, load_dataset
from graphfilter.data import make_csbm
from graphfilter.models.views import averages
from graphfilter.splits import Split, stratified
from numbers_of_vertices import neighbour_graph
from resumable import Record

Array = NDArray[np.float64]
Labels = NDArray[np.int64]
Task = tuple[Graph, Labels]

N_SPLITS = 5
PIXELS = (19, 20, 27, 28, 35, 36, 43, 44)


def digits() -> Task:
    from sklearn.datasets import load_digits

    x = np.asarray(load_digits().data, dtype=np.float64)  # pyright: ignore[reportAttributeAccessIssue]
    graph = neighbour_graph(np.delete(x, PIXELS, axis=1))
    return graph, (x[:, PIXELS] > 8).astype(np.int64)


def words(n_labels: int = 10) -> Task:
    graph = load_dataset("cora")
    assert graph.features is not None
    x = sp.csc_array(graph.features)
    hidden = np.argsort(-np.diff(x.indptr), kind="stable")[:n_labels]
    kept = np.setdiff1d(np.arange(x.shape[1]), hidden)
    labels = np.asarray(x[:, hidden].todense() > 0, dtype=np.int64)
    return graph.replace(features=sp.csr_array(x[:, kept])), labels


def made(n: int = 1500) -> Task:
    graph = make_csbm(n, frequency=0.5, n_features=8, seed=3)
    x, rng = np.asarray(graph.features, dtype=np.float64), np.random.default_rng(3)
    near = np.asarray(graph.adjacency @ x) / np.maximum(graph.degrees, 1)[:, None]
    means = [x[:, 0], 2 * near[:, 1], x[:, 2] - 2 * near[:, 2], x[:, 3] * near[:, 3], near[:, 4]]
    return graph, (np.stack(means, axis=1) + 0.3 * rng.normal(size=(n, 5)) > 0.3).astype(np.int64)


GRAPHS: dict[str, Callable[[], Task]] = {
    "digits-pixels": digits,
    "cora-words": words,
    "made-labels": made,
    "tiny": lambda: made(200),
}
MODELS = ("committee", "trees", "gcn", "graphsage", "sgf")


def trees(graph: Graph, y: Labels, split: Split, seed: int) -> Array:
    """Return the probability of every label, by boosted trees on neighbour averages."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    assert graph.features is not None
    rows: Any = averages(graph, graph.features)
    found = []
    for own in y.T:
        model = HistGradientBoostingClassifier(max_iter=500, early_stopping=True, random_state=seed)
        val = {"X_val": rows[split.val], "y_val": own[split.val]}
        found.append(
            model.fit(rows[split.train], own[split.train], **val).predict_proba(rows)[:, 1]
        )
    return np.stack(found, axis=1)


def predict(model: str, graph: Graph, y: Labels, split: Split, seed: int, **quick: Any) -> Array:
    """Fit a model to the training part; return the probability of every label."""
    if model == "trees":
        return trees(graph, y, split, seed)
    options: dict[str, Any] = {"random_state": seed, **quick}
    estimator: Any = {
        "committee": lambda: GraphClassifier(**options),
        "sgf": lambda: SGFClassifier(**options),
    }.get(model, lambda: SystemClassifier(model=model, **options))()
    known = y.copy()
    known[split.test] = 0  # Whatever stands there is not read.
    within = Split(split.train, split.val, np.zeros(0, dtype=np.int64))
    return estimator.fit(graph.features, known, graph=graph, split=within).predict_proba()


def measure(task: tuple[str, str, int, dict[str, Any]]) -> Record:
    """Fit a model on a split of a graph; return its scores on the test part."""
    from sklearn.metrics import average_precision_score, label_ranking_loss

    name, model, seed, quick = task
    graph, y = GRAPHS[name]()
    split = stratified(np.zeros(len(y), dtype=np.int64), seed)
    p, truth = predict(model, graph, y, split, seed, **quick)[split.test], y[split.test]
    return {
        "graph": name,
        "model": model,
        "split": seed,
        "macro_ap": float(average_precision_score(truth, p, average="macro")),
        "micro_ap": float(average_precision_score(truth, p, average="micro")),
        "ranking_loss": float(label_ranking_loss(truth, p)),
    }


def table(records: list[Record]) -> str:
    """Return the mean average precision of every model on every graph, and mean ranks."""
    return resumable.ranked(records, GRAPHS, MODELS, "macro_ap", highest=True)


def list_tasks(small: bool) -> dict[str, Any]:
    """Return what is fitted, by its key."""
    names, models, n, quick = [g for g in GRAPHS if g != "tiny"], MODELS, N_SPLITS, {}
    if small:
        names, models, n, quick = ["tiny"], ("trees", "sgf"), 1, {"max_epochs": 5}
    return resumable.grid(names, models, n, quick)


def main(words: list[str] | None = None) -> None:
    """Make the records that are missing, and print the table."""
    resumable.main(__doc__, "several_labels", list_tasks, measure, table, words)


if __name__ == "__main__":
    main()
