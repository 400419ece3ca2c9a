"""Saved models: held to their checksums; those of version 0.1.0, which have none, still load."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.torch import save_file

from graphfilter import GraphClassifier, SGFClassifier
from graphfilter.data import make_karate
from graphfilter.errors import ModelFileError
from graphfilter.filters.config import read_config
from graphfilter.storage import read_checked_json, write_checked_json
from graphfilter.systems import SYSTEMS, committees

FILES = ("config.json", "model.safetensors")


@pytest.fixture(scope="module")
def fitted() -> SGFClassifier:
    return SGFClassifier(n_layers=2, hidden_size=4, max_epochs=3, random_state=0).fit(
        graph=make_karate()
    )


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
    today = replace(SYSTEMS[name.partition("@")[0]], members=(committees.SMOOTH,))
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


@pytest.mark.parametrize("system", [s for s in SYSTEMS.values() if s.model], ids=lambda s: s.name)
def test_config_of_every_system_is_read_back(system) -> None:
    assert read_config(json.loads(json.dumps(system.model.describe()))) == system.model


def test_numbers_as_classes_keep_their_order_when_loaded(tmp_path: Path) -> None:
    """2 comes before 10, though not as text."""
    graph = make_karate()
    y = np.where(graph.labels == 0, 10, 2)
    model = SGFClassifier(n_layers=2, hidden_size=4, max_epochs=20, random_state=0)
    model.fit(graph.features, y, graph=graph.edges).save(tmp_path)
    loaded = SGFClassifier.load(tmp_path)
    assert loaded.classes_.tolist() == model.classes_.tolist() == [2, 10]
    np.testing.assert_array_equal(
        loaded.predict(graph.features, graph=graph.edges), model.predict()
    )
