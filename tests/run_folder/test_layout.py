"""Who may write to a run folder, and what a killed run leaves there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from graphfilter.errors import ConfigError
from graphfilter.run_folder import CHECKPOINT_FILE, RUN_FILES, check_folder
from graphfilter.run_folder.layout import open_folder
from graphfilter.storage.atomic import TEMPORARY

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no locks there")

FIT = ("fit", "--dataset", "karate", "--no-baselines", "--layers", "2", "--quiet", "--model", "sgf")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "graphfilter", *words]
    return subprocess.run(command, capture_output=True, text=True, env=wide(), check=False)


def wide() -> dict[str, str]:
    return {**os.environ, "COLUMNS": "300"}


@contextmanager
def fitting(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a fit that does not end by itself, and wait until it trains."""
    words = (*FIT, "--epochs", "1000000", "--patience", "1000000", "--out", str(folder))
    command = [sys.executable, "-m", "graphfilter", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        while not (folder / CHECKPOINT_FILE).exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.communicate()


def test_second_fit_into_a_folder_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with fitting(folder):
        done = run(*FIT, "--epochs", "3", "--out", str(folder))
        assert done.returncode == 2
        assert "another fit is writing to it" in done.stderr
        assert "another --out" in done.stderr
        for overwrite in (False, True):
            with pytest.raises(ConfigError, match="another fit is writing"):
                check_folder(folder, overwrite=overwrite, resume=not overwrite)
        assert (folder / CHECKPOINT_FILE).exists()


def test_killed_fit_leaves_no_lock_and_its_leftovers_go(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with fitting(folder) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
    (folder / f"{TEMPORARY}1-abc.json").write_text("half")
    done = run(*FIT, "--epochs", "3", "--out", str(folder), "--overwrite")
    assert done.returncode == 0, done.stderr
    assert {p.name for p in folder.iterdir()} == set(RUN_FILES) - {CHECKPOINT_FILE}


def test_fit_killed_before_its_first_checkpoint_counts_as_nothing(tmp_path: Path) -> None:
    (tmp_path / ".graphfilter-lock").touch()
    (tmp_path / f"{TEMPORARY}1-abc.json").touch()
    assert check_folder(tmp_path, overwrite=False, resume=False) == tmp_path
    with open_folder(tmp_path, overwrite=False, resume=False):
        pass


def test_open_folder_is_ours_until_the_block_ends(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "run"
    with open_folder(folder, overwrite=False, resume=False):
        for overwrite in (False, True):
            with pytest.raises(ConfigError, match="another fit is writing"):
                check_folder(folder, overwrite=overwrite, resume=False)
    assert list(folder.iterdir()) == []


def test_folder_with_files_of_the_user_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match="exists and is not empty"):
        check_folder(tmp_path, overwrite=False, resume=False)
    with open_folder(tmp_path, overwrite=True, resume=False):
        assert [p.name for p in tmp_path.iterdir() if p.suffix] == ["notes.txt"]
