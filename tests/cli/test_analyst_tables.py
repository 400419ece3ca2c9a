"""What the command line says of three analysts' tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.analyst_tables import make_fraud, make_revenue


def test_inspect_takes_numbers_and_several_labels(graphfilter, tmp_path: Path) -> None:
    files = make_revenue(60).write(tmp_path / "revenue")[:4]
    result = graphfilter("inspect", *files, "--number", "revenue", "--quiet")
    assert result.code == 0
    assert "Neighbours have similar values" in result.out
    refused = graphfilter("inspect", *files, "--number", "revenue", "--label", "region")
    assert refused.code == 2
    assert "--label is for one class per vertex" in refused.err
    fraud = make_fraud(60, 30).write(tmp_path / "fraud")[:4]
    labels = graphfilter("inspect", *fraud, "--multilabel", "rooted,is_fraud", "--quiet")
    assert labels.code == 0
    assert "is_fraud" in labels.out


def test_inspect_of_labels_on_one_side_looks_two_steps_away(graphfilter, tmp_path: Path) -> None:
    files = make_fraud(60, 30).write(tmp_path)[:4]
    offered = graphfilter("inspect", *files)
    assert offered.code == 2
    assert "--label may name 'is_fraud'" in offered.err
    result = graphfilter("inspect", *files, "--label", "is_fraud", "--vertex-kind", "type")
    assert result.code == 0
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
    assert result.code == 0, result.err
    assert "those before 2024-01-01; predictions use all." in result.err
    early = graphfilter(*words, tmp_path / "no", "--edge-time", "first_seen", "--as-of", "2020")
    assert early.code == 2
    assert "must be a date like 2024-12-31" in early.err
    alone = graphfilter(*words, tmp_path / "no", "--as-of", "2024-01-01")
    assert "name their column, --edge-time" in alone.err
    again = graphfilter("predict", tmp_path / "run", *files[:4], "--out", tmp_path / "labels.csv")
    assert again.code == 0, again.err


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (lambda label: "", "every label is blank, or is one that means unlabelled. Label some"),
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
        result = graphfilter(*words, *files, "--quiet")
        assert result.code == 2
        assert said in result.err
        assert "name another column with --label" in result.err
        assert "Traceback" not in result.err
    assert not (tmp_path / "run").exists()
