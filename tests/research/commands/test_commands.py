"""demo, reproduce and table: what the research package adds to the command line."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from pathlib import Path
from shutil import copytree

import pytest

from graphfilter_research.commands import demo as demo_module
from graphfilter_research.paper import figures6_7, table5
from graphfilter_research.paper.targets import TARGETS


def test_reproduce_names_its_targets(graphfilter, tmp_path: Path) -> None:
    assert "table1" in graphfilter("reproduce", "--list").out
    graphfilter("reproduce", "table1", code=2)
    wrong = graphfilter("reproduce", "tabel1", "--out", tmp_path, code=2)
    assert "did you mean 'table1'" in wrong.err


def test_reproduce_table1(graphfilter, tmp_path: Path, data_folder, monkeypatch) -> None:
    monkeypatch.setenv("GRAPHFILTER_DATA", str(data_folder))
    graphfilter("reproduce", "table1", "--out", tmp_path)
    rows = {row["dataset"]: row for row in json.loads((tmp_path / "table1.json").read_text())}
    assert not [what for what in rows["cora"]["differs"] if what.startswith("r(")]
    table = (tmp_path / "table1.md").read_text()
    assert "| cora | 2,708 | 5,278 | 5,278 | 0.23 ± 0.04 | 0.23 ± 0.04 | signed |" in table
    assert "Table 1: the datasets" in (tmp_path / "report.html").read_text()


def test_reproduce_fig_frequency(graphfilter, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(figures6_7, "DATASETS", ("csbm", "bipartite"))
    result = graphfilter("reproduce", "fig-frequency", "--out", tmp_path, "--quick")
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
    assert "karate" in result.out
    assert "with max_epochs" not in result.out
    assert "committee are trained for at most 3 epochs" in result.out
    records = json.loads((tmp_path / "d" / "results.json").read_text())
    assert [record["system"] for record in records] == ["committee-low@max_epochs=3", "sgf"]
    assert max(records[0]["epochs"]) <= 3
    assert (tmp_path / "d" / "filters.png").exists()
    again = graphfilter("demo", "--out", tmp_path / "d", code=2)
    assert "--overwrite" in again.err


def test_reproduce_interrupted_says_how_to_go_on(
    graphfilter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    target = dataclasses.replace(table5.TARGET, quick=("karate",), pairs=interrupt)
    monkeypatch.setitem(TARGETS, "table5", target)
    result = graphfilter("reproduce", "table5", "--out", tmp_path, "--quick", code=130)
    assert "The same command resumes" in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("bench", "--datasets", "karate", "--models", "sgc"), "give a name ending in .jsonl"),
        (("reproduce", "fig-noise", "--device", "gpu"), "device must be auto"),
        (("search", "--trials", 1), "name one graph"),
        (("fit", "--dataset", "texas", "--directed"), "such as texas_directed"),
        (("search", "--dataset", "karate", "--quick", "--max-epochs", 3), "choose one"),
        (("reproduce", "table2", "--from-records", "r", "--runs", 3), "--runs is for running"),
        (("reproduce", "table2", "--from-records", "r", "--gzip"), "--gzip is for running"),
        (("bench", "--runs", 3, "models"), "--runs is for running models"),
    ],
)
def test_bad_options_are_refused_before_anything_is_made(
    graphfilter, tmp_path: Path, words: tuple[object, ...], message: str
) -> None:
    more = (
        () if words[0] == "search" or words[-1] == "models" else ("--out", tmp_path / "r.jsonl.gz")
    )
    result = graphfilter(*words, *more, code=2)
    assert message in result.err
    assert result.err.startswith("error: ")
    assert len(result.err.splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words",
    [("demo",), ("reproduce", "table1"), ("bench", "--datasets", "karate", "--models", "sgc")],
)
def test_a_folder_below_a_file_is_refused(
    graphfilter, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "file").write_text("mine")
    result = graphfilter(*words, "--out", tmp_path / "file" / "folder" / "out", code=2)
    assert "Give the name of a folder" in result.err


def test_commands_of_research_have_help(graphfilter) -> None:
    listed = graphfilter("--help").out
    for command in ("bench", "demo", "reproduce", "search", "table"):
        assert command in listed
        assert "Usage" in graphfilter(command, "--help").out


ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "results"
RUN = ROOT / "tests" / "compatibility" / "files" / "0.2.0"


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_benchmark_is_summarised_alike_by_both_names(graphfilter) -> None:
    words = (RUN / "records.jsonl", "--format", "csv")
    shown = graphfilter("table", *words).out
    assert [(row["model"], row["runs"]) for row in rows_of(shown)] == [("sgf", "2"), ("mlp", "2")]
    assert graphfilter("bench", "table", *words).out == shown


def test_records_of_several_files_make_one_table(graphfilter, tmp_path: Path) -> None:
    lines = (RUN / "records.jsonl").read_text().splitlines(keepends=True)
    for i, name in enumerate(("a.jsonl", "b.jsonl")):
        (tmp_path / name).write_text("".join(lines[2 * i : 2 * i + 2]))
    apart = graphfilter("table", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--format", "md")
    assert apart.out == graphfilter("table", RUN / "records.jsonl", "--format", "markdown").out


# Large ones are of the same kinds.
SMALL = [path for path in sorted(RESULTS.glob("*.jsonl.gz")) if path.stat().st_size < 200_000]


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.name)
def test_every_kind_of_committed_records_makes_a_table(path: Path, graphfilter) -> None:
    shown = graphfilter("table", path, "--format", "tex")
    assert shown.out.rstrip().endswith(r"\end{tabular}")


def test_other_records_are_rows_and_their_lists_are_left_out(graphfilter, tmp_path: Path) -> None:
    records = [
        {"dataset": "a_b", "score": {"val": 0.5, "test": 1 / 3}, "curve": [1, 2]},
        {"dataset": "c", "score": {"val": None, "test": 1}, "curve": []},
    ]
    path = tmp_path / "other.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    shown = graphfilter("table", path, "--format", "md").out
    assert "| dataset | score.val | score.test |" in shown
    assert r"| a\_b | 0.5 | 0.3333 |" in shown
    assert "| c |  | 1 |" in shown
    assert "Left out, as they are lists: curve." in shown
    rows = rows_of(graphfilter("table", path, "--format", "csv").out)
    assert float(rows[0]["score.test"]) == 1 / 3


def test_scores_of_a_run_folder_are_a_row_per_part(graphfilter, tmp_path: Path) -> None:
    scores = json.loads((RUN / "run" / "metrics.json").read_text())["scores"]
    shown = graphfilter("table", RUN / "run", "--format", "md").out
    assert "| part | vertices | accuracy in % |" in shown
    assert f"| test | 6 | {100 * scores['test']['accuracy']:.2f} |" in shown
    rows = rows_of(graphfilter("table", RUN / "run", "--format", "csv").out)
    found = {(row["part"], row["metric"]): float(row["value"]) for row in rows}
    assert found["val", "log_loss"] == scores["val"]["log_loss"]
    both = graphfilter("table", RUN / "run", copytree(RUN / "run", tmp_path / "other"))
    assert "Scores of runs" in both.out


def test_file_has_the_format_of_its_name_and_is_not_replaced(graphfilter, tmp_path: Path) -> None:
    words = ("table", RUN / "records.jsonl", "--out", tmp_path / "t.tex")
    graphfilter(*words)
    made = (tmp_path / "t.tex").read_text(encoding="utf-8")
    assert (
        made.rstrip()
        == graphfilter("table", RUN / "records.jsonl", "--format", "latex").out.rstrip()
    )
    assert "pass --overwrite" in graphfilter(*words, code=2).err
    graphfilter(*words, "--overwrite")
    wrong = graphfilter("table", RUN / "records.jsonl", "--out", tmp_path / "t.docx", code=2)
    assert "unknown format 'docx'" in wrong.err


@pytest.mark.parametrize("content", ["", "[1]\n", "no json\n", '{"curve": [1]}\n'])
def test_what_is_no_record_is_one_line(content: str, graphfilter, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(content)
    shown = graphfilter("table", tmp_path / "x.jsonl", code=2)
    assert shown.err.count("\n") == 1
    (tmp_path / "run").mkdir()
    graphfilter("table", tmp_path / "run", code=2)
    graphfilter("table", tmp_path / "absent.jsonl", code=2)
