"""X as a table with words, dates and gaps: encoded as read_tables does, the same way ever after."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import graphfilter as gf
from graphfilter.data import make_bipartite
from graphfilter.util.errors import DataFileError, GraphError, ModelFileError

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

N = 60
GRAPH = make_bipartite(n_side=N // 2, probability=0.3, n_features=2, seed=0)
NAMES = [f"v{i}" for i in range(N)]
LABELS = np.asarray(GRAPH.labels)
EDGES = pd.DataFrame(
    {"from": [NAMES[u] for u, _ in GRAPH.edges], "to": [NAMES[v] for _, v in GRAPH.edges]}
)


def make_table():
    features = np.asarray(GRAPH.features)
    table = pd.DataFrame({"a": features[:, 0], "b": features[:, 1]}, index=NAMES)
    table["city"] = [("Oslo", "Rome", "Bern")[i % 3] for i in range(N)]
    table["since"] = pd.to_datetime("2024-01-01") + pd.to_timedelta(np.arange(N) % 7, "D")
    table.loc["v5", "a"] = np.nan
    return table


def quick(**parameters) -> gf.SGFClassifier:
    return gf.SGFClassifier(**{"max_epochs": 5, "n_layers": 3, "random_state": 0, **parameters})


def test_a_table_given_as_x_is_encoded_as_the_reader_does() -> None:
    table = make_table()
    fitted = quick().fit(table, LABELS, graph=EDGES)
    read = gf.Graph.from_frames(table.reset_index(names="id"), EDGES, id="id")
    assert fitted.graph_.feature_names == read.feature_names
    np.testing.assert_array_equal(fitted.graph_.features, read.features)
    by_hand = quick().fit(read.features, LABELS, graph=read)
    np.testing.assert_array_equal(fitted.predict_proba(), by_hand.predict_proba())
    np.testing.assert_array_equal(
        fitted.predict_proba(graph=read), by_hand.predict_proba(read.features, graph=read)
    )
    assert fitted.n_features_in_ == 4
    assert fitted.feature_names_in_.tolist() == ["a", "b", "city", "since"]
    assert any("'city' has 3 values" in note for note in fitted.graph_.notes)


def test_another_table_is_encoded_as_the_one_of_the_fit() -> None:
    """New words are zeros, gaps the median of the fit, columns found by name, others ignored."""
    table = make_table()
    fitted = quick().fit(table, LABELS, graph=EDGES)
    later = table.iloc[::-1][["since", "city", "b", "a"]].assign(comment="new")
    later.loc["v1", "city"] = "Paris"
    encoder = fitted.encoder_
    assert encoder is not None
    by_name = fitted.predict_proba(later, graph=EDGES)
    plain = quick().fit(fitted.graph_.features, LABELS, graph=GRAPH.edges)
    expected = np.asarray(fitted.graph_.features).copy()
    expected[1, [name.startswith("city") for name in encoder.feature_names]] = 0
    np.testing.assert_allclose(
        by_name[::-1], plain.predict_proba(expected, graph=GRAPH.edges), atol=1e-6
    )


def test_frames_of_other_libraries_are_understood_too() -> None:
    table = make_table()
    fitted = quick().fit(table, LABELS, graph=GRAPH.edges)
    for frame in (pl.from_pandas(table), pl.from_pandas(table).to_arrow()):
        other = quick().fit(frame, LABELS, graph=GRAPH.edges)
        np.testing.assert_array_equal(other.predict_proba(), fitted.predict_proba())
        np.testing.assert_array_equal(other.predict_proba(frame), other.predict_proba())


@pytest.mark.parametrize("kind", [gf.SGFClassifier, gf.SGFRegressor, gf.GraphRegressor])
def test_a_saved_model_encodes_as_it_did(kind, tmp_path: Path) -> None:
    table, y = make_table(), np.asarray(GRAPH.features)[:, 0] if "Regr" in kind.__name__ else LABELS
    fitted = kind(max_epochs=3, random_state=0).fit(table, y, graph=EDGES)
    fitted.save(tmp_path)
    loaded = kind.load(tmp_path)
    np.testing.assert_allclose(loaded.predict(table, graph=EDGES), fitted.predict(), atol=1e-5)
    assert loaded.n_features_in_ == fitted.n_features_in_
    assert loaded.encoder_ == fitted.encoder_
    assert copy.deepcopy(fitted).encoder_ == fitted.encoder_
    assert clone(fitted).encoder_ is None


def test_a_damaged_encoder_is_refused(tmp_path: Path) -> None:
    quick().fit(make_table(), LABELS, graph=EDGES).save(tmp_path)
    path = tmp_path / "config.json"
    config = json.loads(path.read_text())
    del config["sha256"]
    for spoil in (
        lambda e: e["columns"].pop(),
        lambda e: e["columns"][0].update(kind="code"),
        lambda e: e.pop("columns"),
    ):
        spoilt = copy.deepcopy(config)
        spoil(spoilt["encoder"])
        path.write_text(json.dumps(spoilt))
        with pytest.raises(ModelFileError):
            gf.SGFClassifier.load(tmp_path)


def test_what_cannot_be_encoded_is_refused_in_one_line() -> None:
    table = make_table()
    fitted = quick().fit(table, LABELS, graph=EDGES)
    with pytest.raises(GraphError, match=r"X must be a table.*'a', 'b', 'city'.*got ndarray"):
        fitted.predict(np.asarray(GRAPH.features))
    with pytest.raises(DataFileError, match="X: there is no column 'city'"):
        fitted.predict(table.drop(columns="city"))
    twice = pd.concat([table, table[["city"]]], axis=1)
    with pytest.raises(GraphError, match="'city' is there 2 times"):
        quick().fit(twice, LABELS, graph=EDGES)
    names = pd.DataFrame({"name": [f"a{i}" for i in range(N)]}, index=NAMES)
    with pytest.raises(GraphError, match=r"X must have a column to learn from.*'name' left out"):
        quick().fit(names, LABELS, graph=EDGES)
    numbers = table[["b"]].assign(c=1.0)
    plain = quick().fit(numbers, LABELS, graph=EDGES)
    with pytest.raises(GraphError, match=r"column 'c' has 60 missing values\. Fill"):
        plain.predict(numbers.assign(c=np.nan))
    with pytest.raises(GraphError, match=r"column 'c' has .* such as 'x'"):
        plain.predict(numbers.assign(c="x"))


def test_a_failed_fit_leaves_the_estimator_as_it_was() -> None:
    table = make_table()
    fitted = quick().fit(table, LABELS, graph=EDGES)
    before = fitted.predict_proba(table)
    with pytest.raises(GraphError, match="two classes"):
        fitted.fit(np.eye(N), np.zeros(N), graph=GRAPH.edges)
    assert fitted.n_features_in_ == 4
    np.testing.assert_array_equal(fitted.predict_proba(table), before)
    fitted.fit(np.asarray(GRAPH.features), LABELS, graph=GRAPH.edges)
    assert fitted.encoder_ is None


def test_words_are_cross_validated_with_a_bound_graph() -> None:
    bound = GRAPH.replace(vertex_names=NAMES)
    scores = cross_val_score(quick(graph=bound), make_table(), LABELS, cv=3, error_score="raise")
    assert np.isfinite(scores).all()
