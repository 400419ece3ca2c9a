"""Numbers of vertices: the committee beside boosted trees, GCN, GraphSAGE and one SGF.

    python benchmarks/numbers_of_vertices.py --jobs 8 --seconds 540     ten splits of each graph
    python benchmarks/numbers_of_vertices.py --table

Every split is 60/20/20 at random. Trees are scikit-learn's HistGradientBoostingRegressor on the
features, three averages over neighbours and log degrees, of the number as it is and of log(1 + y);
they stop early on the validation part, as the networks do. GCN, GraphSAGE and SGF have their usual
settings of the package, with numbers standardised. Targets are real columns that are hidden from
the features (diabetes, digits, tolokers), the structure of real graphs (PageRank of Cora, log
degrees of Computers and Squirrel with their features), and three made ones: skewed (log-normal, of
neighbours' features), heterophilic (a vertex against its neighbours) and two-sided (a bipartite
graph whose one side is known by the other). Models are ranked by the mean absolute error on the
test part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import resumable
from graphfilter import Graph, GraphRegressor, SGFRegressor, SystemRegressor, load_dataset
from graphfilter.data import make_bipartite, make_csbm
from graphfilter.models.views import averages
from graphfilter.splits import Split, stratified
from resumable import Record

Array = NDArray[np.float64]
Task = tuple[Graph, Array]

N_SPLITS = 10


def neighbour_graph(x: Array, n_neighbors: int = 10) -> Graph:
    """Join each row with its nearest ones."""
    from sklearn.neighbors import kneighbors_graph

    scaled = (x - x.mean(axis=0)) / np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    near = sp.csr_array(kneighbors_graph(scaled, n_neighbors))
    return Graph.from_scipy(near.maximum(near.T), features=x.astype(np.float32))


def diabetes() -> Task:
    from sklearn.datasets import load_diabetes

    found: Any = load_diabetes()
    return neighbour_graph(found.data), found.target


def digits() -> Task:
    """A pixel in the middle of the digits, from the others."""
    from sklearn.datasets import load_digits

    x = np.asarray(load_digits().data, dtype=np.float64)  # pyright: ignore[reportAttributeAccessIssue]
    return neighbour_graph(np.delete(x, 28, axis=1)), x[:, 28]


def hidden_column(name: str) -> Task:
    """The feature of a dataset that varies most, from the others."""
    graph = load_dataset(name)
    assert graph.features is not None
    x = graph.features.toarray() if sp.issparse(graph.features) else np.asarray(graph.features)
    column = int(x.std(axis=0).argmax())
    kept = np.delete(x, column, axis=1).astype(np.float32)
    return graph.replace(features=kept), x[:, column].astype(np.float64)


def page_rank(name: str, damping: float = 0.85) -> Task:
    graph = load_dataset(name)
    degrees = np.maximum(np.asarray(graph.degrees, dtype=np.float64), 1)
    rank = np.full(graph.n_vertices, 1.0)
    for _ in range(100):
        rank = 1 - damping + damping * np.asarray(graph.adjacency @ (rank / degrees))
    return graph, rank


def degrees(name: str) -> Task:
    graph = load_dataset(name)
    return graph, np.diff(graph.indptr).astype(np.float64)


def skewed(n: int = 1500) -> Task:
    graph = make_csbm(n, frequency=0.4, n_features=8, seed=0)
    x, rng = np.asarray(graph.features, dtype=np.float64), np.random.default_rng(0)
    near = np.asarray(graph.adjacency @ x[:, 1]) / np.maximum(graph.degrees, 1)
    return graph, np.exp(5 + x[:, 0] + 1.5 * near + 0.4 * rng.normal(size=n))


def heterophilic(n: int = 1500) -> Task:
    graph = make_csbm(n, frequency=1.0, n_features=8, seed=1)
    x, rng = np.asarray(graph.features, dtype=np.float64), np.random.default_rng(1)
    near = np.asarray(graph.adjacency @ x[:, 0]) / np.maximum(graph.degrees, 1)
    return graph, x[:, 0] - 3 * near + 0.2 * rng.normal(size=n)


def two_sided(n_side: int = 600) -> Task:
    graph = make_bipartite(n_side, probability=0.02, n_features=8, seed=2)
    x, rng = np.asarray(graph.features, dtype=np.float64), np.random.default_rng(2)
    assert graph.labels is not None
    near = np.asarray(graph.adjacency @ x[:, 0]) / np.maximum(graph.degrees, 1)
    return graph, np.where(graph.labels == 0, 3 * near, x[:, 1]) + 0.2 * rng.normal(size=len(x))


GRAPHS: dict[str, Callable[[], Task]] = {
    "diabetes": diabetes,
    "digits": digits,
    "cora-pagerank": lambda: page_rank("cora"),
    "computers-degree": lambda: degrees("computers"),
    "squirrel-degree": lambda: degrees("squirrel"),
    "tolokers-column": lambda: hidden_column("tolokers"),
    "skewed": skewed,
    "heterophilic": heterophilic,
    "two-sided": two_sided,
    "made": lambda: skewed(200),
}


def trees(graph: Graph, y: Array, split: Split, seed: int, *, log: bool) -> Array:
    """Return what boosted trees on neighbour averages say of every vertex."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    assert graph.features is not None
    rows: Any = averages(graph, graph.features)
    target = np.log1p(y - min(y[split.train].min(), 0)) if log else y
    model = HistGradientBoostingRegressor(max_iter=500, early_stopping=True, random_state=seed)
    val = {"X_val": rows[split.val], "y_val": target[split.val]}
    said = model.fit(rows[split.train], target[split.train], **val).predict(rows)
    return np.expm1(said) + min(y[split.train].min(), 0) if log else said


def predict(model: str, graph: Graph, y: Array, split: Split, seed: int, **quick: Any) -> Array:
    """Fit a model to the training part, and predict every vertex."""
    if model.startswith("trees"):
        return trees(graph, y, split, seed, log=model.endswith("log"))
    known = np.full(len(y), np.nan)
    known[split.train], known[split.val] = y[split.train], y[split.val]
    options: dict[str, Any] = {"random_state": seed, **quick}
    estimator = {
        "committee": lambda: GraphRegressor(**options),
        "sgf": lambda: SGFRegressor(**options),
    }.get(model, lambda: SystemRegressor(model=model, **options))()
    empty = np.zeros(0, dtype=np.int64)
    return estimator.fit(
        graph.features, known, graph=graph, split=Split(split.train, split.val, empty)
    ).predict()


MODELS = ("committee", "trees", "trees-log", "gcn", "graphsage", "sgf")


def measure(task: tuple[str, str, int, dict[str, Any]]) -> Record:
    """Fit a model on a split of a graph; return its errors on the test part."""
    name, model, seed, quick = task
    graph, y = GRAPHS[name]()
    split = stratified(np.zeros(len(y), dtype=np.int64), seed)
    error = (predict(model, graph, y, split, seed, **quick) - y)[split.test]
    spread = y[split.test].std()
    return {
        "graph": name,
        "model": model,
        "split": seed,
        "mae": float(np.abs(error).mean()),
        "rmse": float(np.sqrt(np.square(error).mean())),
        "r2": float(1 - np.square(error).mean() / spread**2),
    }


def table(records: list[Record]) -> str:
    """Return the mean absolute error of every model on every graph, and mean ranks."""
    return resumable.ranked(records, GRAPHS, MODELS, "mae")


def list_tasks(small: bool) -> dict[str, Any]:
    """Return what is fitted, by its key."""
    names, models, n, quick = [g for g in GRAPHS if g != "made"], MODELS, N_SPLITS, {}
    if small:
        names, models, n, quick = ["made"], ("trees", "trees-log", "sgf"), 1, {"max_epochs": 5}
    return resumable.grid(names, models, n, quick)


def main(words: list[str] | None = None) -> None:
    """Make the records that are missing, and print the table."""
    resumable.main(__doc__, "numbers_of_vertices", list_tasks, measure, table, words)


if __name__ == "__main__":
    main()
