"""Saved models: held to their checksums; those of version 0.1.0, which have none, still load."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.torch import save_file

from graphfilter import SGFClassifier
from graphfilter.data import make_karate
from graphfilter.errors import ModelFileError

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
