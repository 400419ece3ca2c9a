"""--excel-safe: no cell of a CSV that a command writes begins a formula."""

from __future__ import annotations

import csv
from pathlib import Path

N = 24


def test_excel_safe_of_fit_predict_and_suggest(graphfilter, tmp_path: Path) -> None:
    signs = ("=", "+", "-", "@", "x")
    ids = [f"{signs[i % 5]}v{i}" for i in range(N)]
    labels = ["=ja" if i % 2 else "-nein" for i in range(18)] + [""] * (N - 18)
    rows = [
        f"{name},{i % 7},{label}\n" for i, (name, label) in enumerate(zip(ids, labels, strict=True))
    ]
    (tmp_path / "v.csv").write_text("id,x,kind\n" + "".join(rows))
    around = (f"{ids[i]},{ids[(i + 1) % N]}\n" for i in range(N))
    (tmp_path / "e.csv").write_text("u,v\n" + "".join(around))
    tables = ("--edges", tmp_path / "e.csv", "--vertices", tmp_path / "v.csv")
    fit = ("fit", *tables, "--label", "kind", "--model", "sgf", "--epochs", 2, "--layers", 2)
    files = {name: tmp_path / name / "predictions.csv" for name in ("plain", "safe")}
    for name, words in (("plain", ()), ("safe", ("--excel-safe",))):
        out = ("--out", tmp_path / name, "--no-baselines", "--quiet")
        assert graphfilter(*fit, *out, *words).code == 0
    run = tmp_path / "safe"
    predict = ("predict", run, *tables, "--quiet", "--excel-safe")
    result = graphfilter(*predict, "--out", tmp_path / "p.csv")
    assert result.code == 0
    assert "all new" not in result.out
    assert "6 unlabelled in the run" in result.out
    suggest = ("suggest", run, "--n", 3, "--quiet", "--excel-safe")
    assert graphfilter(*suggest, "--csv", tmp_path / "s.csv").code == 0
    assert read(files["plain"])[1][0] == "=v0"
    for path in (files["safe"], tmp_path / "p.csv", tmp_path / "s.csv"):
        cells = [cell for row in read(path) for cell in row if not is_number(cell)]
        assert not [cell for cell in cells if cell.startswith(signs[:4])]
    bare = [[cell.removeprefix("'") for cell in row] for row in read(files["safe"])]
    assert bare == read(files["plain"])
    assert "--excel-safe" in (run / "config.json").read_text()


def read(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file))


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
