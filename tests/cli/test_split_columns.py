"""fit --split-by and --group, as a user runs them."""

from __future__ import annotations

import csv
import json
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from graphfilter.data import make_csbm
from graphfilter.tables.labels import read_groups, read_times
from graphfilter.util.errors import DataFileError

QUICK = ("--epochs", 5, "--no-baselines", "--quiet", "--model", "sgf")


@pytest.fixture
def tables(tmp_path: Path) -> tuple[str, ...]:
    """A German export: semicolons, days first, decimal commas, some dates and houses missing."""
    graph = make_csbm(n_vertices=90, frequency=0.4, mean_degree=6, n_features=2)
    assert graph.labels is not None
    assert isinstance(graph.features, np.ndarray)
    rows = ["id;label;wert;seit;haus"]
    for i in range(90):
        day = date(2024, 1, 1) + timedelta(days=(i * 37) % 90)
        seit = "" if i == 5 else day.strftime("%d.%m.%Y")
        haus = "" if i == 6 else f"H{i // 4}"
        wert = f"{graph.features[i, 0]:.3f}".replace(".", ",")
        rows.append(f"{i};{'ja' if graph.labels[i] else 'nein'};{wert};{seit};{haus}")
    (tmp_path / "v.csv").write_text("\n".join(rows))
    edges = "\n".join(f"{u};{v}" for u, v in graph.edges)
    (tmp_path / "e.csv").write_text(f"source;target\n{edges}\n")
    return ("--edges", str(tmp_path / "e.csv"), "--vertices", str(tmp_path / "v.csv"))


def parts(run: Path) -> dict[int, str]:
    with (run / "predictions.csv").open(newline="") as file:
        return {int(row["id"]): row["part"] for row in csv.DictReader(file)}


def test_split_by_dates_tests_on_the_latest(graphfilter, tables, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = graphfilter("fit", *tables, "--split-by", "seit", "--out", run, *QUICK)
    assert done.code == 0, done.err
    part = parts(run)
    assert part[5] == "unused"
    days = {i: (i * 37) % 90 for i in part}
    latest_train = max(days[i] for i in part if part[i] == "train")
    tested = [days[i] for i in part if part[i] == "test"]
    assert min(tested) > latest_train
    assert len(tested) == 18
    config = json.loads((run / "config.json").read_text())["run"]
    assert config["split_rule"] == "by time 0.6/0.2/0.2"
    names = [column["name"] for column in config["encoder"]["columns"]]
    assert "wert" in names
    assert "seit" not in names
    assert graphfilter("explain", run, "--vertex", "3").code == 0


def test_no_house_is_in_two_parts(graphfilter, tables, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = graphfilter("fit", *tables, "--group", "haus", "--repeats", 2, "--out", run, *QUICK)
    assert done.code == 0, done.err
    part = parts(run)
    for house in range(23):
        inside = {part[i] for i in range(90) if i // 4 == house and i != 6}
        assert len(inside) == 1
    assert "Over 2 splits" in done.out


def test_wrong_columns_are_said(graphfilter, tables, tmp_path: Path) -> None:
    fit = ("fit", *tables, "--out", tmp_path / "run", *QUICK)
    done = graphfilter(*fit, "--split-by", "seid")
    assert done.code == 2
    assert "seid" in done.err
    done = graphfilter(*fit, "--split-by", "haus")
    assert done.code == 2
    assert "must hold dates or numbers" in done.err
    done = graphfilter(*fit, "--split-by", "seit", "--group", "haus")
    assert done.code == 2
    assert "give one of them" in done.err
    done = graphfilter("fit", "--dataset", "karate", "--group", "x", "--out", tmp_path / "run")
    assert done.code == 2
    assert "names a column of a table" in done.err
    assert not (tmp_path / "run").exists()


def test_times_are_read_from_numbers_dates_and_typed_columns(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    path = tmp_path / "t.csv"
    path.write_text("id,year,day\n1,2020,2020-01-02\n2,2019,2019-12-31\n3,,\n")
    np.testing.assert_array_equal(read_times(path, "year"), [2020, 2019, np.nan])
    days = read_times(path, "day")
    assert days[0] - days[1] == 2 * 86_400
    assert np.isnan(days[2])
    typed = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"day": [date(2020, 1, 2), date(2019, 12, 31), None]}), typed)
    np.testing.assert_array_equal(read_times(typed, "day"), days)
    assert read_groups(path, "year").tolist() == [0, 1, -1]
    path.write_text("id,when\n1,soon\n2,later\n")
    with pytest.raises(DataFileError, match="dates or numbers"):
        read_times(path, "when")
