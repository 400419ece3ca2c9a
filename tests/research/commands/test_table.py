"""Tables of anything on record, in every form."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from shutil import copytree

import pytest

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
    assert shown.code == 0, shown.err
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
    assert graphfilter(*words).code == 0
    made = (tmp_path / "t.tex").read_text(encoding="utf-8")
    assert (
        made.rstrip()
        == graphfilter("table", RUN / "records.jsonl", "--format", "latex").out.rstrip()
    )
    assert "pass --overwrite" in graphfilter(*words).err
    assert graphfilter(*words, "--overwrite").code == 0
    wrong = graphfilter("table", RUN / "records.jsonl", "--out", tmp_path / "t.docx")
    assert wrong.code == 2
    assert "unknown format 'docx'" in wrong.err


@pytest.mark.parametrize("content", ["", "[1]\n", "no json\n", '{"curve": [1]}\n'])
def test_what_is_no_record_is_one_line(content: str, graphfilter, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(content)
    shown = graphfilter("table", tmp_path / "x.jsonl")
    assert shown.code == 2
    assert shown.err.count("\n") == 1
    (tmp_path / "run").mkdir()
    assert graphfilter("table", tmp_path / "run").code == 2
    assert graphfilter("table", tmp_path / "absent.jsonl").code == 2
