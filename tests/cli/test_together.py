"""The command line in several processes, as torchrun starts them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.processes import run_command, run_together

from graphfilter.cli import main
from graphfilter.cli.stopping import command_line
from graphfilter.cli.together import report_kept_state
from graphfilter.data import make_csbm, write_tables
from graphfilter.util.machine import Launched, launched


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("tables")
    edges, vertices = write_tables(make_csbm(n_vertices=60, mean_degree=4, n_features=4), folder)
    return [
        "fit", "--edges", str(edges), "--vertices", str(vertices), "--label", "label",
        "--epochs", "5", "--device", "cpu",
    ]  # fmt: skip


def fit(size: int, words: list[str], folder: Path) -> tuple[list[Any], list[str], list[str]]:
    """Return exit codes (None at the end of the work), outputs and messages of all processes."""
    folder.mkdir()
    codes = run_together(size, run_command, words, str(folder))
    said = [[(folder / f"{name}{r}").read_text() for r in range(size)] for name in ("out", "err")]
    return codes, said[0], said[1]


def read_metrics(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "metrics.json").read_text())


def whole_run(size: int, words: list[str], model: str, folder: Path) -> Path:
    """Fit a model by so many processes; check what they say and leave."""
    out = folder / f"run{size}"
    asked = [*words, "--model", model, "--out", str(out), "--quiet"]
    codes, said, errors = fit(size, asked, folder / f"said{size}")
    assert codes == [0] * size, errors
    assert said[0]
    assert not any(said[1:])
    assert not any(errors[1:])
    assert (out / "report.html").exists()
    assert not list(out.glob("checkpoint*"))
    return out


@pytest.fixture(scope="module", params=["sgf", "committee-low"])
def alone(
    words: list[str], request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """The name of a model, and its run by one process."""
    return request.param, whole_run(1, words, request.param, tmp_path_factory.mktemp("alone"))


def test_fit_by_two_processes_is_that_of_one(alone, words: list[str], tmp_path: Path):
    model, run = alone
    one, two = read_metrics(run), read_metrics(whole_run(2, words, model, tmp_path))
    assert one["best_epoch"] == two["best_epoch"]
    for part, scores in one["scores"].items():
        assert two["scores"][part] == pytest.approx(scores, abs=1e-5)
    numbers = 60 * 2 + 17 + 2 if model == "sgf" else 0
    assert two["processes"]["bytes_per_step"] == 4 * numbers


def test_fit_by_two_processes_starts_from_a_run(alone, words: list[str], tmp_path: Path):
    """With the same weights as one process, which are divided between them."""
    runs = []
    for size in (1, 2):
        out = tmp_path / f"run{size}"
        asked = [*words, "--start-from", str(alone[1]), "--out", str(out)]
        codes, _, errors = fit(size, asked, tmp_path / f"said{size}")
        assert codes == [0] * size, errors
        assert "started from the earlier weights" in " ".join(errors[0].split())
        assert not any(errors[1:])
        assert json.loads((out / "config.json").read_text())["run"]["start_from"]
        runs.append(read_metrics(out))
    one, two = runs
    assert one["best_epoch"] == two["best_epoch"]
    for part, scores in one["scores"].items():
        assert two["scores"][part] == pytest.approx(scores, abs=1e-5)


def test_dry_run_by_two_processes_says_what_each_takes(words: list[str], tmp_path: Path):
    asked = [*words, "--model", "sgf", "--out", str(tmp_path / "run"), "--quiet", "--dry-run"]
    codes, said, errors = fit(2, asked, tmp_path / "said")
    assert codes == [0, 0], errors
    assert not said[1]
    told = " ".join(said[0].split())
    for words_of_it in (
        "by one of 2 processes", "The 2 processes of a machine take",
        f"exchange {4 * (60 * 2 + 17 + 2)} bytes per step", "An epoch takes", "It fits",
    ):  # fmt: skip
        assert words_of_it in told
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("problem", ["column", "folder", "option"])
def test_bad_input_gives_one_line_and_one_code(problem: str, words: list[str], tmp_path: Path):
    asked = [*words, "--model", "sgf", "--out", str(tmp_path / "run"), "--quiet"]
    if problem == "column":
        asked[asked.index("label")] = "labell"
    elif problem == "folder":
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "mine.txt").write_text("mine")
    else:
        asked.append("--no-such")
    codes, said, errors = fit(3, asked, tmp_path / "said")
    assert codes == [2] * 3
    assert not any(said)
    assert sum(e.count("error:") for e in errors) == 1


def test_other_commands_run_once(tmp_path: Path):
    codes, said, errors = fit(2, ["--version"], tmp_path / "said")
    assert codes == [0, 0]
    assert said[0].startswith("graphfilter")
    assert not said[1]
    assert not any(errors)


def test_command_to_resume_names_torchrun(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.argv", ["graphfilter", "fit", "--out", "a b", "--resume"])
    assert command_line() == "graphfilter fit --out 'a b'"
    monkeypatch.setattr("graphfilter.cli.stopping.launched", lambda: Launched(0, 3, 0, 3))
    assert command_line() == "torchrun --nproc-per-node 3 -m graphfilter fit --out 'a b'"


def test_place_is_read_from_torchruns_environment(monkeypatch: pytest.MonkeyPatch):
    read = launched.__wrapped__
    assert read() == Launched(0, 1, 0, 1)
    given = {
        "RANK": "5", "WORLD_SIZE": "8", "MASTER_ADDR": "host", "MASTER_PORT": "29500",
        "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4",
    }  # fmt: skip
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert read() == Launched(5, 8, 1, 4)
    # Some schedulers set a part of it for programs of their own.
    monkeypatch.delenv("MASTER_ADDR")
    assert read() == Launched()


def test_process_of_a_job_ends_without_shutting_python_down(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A thread of gloo may still need Python, and would abort a process that has succeeded."""
    ended: list[int] = []
    monkeypatch.setattr("graphfilter.util.machine", lambda: Launched(0, 2, 0, 2))
    monkeypatch.setattr("sys.argv", ["graphfilter", "--version"])
    monkeypatch.setattr("os._exit", ended.append)
    with pytest.raises(SystemExit):
        main()
    assert ended == [0]
    assert capsys.readouterr().out


def test_failed_fit_says_how_to_resume_where_something_is_kept(tmp_path: Path) -> None:
    with pytest.raises(MemoryError) as nothing, report_kept_state(tmp_path):
        raise MemoryError
    assert not hasattr(nothing.value, "__notes__")
    (tmp_path / "checkpoint-features.safetensors").touch()
    with pytest.raises(MemoryError) as told, report_kept_state(tmp_path):
        raise MemoryError
    assert told.value.__notes__[0].endswith("--resume")
