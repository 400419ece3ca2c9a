"""Systems by name, and from a prepared graph to outcomes."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from graphfilter import SGFClassifier
from graphfilter.data import make_csbm
from graphfilter.filters import Config, StackedFilterConfig
from graphfilter.models import FilterNetworkConfig
from graphfilter.models.scaling import FeatureScaler
from graphfilter.operators import OPERATORS
from graphfilter.splits import stratified
from graphfilter.systems import SYSTEMS, Prepared, System, get_system, prepared, train_system
from graphfilter.util.errors import ConfigError


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often operators of 60 vertices are made, and features of as many scaled."""
    found: Counter[str] = Counter()
    make, transform = prepared.make_operator, FeatureScaler.transform

    def make_operator(kind, graph, **options):
        found["operator"] += graph.n_vertices == 60
        return make(kind, graph, **options)

    def scale(self, features):
        found["scaling"] += features.shape[0] == 60
        return transform(self, features)

    monkeypatch.setattr(prepared, "make_operator", make_operator)
    monkeypatch.setattr(FeatureScaler, "transform", scale)
    return found


def test_fit_into_a_folder_prepares_the_graph_once(counts: Counter[str], tmp_path: Path) -> None:
    """The classifier, its predictions and three baselines share one operator and one scaling.

    Copies of a part, which reasons are asked about, are other graphs.
    """
    from graphfilter.runs.folder import fit_folder
    from graphfilter.runs.plan import Source, plan_fit

    plan = plan_fit(Source(make_csbm(60, n_features=4)), seed=0)
    pytest.importorskip("plotly", reason="the report needs plotly")
    fit_folder(plan, SGFClassifier(max_epochs=3, random_state=0, device="cpu"), tmp_path / "run")
    assert counts == {"operator": 1, "scaling": 1}


def test_estimator_predicts_another_graph_with_the_scaling_it_was_fitted_with() -> None:
    graph = make_csbm(60, n_features=4)
    clf = SGFClassifier(max_epochs=3, random_state=0, device="cpu").fit(graph=graph)
    other = graph.replace(features=np.asarray(graph.features) * 2 + 1)
    ready = clf.prepare(other)
    assert ready.scaler is clf.scaler_
    assert isinstance(ready.x, torch.Tensor)
    assert clf.scaler_.scale is not None
    expected = (np.asarray(other.features) - clf.scaler_.shift) / clf.scaler_.scale
    np.testing.assert_allclose(ready.x.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode", "float64"])
def test_training_and_prediction_do_not_depend_on_the_callers_torch_state(mode: str) -> None:
    graph = make_csbm(60, n_features=4)
    split = stratified(graph.labels, 0)
    system = get_system("sgf").with_(max_epochs=4)
    (expected,) = train_system(Prepared.of(graph), system, [split], [0])
    if mode == "float64":
        torch.set_default_dtype(torch.float64)
        try:
            (found,) = train_system(Prepared.of(graph), system, [split], [0])
            assert torch.get_default_dtype() == torch.float64
        finally:
            torch.set_default_dtype(torch.float32)
    else:
        with getattr(torch, mode)():
            (found,) = train_system(Prepared.of(graph), system, [split], [0])
    np.testing.assert_array_equal(found.probabilities, expected.probabilities)


def test_system_with_other_settings_trains_another_network() -> None:
    graph = make_csbm(40, n_features=4)
    system = get_system("sgf").with_(n_layers=3, dropout=0.2, max_epochs=2, operator="laplacian")
    (outcome,) = train_system(Prepared.of(graph), system, [stratified(graph.labels, 0)], [0])
    assert isinstance(system.model, FilterNetworkConfig)
    assert isinstance(system.model.filter, StackedFilterConfig)
    assert outcome.network.config == replace(
        system.model, dropout=0.2, filter=replace(system.model.filter, n_layers=3)
    )
    assert outcome.result.n_epochs == 2
    assert system.operator == "laplacian"


def test_single_members_are_those_of_the_committee() -> None:
    committee: Any = get_system("committee")
    for member in committee.members:
        alone: Any = get_system(f"only-{member.name}")
        assert alone.members == (member,)


def test_systems_state_their_source_and_setting() -> None:
    for name, system in SYSTEMS.items():
        assert system.name == name
        assert system.operator in OPERATORS
        assert system.setting in ("paper", "authors", "adapted", "own")
        assert system.trained == (system.predict is None)
        assert system.reference or name == "mlp" or system.setting == "own"
    assert len({system.title for system in SYSTEMS.values()}) == len(SYSTEMS)


def test_unknown_system_suggests_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'mlp'"):
        get_system("mpl")


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda system: system.name)
def test_settings_have_one_name_each(system: System) -> None:
    """Training config, model and filter share no name, so that with_ is never ambiguous."""
    if system.model is None:
        return
    names = [f.name for f in fields(system.config)]
    configs: list[Config] = [system.model]
    while configs:
        config = configs.pop()
        for f in fields(config):
            value = getattr(config, f.name)
            if isinstance(value, Config):
                configs.append(value)
            else:
                names.append(f.name)
    assert len(names) == len(set(names))


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda system: system.name)
def test_network_carries_the_config_it_was_built_from(system: System) -> None:
    if system.model is None:
        return
    graph = make_csbm(20, mean_degree=3, n_features=4)
    assert system.build(graph, 0).config == system.model
    assert hash(system.model) == hash(replace(system.model))
