"""Who may write to a run folder, and what a killed run leaves there."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.processes import Command

from graphfilter.errors import ConfigError
from graphfilter.run_folder import CHECKPOINT_FILE, RUN_FILES, check_folder
from graphfilter.run_folder.layout import open_folder
from graphfilter.storage.atomic import TEMPORARY

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no locks there")

FIT = ("fit", "--dataset", "karate", "--no-baselines", "--layers", "2", "--quiet", "--model", "sgf")


@contextmanager
def fitting(folder: Path) -> Iterator[Command]:
    """Start a fit that does not end by itself, and wait until it trains."""
    words = (*FIT, "--epochs", 1_000_000, "--patience", 1_000_000, "--out", folder)
    with Command(words, folder.with_name("said")) as command:
        command.wait_for(folder / CHECKPOINT_FILE)
        yield command


def test_second_fit_into_a_folder_is_refused_and_changes_nothing(
    graphfilter, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    with fitting(folder):
        done = graphfilter(*FIT, "--epochs", 3, "--out", folder)
        assert done.code == 2
        assert "another fit is writing to it" in done.err
        assert "another folder" in done.err
        for overwrite in (False, True):
            with pytest.raises(ConfigError, match="another fit is writing"):
                check_folder(folder, overwrite=overwrite, resume=not overwrite)
        assert (folder / CHECKPOINT_FILE).exists()


def test_killed_fit_leaves_no_lock_and_its_leftovers_go(graphfilter, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with fitting(folder) as command:
        command.send(signal.SIGKILL)
        assert command.wait()
    (folder / f"{TEMPORARY}1-abc.json").write_text("half")
    done = graphfilter(*FIT, "--epochs", 3, "--out", folder, "--overwrite")
    assert done.code == 0, done.err
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
