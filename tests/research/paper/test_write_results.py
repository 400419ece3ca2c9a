"""New records take the place of old ones: ten runs at once, or none."""

from __future__ import annotations

from pathlib import Path

from tools.write_results import pack, replaced

from graphfilter_research.bench.record import Record, read_records

PARTS: tuple[str, ...] = ("train", "val", "test")


def record(model: str, seed: int, test: float, status: str = "ok") -> Record:
    part = {"n_vertices": 30, "accuracy": test}
    scores = dict.fromkeys(PARTS, part) if status == "ok" else {}
    return Record(
        "texas", model, "stratified", seed, seed, "auto", {}, "cpu", scores=scores,
        status="ok" if status == "ok" else "failed",
    )  # fmt: skip


def test_ten_new_runs_replace_the_old_ones_and_fewer_do_not() -> None:
    old = [record(model, i, 0.5) for model in ("committee", "committee-low") for i in range(10)]
    new = [record("committee", i, 0.9) for i in range(10)]
    new += [record("committee-low", i, 0.9) for i in range(9)]
    new += [record("committee-low", 9, 0.9, "failed"), record("gcn", 0, 0.9)]
    found = replaced(old, new)
    scores = {(r.model, r.scores["test"]["accuracy"]) for r in found}
    assert scores == {("committee", 0.9), ("committee-low", 0.5)}
    assert len(found) == 20


def test_run_that_was_made_twice_counts_once() -> None:
    new = [record("committee", i, 0.8) for i in range(10)] + [record("committee", 0, 0.9)]
    found = replaced([], new)
    assert sorted(r.seed for r in found) == list(range(10))
    assert found[0].scores["test"]["accuracy"] == 0.9


def test_packed_records_are_the_same_bytes_again(tmp_path: Path) -> None:
    records = [record("committee", i, 0.8) for i in range(3)]
    pack(records, tmp_path / "a.jsonl.gz")
    pack(read_records(tmp_path / "a.jsonl.gz"), tmp_path / "b.jsonl.gz")
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
