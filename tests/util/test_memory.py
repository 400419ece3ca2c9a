"""How much memory there is: the machine's, or what limits it."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfilter.util import machine as memory
from graphfilter.util.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [("4G", 4 * 2**30), ("500 MB", 500 * 2**20), ("1024", 1024), ("1.5 GiB", 3 * 2**29)],
)
def test_memory_is_what_the_environment_says(
    text: str, n_bytes: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(memory.VARIABLE, text)
    assert memory.memory_of_process() == n_bytes


@pytest.mark.parametrize("text", ["much", "-1", "0", "4X", "4,5G"])
def test_memory_that_is_no_size_is_refused(text: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(memory.VARIABLE, text)
    with pytest.raises(ConfigError, match=f"{memory.VARIABLE} must be an amount like 4GB"):
        memory.memory_of_process()


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("0::/job/step", "sys/fs/cgroup/job/step/memory.max"),
        ("0::/job/step", "sys/fs/cgroup/job/memory.max"),
        ("4:cpu,memory:/job", "sys/fs/cgroup/memory/job/memory.limit_in_bytes"),
    ],
)
def test_memory_is_what_a_control_group_grants(line: str, name: str, tmp_path: Path):
    own = tmp_path / "proc/self/cgroup"
    own.parent.mkdir(parents=True)
    own.write_text(f"{line}\n")
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    whole = memory.limited_memory(tmp_path)
    path.write_text("max\n")
    assert memory.limited_memory(tmp_path) == whole
    path.write_text(f"{2**20}\n")
    assert memory.limited_memory(tmp_path) == 2**20
