"""A semicolon-separated export with dates, euros and gaps, from the files to new predictions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

QUICK = ("--epochs", 20, "--no-baselines", "--model", "sgf")
N = 90


def write_export(folder: Path, n: int = N, *, english: bool = False, last: str = "x") -> tuple:
    """Write customers and who knows whom; the last one has a label of its own."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, n)
    lines = ["Kundennr;Eintritt;Umsatz;Ort;Status"]
    for i in range(n):
        amount = f"{1000 * kind[i] + rng.random() * 500:.2f}"
        day = f"{1 + i % 28:02d}.{1 + i % 12:02d}.2024"
        status = last if i == n - 1 else ("aktiv", "gekündigt")[kind[i]] if i % 3 else ""
        if english:
            day = "-".join(reversed(day.split(".")))
            money = f'"{float(amount):,.2f} EUR"'
        else:
            money = f"{amount.replace('.', ',')} €"
        money = "" if i % 7 == 0 else money
        lines.append(f"{i:05d};{day};{money};{('Köln', 'Bonn')[i % 2]};{status}")
    edges = ["von;nach"]
    for i in range(n):
        same = np.flatnonzero(kind == kind[i])
        edges += [f"{i:05d};{j:05d}" for j in rng.choice(same, 3)]
    paths = folder / "kunden.csv", folder / "kontakte.csv"
    for path, rows in zip(paths, (lines, edges), strict=True):
        text = "\r\n".join(rows) + "\r\n"
        if english:
            text = text.replace(";", ",")
        path.write_bytes(text.encode("utf-8" if english else "cp1252"))
    return ("--edges", paths[1], "--vertices", paths[0])


@pytest.fixture
def run(graphfilter, tmp_path: Path) -> Path:
    tables = write_export(tmp_path, last="aktiv")
    words = ("--label", "Status", "--out", tmp_path / "run", *QUICK)
    result = graphfilter("fit", *tables, *words)
    assert result.code == 0, result.err
    for said in (
        "kunden.csv: found columns separated by semicolon, encoding cp1252",
        "'Kundennr' as the id",
        "'Eintritt' read as a date: days",
        "'Umsatz' read as numbers with the currency EUR and a decimal comma",
        "1 column has missing values ('Umsatz')",
    ):
        assert result.err.count(said) == 1, said
    return tmp_path / "run"


def test_predict_on_a_graph_that_grew_counts_new_labels_alone(
    graphfilter, run: Path, tmp_path: Path
) -> None:
    tables = write_export(tmp_path, N + 30, english=True, last="neu")
    result = graphfilter("predict", run, *tables, "--label", "Status", "--out", tmp_path / "p.csv")
    assert result.code == 0, result.err
    assert "labelled vertices not used for training" in result.out
    assert "1 class was never seen in training ('neu'): 1 vertex cannot be right." in result.out
    assert "'Kundennr' as the id (as in the fit)" in result.err


def test_predict_says_what_a_new_table_lacks(graphfilter, run: Path, tmp_path: Path) -> None:
    tables = write_export(tmp_path)
    path = tmp_path / "kunden.csv"
    path.write_bytes(path.read_bytes().replace(b"Umsatz", b"Umsatz 2025"))
    result = graphfilter("predict", run, *tables, "--out", tmp_path / "p.csv")
    assert result.code == 2
    assert "there is no column 'Umsatz'; did you mean 'Umsatz 2025'?" in result.err


def test_guesses_are_printed_before_the_error(graphfilter, tmp_path: Path) -> None:
    tables = write_export(tmp_path)
    result = graphfilter("inspect", *tables, "--label", "Umsatz")
    assert result.code == 2
    lines = result.err.strip().splitlines()
    assert lines[-1].startswith("error: ")
    assert any("'Kundennr' as the id" in line for line in lines[:-1])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--column", "Umsatz"), "must be NAME=KIND"),
        (("--column", "Umsatz=nubmer"), "did you mean 'number'"),
        (("--column", "Umstz=number"), "did you mean 'Umsatz'"),
        (("--delimiter", "ab"), "one character"),
        (("--encoding", "utf-9"), "unknown encoding"),
        (("--decimal", "x"), "'.' or ','"),
        (("--encoding", "utf-16"), "cannot be read"),
    ],
)
def test_inspect_explains_bad_options_of_tables(
    graphfilter, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    result = graphfilter("inspect", *write_export(tmp_path), "--label", "Status", *words)
    assert result.code == 2
    assert message in result.err


def test_inspect_takes_gaps_and_options_as_they_are(graphfilter, tmp_path: Path) -> None:
    words = ("--label", "Status", "--column", "Ort=drop", "--unlabelled", "gekündigt,x")
    words = (*words, "--delimiter", "semicolon", "--encoding", "latin-1", "--decimal", ",")
    result = graphfilter("inspect", *write_export(tmp_path, last="anders"), *words)
    assert result.code == 0, result.err
    assert "gekündigt" not in result.out
    assert "'Ort'" not in result.err
