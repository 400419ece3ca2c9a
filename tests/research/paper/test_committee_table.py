"""The committee's table, and what the README says of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphfilter.data import make_csbm
from graphfilter.splits import stratified
from graphfilter.systems import Prepared, get_system, train_system
from graphfilter.systems.outcome import CommitteeOutcome
from graphfilter.systems.system import Committee
from graphfilter_research.bench.pair import blank_records
from graphfilter_research.bench.record import Record
from graphfilter_research.paper import committee_table, share_table
from graphfilter_research.paper.collect import Options, open_records
from graphfilter_research.paper.tables import ComparedAccuracy


def record(model: str, split: int, test: float, members: dict[str, Any] | None = None) -> Record:
    sizes = {"n_vertices": 30, "calibration_error": 0.02}
    scores = {part: {**sizes, "accuracy": test} for part in ("train", "val", "test")}
    scaling = "auto" if model.startswith("committee") else "none"
    return Record(
        "texas", model, "stratified", split, split, scaling, {}, "cpu", scores=scores,
        members=members or {},
    )  # fmt: skip


def test_best_other_is_the_best_on_test_of_those_with_ten_runs() -> None:
    runs = [record("mlp", i, 0.8) for i in range(10)] + [record("gcn", i, 0.6) for i in range(10)]
    few = [record("gat", i, 0.99) for i in range(9)]
    ours = [record("committee-low", i, 0.95) for i in range(10)]
    found = committee_table.best_other([*runs, *few, *ours], "texas")
    assert isinstance(found, ComparedAccuracy)
    assert found.mean == pytest.approx(80)
    assert str(found) == f"80.00 ± 0.00 ({get_system('mlp').title})"
    assert committee_table.best_other(runs, "cora") == ""


def test_table_shows_the_committee_apart_and_what_members_add(tmp_path: Path) -> None:
    member = {"share": 0.25, "without": {"accuracy": 0.8}, "test": {"calibration_error": 0.1}}
    file = open_records(tmp_path, committee_table.TARGET.name)
    for i in range(10):
        file.append([record("committee", i, 0.9, {"features": member})])
    scores, checks, lost, shares = committee_table.TARGET.build(tmp_path, Options()).blocks
    (row,) = scores.rows
    assert [str(cell) for cell in row.cells[:2]] == ["90.00 ± 0.00", ""]
    assert row.cells[3] == ""
    assert checks.rows[0].cells == ("", "", "2.0", "10.0 (features alone)")
    assert lost.rows[0].cells == ("-10.00",)
    assert shares.rows[0].cells == ("25",)
    assert lost.columns == ("features alone",)


def test_run_on_record_twice_counts_once_as_recorded_last() -> None:
    first = [record("mlp", i, 0.9) for i in range(10)]
    again = [replace(record("mlp", i, 0.5), network={"kind": "another"}) for i in range(10)]
    found = committee_table.best_other([*first, *again], "texas")
    assert isinstance(found, ComparedAccuracy)
    assert (found.mean, found.n) == (pytest.approx(50), 10)
    ours = [record("committee", i, 0.8) for i in range(10)]
    assert committee_table.against_all(ours, [*first, *again], "texas").endswith("worse 0")


def test_committee_is_compared_with_its_best_member() -> None:
    def members(i: int) -> dict[str, Any]:
        weak, strong = 0.5, 0.7 + 0.001 * (-1) ** i
        return {"deep": {"test": {"accuracy": weak}}, "features": {"test": {"accuracy": strong}}}

    runs = [record("committee", i, 0.8, members(i)) for i in range(10)]
    said = committee_table.against_best_member(runs, "accuracy")
    assert said == "better (features alone 70.00)"
    level = [record("committee", i, 0.7, members(i)) for i in range(10)]
    assert committee_table.against_best_member(level, "accuracy").startswith("level")


def test_others_are_counted_by_pairs_of_runs_on_the_same_split() -> None:
    ours = [record("committee", i, 0.8 + i / 100) for i in range(10)]
    noise = [0.05 * (-1) ** i for i in range(10)]
    others = [
        *(record("mlp", i, 0.7 + i / 100 + noise[i] / 10) for i in range(10)),
        *(record("gcn", i, 0.8 + i / 100 + noise[i]) for i in range(10)),
        *(record("gat", i, 0.9 + i / 100 + noise[i] / 10) for i in range(10)),
        *(record("sgf", i, 0.1) for i in range(9)),
        *(record("committee-low", i, 0.1) for i in range(10)),
        *(record("only-deep", i, 0.1) for i in range(10)),
    ]
    said = committee_table.against_all(ours, others, "texas")
    assert said == "better 1, level 1, worse 1 (GAT)"
    assert committee_table.against_all(ours, others[:5], "texas") == ""


def test_table_shows_low_effort_beside_the_committee(tmp_path: Path) -> None:
    member = {"share": 1.0, "without": {}, "test": {"calibration_error": 0.1}}
    file = open_records(tmp_path, committee_table.TARGET.name)
    file.append([record("committee", i, 0.9, {"features": member}) for i in range(10)])
    file.append([record("committee-low", i, 0.85, {"features": member}) for i in range(10)])
    (row,) = committee_table.TARGET.build(tmp_path, Options()).blocks[0].rows
    assert [str(row.cells[i]) for i in (0, 3)] == ["90.00 ± 0.00", "85.00 ± 0.00"]


def test_systems_are_ranked_by_their_mean_test_scores(tmp_path: Path) -> None:
    member = {"share": 1.0, "without": {}, "test": {"calibration_error": 0.1}}
    ours = open_records(tmp_path, committee_table.TARGET.name)
    ours.append([record("committee", i, 0.9, {"features": member}) for i in range(10)])
    others = open_records(tmp_path, "others")
    for model, accuracy in {"mlp": 0.7, "gcn": 0.8, "gat": 0.8}.items():
        others.append([record(model, i, accuracy) for i in range(10)])
    others.append([record("sgc", i, 0.99) for i in range(9)])
    ranked = committee_table.TARGET.build(tmp_path, Options()).blocks[2]
    assert ranked.heading == "Rank among 4 systems, 1 datasets"
    assert {row.label: row.cells for row in ranked.rows} == {
        "Committee of filters": ("1.0", "1"), "GCN": ("2.5", "0"), "GAT": ("2.5", "0"),
        "MLP": ("4.0", "0"),
    }  # fmt: skip


def test_ranked_systems_have_the_scaling_that_validation_chose(tmp_path: Path) -> None:
    """Of raw features with the better test score and rows with the better validation score."""
    member = {"share": 1.0, "without": {}, "test": {"calibration_error": 0.1}}
    ours = open_records(tmp_path, committee_table.TARGET.name)
    ours.append([record("committee", i, 0.8, {"features": member}) for i in range(10)])
    others = open_records(tmp_path, "others")
    for model in ("gcn", "gat", "mlp"):
        others.append([record(model, i, 0.6) for i in range(10)])
    for scaling, val, test in (("none", 0.7, 0.9), ("row", 0.75, 0.7)):
        runs = [record("sgc", i, test) for i in range(10)]
        for run in runs:
            run.scores["val"]["accuracy"] = val
        others.append([replace(run, scaling=scaling) for run in runs])
    ranked = committee_table.TARGET.build(tmp_path, Options()).blocks[2]
    assert [(row.label, row.cells) for row in ranked.rows][:2] == [
        ("Committee of filters", ("1.0", "1")), ("SGC", ("2.0", "0")),
    ]  # fmt: skip


# One per split, so that no two runs of a system are the same.
NOISE = [0.001 * (-1) ** i for i in range(10)]


def scored_run(dataset: str, model: str, split: int, test: float) -> Record:
    sizes = {"n_vertices": 30, "calibration_error": 0.02}
    member = {"share": 1.0, "without": {}, "test": {"accuracy": test, "roc_auc": test}}
    part = {**sizes, "accuracy": test, "roc_auc": test}
    return Record(
        dataset, model, committee_table.DATASETS[dataset], split, split, "auto", {}, "cpu",
        scores={"train": part, "val": part, "test": part},
        members={"features": member} if model == "committee" else {},
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ours = open_records(tmp_path, committee_table.TARGET.name)
    others = open_records(tmp_path, "peers")
    for dataset in committee_table.DATASETS:
        ours.append([scored_run(dataset, "committee", i, 0.8) for i in range(10)])
        others.append([scored_run(dataset, "gcn", i, 0.7 + NOISE[i]) for i in range(10)])
    return tmp_path


def test_summary_says_that_none_is_better(folder: Path) -> None:
    text = committee_table.summarise(folder)
    assert "none of them is significantly better on any of the 14 datasets above" in text
    assert "No other has a higher mean." in text
    assert "the best of 1 to 1 systems" in text
    assert "better on 0, level on 18 and worse on 0 of the 18 datasets." in text


def test_summary_names_what_is_better_and_where(folder: Path) -> None:
    others = open_records(folder, "peers")
    others.append([scored_run("minesweeper", "gat", i, 0.9 + NOISE[i]) for i in range(10)])
    others.append([scored_run("texas", "mlp", i, 0.805 + 50 * NOISE[i]) for i in range(10)])
    text = committee_table.summarise(folder)
    assert "on 13 of the 14 datasets above 1,000 vertices; better: GAT on `minesweeper` (90" in text
    assert "On the other 4 (`wisconsin`, `cornell`, `cornell_geomgcn` and `texas`) the comm" in text
    assert "higher mean on 2: `texas` and `minesweeper`." in text


def test_one_line_counts_the_highest_means_and_what_is_significant(folder: Path) -> None:
    others = open_records(folder, "peers")
    others.append([scored_run("minesweeper", "gat", i, 0.9 + NOISE[i]) for i in range(10)])
    others.append([scored_run("texas", "mlp", i, 0.805 + 50 * NOISE[i]) for i in range(10)])
    ours, theirs = committee_table.in_one_line(folder)
    assert ours == "the highest mean on 16, significantly below another on 1 of 14"
    assert theirs == "the best of 1 to 2 systems and settings, per graph, picked on test"


def test_table_of_the_summary_has_the_means(folder: Path) -> None:
    lines = committee_table.summarise(folder).splitlines()
    assert lines[2] == "| **Committee** |" + " 80.0 |" * len(committee_table.SHOWN)
    assert lines[3] == "| Best other on record |" + " 70.0 |" * len(committee_table.SHOWN)
    # A system that is on record everywhere has a row; no row has an empty cell.
    assert lines[4] == "| GCN |" + " 70.0 |" * len(committee_table.SHOWN)
    assert lines[5] == ""


def test_every_system_is_run_with_test_vertices_seen_and_new() -> None:
    pairs = share_table.NEW_VERTICES_TARGET.pairs(["cora"], Options(runs=2, device="cpu"))
    asked = {(pair.model, pair.split_rule) for pair in pairs}
    assert len(asked) == len(pairs) == 5 * 3 * 2
    assert {rule for _, rule in asked} == {
        f"{protocol}:{share}" for protocol in ("seen", "new") for share in ("0.05", "0.2", "0.5")
    }


def test_table_has_seen_and_new_side_by_side() -> None:
    pairs = share_table.NEW_VERTICES_TARGET.pairs(["cora"], Options(runs=1, device="cpu"))
    records = []
    for i, pair in enumerate(pairs):
        part = {"n_vertices": 10, "accuracy": 0.5 + i / 100}
        for record in blank_records(pair):
            record.scores.update(train=part, val=part, test=part)
            records.append(record)
    rendered = share_table.NEW_VERTICES_TARGET.show(records, ["cora"])
    (block,) = rendered.blocks
    assert block.columns == (
        "5 %, seen", "5 %, new", "20 %, seen", "20 %, new", "50 %, seen", "50 %, new",
    )  # fmt: skip
    cells = [cell for cell in block.rows[0].cells if isinstance(cell, ComparedAccuracy)]
    assert [round(float(cell.mean)) for cell in cells] == [50, 55, 60, 65, 70, 75]
    assert rendered.figure is not None


def test_summary_compares_with_those_that_have_the_same_folds(folder: Path) -> None:
    others = open_records(folder, "peers")
    others.append([scored_run("texas", "fsgnn-folds", i, 0.9 + NOISE[i]) for i in range(10)])
    others.append([scored_run("cornell", "fsgnn-folds", i, 0.8 + NOISE[i]) for i in range(10)])
    text = committee_table.summarise(folder)
    assert "the others only where they are given the same folds." in text
    assert "Of these FSGNN is level on `cornell` and FSGNN is better on `texas`." in text


def test_peers_with_folds_hold_out_what_the_committee_does() -> None:
    """Each labelled vertex once; and they keep their authors' setting of a dataset."""
    graph = make_csbm(n_vertices=120, frequency=0.3, n_features=5)
    assert graph.labels is not None
    split, prepared = stratified(graph.labels, 0), Prepared.of(graph, device="cpu")
    held = []
    for name in ("fsgnn-folds", "only-features"):
        (outcome,) = train_system(prepared, get_system(name).with_(max_epochs=2), [split], [0])
        assert isinstance(outcome, CommitteeOutcome)
        held.append(outcome.held)
    assert (held[0][split.train] >= 0).all()
    np.testing.assert_array_equal(*held)
    authors = get_system("fsgnn").for_dataset("texas")
    folded = get_system("fsgnn-folds").for_dataset("texas")
    assert isinstance(folded, Committee)
    assert folded.members == (authors,)
