"""Files of earlier versions: models answer as they did, records count, checkpoints are no trap.

``write_files.py`` makes them, once per version; CONTRIBUTING.md has the policy.
"""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.compatibility.write_files import FILES, SMALL, graph

import graphfilter as gf
from graphfilter.cli import main
from graphfilter.models import HopNetwork, HopNetworkConfig
from graphfilter.runs.loading import load_run
from graphfilter.systems import SYSTEMS, get_system
from graphfilter.training import Callback
from graphfilter.util.errors import ModelFileError

VERSIONS = sorted(path.name for path in FILES.iterdir() if path.is_dir())
CLASSES: dict[str, Any] = {
    "sgf": gf.SGFClassifier,
    "members": gf.SGFClassifier,
    "gpr-gnn": gf.SystemClassifier,
    "committee": gf.GraphClassifier,
}
# Sums of float32 in another order, on another machine.
CLOSE: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-5}


def said(version: str) -> dict[str, Any]:
    return json.loads((FILES / version / "said.json").read_text())


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("version", VERSIONS)
def test_saved_classifier_answers_as_it_did(version: str, name: str) -> None:
    g = graph()
    loaded = CLASSES[name].load(FILES / version / name)
    np.testing.assert_allclose(
        loaded.predict_proba(g.features, graph=g), said(version)[name], **CLOSE
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_saved_regressor_answers_as_it_did(version: str) -> None:
    g = graph()
    loaded = gf.SGFRegressor.load(FILES / version / "numbers")
    np.testing.assert_allclose(
        loaded.predict(g.features, graph=g.edges), said(version)["numbers"], **CLOSE
    )


@pytest.mark.parametrize("joined", [(), ("--with", "run")], ids=["tables", "saved graph"])
@pytest.mark.parametrize("version", VERSIONS)
def test_run_folder_predicts_what_it_wrote(
    version: str, joined: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "new.csv"
    folder = FILES / version / "run"
    tables = ("--edges", FILES / "edges.csv", "--vertices", FILES / "vertices.csv")
    words = ("graphfilter", "predict", folder, *tables, *joined, "--out", out, "--quiet")
    monkeypatch.setattr("sys.argv", [str(word) for word in words])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0
    before, now = (
        list(csv.DictReader(path.read_text().splitlines()))
        for path in (folder / "predictions.csv", out)
    )
    assert [row["id"] for row in now] == [row["id"] for row in before]
    names = load_run(folder)[0].classes_
    for old, new in zip(before, now, strict=True):
        assert (new["predicted"], new["set"]) == (old["predicted"], old["set"])
        shares = [[float(row[f"p_{name}"]) for name in names] for row in (old, new)]
        np.testing.assert_allclose(shares[1], shares[0], **CLOSE)


@pytest.mark.parametrize("version", VERSIONS)
def test_checkpoint_is_resumed_to_the_same_model_or_refused(version: str, tmp_path: Path) -> None:
    """It belongs to one version of this package and of torch; it never ends in another model."""
    path = tmp_path / "checkpoint.safetensors"
    path.write_bytes((FILES / version / path.name).read_bytes())
    estimator = gf.SGFClassifier(n_layers=3, **SMALL)
    g = graph()
    try:
        estimator.fit(graph=g, callback=Callback(checkpoint=path, resume=True))
    except ModelFileError:
        return
    np.testing.assert_allclose(
        estimator.predict_proba(g.features, graph=g), said(version)["sgf"], **CLOSE
    )


def test_hop_mlp_of_0_2_is_loaded_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was one network, of the same name, whose file names no second one."""
    g, now = graph(), get_system("hop-mlp")
    monkeypatch.setitem(SYSTEMS._own, "hop-mlp", replace(now, model=HopNetworkConfig()))
    clf = gf.SystemClassifier(model="hop-mlp", max_epochs=4, random_state=0).fit(graph=g)
    clf.save(tmp_path)
    monkeypatch.setitem(SYSTEMS._own, "hop-mlp", now)
    loaded = gf.SystemClassifier.load(tmp_path)
    assert type(loaded.members_[0]) is HopNetwork
    expected = clf.predict_proba(g.features, graph=g)
    np.testing.assert_allclose(loaded.predict_proba(g.features, graph=g), expected, **CLOSE)
