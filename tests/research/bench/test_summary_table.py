from __future__ import annotations

import csv
import io

import pytest

from graphfilter.report.tables import text_rows, to_csv, to_latex, to_markdown
from graphfilter_research.bench.summary import CellSummary, Summary
from graphfilter_research.bench.tables import make_table, title

NASTY = r"a_b & 50% #1 {x} ~^\ $ | *y*"


@pytest.fixture
def summary() -> Summary:
    return Summary(
        "stratified",
        "row",
        "accuracy",
        ("cora", NASTY),
        ("sgf", "mlp", "gat"),
        {
            ("cora", "sgf"): CellSummary(0.8888, 0.0121, 10, 0, mark="best"),
            ("cora", "mlp"): CellSummary(0.7, 0.02, 8, 2, p_value=0.001),
            (NASTY, "sgf"): CellSummary(0.5, 0.1, 10, 0, p_value=0.6, mark="tied"),
            (NASTY, "mlp"): CellSummary(0.51, 0.1, 10, 0, mark="best"),
            (NASTY, "gat"): CellSummary(float("nan"), float("nan"), 0, 10),
        },
    )


def test_text_table_shows_runs_failures_and_marks(summary: Summary) -> None:
    heads, rows = text_rows(make_table(summary).blocks[0])
    assert heads == ["model", "cora", NASTY]
    assert rows == [
        ["sgf", "88.88 ± 1.21 * (10)", "50.00 ± 10.00 ≈ (10)"],
        ["mlp", "70.00 ± 2.00   (8, 2 failed)", "51.00 ± 10.00 * (10)"],
        ["gat", "", "(10 failed)"],
    ]


def test_title_names_the_protocol(summary: Summary) -> None:
    assert "splits stratified, features row" in title(summary)
    assert "population" in title(summary)


def test_markdown_table_keeps_its_columns_whatever_the_names(summary: Summary) -> None:
    lines = [line for line in to_markdown(make_table(summary)).splitlines() if line.startswith("|")]
    assert lines[0] == (
        r"| model | cora | a\_b & 50% #1 {x} ~^\\ $ \| \*y\* |"
    )  # fmt: skip
    unescaped = [line.replace(r"\|", "").count("|") for line in lines]
    assert unescaped == [4] * 5
    assert lines[2] == "| sgf | **88.88 ± 1.21** (10) | _50.00 ± 10.00_ (10) |"


def test_latex_table_escapes_names(summary: Summary) -> None:
    lines = to_latex(make_table(summary)).splitlines()
    heads = lines[lines.index(r"\toprule") + 1]
    assert heads == (
        r"model & cora & a\_b \& 50\% \#1 \{x\} "
        r"\textasciitilde{}\textasciicircum{}\textbackslash{} \$ | *y* \\"
    )
    assert r"sgf & \textbf{88.88 $\pm$ 1.21} (10) & \underline{50.00 $\pm$ 10.00} (10) \\" in lines
    assert all(line.startswith("%") for line in lines[: lines.index(r"\begin{tabular}{lrr}")])


def test_csv_table_holds_every_number_in_full(summary: Summary) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv([make_table(summary)]))))
    assert len(rows) == 5
    assert rows[2]["dataset"] == NASTY
    assert float(rows[0]["mean"]) == 0.8888
    assert (rows[1]["runs"], rows[1]["failed"], rows[1]["p_value"]) == ("8", "2", "0.001")
    assert (rows[4]["mean"], rows[4]["failed"], rows[4]["mark"]) == ("", "10", "")


def test_log_loss_is_no_percentage() -> None:
    summary = Summary(
        "fixed", "auto", "log_loss", ("d",), ("m",), {("d", "m"): CellSummary(0.51234, 0.01, 3, 0)}
    )
    assert text_rows(make_table(summary).blocks[0])[1] == [["m", "0.512 ± 0.010"]]
