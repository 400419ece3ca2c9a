from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from graphfilter.cli.bench import app
from graphfilter.errors import ConfigError, DataFileError


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
    assert "ROC AUC on record; none has" in str(error)


def test_bench_table_says_that_a_line_was_cut(records: Path) -> None:
    records.write_bytes(records.read_bytes()[:-5])
    done = run("table", records)
    assert done.exit_code == 0
    assert "1 cut line" in done.stderr


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


def test_bench_models_lists_the_registry() -> None:
    assert "sgf" in run("models").stdout
