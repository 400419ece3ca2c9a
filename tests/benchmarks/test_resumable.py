"""Benchmarks of many fits: records that are on file are not made again, tables come from them."""

from __future__ import annotations

from pathlib import Path

import pytest

import next_labels
import numbers_of_vertices
import promises
import resumable
import several_labels
from graphfilter.util.errors import GraphError


def test_records_are_made_once_and_failures_are_left_out(tmp_path: Path, capsys) -> None:
    made: list[int] = []

    def work(task: int) -> dict[str, int]:
        made.append(task)
        if task == 2:
            raise GraphError("not at hand")
        return {"value": task}

    path = tmp_path / "records.jsonl"
    tasks = {str(i): i for i in range(3)}
    assert resumable.make_records({"0": 0}, work, path) == 0
    assert resumable.make_records(tasks, work, path) == 0
    assert made == [0, 1, 2]
    assert [record["value"] for record in resumable.read_records(path)] == [0, 1]
    assert "2 is left out: not at hand" in capsys.readouterr().out
    assert resumable.make_records(tasks, work, path, seconds=0) == 1


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (promises, "| made | 2 |"),
        (next_labels, "| made | 1 |"),
        (numbers_of_vertices, "| made | 1 |"),
        (several_labels, "| tiny | 1 |"),
    ],
)
def test_small_benchmark_leaves_records_and_its_table(
    script, words, tmp_path: Path, capsys
) -> None:
    file = str(tmp_path / "records.jsonl")
    script.main(["--small", "--records", file])
    first = capsys.readouterr().out
    assert words in first
    script.main(["--table", "--records", file])
    assert capsys.readouterr().out.strip() in first
