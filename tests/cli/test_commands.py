"""The other commands."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from graphfilter.training.loop import Training


def test_version_and_help(graphfilter) -> None:
    assert graphfilter("--version").out.startswith("graphfilter ")
    for command in ("fit", "predict", "inspect", "data"):
        result = graphfilter(command, "--help")
        assert result.code == 0
        assert "Usage" in result.out
        assert command in graphfilter("--help").out


def test_misspelled_command_is_one_sentence_with_the_right_one(graphfilter) -> None:
    refused = graphfilter("fitt")
    assert refused.code == 2
    assert "Did you mean 'fit'? See graphfilter --help." in refused.err


def test_inspect_says_what_to_do(graphfilter, tmp_path: Path) -> None:
    picture = tmp_path / "p.png"
    result = graphfilter("inspect", "--dataset", "bipartite", "--picture", picture)
    assert result.code == 0, result.err
    assert "use an adaptive filter" in result.out
    assert "high" in result.out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_inspect_shows_an_interval_where_labels_are_few(graphfilter, tmp_path: Path) -> None:
    ring = "a,b\n" + "".join(f"v{i},v{(i + 1) % 200}\n" for i in range(200))
    (tmp_path / "e.csv").write_text(ring)
    lines = (f"v{i},{'ab'[i // 50 % 2] if i % 3 else ''}\n" for i in range(200))
    (tmp_path / "v.csv").write_text("id,label\n" + "".join(lines))
    words = ("inspect", "--edges", tmp_path / "e.csv", "--vertices", tmp_path / "v.csv")
    result = graphfilter(*words)
    assert result.code == 0, result.err
    assert " to " in result.out
    assert "(95 %)" in result.out
    assert graphfilter(*words, "--label", "kind").code == 2


def test_inspect_without_labels_is_refused(graphfilter, tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("a,b\n1,2\n")
    (tmp_path / "v.csv").write_text("id,x\n1,0.5\n2,0.1\n")
    result = graphfilter("inspect", "--edges", tmp_path / "e.csv", "--vertices", tmp_path / "v.csv")
    assert result.code == 2
    assert "--label" in result.err


def test_data_export_to_a_file_is_refused(graphfilter, tmp_path: Path) -> None:
    (tmp_path / "k").write_text("mine")
    result = graphfilter("data", "export", "karate", "--out", tmp_path / "k")
    assert result.code == 2
    assert "a file is in the way" in result.err


def test_predict_to_a_folder_or_device_is_refused(graphfilter, tmp_path: Path) -> None:
    for out in (tmp_path, "/dev/null"):
        result = graphfilter("predict", "run", "--dataset", "karate", "--out", out)
        assert result.code == 2
        assert "must be a regular file" in result.err


def test_a_folder_below_a_file_is_refused(graphfilter, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    out = tmp_path / "file" / "folder" / "out"
    result = graphfilter("data", "export", "karate", "--out", out)
    assert result.code == 2
    assert "Give the name of a folder" in result.err


def test_data_commands(graphfilter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHFILTER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("GRAPHFILTER_DATA", raising=False)
    listed = graphfilter("data", "list")
    assert listed.code == 0
    assert "embedded" in listed.out
    assert "not here yet" in listed.out
    got = graphfilter("data", "get", "karate")
    assert got.code == 0
    assert "34 vertices" in got.out
    exported = graphfilter("data", "export", "karate", "--out", tmp_path / "k")
    assert exported.code == 0
    assert (tmp_path / "k" / "edges.csv").exists()
    assert graphfilter("data", "export", "karate", "--out", tmp_path / "k").code == 2
    unknown = graphfilter("data", "get", "karaty")
    assert unknown.code == 2
    assert "did you mean 'karate'" in unknown.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fit", "--dataset", "karate", "--seed", 2**32), "Invalid value for '--seed'"),
        (("fit", "--dataset", "karate", "--label", "club"), "--label is for tables"),
        (("fit", "--dataset", "karate", "--allow-missing"), "--allow-missing is for tables"),
        (("fit", "--dataset", "karate", "--edge-kind", "k"), "--edge-kind is for tables"),
        (("fit", "--edges", "e.csv"), "--vertices is missing"),
        (("fit", "--number", "--label", "x"), "--number needs a value; got the option --label."),
        (("data", "export", "karate", "--out", "--quiet"), "--out needs a value"),
        (("fit", "--dataset", "karate", "--epoch", 3), ". See graphfilter fit --help."),
        (("fit", "--dataset", "karate", "--epochs", "many"), "Invalid value for '--epochs'"),
    ],
)
def test_bad_options_are_refused_before_anything_is_made(
    graphfilter, tmp_path: Path, words: tuple[object, ...], message: str
) -> None:
    out = tmp_path / "new" / "records.jsonl.gz"
    result = graphfilter(*words, "--out", out)
    assert result.code == 2
    assert message in result.err
    assert result.err.startswith("error: ")
    assert len(result.err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_torch_out_of_memory_is_one_line(
    graphfilter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("fit", "--dataset", "karate", "--model", "sgf", "--hidden", 10**6, "--quiet")
    monkeypatch.setenv("GRAPHFILTER_MEMORY", "1G")
    refused = graphfilter(*words, "--out", tmp_path / "run")
    assert refused.code == 2
    assert "a smaller --hidden" in refused.err
    monkeypatch.setenv("GRAPHFILTER_MEMORY", "999999999999999G")
    monkeypatch.setattr(Training, "advance", lambda *_: torch.empty(10**15))
    result = graphfilter(*words[:-3], "--quiet", "--out", tmp_path / "run")
    assert result.code == 1
    assert result.err.startswith("error: not enough memory")
    assert "fit --dry-run" in result.err
