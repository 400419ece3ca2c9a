"""SGF in other settings: the distance to what is printed, and a choice by validation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from graphfilter.systems import get_system
from graphfilter_research.bench.record import Record
from graphfilter_research.paper import settings
from graphfilter_research.paper.collect import Options, open_records
from graphfilter_research.paper.published import TABLE_3, Accuracy
from graphfilter_research.paper.tables import ComparedAccuracy

SPLITS = range(6)


def record(model: str, split: int, val: float, test: float) -> Record:
    sizes = {"n_vertices": 30}
    scores = {"train": {**sizes, "accuracy": 1.0}, "val": {**sizes, "accuracy": val},
              "test": {**sizes, "accuracy": test}}  # fmt: skip
    return Record("texas", model, "stratified", split, split, "row", {}, "cpu", scores=scores)


def test_settings_are_systems_under_their_own_names() -> None:
    assert [get_system(name).name for name in settings.SETTINGS] == list(settings.SETTINGS)


def test_printed_values_cover_every_dataset() -> None:
    assert all(settings.printed(d) is not None for d in settings.DATASETS)
    assert settings.printed("bipartite_sparse") == TABLE_3["sgf"]["bipartite"]


def test_distance_is_the_mean_of_what_lies_between() -> None:
    cells = [ComparedAccuracy(m, 1.0, 10, published=Accuracy(80.0)) for m in (79.0, 84.0)]
    assert settings.distance([*cells, ComparedAccuracy(1.0, 1.0, 10)]) == pytest.approx(2.5)


def test_search_takes_what_validation_says_and_shows_its_test(tmp_path: Path) -> None:
    """The other setting is better on validation on every second split, and worse on test there."""
    file = open_records(tmp_path, settings.TARGET.name)
    other = "sgf@dropout=0.5"
    for split in SPLITS:
        file.append([record("sgf", split, 0.8, 0.8)])
        file.append([record(other, split, 0.9 if split % 2 else 0.7, 0.6)])
    row, none, chosen = settings.TARGET.build(tmp_path, Options()).blocks
    assert [r.label for r in row.rows] == ["sgf", other]
    assert not none.rows
    default, picked, p = (r.cells[0] for r in chosen.rows)
    assert default == "80.00 ± 0.00"
    assert picked == "70.00 ± 10.00"
    assert 0 < float(str(p)) < 1


def test_distance_says_over_how_many_columns_it_is(tmp_path: Path) -> None:
    file = open_records(tmp_path, settings.TARGET.name)
    for split in SPLITS:
        file.append([record("sgf", split, 0.8, 0.8), record("sgf-authors", split, 0.8, 0.8)])
        file.append([replace(record("sgf", split, 0.8, 0.8), dataset="wisconsin")])
    full, part = settings.TARGET.build(tmp_path, Options()).blocks[0].rows
    assert full.cells[-1] == "3.81"
    assert part.cells[-1] == "0.56 (1 of 2)"
