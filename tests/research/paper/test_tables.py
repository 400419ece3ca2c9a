"""Tables of ours beside the paper's: what is compared, what is left empty, in every form."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_ind
from tests.processes import forking

from graphfilter.systems import get_system
from graphfilter_research.bench.matrix import run_matrix
from graphfilter_research.bench.record import Record, RecordFile, read_records
from graphfilter_research.paper import accuracy_table, peer_table
from graphfilter_research.paper.collect import Options, open_records, pairs_of, read_target_records
from graphfilter_research.paper.published import Accuracy
from graphfilter_research.paper.table4 import stacking_system
from graphfilter_research.paper.tables import (
    Block,
    ComparedAccuracy,
    Rendered,
    Row,
    compare_accuracy,
    compare_chosen,
    make_table,
)
from graphfilter_research.paper.targets import TARGETS
from graphfilter_research.tables import text_rows, to_csv, to_latex, to_markdown


def make_rendered() -> Rendered:
    rows = (
        Row("SGF_a", (ComparedAccuracy(87.5, 1.0, 10, published=Accuracy(88.97, 1.21)), "234.5")),
        Row("MLP", (ComparedAccuracy(75.0, 1.0, 10), "1")),
        Row("GCN, printed", (Accuracy(85.77), "")),
    )
    return Rendered("Table 9", (Block("Our runs", ("Cora", "#Iteration"), rows),))


def test_table_shows_ours_the_published_and_the_difference():
    table = make_table(make_rendered())
    heads, rows = text_rows(table.blocks[0])
    assert heads == ["Methods", "Cora", "#Iteration"]
    assert rows[0] == ["SGF_a", "87.50 ± 1.00 (-1.47 ▼)", "234.5"]
    markdown = to_markdown(table)
    assert r"| SGF\_a | **87.50 ± 1.00**<br>paper 88.97 ± 1.21<br>-1.47 ▼ | 234.5 |" in markdown
    assert "Welch" in markdown
    latex = to_latex(table)
    assert r"SGF\_a & \textbf{87.50 $\pm$ 1.00} & 234.5 \\" in latex
    assert latex.count(r"\begin{tabular}{lrr}") == latex.count(r"\end{tabular}") == 1


def test_csv_of_the_table_holds_every_number():
    first, note, _, _, printed, _ = csv.DictReader(
        io.StringIO(to_csv([make_table(make_rendered())]))
    )
    assert float(first["published"]) == 88.97
    assert float(first["difference"]) == pytest.approx(-1.47)
    assert first["verdict"] == "below"
    assert note["mean"] == "234.5"
    # What was printed is not what was measured.
    assert (printed["mean"], printed["published"]) == ("", "85.77")


QUICK = Options(quick=True, device="cpu")


@pytest.mark.usefixtures("tiny")
def test_table_columns_hold_both_dropouts_and_both_scalings(tmp_path: Path) -> None:
    TARGETS["table2"].collect(tmp_path, QUICK, None)
    chosen, first, second, literature = TARGETS["table2"].render(tmp_path, QUICK).blocks
    assert "by validation accuracy" in chosen.heading
    assert [row.label for row in first.rows][-2:] == ["SGF", "SGF (dropout everywhere)"]
    assert "the paper's setting" in first.heading
    assert "as they are" in second.heading
    assert literature.rows[0].label == "GCN"
    records = read_target_records(tmp_path, "table2-quick")
    for block, scaling in ((first, "row"), (second, "none")):
        for row, model in ((-2, "sgf"), (-1, "sgf-every-layer")):
            mine = [r for r in records if (r.model, r.scaling) == (model, scaling)]
            assert len(mine) == 2
            assert block.rows[row].cells == (compare_accuracy(mine),)
            assert [r.stopped for r in mine] == ["max_epochs"] * 2


@pytest.mark.usefixtures("tiny")
def test_literature_is_run_on_the_geom_gcn_splits_when_asked() -> None:
    """With stand-ins: the layers of PyTorch Geometric have tests of their own."""
    titles = {"sgc": "GCN", "mlp": "GAT"}
    literature = {name: {"texas": Accuracy(50.0)} for name in titles}
    small = replace(
        accuracy_table.TABLE_OF_LOW, fixed=("texas",), literature=literature, systems=("mlp",),
        ours=("mlp",), others=tuple(titles), variants=(),
    )  # fmt: skip
    pairs = small.pairs(["texas"], replace(QUICK, literature=True, variants=True))
    assert [(p.model, p.split_rule, p.scaling) for p in pairs] == [
        ("mlp", "stratified", "row"), ("mlp", "fixed", "row"),
        ("mlp", "stratified", "none"), ("mlp", "fixed", "none"),
        ("sgc", "fixed", "row"), ("mlp", "fixed", "row"),
    ]  # fmt: skip


@pytest.mark.usefixtures("tiny")
def test_stacking_system_runs_in_processes_as_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphfilter_research.bench.matrix.get_context", forking)
    pairs = pairs_of(["karate"], [stacking_system("sgf-horizontal", 32)], QUICK)
    for name, jobs in (("one", 1), ("many", 2)):
        run_matrix(pairs, RecordFile(tmp_path / f"{name}.jsonl"), jobs=jobs)
    one, many = (read_records(tmp_path / f"{name}.jsonl") for name in ("one", "many"))
    assert [(r.model, r.seed) for r in one] == [("sgf-horizontal-32", 0), ("sgf-horizontal-32", 1)]
    assert [r.scores for r in one] == [r.scores for r in many]


PARTS: tuple[str, ...] = ("train", "val", "test")


def record(dataset: str, model: str, split: int, rule: str, scaling: str, test: float) -> Record:
    part = {"n_vertices": 30, "accuracy": test, "roc_auc": test / 2}
    scores = dict.fromkeys(PARTS, part)
    return Record(dataset, model, rule, split, split, scaling, {}, "cpu", scores=scores)


def test_printed_number_is_beside_the_runs_of_its_splits_and_scaling(tmp_path: Path) -> None:
    file = open_records(tmp_path, peer_table.TARGET.name)
    for rule, scaling, test in (("fixed", "row", 0.8), ("stratified", "auto", 0.7)):
        file.append([record("cora", "fsgnn", i, rule, scaling, test) for i in range(10)])
    file.append([record("minesweeper", "gcn-tuned", i, "fixed", "auto", 0.9) for i in range(10)])
    file.append([record("photo_lcc", "committee", i, "stratified", "auto", 0.6) for i in range(10)])
    printed, everywhere, components = peer_table.TARGET.build(tmp_path, Options()).blocks
    cells = {row.label: row.cells[0] for row in printed.rows}
    fsgnn, tuned = cells["FSGNN, cora"], cells["GCN (Luo et al.), minesweeper"]
    assert isinstance(fsgnn, ComparedAccuracy)
    assert (round(fsgnn.mean, 6), fsgnn.n, fsgnn.mark) == (80.0, 10, "▼")
    assert isinstance(tuned, ComparedAccuracy)
    assert round(tuned.mean, 6) == 45.0
    assert str(cells["GloGNN, cora"]) == ""
    rows = {row.label: [str(cell) for cell in row.cells] for row in everywhere.rows}
    assert rows == {"cora": ["70.00 ± 0.00", ""], "minesweeper": ["", "45.00 ± 0.00"]}
    assert [(row.label, str(row.cells[0])) for row in components.rows] == [
        ("photo_lcc", "60.00 ± 0.00")
    ]


def test_printed_systems_are_known() -> None:
    assert all(get_system(one.system).trained for one in peer_table.PRINTED)


def test_run_that_was_meant_to_end_at_the_limit_is_not_cut() -> None:
    def stopped(patience: int) -> Record:
        config = {"max_epochs": 500, "patience": patience}
        return Record(
            "cora", "gcn-tuned", "fixed", 0, 0, "row", config, "cpu", stopped="max_epochs"
        )

    assert stopped(200).cut
    assert not stopped(500).cut


RNG = np.random.default_rng(0)
OURS = RNG.normal(87, 1.5, 7)
THEIRS = RNG.normal(88, 0.5, 10)


def make_record(seed: int, accuracy: float | None) -> Record:
    scores = {} if accuracy is None else {"test": {"accuracy": accuracy}}
    status = "failed" if accuracy is None else "ok"
    return Record(
        "cora", "sgf", "stratified", seed, seed, "row", {}, "cpu", status=status, scores=scores
    )


def test_p_value_is_that_of_welchs_test_on_the_runs_themselves():
    printed = Accuracy(THEIRS.mean(), THEIRS.std())
    ours = ComparedAccuracy(OURS.mean(), OURS.std(), len(OURS), published=printed)
    expected = ttest_ind(OURS, THEIRS, equal_var=False).pvalue
    assert ours.p_value == pytest.approx(expected, rel=1e-9)


def test_p_value_takes_a_published_mean_without_deviation_as_exact():
    ours = ComparedAccuracy(OURS.mean(), OURS.std(), len(OURS), published=Accuracy(86.0))
    assert ours.p_value == pytest.approx(ttest_1samp(OURS, 86.0).pvalue, rel=1e-9)


def test_marks_say_above_below_and_within_noise():
    near, far = Accuracy(87.0, 1.0), Accuracy(70.0, 1.0)
    assert ComparedAccuracy(87.2, 1.0, 10, published=near).mark == "≈"
    assert ComparedAccuracy(87.2, 1.0, 10, published=far).mark == "▲"
    assert ComparedAccuracy(60.0, 1.0, 10, published=far).mark == "▼"
    assert ComparedAccuracy(100.0, 0.0, 10, published=Accuracy(100.0, 0.0)).mark == "≈"
    assert ComparedAccuracy(99.0, 0.0, 10, published=Accuracy(100.0, 0.0)).mark == "▼"
    assert ComparedAccuracy(87.2, 1.0, 1, published=near).mark == ""
    assert ComparedAccuracy(87.2, 1.0, 10).difference is None


def test_compared_accuracy_counts_failures_only_where_they_never_went_well():
    records = [make_record(0, None), make_record(0, 0.5), make_record(1, 0.7), make_record(2, None)]
    got = compare_accuracy(records)
    assert (got.mean, got.deviation) == pytest.approx((60, 10))
    assert (got.n, got.n_failed) == (2, 1)
    assert str(got) == "60.00 ± 10.00 (1 failed)"
    assert str(compare_accuracy([make_record(0, None)])) == "1 failed"


def test_compared_accuracy_counts_runs_that_were_cut():
    records = [replace(make_record(i, 0.5), stopped="max_epochs") for i in range(2)]
    got = compare_accuracy([*records, replace(make_record(2, 0.5), stopped="patience")])
    assert got.n_cut == 2
    assert str(got) == "50.00 ± 0.00 (2 cut)"


def test_nothing_is_claimed_across_rules_of_splitting():
    """Texas is printed of the Geom-GCN splits: on others the difference is shown, not judged."""
    runs = [replace(make_record(i, 0.8 + i / 1000), dataset="texas") for i in range(10)]
    other = compare_accuracy(runs, Accuracy(80.56, 5.63))
    assert (other.mark, other.p_value) == ("", None)
    assert other.difference is not None
    same = compare_accuracy([replace(r, split_rule="fixed") for r in runs], other.published)
    assert (same.mark, same.mean) == ("≈", other.mean)


def test_scaling_is_chosen_by_validation_and_not_by_test():
    """Raw features are better on test vertices here, and must not win by that."""
    scores = {"row": (0.9, 0.5), "none": (0.8, 0.7)}
    records = [
        replace(
            make_record(0, test), scaling=scaling,
            scores={"val": {"accuracy": val}, "test": {"accuracy": test}},
        )
        for scaling, (val, test) in scores.items()
    ]  # fmt: skip
    got = compare_chosen(records, "cora", "sgf", scalings={"row": "row", "none": "raw"})
    assert str(got) == "50.00 ± 0.00 (row)"
