"""A table with coordinates alone is fitted, and new rows are answered beside those near them."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

import graphfilter as gf
from graphfilter.runs.loading import load_run, read_kept_graph
from graphfilter.web.endpoint import Scorer, Vertex

N, NEW = 120, 6


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of known houses, whose price follows the place, and of new ones."""
    folder, rng = tmp_path_factory.mktemp("houses"), np.random.default_rng(0)
    lat, long = rng.uniform(40, 41, N + NEW), rng.uniform(-84, -83, N + NEW)
    size = rng.uniform(50, 200, N + NEW)
    price = np.exp(5 + np.sin(6 * lat) + np.cos(5 * long) + size / 200)
    rows = [
        [f"h{i}", *map(str, row)]
        for i, row in enumerate(zip(lat, long, size, price.round(2), strict=True))
    ]
    for name, own in (("houses", rows[:N]), ("new", [row[:-1] for row in rows[N:]])):
        with (folder / f"{name}.csv").open("w", newline="") as file:
            heads = ["house_id", "lat", "long", "size", "price"]
            csv.writer(file).writerows([heads[: len(own[0])], *own])
    return folder


@pytest.fixture
def run(houses: Path, graphfilter) -> Path:
    out = houses / "run"
    if out.exists():
        return out
    words = ("--number", "price", "--near", "lat,long", "--model", "sgf", "--epochs", 30)
    done = graphfilter("fit", "--vertices", houses / "houses.csv", *words, "--out", out)
    said = " ".join(done.err.split())
    assert "vertices are joined with the 10 nearest by 'lat', 'long'" in said
    assert "(to change this: --near, --set no_link)" in said
    return out


def read(path: Path) -> dict[str, float]:
    with path.open(newline="") as file:
        return {row["id"]: float(row["predicted"]) for row in csv.DictReader(file)}


def test_new_rows_are_answered_beside_those_near_them(
    houses: Path, run: Path, graphfilter, tmp_path: Path
) -> None:
    new = ("--vertices", houses / "new.csv", "--quiet")
    done = graphfilter("predict", run, "--with", "run", *new, "--out", tmp_path / "p.csv")
    assert re.search(r"6 new houses, [67]\d new edges", " ".join(done.out.split()))
    found = read(tmp_path / "p.csv")
    assert list(found) == [f"h{i}" for i in range(N, N + NEW)]
    # Served in one request, they are beside each other, too, whatever is asked of distances.
    estimator, about, encoder = load_run(run)
    base = read_kept_graph(run, about)
    scorer = Scorer(estimator, about, encoder, base, within=1)
    with (houses / "new.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    asked = [Vertex({k: row[k] for k in ("lat", "long", "size")}, row["house_id"]) for row in rows]
    for vertex in scorer.score_new(asked).vertices:
        assert vertex["predicted"]["price"] == pytest.approx(found[vertex["id"]], rel=1e-5)
    alone = [gf.read_tables(None, houses / "new.csv", encoder=encoder)[0].n_edges]
    assert alone == [NEW * (NEW - 1) // 2]


def test_report_shows_the_map_and_errors_in_the_unit(run: Path) -> None:
    page = (run / "report.html").read_text()
    assert '<h2 id="map-title">The map</h2>' in page
    assert page.count('id="map-0-') == 3
    text = " ".join(re.sub("<[^>]*>", " ", page).split())
    assert "Median error of price on 24 test" in text
    assert "Errors by the size of price" in text


def test_a_column_that_is_not_there_is_named(houses: Path, graphfilter, tmp_path: Path) -> None:
    words = ("fit", "--vertices", houses / "houses.csv", "--number", "price", "--out", tmp_path)
    done = graphfilter(*words, "--near", "lat,lnog", code=2)
    assert "no column 'lnog'" in done.err
    done = graphfilter(*words, "--near", "lat,long", "--column", "lat=drop", code=2)
    assert "--near must name columns of numbers that are features; 'lat' is none" in " ".join(
        done.err.split()
    )
