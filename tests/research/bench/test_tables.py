"""The writers of tables, on tables made by hand."""

from __future__ import annotations

import csv
import io

import pytest

from graphfilter.report.tables import (
    Block,
    Cell,
    Legend,
    Numbers,
    Row,
    Table,
    text_rows,
    to_csv,
    to_latex,
    to_markdown,
)

ROWS = (
    Row("a_1", (Cell("1 ± 2", "best", sign="*"), Cell("3"))),
    Row("b", (Cell("", note="(2 failed)"), Cell("4", "tied", note="(9)")), latex="$b$"),
)


def make_headed() -> Table:
    first = Block("One_1", ("x", "y_z"), ROWS)
    second = Block("Two", ("x", "y_z"), ROWS[:1], verbatim_columns=True)
    return Table("T", (first, second), ("a note",), Legend("t", "m"))


def test_plain_text_shows_signs_notes_and_differences() -> None:
    cell = Cell("5", "best", sign="*", published="6", difference="-1.00 ")
    heads, rows = text_rows(Block("", ("x",), (Row("r", (cell,)), Row("s", (Cell(""),))), "first"))
    assert heads == ["first", "x"]
    assert rows == [["r", "5 * (-1.00)"], ["s", ""]]


def test_markdown_of_headed_blocks_is_a_document() -> None:
    assert to_markdown(make_headed()) == (
        "# T\n\n"
        "**One\\_1**\n\n| Methods | x | y\\_z |\n| :-- | --: | --: |\n"
        "| a\\_1 | **1 ± 2** | 3 |\n| b | (2 failed) | _4_ (9) |\n\n"
        "**Two**\n\n| Methods | x | y_z |\n| :-- | --: | --: |\n| a\\_1 | **1 ± 2** | 3 |\n\n"
        "a note\n\nm\n"
    )


def test_markdown_of_a_block_without_heading_is_titled_by_its_table() -> None:
    table = Table("T", (Block("", ("x",), (Row("r", (Cell("1"),)),)),))
    assert to_markdown(table) == "**T**\n\n| Methods | x |\n| :-- | --: |\n| r | 1 |\n"


def test_markdown_shows_the_published_value_and_the_difference_below() -> None:
    cells = (Cell("5", published="6 ± 1", difference="-1.00 ▼"), Cell("", published="7"))
    table = Table("T", (Block("H", ("x", "y"), (Row("r", cells),)),))
    assert "| r | 5<br>paper 6 ± 1<br>-1.00 ▼ | <br>paper 7 |" in to_markdown(table)


def test_latex_repeats_the_columns_only_where_they_change() -> None:
    latex = to_latex(make_headed())
    assert latex.count(r" & x & y\_z \\") == 1
    assert [line for line in latex.splitlines() if "multicolumn" in line] == [
        r"\multicolumn{3}{l}{One\_1} \\", r"\multicolumn{3}{l}{Two} \\",
    ]  # fmt: skip
    assert r"a\_1 & \textbf{1 $\pm$ 2} & 3 \\" in latex
    assert r"$b$ & (2 failed) & \underline{4} (9) \\" in latex


def test_latex_without_headings_names_the_first_column() -> None:
    table = Table("T", (Block("", ("x",), (Row("r", (Cell("1"),)),), "model"),), legend=Legend())
    assert to_latex(table).splitlines() == [
        "% T", r"\begin{tabular}{lr}", r"\toprule", r"model & x \\", r"\midrule", r"r & 1 \\",
        r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip


@pytest.mark.parametrize("n_tables", [1, 2])
def test_csv_holds_the_numbers_of_all_tables_under_one_head(n_tables: int) -> None:
    table = Table("T", (), numbers=Numbers(("name", "value"), (("a, b", 0.1), ("c", None))))
    rows = list(csv.reader(io.StringIO(to_csv([table] * n_tables))))
    assert rows == [["name", "value"], *[["a, b", "0.1"], ["c", ""]] * n_tables]
