"""Saved models: held to their checksums, where they have them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from graphfilter import GraphClassifier, SGFClassifier, SGFRegressor
from graphfilter.data import make_csbm, make_karate, open_store, read_npz, write_npz, write_store
from graphfilter.data.attributes import narrowed
from graphfilter.filters import PowerFilterConfig
from graphfilter.filters.base import _config_of, read_config
from graphfilter.models import FilterNetworkConfig
from graphfilter.systems import SYSTEMS
from graphfilter.systems.registry import SMOOTH
from graphfilter.util.errors import ModelFileError
from graphfilter.util.records import (
    read_checked_json,
    read_tensors,
    write_checked_json,
    write_tensors,
)

FILES = ("config.json", "model.safetensors")


@pytest.fixture(scope="module")
def fitted() -> SGFClassifier:
    return SGFClassifier(n_layers=2, hidden_size=4, max_epochs=3, random_state=0).fit(
        graph=make_karate()
    )


def change(folder: Path, **changes: object) -> None:
    config = read_checked_json(folder / FILES[0])
    write_checked_json(folder / FILES[0], {**config, **changes})


def test_a_model_card_has_the_facts_and_no_other_file_is_replaced(
    tmp_path: Path, fitted: SGFClassifier
) -> None:
    card = tmp_path / "README.md"
    fitted.save(tmp_path)
    text = card.read_text()
    accuracy = fitted.validation_scores_["accuracy"]
    karate = make_karate()
    assert karate.classes is not None
    assert karate.labels is not None
    right = fitted.predict() == np.asarray(karate.classes)[karate.labels]
    assert accuracy == right[fitted.split_.val].mean()
    assert text.startswith("---\nlibrary_name: graphfilter\n")
    for fact in ("'Mr. Hi', 'Officer'", "34 vertices, 78 edges", f"accuracy {accuracy:.4g}"):
        assert fact in text
    SGFClassifier.load(tmp_path).save(tmp_path)
    assert card.read_text() == text
    card.write_text("mine")
    fitted.save(tmp_path)
    assert card.read_text() == "mine"


@pytest.mark.parametrize(
    ("corrupt", "message"),
    [
        (lambda run: (run / FILES[1]).write_bytes((run / FILES[1]).read_bytes()[:-100]), "trunc"),
        (lambda run: save_file({"x": torch.zeros(1)}, run / FILES[1]), "not one of graphfilter's"),
        (lambda run: change(run, format=99), "must be of format 1; got 99"),
        (lambda run: change(run, parameters={"hidden_size": 7}), "do not fit together"),
        (lambda run: change(run, parameters={"colour": "red"}), "do not fit together"),
        (lambda run: (run / FILES[0]).write_text("[]"), "JSON object"),
        (lambda run: (run / FILES[0]).write_text("{"), "not readable as JSON"),
        (lambda run: (run / FILES[0]).unlink(), "no such file"),
        (lambda run: (run / FILES[1]).unlink(), "no such file"),
    ],
)
def test_files_that_are_not_a_model_are_refused(
    tmp_path: Path, fitted: SGFClassifier, corrupt: Callable[[Path], None], message: str
) -> None:
    fitted.save(tmp_path)
    corrupt(tmp_path)
    with pytest.raises(ModelFileError, match=message):
        SGFClassifier.load(tmp_path)


@pytest.mark.parametrize("name", FILES)
def test_flipped_bit_changes_no_prediction_silently(
    name: str, tmp_path: Path, fitted: SGFClassifier
) -> None:
    """A bit in each of a sample of bytes: refused, or (a space, say) of no consequence."""
    graph = make_karate()
    expected = fitted.predict_proba(graph.features, graph=graph)
    fitted.save(tmp_path)
    whole = (tmp_path / name).read_bytes()
    refused = 0
    for at in np.random.default_rng(0).choice(len(whole), 60, replace=False):
        changed = bytearray(whole)
        changed[at] ^= 1 << (at % 8)
        (tmp_path / name).write_bytes(changed)
        try:
            loaded = SGFClassifier.load(tmp_path)
        except ModelFileError:
            refused += 1
        else:
            np.testing.assert_array_equal(
                loaded.predict_proba(graph.features, graph=graph), expected
            )
    assert refused > 30


def test_model_of_another_save_is_refused(tmp_path: Path, fitted: SGFClassifier) -> None:
    other = SGFClassifier(n_layers=2, hidden_size=4, max_epochs=3, random_state=1)
    other.fit(graph=make_karate()).save(tmp_path / "other")
    fitted.save(tmp_path / "run")
    (tmp_path / "other" / FILES[1]).replace(tmp_path / "run" / FILES[1])
    with pytest.raises(ModelFileError, match="checksum"):
        SGFClassifier.load(tmp_path / "run")


def test_model_without_checksums_loads(tmp_path: Path, fitted: SGFClassifier) -> None:
    fitted.save(tmp_path)
    config = json.loads((tmp_path / FILES[0]).read_text())
    del config["sha256"], config["model_sha256"]
    (tmp_path / FILES[0]).write_text(json.dumps(config))
    with safe_open(tmp_path / FILES[1], framework="pt") as file:
        metadata = {"graphfilter": file.metadata()["graphfilter"]}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save_file(tensors, tmp_path / FILES[1], metadata=metadata)
    graph = make_karate()
    np.testing.assert_array_equal(
        SGFClassifier.load(tmp_path).predict_proba(graph.features, graph=graph),
        fitted.predict_proba(graph.features, graph=graph),
    )


@pytest.fixture(scope="module")
def committee() -> GraphClassifier:
    return GraphClassifier(effort="low", max_epochs=5, random_state=0).fit(graph=make_karate())


def test_committee_loads_where_others_sit_in_it_today(
    tmp_path: Path, committee: GraphClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later version may change who is in a committee; a saved one stays as it was trained."""
    committee.save(tmp_path)
    graph = make_karate()
    expected = committee.predict_proba(graph.features, graph=graph)
    name = committee.build_system().name
    today = replace(SYSTEMS[name.partition("@")[0]], members=(SMOOTH,))
    monkeypatch.setattr(GraphClassifier, "build_system", lambda self: today)
    loaded = GraphClassifier.load(tmp_path)
    np.testing.assert_array_equal(loaded.predict_proba(graph.features, graph=graph), expected)
    assert loaded.weights_ == committee.weights_
    assert loaded.explain(0, graph.features, graph=graph).vertex == "0"


@pytest.mark.parametrize(
    "change",
    [
        {"model": {"kind": "Unheard"}},
        {"model": {"kind": "StackedFilter"}},
        {"model": {"kind": "FilterNetwork", "hidden_size": 10**12}},
        {"model": {"kind": "FilterNetwork", "unheard": 1}},
        {"model": []},
        {"view": "unheard"},
        {"operator": 3},
    ],
)
def test_member_that_is_not_known_is_refused(
    change: dict, tmp_path: Path, committee: GraphClassifier
) -> None:
    committee.save(tmp_path)
    config = read_checked_json(tmp_path / FILES[0])
    config["members"][0] |= change
    write_checked_json(tmp_path / FILES[0], config)
    with pytest.raises(ModelFileError, match="do not fit together"):
        GraphClassifier.load(tmp_path)


def test_config_that_inherits_from_another_one_does_not_hide_it() -> None:
    class OwnConfig(FilterNetworkConfig):
        """A user's, which nothing builds."""

    config = FilterNetworkConfig(filter=PowerFilterConfig(k=3))
    _config_of.cache_clear()
    assert read_config(config.describe()) == config
    assert issubclass(OwnConfig, FilterNetworkConfig)


@pytest.mark.parametrize("system", [s for s in SYSTEMS.values() if s.model], ids=lambda s: s.name)
def test_config_of_every_system_is_read_back(system) -> None:
    assert read_config(json.loads(json.dumps(system.model.describe()))) == system.model


def damage(folder: Path, config: dict | None = None, tensors: dict | None = None) -> None:
    """Change a saved model and make its checksums again, as no accident would."""
    found, metadata = read_tensors(folder / FILES[1])
    checksum = write_tensors(folder / FILES[1], {**found, **(tensors or {})}, metadata)
    content = read_checked_json(folder / FILES[0])
    content |= {**(config or {}), "model_sha256": checksum}
    write_checked_json(folder / FILES[0], content)


def test_undamaged_models_load_after_signing_again(
    tmp_path: Path, committee: GraphClassifier
) -> None:
    committee.save(tmp_path)
    damage(tmp_path)
    graph = make_karate()
    np.testing.assert_array_equal(
        GraphClassifier.load(tmp_path).predict_proba(graph.features, graph=graph),
        committee.predict_proba(graph.features, graph=graph),
    )


@pytest.mark.parametrize(
    "numbers",
    [
        {"temperature": 0.0},
        {"temperature": 1e-300},
        {"temperature_elsewhere": -1.0},
        {"weight": -1.0},
        {"weight": [1.0]},
        {"weight": 1e300},
        {"share": "much"},
        {"columns": 10**400},
        {"columns": -1},
    ],
)
def test_members_that_could_not_have_been_fitted_are_refused(
    numbers: dict, tmp_path: Path, committee: GraphClassifier
) -> None:
    committee.save(tmp_path)
    members = read_checked_json(tmp_path / FILES[0])["members"]
    damage(tmp_path, {"members": [{**members[0], **numbers}, *members[1:]]})
    with pytest.raises(ModelFileError, match="do not fit together"):
        GraphClassifier.load(tmp_path)


@pytest.mark.parametrize(
    "config",
    [
        {"members": []},
        {"n_features": [34]},
        {"n_features": 10**400},
        {"scaling": "row"},
        {"scaling": ["auto"]},
        {"has_edges": "yes"},
        {"classes": {"dtype": "object", "names": ["a", "a"]}},
        {"classes": {"dtype": "object", "names": [["a"], ["b"]]}},
        {"classes": {"dtype": "int64", "names": [10**30, 1]}},
    ],
)
def test_configs_of_wrong_types_or_sizes_are_refused(
    config: dict, tmp_path: Path, fitted: SGFClassifier
) -> None:
    fitted.save(tmp_path)
    damage(tmp_path, config)
    with pytest.raises(ModelFileError, match="do not fit together"):
        SGFClassifier.load(tmp_path)


def test_tensors_that_do_not_fit_or_are_not_finite_are_refused(
    tmp_path: Path, fitted: SGFClassifier, committee: GraphClassifier
) -> None:
    for model in (fitted, committee):
        kind = type(model)
        saved = tmp_path / kind.__name__
        model.save(saved)
        whole, _ = read_tensors(saved / FILES[1])
        for name, value in whole.items():
            if not value.is_floating_point() or not value.numel():
                continue
            for changed in (value * torch.nan, value[None]):
                shutil.copytree(saved, tmp_path, dirs_exist_ok=True)
                damage(tmp_path, tensors={name: changed})
                with pytest.raises(ModelFileError):
                    kind.load(tmp_path)
        model.save(tmp_path)
        damage(tmp_path, tensors={"member99.alpha": torch.ones(1)})
        with pytest.raises(ModelFileError, match="belongs to no member"):
            kind.load(tmp_path)


def test_scales_of_numbers_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    graph = make_karate()
    model = SGFRegressor(n_layers=2, hidden_size=4, max_epochs=3, random_state=0)
    model.fit(graph.features, np.arange(34.0), graph=graph)
    model.save(tmp_path)
    whole = read_tensors(tmp_path / FILES[1])[0]["target.scales"]
    for changed in (whole.repeat(2, 1), whole * torch.nan, -whole):
        model.save(tmp_path)
        damage(tmp_path, tensors={"target.scales": changed})
        with pytest.raises(ModelFileError, match="scales"):
            SGFRegressor.load(tmp_path)


def test_large_numbers_keep_their_digits_anywhere(tmp_path: Path) -> None:
    """Unix seconds, of which float32 has minutes: in files, new rows and requests, too."""
    graph = make_csbm(60, n_features=3, frequency=0.2, seed=1)
    X = np.asarray(graph.features, dtype=np.float64)
    small = SGFClassifier(max_epochs=5, random_state=0).fit(X, graph.labels, graph=graph.edges)
    X += 1.7e9
    clf = SGFClassifier(max_epochs=5, random_state=0).fit(X, graph.labels, graph=graph.edges)
    np.testing.assert_allclose(clf.outputs_, small.outputs_, atol=1e-5)
    clf.save(tmp_path / "model")
    loaded = SGFClassifier.load(tmp_path / "model")
    far = graph.replace(features=X)
    write_npz(far, tmp_path / "far.npz")
    write_store(far, tmp_path / "far")
    for held in (far, read_npz(tmp_path / "far.npz"), open_store(tmp_path / "far")):
        assert held.checksum() == far.checksum()
        np.testing.assert_array_equal(loaded.predict_proba(graph=held), clf.predict_proba())
    frame = pd.DataFrame(X, index=[f"v{i}" for i in range(60)])
    edges = [(f"v{a}", f"v{b}") for a, b in graph.edges]
    named = SGFClassifier(max_epochs=5, random_state=0).fit(frame, graph.labels, graph=edges)
    np.testing.assert_array_equal(named.predict_proba(frame.iloc[3:5]), named.predict_proba()[3:5])
    rounded = SGFClassifier(max_epochs=1, feature_scaling="none").fit(graph=far)
    assert "features have more digits than float32 has, and are rounded" in rounded.notes_[-1]


def test_rows_keep_the_digits_that_they_have_beside_others() -> None:
    rows = np.array([[0.1, 1.7e9 + 0.1], [0.3, 5.0]])
    both = narrowed(rows)
    assert (both.dtype, narrowed(rows[1:]).dtype) == (np.float64, np.float32)
    np.testing.assert_array_equal(both[1], narrowed(rows[1:])[0])
    assert both[0, 1] == rows[0, 1]
    assert narrowed(np.array([[2**24]])).dtype == np.float32
