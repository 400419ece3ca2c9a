"""A store that is replaced while others use it, and one too large to look through every time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphfilter as gf
from graphfilter.data import store as reading
from graphfilter.data.store import HEADER_FILE, store_of
from graphfilter.util.errors import ConfigError, DataFileError
from graphfilter.util.files import LOCK_FILE, locked


def make(seed: int, n: int = 60) -> gf.Graph:
    rng = np.random.default_rng(seed)
    edges = rng.integers(0, n, (3 * n, 2))
    names = [f"v{seed}-{i}" for i in range(n)]
    features = rng.random((n, 4), dtype=np.float32)
    return gf.Graph.from_edges(edges, n, features=features, vertex_names=names)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    gf.data.write_store(make(0), tmp_path / "store")
    return tmp_path / "store"


@pytest.mark.skipif(os.name == "nt", reason="files that are mapped cannot be replaced there")
def test_graph_stays_as_it_is_when_its_store_is_replaced(folder: Path) -> None:
    opened = gf.open_store(folder)
    assert store_of(opened) == folder
    gf.data.write_store(make(1, n=30), folder, overwrite=True)
    assert opened.checksum() == make(0).checksum()
    assert opened.vertex_names == make(0).vertex_names
    assert gf.open_store(folder).checksum() == make(1, n=30).checksum()
    # Nothing that is made of the old graph is kept beside the files of the new one.
    assert store_of(opened) is None


@pytest.mark.parametrize("ends", [True, False])
def test_store_that_is_replaced_while_it_is_opened_says_so(
    ends: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    map_array, others = reading.map_array, iter([0])

    def replace_first(place: Path, stored: Any) -> Any:
        for _ in others:
            # One of the same size, which no length tells apart.
            gf.data.write_store(make(1), folder, overwrite=True)
            if not ends:
                (folder / HEADER_FILE).unlink()
        return map_array(place, stored)

    monkeypatch.setattr(reading, "map_array", replace_first)
    monkeypatch.setattr(reading, "VERIFIED_BYTES", 0)
    with pytest.raises(DataFileError, match="began to replace it while it was opened"):
        gf.open_store(folder)


def test_store_is_written_by_one_process_at_a_time(folder: Path) -> None:
    before = gf.open_store(folder).checksum()
    with (
        locked(folder / LOCK_FILE, "busy"),
        pytest.raises(ConfigError, match="another process is building it"),
    ):
        gf.data.write_store(make(1), folder, overwrite=True)
    assert gf.open_store(folder).checksum() == before
    gf.data.write_store(make(1), folder, overwrite=True)
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_large_store_is_looked_through_where_asked_and_its_ranges_always(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_through: list[int] = []
    monkeypatch.setattr(reading, "check_values", lambda arrays: looked_through.append(1))
    gf.open_store(folder)
    assert len(looked_through) == 1
    monkeypatch.setattr(reading, "VERIFIED_BYTES", 0)
    gf.open_store(folder)
    assert len(looked_through) == 1
    gf.open_store(folder, verify=True)
    assert len(looked_through) == 2
    indices = np.fromfile(folder / "indices.bin", dtype=np.int32)
    indices[0] = 1 << 30
    indices.tofile(folder / "indices.bin")
    with pytest.raises(DataFileError, match="indices must lie in"):
        gf.open_store(folder)
