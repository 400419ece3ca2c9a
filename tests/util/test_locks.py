"""Locks and folders that end with their process, however it ends."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from graphfilter.util.errors import ConfigError
from graphfilter.util.files import in_use, locked, scratch_folder

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no locks there")

HOLD = """
import sys, time
from graphfilter.util import files
with getattr(files, sys.argv[1])(*sys.argv[2:]) as given:
    print(given, flush=True)
    time.sleep(600)
"""


@contextmanager
def held_by_another(*words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a process that is inside of a block; give what the block was given."""
    command = [sys.executable, "-c", HOLD, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline().strip()
            assert line
            yield process, line
        finally:
            process.kill()


def test_lock_of_another_process_is_respected_until_it_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with held_by_another("locked", str(path), "theirs") as (process, _):
        assert in_use(path)
        with pytest.raises(ConfigError, match="it is busy"), locked(path, "it is busy"):
            pass
        process.kill()
        process.wait()
        assert path.exists()
        assert not in_use(path)
        with locked(path, "it is busy"):
            assert in_use(path)
    assert not path.exists()


def test_lock_ends_with_an_error_in_the_block(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked(tmp_path / "lock", "busy"):
        raise KeyError
    with locked(tmp_path / "lock", "busy"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_scratch_folder_of_a_killed_process_goes_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with held_by_another("scratch_folder", "ours-") as (process, name):
        (Path(name) / "file").write_text("content")
        (tmp_path / "ours-by-chance").mkdir()
        with scratch_folder("ours-"):
            assert (Path(name) / "file").exists()
        process.kill()
        process.wait()
        with scratch_folder("ours-") as folder:
            assert not Path(name).exists()
            (folder / "file").write_text("content")
    assert [p.name for p in tmp_path.iterdir()] == ["ours-by-chance"]
