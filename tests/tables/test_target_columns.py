"""Columns to be predicted, as people write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphfilter.tables.labels import read_label_columns, read_number_column
from graphfilter.util.errors import DataFileError


def write(folder: Path, text: str) -> Path:
    path = folder / "v.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_numbers_are_read_with_their_units_and_gaps(tmp_path: Path) -> None:
    path = write(tmp_path, "id;price\na;1.234,50 €\nb;\nc;12,00 €\nd;n/a")
    got = read_number_column(path, "price")
    np.testing.assert_array_equal(got, [1234.5, np.nan, 12.0, np.nan])


def test_labels_are_read_as_yes_and_no(tmp_path: Path) -> None:
    """An empty cell beside others is a no; a row without any is unknown."""
    path = write(tmp_path, "id,lift,garden\na,x,\nb,yes,0\nc,,\nd,no,1")
    got = read_label_columns(path, ["lift", "garden"])
    np.testing.assert_array_equal(got, [[1, 0], [1, 0], [np.nan, np.nan], [0, 1]])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("id,price\na,1\nb,cheap", "line 3: column 'price' must hold a number: 'cheap'"),
        ("id,price\na,1\nb,inf", "finite numbers"),
        ("id,price\na,1\nb,1", "two different numbers"),
        ("id,prices\na,1", "no column 'price'"),
    ],
)
def test_column_that_is_no_number_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(DataFileError, match=problem):
        read_number_column(write(tmp_path, text), "price")


def test_numbers_too_large_to_be_learned_are_refused_at_their_line(tmp_path: Path) -> None:
    path = write(tmp_path, "id,x\na,1\nb,-1e160\n")
    with pytest.raises(DataFileError, match=r"line 3: column 'x' must hold .* up to 1e\+150"):
        read_number_column(path, "x")


def test_words_that_mean_no_number_are_said_and_may_be_named(tmp_path: Path) -> None:
    table = tmp_path / "v.csv"
    table.write_text("id,price\na,1\nb,POA\nc,-\nd,POA\ne,2.5\nf,-999\n")
    with pytest.raises(DataFileError, match=r"'POA' is not a number.*2 such cells.*`unlabelled`"):
        read_number_column(table, "price")
    found = read_number_column(table, "price", unknown=("poa", "-", "-999"))
    np.testing.assert_array_equal(found, [1, np.nan, np.nan, np.nan, 2.5, np.nan])
