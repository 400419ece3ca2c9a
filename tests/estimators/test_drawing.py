"""The filter of a fitted estimator, drawn."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

import graphfilter as gf
from graphfilter.util.errors import GraphFilterError

GRAPH = gf.data.make_bipartite(n_side=30, probability=0.3, n_features=4, seed=0)


@pytest.fixture(scope="module")
def fitted() -> gf.SGFClassifier:
    return gf.SGFClassifier(n_layers=4, max_epochs=15, n_members=2, random_state=0).fit(graph=GRAPH)


@pytest.fixture
def ax() -> Axes:
    return Figure(layout="constrained").subplots()


def curves(ax: Axes) -> dict[str, np.ndarray]:
    found = {str(line.get_label()): np.asarray(line.get_ydata()) for line in ax.lines}
    return {label: y for label, y in found.items() if not label.startswith("_")}


def test_plot_shows_the_filter_before_and_after_training(
    fitted: gf.SGFClassifier, ax: Axes
) -> None:
    assert fitted.plot_filter(ax) is ax
    shown = curves(ax)
    lam = 1 - np.linspace(0, 2, 401)
    start = gf.filters.StackedFilter(4).response(lam)
    np.testing.assert_allclose(shown["before training"], start, atol=1e-6)
    responses = [f.response(lam) for f in fitted.filters_]
    turned = np.sign(responses[0] @ responses[1])
    mean = (responses[0] + turned * responses[1]) / 2
    np.testing.assert_allclose(shown["learned (mean and runs)"], mean, atol=1e-9)
    assert "label frequency of a class" in shown


def test_loaded_model_shows_what_it_has_learned(
    fitted: gf.SGFClassifier, ax: Axes, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "model")
    loaded = gf.SGFClassifier.load(tmp_path / "model")
    loaded.plot_filter(ax)
    assert list(curves(ax)) == ["learned (mean and runs)"]


def test_pickled_model_shows_its_filter(fitted: gf.SGFClassifier, ax: Axes) -> None:
    pickle.loads(pickle.dumps(fitted)).plot_filter(ax)
    assert "before training" in curves(ax)


def test_regressor_and_committee_show_their_filters(ax: Axes) -> None:
    assert GRAPH.labels is not None
    values = gf.SGFRegressor(n_layers=2, max_epochs=5, random_state=0)
    values.fit(GRAPH.features, GRAPH.labels.astype(float), graph=GRAPH).plot_filter(ax)
    assert "label frequency of a class" not in curves(ax)
    committee = gf.GraphClassifier(effort="low", max_epochs=5, random_state=0).fit(graph=GRAPH)
    committee.plot_filter(ax)


@pytest.mark.research
def test_plot_of_a_model_without_filter_is_refused(ax: Axes) -> None:
    fitted = gf.SystemClassifier(model="gcn", max_epochs=2, random_state=0).fit(graph=GRAPH)
    with pytest.raises(GraphFilterError, match="needs a model with a graph filter"):
        fitted.plot_filter(ax)


def test_plot_before_fit_is_refused(ax: Axes) -> None:
    with pytest.raises(NotFittedError):
        gf.SGFClassifier().plot_filter(ax)
