"""Hops that a store keeps, and training from them."""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from tests.processes import apart
from torch import Tensor

import graphfilter as gf
from graphfilter.large import hops as powers
from graphfilter.models import hops as hop_network
from graphfilter.operators import augmented_adjacency
from graphfilter.operators.polynomial import stack_powers
from graphfilter.systems import Prepared, get_system, train_system
from graphfilter.systems.system import estimate_cost
from graphfilter.training import MULTILABEL, REGRESSION, Task
from graphfilter.util.errors import GraphError

KIND = "augmented_adjacency"
KNOWN = 3000


@pytest.fixture(autouse=True)
def _keep_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(powers.store, "KEPT_FROM_BYTES", 0)


def make_graph(*, seed: int = 0, weighted: bool = False, sparse: bool = False) -> gf.Graph:
    rng = np.random.default_rng(seed)
    x: Any = rng.standard_normal((60, 40)).astype(np.float32)
    features = sp.csr_array(np.where(x > 1, x, 0)) if sparse else x
    labels, weights = (x[:, 0] > 0).astype(int), rng.random(90) if weighted else None
    edges = rng.integers(0, 60, (90, 2))
    return gf.Graph.from_edges(edges, 60, features=features, labels=labels, weights=weights)


def make_store(folder: Path, **options: Any) -> Path:
    gf.data.write_store(make_graph(**options), folder)
    return folder


def kept(folder: Path, scaling: str = "auto", n_hops: int = 2) -> bytes:
    made = Prepared.of(gf.open_store(folder), scaling=scaling).hops(KIND, n_hops)
    assert made.shape == (60, n_hops + 1, 40)
    return made.numpy().tobytes()


def never(*_: object) -> Any:
    raise AssertionError("made again")


@pytest.mark.parametrize("at_once", [1, 1 << 24])
@pytest.mark.parametrize("scaling", ["auto", "row", "none"])
@pytest.mark.parametrize(("weighted", "sparse"), [(False, False), (True, True)])
def test_kept_hops_have_the_bits_of_those_in_memory(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    at_once: int,
    scaling: str,
    weighted: bool,
    sparse: bool,
) -> None:
    graph = make_graph(weighted=weighted, sparse=sparse)
    folder = make_store(tmp_path / "store", weighted=weighted, sparse=sparse)
    prepared = Prepared.of(graph, scaling=scaling)
    x = prepared.x if isinstance(prepared.x, Tensor) else prepared.x.to_dense()
    expected = stack_powers(augmented_adjacency(graph), x, 2).numpy().tobytes()
    in_memory = prepared.hops(KIND, 2).numpy().tobytes()
    monkeypatch.setattr(powers, "_ROWS_BYTES", at_once)
    monkeypatch.setattr(powers, "_PIECE_BYTES", at_once)
    first = kept(folder, scaling)
    assert (folder / powers.POWERS_FILE).exists()
    monkeypatch.setattr(powers, "walk_powers", never)
    assert kept(folder, scaling) == first == in_memory == expected


def test_training_from_a_store_gives_the_bits_of_training_in_memory(tmp_path: Path) -> None:
    graph, folder = make_graph(), make_store(tmp_path / "store")
    system = get_system("hop-mlp").with_(max_epochs=4, batch_size=8)
    split = gf.splits.stratified(graph.labels, seed=0)
    runs = [
        train_system(Prepared.of(g), system, [split], [3])[0]
        for g in (graph, gf.open_store(folder), gf.open_store(folder))
    ]
    assert len({run.probabilities.tobytes() for run in runs}) == 1


@pytest.mark.parametrize("task", [MULTILABEL, REGRESSION])
def test_network_on_hops_learns_any_task(task: Task) -> None:
    graph = make_graph()
    assert isinstance(graph.features, np.ndarray)
    targets = graph.features[:, :2]
    targets = (targets > 0).astype(np.float32) if task is MULTILABEL else targets
    prepared = Prepared.of(
        graph.replace(labels=np.arange(60) % 2), task=task, targets=np.array(targets)
    )
    system = get_system("hop-mlp").with_(max_epochs=40, n_hops=1)
    split = gf.splits.Split(np.arange(40), np.arange(40, 60), [])
    (outcome,) = train_system(prepared, system, [split], [0])
    curve = outcome.result.history[f"train_{task.score_name}"]
    assert curve[-1] > curve[0]
    assert outcome.probabilities.shape == (60, 2)


@pytest.mark.parametrize("damage", ["flipped", "cut", "gone", "made of", "json", "outside"])
def test_damaged_hops_are_made_again_with_a_note(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    folder = make_store(tmp_path / "store")
    expected, file, header = kept(folder), folder / "powers.bin", folder / powers.POWERS_FILE
    if damage == "flipped":
        content = bytearray(file.read_bytes())
        content[5] ^= 1
        file.write_bytes(content)
    elif damage == "cut":
        file.write_bytes(file.read_bytes()[:-4])
    elif damage == "gone":
        file.unlink()
    elif damage == "json":
        header.write_text("{")
    else:
        content = json.loads(header.read_text())
        del content["sha256"]
        content |= {"made_of": "0"} if damage == "made of" else {"arrays": [{"file": "../x"}]}
        header.write_text(json.dumps(content))
    with caplog.at_level(logging.WARNING, "graphfilter"):
        assert kept(folder) == expected
        assert "Hops are made again" in caplog.text
        caplog.clear()
        assert kept(folder) == expected
        assert not caplog.text


def test_hops_of_another_scaling_or_number_are_not_taken(tmp_path: Path) -> None:
    folder = make_store(tmp_path / "store")
    expected = kept(folder)
    assert kept(folder, "none") != expected
    assert kept(folder, n_hops=1) != expected
    assert kept(folder) == expected


def test_hops_that_a_full_disk_does_not_take_stay_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    folder = make_store(tmp_path / "store")
    before = sorted(file.name for file in folder.iterdir())

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(powers.RowsFile, "append", full)
    with caplog.at_level(logging.WARNING, "graphfilter"):
        assert len(kept(folder)) == 60 * 3 * 40 * 4
    assert "Hops are not kept" in caplog.text
    assert sorted(file.name for file in folder.iterdir()) == before
    monkeypatch.setenv("GRAPHFILTER_MEMORY", "10K")
    with pytest.raises(GraphError, match="more than there is memory"):
        kept(folder)


def test_cost_of_a_store_is_without_its_vertices(tmp_path: Path, monkeypatch) -> None:
    rng, n = np.random.default_rng(0), 20_000
    x, edges = rng.standard_normal((n, 500), dtype=np.float32), rng.integers(0, n, (n, 2))
    graph = gf.Graph.from_edges(edges, n, features=x, labels=np.arange(n) % 2)
    gf.data.write_store(graph, tmp_path / "store")
    stored, system = gf.open_store(tmp_path / "store", verify=False), get_system("hop-mlp")
    own, mapped = (estimate_cost(system, g, n // 2) for g in (graph, stored))
    assert own.peak - mapped.peak == x.nbytes + 5 * x.nbytes
    assert (own.kept, mapped.kept) == (0, 5 * x.nbytes)


def _train_within(folder: str, limit: int) -> float:
    """Fit with so many bytes of own memory more than were there, where they could not be copied."""
    import resource

    import torch

    # Here, not in the test: the process that all others are forked off may start with it.
    os.environ["GRAPHFILTER_MEMORY"] = str(limit)
    torch.optim.Adam([torch.zeros(1, requires_grad=True)]).step()
    hop_network.READ_BYTES = 1 << 20
    graph = gf.open_store(folder, verify=False)
    clf = gf.SystemClassifier(model="hop-mlp@n_hops=1", max_epochs=2, random_state=0, device="cpu")
    used = int(re.findall(r"VmData:\s*(\d+)", Path("/proc/self/status").read_text())[0]) << 10
    # Private memory that can be written to: pages of mapped files do not count.
    resource.setrlimit(resource.RLIMIT_DATA, (used + limit, used + limit))
    try:
        np.array(graph.features)
    except MemoryError:
        clf.fit(graph=graph)
    return float((clf.predict() == graph.labels)[:KNOWN].mean())


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux counts it")
def test_store_whose_features_exceed_the_memory_is_trained(tmp_path: Path) -> None:
    rng, n = np.random.default_rng(0), 24_000
    labels = rng.integers(0, 2, n)
    x = rng.standard_normal((n, 500), dtype=np.float32) + labels[:, None]
    known = np.where(np.arange(n) < KNOWN, labels, -1)
    graph = gf.Graph.from_edges(rng.integers(0, n, (n, 2)), n, features=x, labels=known)
    gf.data.write_store(graph, tmp_path / "store")
    limit = 40 << 20
    assert x.nbytes > limit
    found = apart(_train_within, str(tmp_path / "store"), limit)
    assert isinstance(found, float), found
    assert found > 0.95
    assert (tmp_path / "store" / powers.POWERS_FILE).exists()
