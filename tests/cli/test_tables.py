"""Tables as people have them: cut, mixed, guessed, and safe for Excel."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.analyst_tables import make_fraud, make_revenue


def test_inspect_takes_numbers_and_several_labels(graphfilter, tmp_path: Path) -> None:
    files = make_revenue(60).write(tmp_path / "revenue")[:4]
    result = graphfilter("inspect", *files, "--number", "revenue", "--quiet")
    assert "Neighbours have similar values" in result.out
    refused = graphfilter("inspect", *files, "--number", "revenue", "--label", "region", code=2)
    assert "--label is for one class per vertex" in refused.err
    fraud = make_fraud(60, 30).write(tmp_path / "fraud")[:4]
    labels = graphfilter("inspect", *fraud, "--multilabel", "rooted,is_fraud", "--quiet")
    assert "is_fraud" in labels.out


def test_inspect_of_labels_on_one_side_looks_two_steps_away(graphfilter, tmp_path: Path) -> None:
    files = make_fraud(60, 30).write(tmp_path)[:4]
    offered = graphfilter("inspect", *files, code=2)
    assert "--label may name 'is_fraud'" in offered.err
    result = graphfilter("inspect", *files, "--label", "is_fraud", "--set", "vertex_kind=type")
    assert "frequency at two steps" in result.out
    assert "No two labelled vertices are adjacent" in result.out
    assert "missing" not in result.err


def test_fit_trains_on_edges_before_a_date(graphfilter, tmp_path: Path) -> None:
    files = make_fraud(60, 30).write(tmp_path / "tables")
    words = ("fit", *files, "--model", "sgf", "--epochs", 2, "--no-baselines", "--out")
    result = graphfilter(
        *words, tmp_path / "run", "--weight", "logins", "--edge-time", "first_seen",
        "--as-of", "2024-01-01",
    )  # fmt: skip
    assert "those before 2024-01-01; predictions use all." in result.err
    early = graphfilter(
        *words, tmp_path / "no", "--edge-time", "first_seen", "--as-of", "2020", code=2
    )
    assert "must be a date like 2024-12-31" in early.err
    alone = graphfilter(*words, tmp_path / "no", "--as-of", "2024-01-01", code=2)
    assert "name their column, --edge-time" in alone.err
    graphfilter("predict", tmp_path / "run", *files[:4], "--out", tmp_path / "labels.csv")


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (lambda label: "", "no vertex is labelled"),
        (lambda label: label and "0", "every label is '0'. Label some vertices of another class"),
    ],
    ids=["blank", "one class"],
)
def test_labels_that_teach_nothing_are_one_line_with_the_remedy(
    graphfilter, tmp_path: Path, cells, said: str
) -> None:
    made = make_fraud(60, 30)
    spoilt = {**made.vertices, "is_fraud": [cells(label) for label in made.vertices["is_fraud"]]}
    files = replace(made, vertices=spoilt).write(tmp_path / "tables")
    for words in (("inspect",), ("fit", "--out", tmp_path / "run")):
        result = graphfilter(*words, *files, "--quiet", code=2)
        assert said in result.err
        assert "name another column with --label" in result.err
        assert "Traceback" not in result.err
    assert not (tmp_path / "run").exists()


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
    assert re.search(r"\d+ labelled \w+ not used for training", result.out)
    assert re.search(r"Never seen in training: 'neu'; 1 \w+ cannot be right\.", result.out)
    assert "'Kundennr' as the id (as in the fit)" in result.err


def test_predict_says_what_a_new_table_lacks(graphfilter, run: Path, tmp_path: Path) -> None:
    tables = write_export(tmp_path)
    path = tmp_path / "kunden.csv"
    path.write_bytes(path.read_bytes().replace(b"Umsatz", b"Umsatz 2025"))
    result = graphfilter("predict", run, *tables, "--out", tmp_path / "p.csv", code=2)
    assert "there is no column 'Umsatz'; did you mean 'Umsatz 2025'?" in result.err


def test_guesses_are_printed_before_the_error(graphfilter, tmp_path: Path) -> None:
    tables = write_export(tmp_path)
    result = graphfilter("inspect", *tables, "--label", "Umsatz", code=2)
    lines = result.err.strip().splitlines()
    assert lines[-1].startswith("error: ")
    assert any("'Kundennr' as the id" in line for line in lines[:-1])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--column", "Umsatz"), "must be NAME=KIND"),
        (("--column", "Umsatz=nubmer"), "did you mean 'number'"),
        (("--column", "Umstz=number"), "did you mean 'Umsatz'"),
        (("--set", "delimiter=ab"), "one character"),
        (("--set", "encoding=utf-9"), "unknown encoding"),
        (("--set", "decimal=x"), "'.' or ','"),
        (("--set", "encoding=utf-16"), "cannot be read"),
    ],
)
def test_inspect_explains_bad_options_of_tables(
    graphfilter, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    result = graphfilter("inspect", *write_export(tmp_path), "--label", "Status", *words, code=2)
    assert message in result.err


def test_inspect_takes_gaps_and_options_as_they_are(graphfilter, tmp_path: Path) -> None:
    words = ("--label", "Status", "--column", "Ort=drop", "--unlabelled", "gekündigt,x")
    words = (
        *words,
        "--set",
        "delimiter=semicolon",
        "--set",
        "encoding=latin-1",
        "--set",
        "decimal=,",
    )
    result = graphfilter("inspect", *write_export(tmp_path, last="anders"), *words)
    assert "gekündigt" not in result.out
    assert "'Ort'" not in result.err


N_ROWS = 24


def test_excel_safe_of_fit_predict_and_suggest(graphfilter, tmp_path: Path) -> None:
    signs = ("=", "+", "-", "@", "x")
    ids = [f"{signs[i % 5]}v{i}" for i in range(N_ROWS)]
    labels = ["=ja" if i % 2 else "-nein" for i in range(18)] + [""] * (N_ROWS - 18)
    rows = [
        f"{name},{i % 7},{label}\n" for i, (name, label) in enumerate(zip(ids, labels, strict=True))
    ]
    (tmp_path / "v.csv").write_text("id,x,kind\n" + "".join(rows))
    around = (f"{ids[i]},{ids[(i + 1) % N_ROWS]}\n" for i in range(N_ROWS))
    (tmp_path / "e.csv").write_text("u,v\n" + "".join(around))
    tables = ("--edges", tmp_path / "e.csv", "--vertices", tmp_path / "v.csv")
    fit = (
        "fit",
        *tables,
        "--label",
        "kind",
        "--model",
        "sgf",
        "--epochs",
        2,
        "--set",
        "n_layers=2",
    )
    files = {name: tmp_path / name / "predictions.csv" for name in ("plain", "safe")}
    for name, words in (("plain", ()), ("safe", ("--set", "excel_safe"))):
        out = ("--out", tmp_path / name, "--no-baselines", "--quiet")
        graphfilter(*fit, *out, *words)
    run = tmp_path / "safe"
    predict = ("predict", run, *tables, "--quiet", "--set", "excel_safe")
    result = graphfilter(*predict, "--out", tmp_path / "p.csv")
    assert "all new" not in result.out
    assert "6 unlabelled in the run" in result.out
    suggest = ("suggest", run, "--n", 3, "--quiet", "--set", "excel_safe")
    graphfilter(*suggest, "--csv", tmp_path / "s.csv")
    assert {row[0] for row in read(files["plain"])[1:]} == {*ids}
    for path in (files["safe"], tmp_path / "p.csv", tmp_path / "s.csv"):
        cells = [cell for row in read(path) for cell in row if not is_number(cell)]
        assert not [cell for cell in cells if cell.startswith(signs[:4])]
    bare = [[cell.removeprefix("'") for cell in row] for row in read(files["safe"])]
    assert bare == read(files["plain"])
    assert "excel_safe" in (run / "config.json").read_text()


def read(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_table_of_vertices_alone_is_fitted_and_predicted(graphfilter, tmp_path: Path) -> None:
    rows = "".join(f"v{i},{i % 5},{'ab'[i % 5 > 2]}\n" for i in range(60))
    (tmp_path / "v.csv").write_text(f"id,x,label\n{rows}")
    words = (
        "fit",
        "--vertices",
        tmp_path / "v.csv",
        "--model",
        "sgf",
        "--epochs",
        3,
        "--set",
        "n_layers=2",
    )
    fit = graphfilter(*words, "--no-baselines", "--out", tmp_path / "run")
    assert "no table of edges: vertices have no neighbours." in fit.err
    out = tmp_path / "labels.csv"
    graphfilter("predict", tmp_path / "run", "--vertices", tmp_path / "v.csv", "--out", out)
    assert len(out.read_text().splitlines()) == 61
    graphfilter("explain", tmp_path / "run", "--vertex", "v3")
    graphfilter("fit", "--edges", tmp_path / "v.csv", "--out", tmp_path / "no", code=2)
