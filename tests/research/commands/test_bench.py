"""bench on the command line, and the pages that it and reproduce leave."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.processes import forking
from typer.testing import CliRunner, Result

from graphfilter.util.errors import ConfigError, DataFileError
from graphfilter_research.commands.bench import app
from graphfilter_research.paper import accuracy_table, collect, table5
from graphfilter_research.paper.targets import TARGETS


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def records(tmp_path: Path) -> Path:
    out = tmp_path / "records.jsonl"
    done = run(
        "--datasets", "karate", "--models", "mlp, sgc", "--runs", 2, "--max-epochs", 3,
        "--device", "cpu", "--out", out,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "sgc" in done.stdout
    return out


def test_bench_writes_records_that_table_prints(records: Path) -> None:
    assert len(records.read_text().splitlines()) == 4
    rows = list(csv.DictReader(io.StringIO(run("table", records, "--format", "csv").stdout)))
    assert [(r["dataset"], r["model"], r["runs"]) for r in rows] == [
        ("karate", "mlp", "2"), ("karate", "sgc", "2"),
    ]  # fmt: skip
    for form, sign in (("text", "±"), ("markdown", "| mlp |"), ("latex", r"\toprule")):
        assert sign in run("table", records, "--format", form).stdout


def test_bench_table_shows_the_metric_asked_for(records: Path) -> None:
    """Karate has two classes: a ranking is on record."""
    shown = run("table", records, "--metric", "roc_auc", "--format", "csv").stdout
    stored = [json.loads(line) for line in records.read_text().splitlines()]
    for row in csv.DictReader(io.StringIO(shown)):
        own = [r["scores"]["test"]["roc_auc"] for r in stored if r["model"] == row["model"]]
        assert float(row["mean"]) == pytest.approx(sum(own) / 2)
    assert "Test ROC AUC in %" in run("table", records, "--metric", "roc_auc").stdout


def test_bench_table_of_records_without_the_metric_says_so(records: Path) -> None:
    old = records.read_text().replace('"roc_auc"', '"something_else"')
    records.write_text(old)
    assert "Test accuracy" in run("table", records).stdout
    error = run("table", records, "--metric", "roc_auc").exception
    assert isinstance(error, ConfigError)
    assert "must have ROC AUC; none has" in str(error)


def test_bench_table_says_that_a_line_was_cut(records: Path) -> None:
    records.write_bytes(records.read_bytes()[:-5])
    done = run("table", records)
    assert done.exit_code == 0
    assert "1 incomplete line" in done.stderr


def test_bench_ends_with_a_code_and_a_reason_when_runs_failed(tmp_path: Path) -> None:
    done = run(
        "--datasets", "karate", "--models", "mlp", "--runs", 1, "--split-rule", "public",
        "--out", tmp_path / "r.jsonl", "--quiet",
    )  # fmt: skip
    assert done.exit_code == 1
    assert "1 failed: karate, mlp: GraphError" in done.stderr


def test_bench_refuses_what_it_cannot_do(tmp_path: Path) -> None:
    assert isinstance(run("--datasets", "karate").exception, ConfigError)
    assert isinstance(run("table", tmp_path / "absent").exception, DataFileError)


def test_bench_says_before_training_that_its_page_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "r.html").mkdir()
    done = run("--datasets", "karate", "--models", "mlp", "--out", tmp_path / "r.jsonl")
    assert isinstance(done.exception, DataFileError)
    assert "must be a regular file" in str(done.exception)
    assert not (tmp_path / "r.jsonl").exists()


def test_bench_models_lists_the_registry() -> None:
    assert "sgf" in run("models").stdout


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path]:
    edges, vertices = tmp_path / "e.csv", tmp_path / "v.csv"
    edges.write_text("a,b\n" + "".join(f"n{i},n{(i + 1) % 40}\n" for i in range(40)))
    parts = ["train", "train", "val", "test"]
    rows = (f"n{i},{i % 7},{'xy'[i // 20]},{parts[i % 4]}\n" for i in range(40))
    vertices.write_text("name,size,kind,split\n" + "".join(rows))
    return edges, vertices


def columns(tables: tuple[Path, Path]) -> list[object]:
    edges, vertices = tables
    return ["--edges", edges, "--vertices", vertices, "--id", "name", "--label", "kind",
            "--from", "a", "--to", "b"]  # fmt: skip


@pytest.mark.parametrize("jobs", [1, 2])
def test_bench_takes_tables_beside_datasets(
    tables, tmp_path: Path, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphfilter_research.bench.matrix.get_context", forking)
    out = tmp_path / "records.jsonl"
    words = [*columns(tables), "--datasets", "karate", "--models", "mlp,sgc", "--runs", 2,
             "--max-epochs", 3, "--device", "cpu", "--out", out, "--jobs", jobs]  # fmt: skip
    done = run(*words)
    assert done.exit_code == 0, done.output
    stored = [json.loads(line) for line in out.read_text().splitlines()]
    assert sorted({r["dataset"] for r in stored}) == ["karate", "v.csv"]
    own = [r for r in stored if r["dataset"] == "v.csv"]
    assert {r["scores"]["test"]["n_vertices"] for r in own} == {8}
    if jobs == 1:
        assert run(*words).exit_code == 0
    assert len(out.read_text().splitlines()) == len(stored) == 8, "what is on record is not rerun"
    page = out.with_suffix(".html").read_text()
    assert "--datasets karate" in page
    assert "--datasets v.csv" not in page


def test_bench_of_tables_knows_their_split_column(tables, tmp_path: Path) -> None:
    out = tmp_path / "records.jsonl"
    done = run(
        *columns(tables), "--models", "mlp", "--runs", 2, "--max-epochs", 2, "--split-rule",
        "public", "--device", "cpu", "--out", out,
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    stored = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(r["seed"], r["scores"]["train"]["n_vertices"]) for r in stored] == [(0, 20), (1, 20)]


def test_search_takes_tables(graphfilter, tables) -> None:
    pytest.importorskip("optuna")
    words = ["--model", "sgc", "--trials", 2, "--max-epochs", 2, "--column", "size=category"]
    done = graphfilter("search", *columns(tables), *words)
    assert "own setting" in done.out


BENCH = ("bench", "--datasets", "karate", "--models", "sgf,mlp", "--runs", 2, "--max-epochs", 3,
         "--device", "cpu", "--quiet")  # fmt: skip


def test_bench_leaves_a_report_of_the_whole_file_under_its_name(graphfilter, tmp_path) -> None:
    for name in ("one", "two"):
        done = graphfilter(*BENCH, "--out", tmp_path / f"{name}.jsonl")
        assert f"report in {tmp_path / name}.html" in done.out
    assert {p.name for p in tmp_path.iterdir()} == {
        "one.jsonl", "one.html", "two.jsonl", "two.html",
    }  # fmt: skip
    more = ("--models", "sgc")
    graphfilter(*BENCH, *more, "--out", tmp_path / "one.jsonl")
    page = (tmp_path / "one.html").read_text()
    assert all(f'<th scope="row">{title}</th>' in page for title in ("SGF", "MLP", "SGC"))
    assert "SGC" not in (tmp_path / "two.html").read_text().partition("<script>")[0]


def test_bench_report_rebuilds_the_page_from_the_records(graphfilter, tmp_path: Path) -> None:
    records, again = tmp_path / "r.jsonl", tmp_path / "again.html"
    graphfilter(*BENCH, "--out", records)
    graphfilter("bench", "report", records, "--out", again)
    assert again.read_bytes() == (tmp_path / "r.html").read_bytes()
    (tmp_path / "r.html").unlink()
    graphfilter("bench", "report", records, "--metric", "log_loss")
    assert "log loss" in (tmp_path / "r.html").read_text()
    missing = graphfilter("bench", "report", tmp_path / "absent.jsonl", code=2)
    assert "there is no such file" in missing.err


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let table2 and table5 run on the karate club, for two epochs."""
    monkeypatch.setattr(collect, "QUICK_EPOCHS", 2)
    few = replace(accuracy_table.TABLE_OF_LOW, systems=("sgf", "mlp"))
    small = replace(accuracy_table.TARGET_2, pairs=few.pairs, show=few.show)
    for target in (small, table5.TARGET):
        monkeypatch.setitem(TARGETS, target.name, replace(target, quick=("karate",)))


def test_reproduce_leaves_one_report_of_all_targets_on_record(
    graphfilter, tmp_path: Path, tiny
) -> None:
    quick = ("--quick", "--device", "cpu", "--quiet", "--out", tmp_path)
    for target in ("table5", "table2"):
        done = graphfilter("reproduce", target, *quick)
    assert f"Report in {tmp_path / 'report.html'}" in done.out
    page = (tmp_path / "report.html").read_text()
    places = [page.index(f'<section id="{name}-quick"') for name in ("table2", "table5")]
    assert places == sorted(places)
    assert "A quick look" in page
    again = tmp_path / "again"
    graphfilter("reproduce", "table2", "--quick", "--from-records", tmp_path,
                       "--out", again)  # fmt: skip
    assert (again / "report.html").read_text() == page
