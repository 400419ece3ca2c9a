"""Ours beside the published: the test of noise, and the forms of a table."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_ind

from graphfilter.bench import Record
from graphfilter.paper.forms import Block, Rendered, Row, text_rows, to_csv, to_latex, to_markdown
from graphfilter.paper.published_accuracy import Accuracy
from graphfilter.paper.versus import Versus, versus

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
    ours = Versus(OURS.mean(), OURS.std(), len(OURS), published=printed)
    expected = ttest_ind(OURS, THEIRS, equal_var=False).pvalue
    assert ours.p_value == pytest.approx(expected, rel=1e-9)


def test_p_value_takes_a_published_mean_without_deviation_as_exact():
    ours = Versus(OURS.mean(), OURS.std(), len(OURS), published=Accuracy(86.0))
    assert ours.p_value == pytest.approx(ttest_1samp(OURS, 86.0).pvalue, rel=1e-9)


def test_marks_say_above_below_and_within_noise():
    near, far = Accuracy(87.0, 1.0), Accuracy(70.0, 1.0)
    assert Versus(87.2, 1.0, 10, published=near).mark == "≈"
    assert Versus(87.2, 1.0, 10, published=far).mark == "▲"
    assert Versus(60.0, 1.0, 10, published=far).mark == "▼"
    assert Versus(100.0, 0.0, 10, published=Accuracy(100.0, 0.0)).mark == "≈"
    assert Versus(99.0, 0.0, 10, published=Accuracy(100.0, 0.0)).mark == "▼"
    assert Versus(87.2, 1.0, 1, published=near).mark == ""
    assert Versus(87.2, 1.0, 10).difference is None


def test_versus_counts_failures_only_where_they_never_went_well():
    records = [make_record(0, None), make_record(0, 0.5), make_record(1, 0.7), make_record(2, None)]
    got = versus(records)
    assert (got.mean, got.deviation) == pytest.approx((60, 10))
    assert (got.n, got.n_failed) == (2, 1)
    assert str(got) == "60.00 ± 10.00 (1 failed)"
    assert str(versus([make_record(0, None)])) == "1 failed"


def make_table() -> Rendered:
    rows = (
        Row("SGF_a", (Versus(87.5, 1.0, 10, published=Accuracy(88.97, 1.21)), "234.5")),
        Row("MLP", (Versus(75.0, 1.0, 10), "1")),
        Row("GCN, printed", (Accuracy(85.77), "")),
    )
    return Rendered("Table 9", (Block("Our runs", ("Cora", "#Iteration"), rows),))


def test_forms_show_ours_the_published_and_the_difference():
    table = make_table()
    heads, rows = text_rows(table.blocks[0])
    assert heads == ["Methods", "Cora", "#Iteration"]
    assert rows[0] == ["SGF_a", "87.50 ± 1.00 (-1.47 ▼)", "234.5"]
    markdown = to_markdown(table)
    assert r"| SGF\_a | **87.50 ± 1.00**<br>paper 88.97 ± 1.21<br>-1.47 ▼ | 234.5 |" in markdown
    assert "Welch" in markdown
    latex = to_latex(table)
    assert r"SGF\_a & \textbf{87.50 $\pm$ 1.00} & 234.5 \\" in latex
    assert latex.count(r"\begin{tabular}{lrr}") == latex.count(r"\end{tabular}") == 1


def test_csv_form_holds_every_number():
    first, note, _, _, printed, _ = csv.DictReader(io.StringIO(to_csv(make_table())))
    assert float(first["published"]) == 88.97
    assert float(first["difference"]) == pytest.approx(-1.47)
    assert first["verdict"] == "below"
    assert note["mean"] == "234.5"
    # What was printed is not what was measured.
    assert (printed["mean"], printed["published"]) == ("", "85.77")
