"""graphfilter predict on a graph whose vertices the model knows by their ids."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from tests.cli.test_predict import GROWN, TARGETS, N, read, write_tables

LOW = ("--model", "committee-low", "--epochs", 5, "--no-baselines", "--no-keep-graph", "--quiet")


def test_known_vertices_are_told_and_forgotten_where_asked(graphfilter, tmp_path: Path) -> None:
    small = write_tables(tmp_path / "small", N)
    grown = write_tables(tmp_path / "grown", GROWN)
    run, forgetful = tmp_path / "run", tmp_path / "forgetful"
    fit = ("fit", *small, *TARGETS["kind"], *LOW)
    assert graphfilter(*fit, "--out", run).code == 0
    assert graphfilter(*fit, "--out", forgetful, "--forget-ids").code == 0

    def predict(folder: Path, name: str, *words: str) -> tuple[str, pd.DataFrame]:
        out = tmp_path / name
        result = graphfilter("predict", folder, *grown, *words, "--out", out, "--overwrite")
        assert result.code == 0, result.err
        assert "Warning" not in result.err
        return " ".join(result.out.split()), read(out)

    said, known = predict(run, "known.csv")
    assert f"{N} of {GROWN} vertices are known by id from the fit." in said
    said, new = predict(run, "new.csv", "--forget-ids")
    assert "The model keeps no ids (--as-of and --forget-ids leave them out)" in said
    assert "known by id" not in said
    assert (known["p_tea"] - new["p_tea"]).abs().max() > 1e-4
    said, same = predict(forgetful, "same.csv")
    assert "known by id" not in said
    pd.testing.assert_series_equal(same["p_tea"], new["p_tea"])
    # Ids that all mean others by now, and ids that nobody knows.
    table = pd.read_csv(grown[3], dtype=str)
    table["id"] = [f"v{(i + 77) % GROWN}" for i in range(GROWN)]
    table.to_csv(grown[3], index=False)
    said, _ = predict(run, "moved.csv", "--report", str(tmp_path / "moved.html"))
    page = " ".join((tmp_path / "moved.html").read_text().split())
    assert "known vertices are far from what they were" in page
    assert "ignore the ids with --forget-ids" in page
    assert "known vertices are far from what they were" in said
    assert "ignore the ids with --forget-ids" in said
    edges = pd.read_csv(grown[1], dtype=str)
    for frame, path in ((table, grown[3]), (edges, grown[1])):
        frame.replace(r"^v(\d+)$", r"w\1", regex=True).to_csv(path, index=False)
    said, _ = predict(run, "strangers.csv")
    assert "No vertex is known by its id from the fit" in said
