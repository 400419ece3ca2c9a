"""Averages over neighbours that a store keeps."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import graphfilter as gf
from graphfilter.large import hops
from graphfilter.models.views import averages
from graphfilter.systems import Prepared
from graphfilter.util.records import read_checked_json, write_checked_json


@pytest.fixture(autouse=True)
def _keep_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hops, "WORTH_KEEPING", 0)


def make_store(
    folder: Path, *, seed: int = 0, weighted: bool = False, sparse: bool = False
) -> Path:
    rng = np.random.default_rng(seed)
    x: Any = rng.standard_normal((40, 5)).astype(np.float32)
    features = sp.csr_array(np.where(x > 0, x, 0)) if sparse else x
    labels, weights = (x[:, 0] > 0).astype(int), rng.random(90) if weighted else None
    edges = rng.integers(0, 40, (90, 2))
    graph = gf.Graph.from_edges(edges, 40, features=features, labels=labels, weights=weights)
    gf.data.write_store(graph, folder)
    return folder


def see(folder: Path, scaling: str = "auto") -> Any:
    return Prepared.of(gf.open_store(folder), scaling=scaling).seen_as("averages").graph.features


def never(*_: object) -> Any:
    raise AssertionError("made again")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_kept_averages_have_the_bits_of_those_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, weighted: bool, sparse: bool
) -> None:
    folder = make_store(tmp_path / "store", weighted=weighted, sparse=sparse)
    prepared = Prepared.of(gf.open_store(folder))
    expected = averages(prepared.graph, prepared.scaler.transform(prepared.graph.features))
    first = see(folder)
    assert (folder / hops.HOPS_FILE).exists()
    monkeypatch.setattr(hops, "average_hops", never)
    assert first.tobytes() == see(folder).tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "damage", ["flipped", "cut", "gone", "header", "json", "format", "outside", "nan"]
)
def test_damaged_averages_are_made_again_with_a_note(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    folder = make_store(tmp_path / "store")
    expected, file, header = see(folder), folder / "hops-2.bin", folder / hops.HOPS_FILE
    if damage == "flipped":
        content = bytearray(file.read_bytes())
        content[5] ^= 1
        file.write_bytes(content)
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[:-4])
    elif damage == "gone":
        file.unlink()
    elif damage == "nan":
        # With the checksum of what it is now, as a program that went wrong would write it.
        values = np.fromfile(file, dtype="<f4")
        values[7] = np.nan
        values.tofile(file)
        kept = read_checked_json(header)
        kept["arrays"][1]["sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
        write_checked_json(header, kept)
    elif damage == "json":
        header.write_text("{")
    else:
        content = json.loads(header.read_text())
        if damage == "header":
            content["made_of"] = "0"
        else:
            # Without a checksum of its own, as one who forges it may write it.
            del content["sha256"]
            value: Any = 3 if damage == "format" else [{"file": "../x"}]
            content["arrays"] = value
        header.write_text(json.dumps(content))
    with caplog.at_level(logging.WARNING, "graphfilter"):
        assert see(folder).tobytes() == expected.tobytes()
        assert "made again" in caplog.text
        caplog.clear()
        assert see(folder).tobytes() == expected.tobytes()
        assert not caplog.text


def test_averages_of_another_graph_or_scaling_are_not_taken(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one, two = (make_store(tmp_path / str(seed), seed=seed) for seed in (1, 2))
    see(one)
    expected = see(two)
    for file in one.glob("hops*"):
        shutil.copy(file, two)
    with caplog.at_level(logging.WARNING, "graphfilter"):
        assert see(two).tobytes() == expected.tobytes()
        assert "other features, edges" in caplog.text
    assert see(two, "none").tobytes() != expected.tobytes()


def test_averages_that_cannot_be_written_are_not_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = make_store(tmp_path / "store")
    (folder / "hops-1.bin").mkdir()
    with caplog.at_level(logging.WARNING, "graphfilter"):
        assert see(folder).shape == (40, 4 * 5 + 1)
    assert "not kept" in caplog.text
    assert not (folder / hops.HOPS_FILE).exists()


def test_averages_are_kept_only_of_a_store_as_it_is_and_where_they_take_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_store(tmp_path / "store")
    graph = gf.open_store(folder)
    assert hops.store_of(graph) == folder
    assert hops.store_of(graph.replace(name="other")) == folder
    assert hops.store_of(graph.subgraph(np.arange(20))) is None
    assert hops.store_of(gf.data.make_karate()) is None
    monkeypatch.setattr(hops, "WORTH_KEEPING", 10**8)
    see(folder)
    assert not (folder / hops.HOPS_FILE).exists()
