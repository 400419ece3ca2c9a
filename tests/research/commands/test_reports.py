"""The pages that bench and reproduce leave beside what they measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from graphfilter_research.paper import accuracy_table, collect, table5
from graphfilter_research.paper.targets import TARGETS

BENCH = ("bench", "--datasets", "karate", "--models", "sgf,mlp", "--runs", 2, "--max-epochs", 3,
         "--device", "cpu", "--quiet")  # fmt: skip


def test_bench_leaves_a_report_of_the_whole_file_under_its_name(graphfilter, tmp_path) -> None:
    for name in ("one", "two"):
        done = graphfilter(*BENCH, "--out", tmp_path / f"{name}.jsonl")
        assert done.code == 0, done.err
        assert f"report in {tmp_path / name}.html" in done.out
    assert {p.name for p in tmp_path.iterdir()} == {
        "one.jsonl", "one.html", "two.jsonl", "two.html",
    }  # fmt: skip
    more = ("--models", "sgc")
    assert graphfilter(*BENCH, *more, "--out", tmp_path / "one.jsonl").code == 0
    page = (tmp_path / "one.html").read_text()
    assert all(f'<th scope="row">{title}</th>' in page for title in ("SGF", "MLP", "SGC"))
    assert "SGC" not in (tmp_path / "two.html").read_text().partition("<script>")[0]


def test_bench_report_rebuilds_the_page_from_the_records(graphfilter, tmp_path: Path) -> None:
    records, again = tmp_path / "r.jsonl", tmp_path / "again.html"
    assert graphfilter(*BENCH, "--out", records).code == 0
    assert graphfilter("bench", "report", records, "--out", again).code == 0
    assert again.read_bytes() == (tmp_path / "r.html").read_bytes()
    (tmp_path / "r.html").unlink()
    assert graphfilter("bench", "report", records, "--metric", "log_loss").code == 0
    assert "log loss" in (tmp_path / "r.html").read_text()
    missing = graphfilter("bench", "report", tmp_path / "absent.jsonl")
    assert missing.code == 2
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
        assert done.code == 0, done.err
    assert f"Report in {tmp_path / 'report.html'}" in done.out
    page = (tmp_path / "report.html").read_text()
    places = [page.index(f'<section id="{name}-quick"') for name in ("table2", "table5")]
    assert places == sorted(places)
    assert "A quick look" in page
    again = tmp_path / "again"
    assert graphfilter("reproduce", "table2", "--quick", "--from-records", tmp_path,
                       "--out", again).code == 0  # fmt: skip
    assert (again / "report.html").read_text() == page
