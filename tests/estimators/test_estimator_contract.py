"""What holds for every estimator: scikit-learn's checks, parameters, copies that answer alike."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import graphfilter as gf
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.splits import Split
from graphfilter.systems import committee
from graphfilter.util.errors import ModelFileError

ESTIMATORS: tuple[type[VertexEstimator], ...] = (
    gf.GraphClassifier, gf.GraphRegressor, gf.SGFClassifier, gf.SGFRegressor,
    gf.SystemClassifier, gf.SystemRegressor,
)  # fmt: skip
N = 90
GRAPH = gf.data.make_csbm(n_vertices=N, frequency=0.3, mean_degree=8, n_features=6)
FEATURES = np.asarray(GRAPH.features, dtype=np.float64)
SPLIT = Split(np.arange(50), np.arange(50, 75), np.arange(75, N))
WORDS = np.array(["a", "b"], dtype=object)[GRAPH.labels]
LABELS = (FEATURES[:, :3] > 0).astype(int)
QUICK: dict[str, Any] = {"max_epochs": 5, "random_state": 0}
LOW = {**QUICK, "effort": "low"}
SGF = {**QUICK, "n_layers": 2, "n_members": 2}
FITS: dict[str, tuple[Any, Any]] = {
    "classes": (gf.SGFClassifier(**SGF, class_weight={"a": 2.0}, costs={("a", "b"): 3.0}), WORDS),
    "labels": (gf.SGFClassifier(**SGF), LABELS),
    "number": (gf.SGFRegressor(**SGF, scale="log"), np.exp(FEATURES[:, 0])),
    "numbers": (gf.SGFRegressor(**SGF, scale="rank"), FEATURES[:, :2]),
    "committee": (gf.GraphClassifier(**LOW), WORDS),
    "committee of labels": (gf.GraphClassifier(**LOW), LABELS),
    "committee of a number": (gf.GraphRegressor(**LOW), np.exp(FEATURES[:, 0])),
    **{
        name: (gf.SystemClassifier(model=name, n_members=2, **QUICK), WORDS)
        for name in ("sgf-cheby", "mlp", "sgc", "ppnp", "gpr-gnn", "hop-mlp")
    },
}
RESEARCH = {
    name: (gf.SystemClassifier(model=name, n_members=2, **QUICK), WORDS)
    for name in ("gcnii", "nlgnn")
}


# The vertices to validate on are drawn, so that one that is given twice may be on both sides.
REPEATED = {
    f"check_sample_weight_equivalence_on_{kind}_data": "rows are split"
    for kind in ("dense", "sparse")
}


@pytest.mark.filterwarnings("ignore::graphfilter.util.errors.NoGraphWarning")
@parametrize_with_checks([
    gf.SGFClassifier(max_epochs=8, n_layers=2, learning_rate=0.03, random_state=0),
    gf.SGFRegressor(max_epochs=10, n_layers=2, learning_rate=0.03, random_state=0),
    gf.GraphClassifier(effort="low", max_epochs=8, random_state=0),
    gf.GraphRegressor(effort="low", max_epochs=20, random_state=0),
    gf.SystemClassifier(model="mlp", max_epochs=20, random_state=0),
    gf.SystemRegressor(model="sgf@learning_rate=0.03", max_epochs=20, random_state=0),
], expected_failed_checks=lambda _: REPEATED)  # fmt: skip
def test_estimator_passes_the_checks_of_scikit_learn(
    estimator: Any, check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committee, "MOST_REPEATS", 1)
    check(estimator)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_parameter_is_documented_and_nothing_else_is(kind: type[VertexEstimator]) -> None:
    parameters = inspect.signature(kind).parameters
    section = re.search(r"Parameters\n-+\n(.*?)\n\n", inspect.getdoc(kind) or "", re.DOTALL)
    assert section is not None
    named = [line.partition(" :")[0] for line in section[1].splitlines() if line[0] != " "]
    assert sorted(re.findall(r"\w+", " ".join(named))) == sorted(parameters)
    assert all(each.kind is each.KEYWORD_ONLY for each in parameters.values())


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_parameters_are_kept_as_given_cloned_and_shown(kind: type[VertexEstimator]) -> None:
    values = {name: object() for name in inspect.signature(kind).parameters}
    estimator = kind(**values)
    assert vars(estimator) == values
    assert set(estimator.get_params(deep=False)) == set(values)
    usual = kind()
    assert repr(usual) == f"{kind.__name__}()"
    assert repr(clone(usual.set_params(verbose=True))) == f"{kind.__name__}(verbose=True)"
    assert usual != kind(verbose=True)
    assert {usual: 1}[usual] == 1


def test_at_most_three_classes_of_ours_stand_above_an_estimator() -> None:
    for kind in ESTIMATORS:
        ours = [each for each in kind.__mro__[1:] if each.__module__.startswith("graphfilter")]
        assert len(ours) <= 3, ours


@pytest.mark.parametrize(
    "name", [*FITS, *(pytest.param(name, marks=pytest.mark.research) for name in RESEARCH)]
)
def test_copies_of_a_fitted_estimator_answer_as_it_does(name: str, tmp_path: Path) -> None:
    """Those that are cloned and fitted again, saved and loaded, pickled, and copied."""
    unfitted, y = {**FITS, **RESEARCH}[name]
    fitted = clone(unfitted).fit(FEATURES, y, graph=GRAPH, split=SPLIT)
    expected = fitted.outputs_
    again = clone(fitted).fit(FEATURES, y, graph=GRAPH, split=SPLIT)
    np.testing.assert_array_equal(again.outputs_, expected)
    fitted.save(tmp_path / "model")
    # What pickle keeps beside the saved tensors: the graph, curves, other names of the same.
    sizes = [len(pickle.dumps(fitted)), sum(f.stat().st_size for f in tmp_path.rglob("*.*"))]
    assert sizes[0] < 1.3 * sizes[1] + 500_000
    loaded = type(fitted).load(tmp_path / "model")
    settled = {**fitted.settled_parameters(), "graph": None}
    assert loaded.get_params() == settled
    ask = "predict_interval" if hasattr(fitted, "predict_interval") else "predict_set"
    for other in (loaded, pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        answers = other.answers(FEATURES, GRAPH)
        if fitted.task_.one_class:
            np.testing.assert_array_equal(answers, expected)
        np.testing.assert_allclose(answers, expected, rtol=1e-6)
        sets = (getattr(each, ask)(FEATURES, GRAPH, coverage=0.8) for each in (other, fitted))
        np.testing.assert_allclose(*sets, rtol=1e-6)
        assert getattr(other, "weights_", None) == getattr(fitted, "weights_", None)
        for one, same in zip(other.filters_, fitted.filters_, strict=True):
            points = np.linspace(one.interval[0], one.interval[1], 5)
            np.testing.assert_array_equal(one.response(points), same.response(points))
        assert len(other.predict(FEATURES[:50], graph=GRAPH.subgraph(np.arange(50)))) == 50
    for kind in {gf.SGFClassifier, gf.SGFRegressor} - {type(fitted)}:
        with pytest.raises(ModelFileError, match=f"holds a {type(fitted).__name__}"):
            kind.load(tmp_path / "model")


@pytest.mark.parametrize(
    "names",
    [["a", "b"], [10, 2], [1.0, 2.0], [True, False], *(np.array([3, 7], k) for k in ("i1", "u8"))],
    ids=str,
)
def test_classes_keep_their_type_and_order_when_saved(names: Any, tmp_path: Path) -> None:
    fitted = gf.SGFClassifier(**SGF).fit(FEATURES, np.array(names)[GRAPH.labels], graph=GRAPH)
    fitted.save(tmp_path)
    loaded = gf.SGFClassifier.load(tmp_path)
    assert loaded.classes_.tolist() == fitted.classes_.tolist() == sorted(names)
    predicted = loaded.predict(graph=GRAPH)
    kind = np.asarray(names).dtype
    assert predicted.dtype == (object if kind.kind == "U" else kind)
    np.testing.assert_array_equal(predicted, fitted.predict())
