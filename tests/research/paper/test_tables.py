"""Tables of ours beside the paper's, in every form."""

from __future__ import annotations

import csv
import io

import pytest

from graphfilter.report.tables import text_rows, to_csv, to_latex, to_markdown
from graphfilter_research.paper.published import Accuracy
from graphfilter_research.paper.tables import Block, ComparedAccuracy, Rendered, Row, make_table


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
