"""Files and folders that are in the way are found before any work, and nothing is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfilter.util.errors import ConfigError, DataFileError
from graphfilter.util.files import LOCK_FILE, check_file, files_in, scratch_folder


def test_file_in_the_way_is_replaced_only_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    check_file(path, overwrite=False)
    path.touch()
    with pytest.raises(ConfigError, match="exists; pass `overwrite=True`"):
        check_file(path, overwrite=False)
    check_file(path, overwrite=True)


def test_file_needs_a_folder_and_a_name_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder to write"):
        check_file(tmp_path / "missing" / "x.csv", overwrite=True)
    with pytest.raises(DataFileError, match="it is a folder"):
        check_file(tmp_path, overwrite=True)
    assert not (tmp_path / "missing").exists()


def test_own_files_do_not_count_as_the_users(tmp_path: Path) -> None:
    (tmp_path / LOCK_FILE).touch()
    assert files_in(tmp_path) == set() == files_in(tmp_path / "missing")
    (tmp_path / "notes.txt").touch()
    assert files_in(tmp_path) == {"notes.txt"}
    with pytest.raises(ConfigError, match="a file is in the way"):
        files_in(tmp_path / "notes.txt")


def test_scratch_folder_that_cannot_be_made_is_one_line_with_a_remedy(tmp_path: Path) -> None:
    with (
        pytest.raises(DataFileError, match=r"cannot be written: .*\. Give a folder that exists"),
        scratch_folder(".answers-", tmp_path / "missing"),
    ):
        pass
