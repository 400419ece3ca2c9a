"""What answers must not depend on: order, names, units, and how the same numbers are held.

A change that leaves training as it is gives the same answers to the bit. One that draws other
random numbers (in another order of rows or columns dropout falls elsewhere), or adds a vertex,
moves answers no further than another seed does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.typing import NDArray

import graphfilter as gf
from graphfilter.models.scaling import FeatureScaler

N = 60
GRAPH = gf.data.make_csbm(N, mean_degree=8, n_features=4, frequency=0.2, seed=4)
X = np.array(GRAPH.features, dtype=np.float64)
assert GRAPH.labels is not None
LABELS = GRAPH.labels
KNOWN = np.flatnonzero(np.arange(N) % 4)
PARTS = np.split(np.random.default_rng(0).permutation(KNOWN), [30, 42])


class Data(NamedTuple):
    """A graph as it is given, and where each vertex of the first one has its row now."""

    x: Any
    edges: NDArray[np.int64]
    weights: NDArray[np.float64] | None = None
    place: NDArray[np.int64] = np.arange(N)
    names: tuple[Any, ...] = ("no", "yes")
    # Which part of the split an added vertex is of, which has a label then.
    part: int | None = None


def plain() -> Data:
    return Data(X, GRAPH.edges.astype(np.int64))


def weighted() -> Data:
    return plain()._replace(weights=np.random.default_rng(1).uniform(0.5, 2, GRAPH.n_edges))


def in_other_rows(d: Data) -> Data:
    order = np.random.default_rng(2).permutation(N)
    place = np.argsort(order)
    return d._replace(x=d.x[order], edges=place[d.edges], place=place)


def in_other_edges(d: Data) -> Data:
    assert d.weights is not None
    order = np.random.default_rng(3).permutation(len(d.edges))
    return d._replace(edges=d.edges[order][:, ::-1], weights=d.weights[order])


def in_other_units(d: Data) -> Data:
    return d._replace(x=d.x * np.array([1000, 0.001, 1, 64]) + np.array([0, 1.7e9, 1e4, 0]))


def held_as(hold: Callable[[Any], Any], d: Data) -> Data:
    return d._replace(x=hold(d.x))


def with_vertex(row: NDArray[np.float64], d: Data) -> Data:
    return d._replace(x=np.vstack([d.x, row]))


def with_labelled(part: int, times: float) -> Data:
    """Add a vertex with a label: at the edge of every column, or far beyond."""
    return with_vertex(times * X.max(axis=0), plain())._replace(part=part)


Change = Callable[[Data], Data]
SAME: dict[str, tuple[Callable[[], Data], Change]] = {
    "order of edges": (weighted, in_other_edges),
    "edges given twice": (
        plain, lambda d: d._replace(edges=np.concatenate([d.edges, d.edges[:9, ::-1]]))
    ),
    "names of classes": (plain, lambda d: d._replace(names=(0, 1))),
    "float32": (plain, partial(held_as, lambda x: x.astype(np.float32))),
    "Fortran order": (plain, partial(held_as, np.asfortranarray)),
    "CSR": (plain, partial(held_as, lambda x: sp.csr_array(x))),
}  # fmt: skip
BY_CHANCE: dict[str, tuple[Callable[[], Data], Change]] = {
    "unit of weights": (weighted, lambda d: d._replace(weights=d.weights * 0.001)),  # pyright: ignore
    "units of columns": (plain, in_other_units),
    "order of columns": (plain, partial(held_as, lambda x: x[:, ::-1].copy())),
    "order of rows": (weighted, in_other_rows),
    "an isolated vertex": (plain, partial(with_vertex, X.mean(axis=0))),
    "an isolated outlier": (plain, partial(with_vertex, 1e6 * X.max(axis=0))),
} | {
    f"an outlier of the {part} part": (
        partial(with_labelled, number, 1),
        lambda _, number=number: with_labelled(number, 1e6),
    )
    for number, part in ((1, "validation"), (2, "test"))  # one of training teaches
}
COMMITTEES = {
    "GraphClassifier": partial(gf.GraphClassifier, effort="low"),
    "GraphRegressor": partial(gf.GraphRegressor, effort="low"),
}
ESTIMATORS: dict[str, Callable[..., Any]] = {
    "SGFClassifier": gf.SGFClassifier,
    "SystemClassifier": partial(gf.SystemClassifier, model="appnp"),
    "SGFRegressor": gf.SGFRegressor,
    "SystemRegressor": partial(gf.SystemRegressor, model="mlp"),
}


def answer(name: str, d: Data, seed: int = 0) -> NDArray[np.float64]:
    """Fit an estimator, and return its outputs for the vertices of the first graph."""
    graph = gf.Graph.from_edges(d.edges, d.x.shape[0], features=d.x, weights=d.weights)
    if name.endswith("Regressor"):
        y = np.full(d.x.shape[0], np.nan)
        y[d.place[KNOWN]] = (LABELS + 0.3 * X[:, 0])[KNOWN]
    else:
        y = np.full(d.x.shape[0], None, dtype=object)
        y[d.place[KNOWN]] = np.array(d.names, dtype=object)[LABELS[KNOWN]]
    split = [d.place[part] for part in PARTS]
    if d.part is not None:
        y[N] = y[d.place[KNOWN[0]]]
        split[d.part] = np.append(split[d.part], N)
    estimator = (COMMITTEES | ESTIMATORS)[name](max_epochs=12, random_state=seed)
    return estimator.fit(graph=graph, y=y, split=split).outputs_[d.place]


@cache
def first(name: str, data: Callable[[], Data]) -> NDArray[np.float64]:
    return answer(name, data())


@cache
def by_seed(name: str) -> float:
    """Return how far another seed moves answers on average, at most."""
    return max(np.abs(answer(name, plain(), seed) - first(name, plain)).mean() for seed in (1, 2))


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("change", SAME)
def test_answers_are_the_same(name: str, change: str) -> None:
    data, apply = SAME[change]
    np.testing.assert_array_equal(answer(name, apply(data())), first(name, data))


@pytest.mark.parametrize("name", COMMITTEES)
def test_answers_of_committees_are_the_same(name: str) -> None:
    def all_at_once(d: Data) -> Data:
        for change in ("edges given twice", "names of classes", "float32", "Fortran order"):
            d = SAME[change][1](d)
        return d._replace(edges=d.edges[::-1])

    np.testing.assert_array_equal(answer(name, all_at_once(plain())), first(name, plain))


@pytest.mark.parametrize("name", [*COMMITTEES, *ESTIMATORS])
@pytest.mark.parametrize("change", BY_CHANCE)
def test_answers_move_by_chance_alone(name: str, change: str) -> None:
    data, apply = BY_CHANCE[change]
    moved = np.abs(answer(name, apply(data())) - first(name, data)).mean()
    assert moved < 1.5 * by_seed(name) + 0.005


def test_a_single_row_does_not_decide_the_scale_of_others() -> None:
    """Dense and sparse: the columns of other rows have the scale that they have without it."""
    labelled = np.arange(N) % 4 > 0
    for row in (0, 1, None):  # of no label, of one, and where all rows have one
        far = X.copy()
        far[row or 0] *= 1e9
        for hold in (np.asarray, lambda x: sp.csr_array(np.where(np.arange(4) % 2, x, 0) * 9)):
            known = None if row is None else labelled
            one, other = (
                FeatureScaler.fit(hold(x.astype(np.float32)), "auto", labelled=known)
                for x in (X, far)
            )
            assert one.scale is not None
            assert other.scale is not None
            np.testing.assert_allclose(other.scale, one.scale, rtol=0.2)


def test_a_value_that_is_rare_in_a_column_is_no_outlier() -> None:
    """Nor is the only one that differs, nor one of few rows."""
    rare = np.zeros((N, 2), dtype=np.float32)
    rare[7, 0], rare[[3, 9], 1] = 1, 40
    for x in (rare, rare[:8], rare[6:9]):
        scaler = FeatureScaler.fit(x, "auto")
        held = scaler.transform(x) * scaler.scale + scaler.shift
        np.testing.assert_allclose(held, x, atol=1e-5)


@pytest.fixture
def tables(tmp_path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    vertices = pd.DataFrame(X, columns=list("abcd"))
    vertices.insert(0, "id", [f"v{i}" for i in range(N)])
    vertices["place"] = np.where(GRAPH.labels == 0, "north", "south")
    vertices["part"] = ""
    for part, rows in zip(("train", "val", "test"), PARTS, strict=True):
        vertices.loc[rows, "part"] = part
    vertices.loc[~np.isin(np.arange(N), KNOWN), ["part", "place"]] = ["test", "north"]
    edges = pd.DataFrame([(f"v{u}", f"v{v}") for u, v in GRAPH.edges], columns=["s", "t"])
    return vertices, edges


def test_the_command_line_answers_the_same(graphfilter, tables, tmp_path: Path) -> None:
    vertices, edges = tables

    def fit(
        vertices: pd.DataFrame, edges: pd.DataFrame, seed: int = 0, looked_for: str = "north"
    ) -> pd.Series:
        vertices.to_csv(tmp_path / "v.csv", index=False)
        edges.to_csv(tmp_path / "e.csv", index=False)
        words = ("--vertices", tmp_path / "v.csv", "--edges", tmp_path / "e.csv", "--seed", seed)
        more = ("--model", "sgf", "--epochs", 12, "--label", "place", "--no-baselines", "--quiet")
        out = ("--out", tmp_path / "run", "--overwrite", "--split", "part")
        graphfilter("fit", *words, *more, *out)
        found = pd.read_csv(tmp_path / "run" / "predictions.csv", dtype={"id": str})
        return found.set_index("id")[f"p_{looked_for}"].sort_index()

    first = fit(vertices, edges)
    for same in (
        (vertices[["part", "id", "place", *"abcd"]], edges.sample(frac=1, random_state=0)),
        (vertices, pd.concat([edges, edges[:9]])),
    ):
        pd.testing.assert_series_equal(fit(*same), first)
    numbered = vertices.assign(place=vertices["place"].replace({"north": "0", "south": "1"}))
    pd.testing.assert_series_equal(fit(numbered, edges, looked_for="0"), first, check_names=False)
    chance = 1.5 * (fit(vertices, edges, seed=1) - first).abs().mean() + 0.005
    changed = vertices.assign(a=vertices["a"] * 1000, d=vertices["d"] / 8 + 1.7e9)
    changed = changed[changed.columns[::-1]].sample(frac=1, random_state=0)
    assert (fit(changed, edges) - first).abs().mean() < chance
    alone = pd.DataFrame([{"id": "alone", **dict.fromkeys("abcd", 1e6), "part": ""}])
    assert (fit(pd.concat([vertices, alone]), edges).drop("alone") - first).abs().mean() < chance
    weighted = edges.assign(weight=np.linspace(0.5, 2, len(edges)))
    in_other_unit = weighted.assign(weight=weighted["weight"] * 0.001)
    moved = fit(vertices, weighted) - fit(vertices, in_other_unit)
    assert moved.abs().mean() < chance
