"""A stranger's filter and network, each one file in their folder: fit, predict, save and load."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import graphfilter as gf
from graphfilter.data import write_tables
from graphfilter.systems.outside import named_object, system_of
from graphfilter.util.errors import ConfigError, ModelFileError

FILTER = """
from dataclasses import dataclass
import torch
from graphfilter.filters import Filter, FilterConfig

@dataclass(frozen=True)
class TiltConfig(FilterConfig):
    start: float = 0.0

class Tilt(Filter, config=TiltConfig):
    degree = 1

    def __init__(self, start=0.0):
        super().__init__(TiltConfig(start))
        self.tilt = torch.nn.Parameter(torch.tensor(start))

    def weights(self):
        return torch.stack([torch.ones_like(self.tilt), self.tilt])
"""
NETWORK = """
import torch

class Net(torch.nn.Module):
    def __init__(self, n_features, n_classes, width=8):
        super().__init__()
        self.first = torch.nn.Linear(n_features, width)
        self.last = torch.nn.Linear(2 * width, n_classes)
        self.dropout = torch.nn.Dropout(0.5)

    def forward(self, operator, x):
        hidden = self.dropout(torch.relu(self.first(x)))
        return self.last(torch.cat([hidden, operator @ hidden], dim=1))

def wide(n_features, n_classes):
    return Net(n_features, n_classes, width=12)

def too_narrow(n_features, n_classes):
    return Net(n_features, n_classes + 1)
"""
GRAPH = gf.data.make_csbm(n_vertices=60, n_features=4, frequency=0.4, seed=0)
QUICK: Any = {"max_epochs": 8, "random_state": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Generator[Path]:
    """A folder with both files, which can be imported from."""
    made = tmp_path_factory.mktemp("stranger")
    (made / "strange_filter.py").write_text(FILTER)
    (made / "strange_network.py").write_text(NETWORK)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(made)
        yield made


def model_of(kind: str) -> Any:
    filters, networks = import_module("strange_filter"), import_module("strange_network")
    torch.manual_seed(0)
    return {
        "filter": filters.Tilt(0.5), "filter class": filters.Tilt,
        "filter config": filters.TiltConfig(0.2), "network class": networks.Net,
        "network": networks.Net(4, 2), "function": networks.wide,
        "system": system_of(filters.Tilt).with_(hidden_size=8),
        "filter of ours": gf.filters.PowerFilterConfig(k=2),
        "network of ours": gf.models.WeightedHops,
    }[kind]  # fmt: skip


KINDS = [
    "filter", "filter class", "filter config", "network class", "network", "function", "system",
    "filter of ours", "network of ours",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_model_is_fitted_saved_and_loaded_with_the_same_answers(
    folder: Path, kind: str, tmp_path: Path
) -> None:
    model = model_of(kind)
    clf = gf.SystemClassifier(model=model, n_members=2, **QUICK).fit(graph=GRAPH)
    state = torch.get_rng_state()
    again = gf.SystemClassifier(model=model, n_members=2, **QUICK).fit(graph=GRAPH)
    np.testing.assert_array_equal(again.outputs_, clf.outputs_)
    torch.testing.assert_close(torch.get_rng_state(), state)
    assert abs(clf.explain(3).score) > 0
    clf.save(tmp_path)
    named = {"model": model} if kind in ("network", "function") else {}
    loaded = gf.SystemClassifier.load(tmp_path, **named)
    np.testing.assert_allclose(loaded.predict_proba(graph=GRAPH), clf.outputs_, atol=1e-6)
    loaded.save(tmp_path / "again")


def test_numbers_are_learned_by_a_strange_network(folder: Path) -> None:
    numbers = np.asarray(GRAPH.features)[:, 0]
    model = gf.SystemRegressor(model=model_of("network class"), **QUICK)
    assert model.fit(GRAPH.features, numbers, graph=GRAPH).predict().shape == (60,)


def test_loading_imports_nothing_and_asks_for_the_name(folder: Path, tmp_path: Path) -> None:
    for kind in ("filter class", "network class"):
        gf.SystemClassifier(model=model_of(kind), **QUICK).fit(graph=GRAPH).save(tmp_path / kind)
    script = """
import sys
import graphfilter as gf
for kind, module, name in (("filter class", "strange_filter", "Tilt"),
                           ("network class", "strange_network", "Net")):
    try:
        gf.SystemClassifier.load(f"{sys.argv[1]}/{kind}")
    except gf.GraphFilterError as error:
        assert f"{module}:{name}" in str(error) and "must be imported" in str(error), error
        assert "name it with `model`" in str(error), error
    else:
        raise AssertionError("it was loaded")
    assert module not in sys.modules
    sys.path.insert(0, sys.argv[2])
    strange = __import__(module)
    gf.SystemClassifier.load(f"{sys.argv[1]}/{kind}")
    gf.SystemClassifier.load(f"{sys.argv[1]}/{kind}", model=getattr(strange, name))
    sys.path.remove(sys.argv[2])
"""
    words = [sys.executable, "-c", script, str(tmp_path), str(folder)]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_a_function_is_not_called_unless_it_is_named(folder: Path, tmp_path: Path) -> None:
    gf.SystemClassifier(model=model_of("function"), **QUICK).fit(graph=GRAPH).save(tmp_path)
    with pytest.raises(ModelFileError, match=r"strange_network:wide.*must be imported"):
        gf.SystemClassifier.load(tmp_path)


def test_model_that_was_not_fitted_is_refused_on_loading(folder: Path, tmp_path: Path) -> None:
    gf.SystemClassifier(model="mlp", **QUICK).fit(graph=GRAPH).save(tmp_path)
    with pytest.raises(ConfigError, match="model must be left out"):
        gf.SystemClassifier.load(tmp_path, model=model_of("network class"))
    gf.SystemClassifier(model=model_of("network class"), **QUICK).fit(graph=GRAPH).save(tmp_path)
    with pytest.raises(ConfigError, match=r"must be strange_network:Net.*got WeightedHops"):
        gf.SystemClassifier.load(tmp_path, model=gf.models.WeightedHops)


def test_wrong_models_say_what_they_must_be(folder: Path) -> None:
    narrow = named_object("strange_network:too_narrow")
    with pytest.raises(ConfigError, match=r"must return logits of shape \(60, 2\).*n_classes wide"):
        gf.SystemClassifier(model=narrow, **QUICK).fit(graph=GRAPH)
    with pytest.raises(ConfigError, match=r"must make a torch.nn.Module .*got int"):
        gf.SystemClassifier(model=lambda n, c: n, **QUICK).fit(graph=GRAPH)
    with pytest.raises(ConfigError, match=r"with its arguments.*Pass model=Filter"):
        gf.SystemClassifier(model=gf.filters.Filter, **QUICK).fit(graph=GRAPH)
    for name in ("strange_network:absent", "absent:Net", ":Net"):
        with pytest.raises(ConfigError, match=r"package\.module:name"):
            named_object(name)


@pytest.mark.parametrize("name", ["strange_filter:Tilt", "strange_network:wide"])
def test_command_line_fits_predicts_and_reports_a_strange_model(
    folder: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphfilter.cli import main

    edges, vertices = write_tables(GRAPH, tmp_path)
    tables = ["--edges", str(edges), "--vertices", str(vertices), "--quiet"]
    run, out = str(tmp_path / "run"), str(tmp_path / "p.csv")

    def run_command(*words: str) -> int:
        monkeypatch.setattr("sys.argv", ["graphfilter", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        return int(stop.value.code or 0)

    words = ["fit", *tables, "--model", name, "--epochs", "5", "--no-baselines"]
    assert run_command(*words, "--out", run) == 0
    report = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert name in report
    assert run_command("predict", run, *tables, "--model", name, "--out", out) == 0
    assert Path(out).read_text().count("\n") == 61
    assert run_command("explain", run, "--vertex", "3", "--model", name, "--quiet") == 0
    assert run_command("predict", run, *tables, "--model", "absent:Net", "--out", out) == 2
