"""The caches of a processor, as Linux tells them."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfilter.util.machine import TYPICAL, Caches, processor_caches, read_caches


def write_cache(folder: Path, index: int, level: str, kind: str, size: str) -> None:
    entry = folder / f"index{index}"
    entry.mkdir()
    for name, text in (("level", level), ("type", kind), ("size", size)):
        (entry / name).write_text(text + "\n")


def test_caches_are_those_of_the_folder(tmp_path: Path) -> None:
    write_cache(tmp_path, 0, "1", "Data", "32K")
    write_cache(tmp_path, 1, "1", "Instruction", "64M")
    write_cache(tmp_path, 2, "2", "Unified", "512K")
    write_cache(tmp_path, 3, "3", "Unified", "32M")
    assert read_caches(tmp_path) == Caches(own=2**19, last=2**25)


def test_caches_of_two_levels_end_with_the_second(tmp_path: Path) -> None:
    write_cache(tmp_path, 0, "1", "Data", "32K")
    write_cache(tmp_path, 1, "2", "Unified", "4096K")
    assert read_caches(tmp_path) == Caches(own=2**22, last=2**22)


@pytest.mark.parametrize("size", ["", "-1K", "big", "0K", "1" * 99])
def test_caches_that_are_not_told_are_typical(size: str, tmp_path: Path) -> None:
    assert read_caches(tmp_path / "none") == TYPICAL
    write_cache(tmp_path, 2, "2", "Unified", size)
    assert read_caches(tmp_path) == TYPICAL


def test_caches_of_this_machine_are_some() -> None:
    caches = processor_caches()
    assert 0 < caches.own <= caches.last
