"""Who may write to a run folder, and what a killed run leaves there."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.processes import Command

from graphfilter.data import make_karate
from graphfilter.estimators.graph import SGFClassifier
from graphfilter.report.page import draw_run
from graphfilter.runs.folder import fit_folder
from graphfilter.runs.loading import (
    CHANNELS_FILE,
    CHECKPOINT_FILE,
    RUN_FILES,
    check_folder,
    load_run,
    open_folder,
)
from graphfilter.runs.plan import Source, plan_fit
from graphfilter.training import Callback
from graphfilter.util.errors import ConfigError, DataFileError, GraphError, ModelFileError
from graphfilter.util.files import TEMPORARY

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no locks there")

FIT = (
    "fit",
    "--dataset",
    "karate",
    "--no-baselines",
    "--set",
    "n_layers=2",
    "--quiet",
    "--model",
    "sgf",
)


@contextmanager
def fitting(folder: Path) -> Iterator[Command]:
    """Start a fit that does not end by itself, and wait until it trains."""
    words = (*FIT, "--epochs", 1_000_000, "--set", "patience=1_000_000", "--out", folder)
    with Command(words, folder.with_name("said")) as command:
        command.wait_for(folder / CHECKPOINT_FILE)
        yield command


def test_second_fit_into_a_folder_is_refused_and_changes_nothing(
    graphfilter, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    with fitting(folder):
        done = graphfilter(*FIT, "--epochs", 3, "--out", folder, code=2)
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
    graphfilter(*FIT, "--epochs", 3, "--out", folder, "--overwrite")
    assert {p.name for p in folder.iterdir()} == set(RUN_FILES) - {CHECKPOINT_FILE, CHANNELS_FILE}


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


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix}


def fit_small(folder: Path, **options: Any) -> Any:
    model = SGFClassifier(n_layers=2, hidden_size=4, max_epochs=6, random_state=0)
    return fit_folder(
        plan_fit(Source(make_karate()), 0), model, folder, baselines=False, draw=draw_run, **options
    )


def test_fit_that_fails_leaves_the_run_that_it_would_replace(tmp_path: Path) -> None:
    def fail(progress: object) -> None:
        raise RuntimeError("no power")

    fit_small(tmp_path)
    before = contents(tmp_path)
    with pytest.raises(RuntimeError, match="no power"):
        fit_small(tmp_path, overwrite=True, callback=Callback(fail))
    assert contents(tmp_path) == before
    load_run(tmp_path)
    assert fit_small(tmp_path, overwrite=True).folder == tmp_path
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


def test_fit_that_fails_before_training_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no power")

    fit_small(tmp_path)
    monkeypatch.setattr("graphfilter.runs.folder.train_fit", fail)
    with pytest.raises(RuntimeError, match="no power"):
        fit_small(tmp_path, overwrite=True)
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]


def test_killed_fit_leaves_the_run_that_it_would_replace(graphfilter, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    graphfilter(*FIT, "--epochs", 3, "--out", folder)
    before = contents(folder)
    words = (*FIT, "--epochs", 1000, "--set", "patience=1_000_000", "--out", folder)
    with Command((*words, "--overwrite"), tmp_path / "said") as command:
        command.wait_for(folder / ".graphfilter-new" / CHECKPOINT_FILE)
        command.send(signal.SIGKILL)
        assert command.wait()
    assert contents(folder) == before
    load_run(folder)
    again = graphfilter(*words, code=2)
    assert "interrupted run" in again.err
    graphfilter(*words, "--resume")
    assert {path.name for path in folder.iterdir()} == set(RUN_FILES) - {
        CHECKPOINT_FILE,
        CHANNELS_FILE,
    }
    graphfilter(*words[:-1], tmp_path / "whole")
    model = "model.safetensors"
    assert (folder / model).read_bytes() == (tmp_path / "whole" / model).read_bytes()
    assert before[model] != (folder / model).read_bytes()


def test_fit_killed_while_it_replaces_a_run_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file that is moved may be the last: the run is to be resumed, then as it would be."""
    fit_small(tmp_path / "whole")
    replace_path, moved = Path.replace, []

    def replace(self: Path, target: Path) -> Path:
        if self.parent.name == ".graphfilter-new" and not self.name.startswith(TEMPORARY):
            moved.append(self.name)
            if len(moved) == n_moved:
                raise KeyboardInterrupt
        return replace_path(self, target)

    for n_moved in (1, 3, len(contents(tmp_path / "whole"))):
        folder = tmp_path / f"run{n_moved}"
        fit_small(folder)
        moved.clear()
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", replace)
            with pytest.raises(KeyboardInterrupt):
                fit_small(folder, overwrite=True)
        with pytest.raises(ModelFileError, match="unfinished run"):
            load_run(folder)
        fit_small(folder, callback=Callback(resume=True))
        predictions = "predictions.csv"
        assert contents(folder)[predictions] == contents(tmp_path / "whole")[predictions]
        load_run(folder)


def test_link_in_the_place_of_the_new_run_is_not_followed(tmp_path: Path) -> None:
    folder, other = tmp_path / "run", tmp_path / "other"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    fit_small(folder)
    for put in (lambda new: new.symlink_to(other), lambda new: new.write_text("x")):
        put(folder / ".graphfilter-new")
        fit_small(folder, overwrite=True)
        assert [path.name for path in other.iterdir()] == ["notes.txt"]
        assert {path.name for path in folder.iterdir()} == set(RUN_FILES) - {
            CHECKPOINT_FILE,
            CHANNELS_FILE,
        }


@pytest.mark.parametrize("name", [*RUN_FILES, "checkpoint-0.safetensors", ".graphfilter-lock"])
def test_folder_in_the_place_of_a_file_is_said_before_training(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    for way in ("overwrite", "resume"):
        callback = Callback(lambda _: pytest.fail("it trains"), resume=way == "resume")
        with pytest.raises(DataFileError, match=f"{name}: must be a regular file.* Move it"):
            fit_small(tmp_path, overwrite=way == "overwrite", callback=callback)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"name": "\ud800"}, "must be valid text"),
        ({"vertex_names": ["\ud800", *map(str, range(33))]}, "must be valid text"),
        ({"feature_names": ["\ud800", *map(str, range(33))]}, "must be valid text"),
        ({"labels": ["\ud800", "b"] * 17}, "must be valid text"),
        ({"labels": [1, "1"] * 17}, "classes must differ as text; 2 are '1'"),
    ],
)
def test_name_that_cannot_be_written_is_said_before_training(
    tmp_path: Path, changes: dict[str, Any], problem: str
) -> None:
    plan = plan_fit(Source(make_karate().replace(**changes)), 0)
    with pytest.raises(GraphError, match=problem):
        fit_folder(
            plan,
            SGFClassifier(),
            tmp_path / "run",
            callback=Callback(lambda _: pytest.fail("trains")),
        )
    assert not (tmp_path / "run").exists()
