"""A store that is replaced while others use it, and one too large to look through every time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphfilter as gf
from graphfilter.data import store as reading
from graphfilter.data.store import HEADER_FILE
from graphfilter.large.hops import store_of
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


@pytest.fixture
def looked_through(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every look through the values of a store that counts as large."""
    seen, check_values = [], reading.check_values

    def watched(arrays: dict[str, Any]) -> None:
        seen.append(1)
        check_values(arrays)

    monkeypatch.setattr(reading, "check_values", watched)
    monkeypatch.setattr(reading, "VERIFIED_BYTES", 0)
    return seen


def test_values_of_a_large_store_are_looked_through_once(
    folder: Path, looked_through: list[int]
) -> None:
    for _ in range(3):
        gf.open_store(folder)
    assert len(looked_through) == 1
    gf.open_store(folder, verify=True)
    assert len(looked_through) == 2
    gf.open_store(folder, verify=False)
    assert len(looked_through) == 2
    # What is remembered is of these files: others are looked through.
    features = folder / "features.bin"
    content = np.fromfile(features, dtype=np.float32)
    content[5] = np.nan
    content.tofile(features)
    with pytest.raises(DataFileError, match="features must be finite"):
        gf.open_store(folder)
    assert len(looked_through) == 3
    (folder / "checked.json").write_text("[[")
    with pytest.raises(DataFileError, match="features must be finite"):
        gf.open_store(folder)


def test_what_is_remembered_of_a_store_skips_no_check_of_ranges(
    folder: Path, looked_through: list[int]
) -> None:
    gf.open_store(folder)
    indices = np.fromfile(folder / "indices.bin", dtype=np.int32)
    indices[0] = 1 << 30
    indices.tofile(folder / "indices.bin")
    with pytest.raises(DataFileError, match="indices must lie in"):
        gf.open_store(folder)
    assert len(looked_through) == 1


def test_a_small_store_remembers_nothing(folder: Path) -> None:
    gf.open_store(folder)
    assert not (folder / "checked.json").exists()


def test_a_large_store_that_cannot_be_written_to_opens(
    folder: Path, looked_through: list[int]
) -> None:
    # A folder is in the way of the file.
    (folder / "checked.json").mkdir()
    for _ in range(2):
        gf.open_store(folder)
    assert len(looked_through) == 2
