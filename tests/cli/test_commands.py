"""The other commands."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch

from graphfilter.training.loop import Training
from graphfilter_research.commands import demo as demo_module
from graphfilter_research.paper import figures6_7, table5
from graphfilter_research.paper.targets import TARGETS


def test_version_and_help(graphfilter) -> None:
    assert graphfilter("--version").out.startswith("graphfilter ")
    for command in ("demo", "fit", "predict", "inspect", "data", "reproduce"):
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


@pytest.mark.parametrize(
    "words",
    [
        ("data", "export", "karate", "--out"),
        ("demo", "--out"),
        ("reproduce", "table1", "--out"),
        ("bench", "--datasets", "karate", "--models", "sgc", "--out"),
    ],
)
def test_a_folder_below_a_file_is_refused(
    graphfilter, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "file").write_text("mine")
    result = graphfilter(*words, tmp_path / "file" / "folder" / "out")
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


def test_data_is_taken_to_another_machine(
    graphfilter, data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHFILTER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GRAPHFILTER_DATA", str(data_folder))
    pack = ("data", "pack", "--datasets", "texas,cornell", "--out", tmp_path / "d.tar")
    packed = graphfilter(*pack)
    assert packed.code == 0, packed.err
    assert "graphfilter data unpack d.tar" in packed.out
    assert graphfilter(*pack).code == 2
    monkeypatch.delenv("GRAPHFILTER_DATA")
    assert "Files of datasets: 2 unpacked" in graphfilter("data", "unpack", tmp_path / "d.tar").out
    assert "0 unpacked" in graphfilter("data", "unpack", tmp_path / "d.tar").out
    assert "183 vertices" in graphfilter("data", "get", "texas").out
    foreign = graphfilter("data", "unpack", data_folder / "texas.npz")
    assert foreign.code == 2
    assert "data pack wrote" in foreign.err


def test_reproduce_names_its_targets(graphfilter, tmp_path: Path) -> None:
    assert "table1" in graphfilter("reproduce", "--list").out
    assert graphfilter("reproduce", "table1").code == 2
    wrong = graphfilter("reproduce", "tabel1", "--out", tmp_path)
    assert wrong.code == 2
    assert "did you mean 'table1'" in wrong.err


def test_reproduce_table1(graphfilter, tmp_path: Path, data_folder, monkeypatch) -> None:
    monkeypatch.setenv("GRAPHFILTER_DATA", str(data_folder))
    result = graphfilter("reproduce", "table1", "--out", tmp_path)
    assert result.code == 0, result.err
    rows = {row["dataset"]: row for row in json.loads((tmp_path / "table1.json").read_text())}
    assert not [what for what in rows["cora"]["differs"] if what.startswith("r(")]
    table = (tmp_path / "table1.md").read_text()
    assert "| cora | 2,708 | 5,278 | 5,278 | 0.23 ± 0.04 | 0.23 ± 0.04 | signed |" in table
    assert "Table 1: the datasets" in (tmp_path / "report.html").read_text()


def test_reproduce_fig_frequency(graphfilter, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(figures6_7, "DATASETS", ("csbm", "bipartite"))
    result = graphfilter("reproduce", "fig-frequency", "--out", tmp_path, "--quick")
    assert result.code == 0, result.err
    assert (tmp_path / "fig-frequency-quick.png").exists()
    assert "Made with --quick" in result.out
    lines = (tmp_path / "fig-frequency-quick.jsonl").read_text().splitlines()
    assert {json.loads(line)["dataset"] for line in lines} == {"csbm", "bipartite"}
    assert "data:image/png" in (tmp_path / "report.html").read_text()


def test_demo_compares_systems(graphfilter, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(demo_module, "GRAPHS", {"karate": "low"})
    monkeypatch.setattr(demo_module, "SYSTEMS", ("committee-low", "sgf"))
    monkeypatch.setattr(demo_module, "SHORT", {"max_epochs": 3})
    result = graphfilter("demo", "--out", tmp_path / "d", "--runs", 2, "--quiet")
    assert result.code == 0, result.err
    assert "karate" in result.out
    assert "with max_epochs" not in result.out
    assert "committee are trained for at most 3 epochs" in result.out
    records = json.loads((tmp_path / "d" / "results.json").read_text())
    assert [record["system"] for record in records] == ["committee-low@max_epochs=3", "sgf"]
    assert max(records[0]["epochs"]) <= 3
    assert (tmp_path / "d" / "filters.png").exists()
    again = graphfilter("demo", "--out", tmp_path / "d")
    assert again.code == 2
    assert "--overwrite" in again.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("bench", "--datasets", "karate", "--models", "sgc"), "give a name ending in .jsonl"),
        (("reproduce", "fig-noise", "--device", "gpu"), "device must be auto"),
        (("fit", "--dataset", "karate", "--seed", 2**32), "Invalid value for '--seed'"),
        (("search", "--trials", 1), "name one graph"),
        (("search", "--dataset", "karate", "--quick", "--max-epochs", 3), "choose one"),
        (("fit", "--dataset", "karate", "--label", "club"), "--label is for tables"),
        (("fit", "--dataset", "karate", "--allow-missing"), "--allow-missing is for tables"),
        (("fit", "--dataset", "texas", "--directed"), "such as texas_directed"),
        (("fit", "--dataset", "karate", "--edge-kind", "k"), "--edge-kind is for tables"),
        (("fit", "--edges", "e.csv"), "--vertices is missing"),
        (("fit", "--number", "--label", "x"), "--number needs a value; got the option --label."),
        (("data", "export", "karate", "--out", "--quiet"), "--out needs a value"),
        (("fit", "--dataset", "karate", "--epoch", 3), ". See graphfilter fit --help."),
        (("fit", "--dataset", "karate", "--epochs", "many"), "Invalid value for '--epochs'"),
        (("reproduce", "table2", "--from-records", "r", "--runs", 3), "--runs is for running"),
        (("reproduce", "table2", "--from-records", "r", "--gzip"), "--gzip is for running"),
        (("bench", "--runs", 3, "models"), "--runs is for running models"),
    ],
)
def test_bad_options_are_refused_before_anything_is_made(
    graphfilter, tmp_path: Path, words: tuple[object, ...], message: str
) -> None:
    out = tmp_path / "new" / "records.jsonl.gz"
    more = () if words[0] == "search" or words[-1] == "models" else ("--out", out)
    result = graphfilter(*words, *more)
    assert result.code == 2
    assert message in result.err
    assert result.err.startswith("error: ")
    assert len(result.err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_reproduce_interrupted_says_how_to_go_on(
    graphfilter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    target = dataclasses.replace(table5.TARGET, quick=("karate",), pairs=interrupt)
    monkeypatch.setitem(TARGETS, "table5", target)
    result = graphfilter("reproduce", "table5", "--out", tmp_path, "--quick")
    assert result.code == 130
    assert "The same command resumes" in result.err


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
