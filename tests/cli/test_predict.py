"""predict on the command line."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.samples import dropping

import graphfilter as gf
from graphfilter.runs.loading import load_run
from graphfilter.runs.predict import predict_run
from graphfilter.util.words import number

N, GROWN = 150, 200
QUICK = ("--model", "sgf", "--epochs", 15, "--set", "n_layers=2", "--no-baselines", "--quiet")
TARGETS = {
    "kind": ("--label", "kind", *dropping("price", "lift", "garden")),
    "number": ("--number", "price", *dropping("kind", "lift", "garden")),
    "labels": ("--multilabel", "lift,garden", *dropping("kind", "price")),
}


def write_tables(folder: Path, n: int, order: np.ndarray | None = None) -> tuple[str, ...]:
    """Write the first ``n`` vertices of one graph, and the edges between them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(GROWN, 3))
    frame = pd.DataFrame({"id": [f"v{i}" for i in range(GROWN)], "a": x[:, 0], "b": x[:, 1]})
    frame["kind"] = np.where(x[:, 0] + 0.5 * x[:, 2] > 0, "tea", "coffee")
    frame["price"] = np.exp(3 + x[:, 0] + 0.1 * x[:, 2])
    frame["lift"], frame["garden"] = (x[:, 0] > 0).astype(int), (x[:, 1] > 0.5).astype(int)
    pairs = rng.integers(0, GROWN, size=(500, 2))
    pairs = pairs[(pairs[:, 0] != pairs[:, 1]) & (pairs < n).all(axis=1)]
    frame = frame.iloc[:n]
    frame.loc[frame.index % 10 == 9, "kind"] = ""
    folder.mkdir(exist_ok=True)
    edges = pd.DataFrame([(f"v{s}", f"v{t}") for s, t in pairs], columns=["from", "to"])
    edges.to_csv(folder / "edges.csv", index=False)
    frame.iloc[slice(None) if order is None else order].to_csv(folder / "v.csv", index=False)
    return "--edges", str(folder / "edges.csv"), "--vertices", str(folder / "v.csv")


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype={"id": str}, keep_default_na=False).set_index("id")


def test_outputs_are_no_files_of_the_run(graphfilter, tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "tables", N)
    run = tmp_path / "run"
    graphfilter("fit", *tables, *TARGETS["kind"], "--out", run, *QUICK)
    before = {file.name: file.read_bytes() for file in run.iterdir()}
    predict = ("predict", run, *tables, "--overwrite")
    new = tmp_path / "new.csv"
    for words in (
        (*predict, "--out", run / "config.json"),
        (*predict, "--out", run / ".." / "run" / "predictions.csv"),
        (*predict, "--out", new, "--report", run / "report.html"),
        ("explain", run, "--vertex", "v3", "--json", run / "metrics.json", "--overwrite"),
        ("suggest", run, "--csv", run / "predictions.csv", "--overwrite"),
    ):
        refused = graphfilter(*words, code=2)
        assert "belongs to the run itself; give another file." in " ".join(refused.err.split())
    assert {file.name: file.read_bytes() for file in run.iterdir()} == before
    assert not new.exists()


def test_part_says_what_a_vertex_was_in_the_run(graphfilter, tmp_path: Path) -> None:
    small = write_tables(tmp_path / "small", N)
    run, out = tmp_path / "run", tmp_path / "p.csv"
    graphfilter("fit", *small, *TARGETS["kind"], "--out", run, *QUICK)
    shuffled = np.random.default_rng(1).permutation(GROWN)
    grown = write_tables(tmp_path / "grown", GROWN, shuffled)
    result = graphfilter("predict", run, *grown, "--label", "kind", "--out", out)
    was, now = read(run / "predictions.csv")["part"], read(out)
    assert now.loc[was.index, "part"].equals(was)
    assert set(now.index[now["part"] == "new"]) == {f"v{i}" for i in range(N, GROWN)}
    counts = was.value_counts()
    said = result.out.replace("\n", " ")
    assert f"on the {counts['train']} trained on" in said
    assert f"on the {counts['val']} validated on" in said
    # A tenth of the 50 new rows has no label.
    assert f"Accuracy on the {counts['test'] + 45} labelled rows not used for training" in said
    assert f"200 rows predicted: 50 new, {counts['train']} trained on" in said
    truth = pd.read_csv(grown[3], dtype=str, keep_default_na=False).set_index("id")["kind"]
    new = now[(now["part"] == "new") & (truth[now.index] != "")]
    assert f"(on the 45 new: {(new['predicted'] == truth[new.index]).mean():.1%}, on" in said


def test_vertices_are_unknown_where_the_run_lost_its_predictions(graphfilter, tmp_path) -> None:
    tables = write_tables(tmp_path / "small", N)
    run, out = tmp_path / "run", tmp_path / "p.csv"
    graphfilter("fit", *tables, *TARGETS["kind"], "--out", run, *QUICK)
    (run / "predictions.csv").unlink()
    result = graphfilter("predict", run, *tables, "--out", out)
    assert set(read(out)["part"]) == {"unknown"}
    assert "predictions.csv, which says what they were, cannot be read" in result.out


@pytest.mark.parametrize("what", TARGETS)
def test_predict_promises_what_the_fit_did(graphfilter, tmp_path: Path, what: str) -> None:
    small, grown = write_tables(tmp_path / "s", N), write_tables(tmp_path / "g", GROWN)
    run, out = tmp_path / "run", tmp_path / "p.csv"
    fit = ("fit", *small, *TARGETS[what], "--coverage", 0.8, "--out", run)
    graphfilter(*fit, *QUICK)
    result = graphfilter("predict", run, *grown, "--out", out)
    assert "not guaranteed for rows of another type, time or origin" in result.out.replace(
        "\n", " "
    )
    estimator, about, encoder = load_run(run)
    assert about.coverage == 0.8
    graph, _ = gf.read_tables(grown[1], grown[3], columns=about.columns, encoder=encoder)
    made = predict_run(run, estimator, about, graph)
    found, said = read(out), " ".join(result.out.split())
    unseen = found[~found["part"].isin(["train", "val"])]
    if what == "number":
        width = np.median(unseen["high"] - unseen["low"])
        assert f"have a median width of {number(width)} on unseen rows." in said
        assert made.intervals is not None
        low, high = made.intervals[:, 0].T
        np.testing.assert_allclose(found["low"], low, rtol=1e-5)
        np.testing.assert_allclose(found["high"], high, rtol=1e-5)
        assert (found["low"] <= found["high"]).all()
        return
    size = np.mean([len(list(filter(None, words.split(";")))) for words in unseen["set"]])
    of = "labels" if what == "labels" else "classes"
    assert f"have {size:.2f} {of} on average on unseen rows." in said
    sets = made.sets()
    assert sets is not None
    for words, row in zip(found["set"], sets, strict=True):
        assert set(filter(None, words.split(";"))) == {
            n for n, i in zip(made.names, row, strict=True) if i
        }


def test_coverage_of_predict_is_its_own(graphfilter, tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "small", N)
    run, out = tmp_path / "run", tmp_path / "p.csv"
    graphfilter("fit", *tables, *TARGETS["kind"], "--out", run, *QUICK)
    sizes = []
    for coverage in (0.5, 0.95):
        words = ("--coverage", coverage, "--out", out, "--overwrite")
        graphfilter("predict", run, *tables, *words)
        sizes.append(read(out)["set"].str.split(";").str.len().sum())
    assert sizes[0] < sizes[1]
    for wrong in (0, 1, 1.5):
        result = graphfilter(
            "predict", run, *tables, "--coverage", wrong, "--out", tmp_path / "q.csv", code=2
        )
        assert "coverage must be between 0 and 1" in result.err


@pytest.fixture
def run(graphfilter, tmp_path: Path) -> Path:
    """Return a run on the first vertices that keeps its graph."""
    small = write_tables(tmp_path / "small", N)
    words = ("fit", *small, *TARGETS["kind"], "--out", tmp_path / "run")
    result = graphfilter(*words, *QUICK[:-1])
    assert "the graph is saved (graph.npz" in result.err
    return tmp_path / "run"


def write_new(folder: Path, **changes: object) -> tuple[str, ...]:
    """Write the rows that came since, their edges, and v7 with other features."""
    grown = write_tables(folder, GROWN)
    edges, rows = pd.read_csv(grown[1]), pd.read_csv(grown[3], keep_default_na=False)
    numbers = edges.map(lambda name: int(name[1:]))
    edges[(numbers >= N).any(axis=1)].to_csv(grown[1], index=False)
    rows.loc[7, "a"] = 2.5
    new = rows.iloc[[7, *range(N, GROWN)]]
    new.assign(**changes).to_csv(grown[3], index=False)
    whole = write_tables(folder / "whole", GROWN)
    rows.to_csv(whole[3], index=False)
    return grown


def test_new_rows_are_joined_to_the_graph_of_the_run(graphfilter, run, tmp_path: Path) -> None:
    new, out, whole = write_new(tmp_path / "new"), tmp_path / "p.csv", tmp_path / "whole.csv"
    result = graphfilter("predict", run, "--with", "run", *new, "--out", out)
    said = result.out.replace("\n", " ")
    assert "Graph used: the graph saved with the run (150 rows" in said
    assert "with 50 new rows, 1 known with the features given, " in said
    all_rows = (
        "--edges",
        tmp_path / "new/whole/edges.csv",
        "--vertices",
        tmp_path / "new/whole/v.csv",
    )
    result = graphfilter("predict", run, *all_rows, "--out", whole)
    assert "Graph used: the one given (200 rows" in result.out.replace("\n", " ")
    few, every = read(out), read(whole)
    assert list(few.index) == ["v7", *(f"v{i}" for i in range(N, GROWN))]
    columns = ["probability", "p_coffee", "p_tea"]
    expected = every.loc[few.index]
    np.testing.assert_allclose(few[columns], expected[columns], atol=2e-6)
    assert few[["predicted", "part"]].equals(expected[["predicted", "part"]])
    assert set(few["part"][1:]) == {"new"}


def test_error_about_known_neighbours_names_both_remedies(graphfilter, run, tmp_path) -> None:
    new, out = write_new(tmp_path / "new"), tmp_path / "p.csv"
    refused = graphfilter("predict", run, *new, "--out", out, code=2)
    assert "or pass --with run, which takes known vertices from the graph" in refused.err
    assert "--allow-missing, which leaves such edges out" in refused.err
    graphfilter("predict", run, *new, "--allow-missing", "--out", out)


def test_what_cannot_be_joined_is_one_line(graphfilter, run, tmp_path: Path) -> None:
    new, out = write_new(tmp_path / "new"), tmp_path / "p.csv"
    edges, rows = Path(new[1]), Path(new[3])
    before = edges.read_text(), rows.read_text()
    base = ("predict", run, "--out", out)

    def refused(*words: object) -> str:
        result = graphfilter(*base, *words, code=2)
        assert not out.exists()
        return result.err

    edges.write_text(before[0] + "v160,nobody\n")
    message = refused("--with", "run", *new)
    assert "'nobody' is not in v.csv, nor in the graph saved with the run. Add it" in message
    edges.write_text(before[0])
    rows.write_text(before[1] + before[1].splitlines()[-1] + "\n")
    assert "is also on line" in refused("--with", "run", *new)
    rows.write_text(before[1])
    assert "--with must be run" in refused("--with", "other", *new)
    assert "leave it out with --dataset" in refused("--with", "run", "--dataset", "karate")
    assert "--with needs a table of new rows" in refused("--with", "run")
    content = bytearray((run / "graph.npz").read_bytes())
    content[len(content) // 2] ^= 1
    (run / "graph.npz").write_bytes(content)
    assert "its checksum says that it was changed" in refused("--with", "run", *new)
    (run / "graph.npz").unlink()
    assert "there is no such file" in refused("--with", "run", *new)


def test_rows_alone_update_features(graphfilter, run, tmp_path: Path) -> None:
    new, out = write_new(tmp_path / "new"), tmp_path / "p.csv"
    result = graphfilter("predict", run, "--with", str(run), *new[2:], "--out", out)
    assert "1 known with the features given, 0 new edges" in result.out.replace("\n", " ")
    assert len(read(out)) == GROWN - N + 1


def test_graph_is_kept_where_it_is_small_or_asked_for(
    graphfilter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphfilter.runs.folder.KEPT_BYTES", 1000)
    tables = write_tables(tmp_path / "small", N)
    fit = ("fit", *tables, *TARGETS["kind"], *QUICK[:-1], "--overwrite", "--out", tmp_path / "run")
    said = graphfilter(*fit).err.replace("\n", " ")
    assert "is not saved; --set keep_graph does so." in said
    assert not (tmp_path / "run/graph.npz").exists()
    refused = graphfilter(
        "predict", tmp_path / "run", "--with", "run", *tables, "--out", tmp_path / "p.csv", code=2
    )
    assert "the run has no saved graph. Fit again with --set keep_graph" in refused.err
    graphfilter(*fit, "--set", "keep_graph")
    assert (tmp_path / "run/graph.npz").exists()
    assert "--set", "keep_graph" in load_run(tmp_path / "run")[1].command
    monkeypatch.setattr("graphfilter.runs.folder.KEPT_BYTES", 1 << 26)
    result = graphfilter(*fit, "--set", "keep_graph=no")
    assert "The graph" not in result.err
    assert not (tmp_path / "run/graph.npz").exists()
    assert "--set", "keep_graph=no" in load_run(tmp_path / "run")[1].command


def test_run_without_features_keeps_no_graph(graphfilter, tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "small", N)
    words = (
        "--label",
        "kind",
        *dropping("a", "b", "price", "lift", "garden"),
        "--set",
        "keep_graph",
    )
    graphfilter("fit", *tables, *words, "--out", tmp_path / "run", *QUICK)
    assert not (tmp_path / "run/graph.npz").exists()


def test_page_says_what_moved(graphfilter, run, tmp_path: Path) -> None:
    new, out, page = write_new(tmp_path / "new", a=9.5), tmp_path / "p.csv", tmp_path / "p.html"
    words = ("predict", run, "--with", "run", *new, "--label", "kind")
    result = graphfilter(*words, "--out", out, "--report", page)
    said = result.out.replace("\n", " ")
    assert "Drift: of " in said
    assert "of the 50 new rows with those of the fit" in said
    assert "'a' above " in said
    content = page.read_text()
    assert "&#39;a&#39; above " in content
    assert "Graph used: the graph saved with the run (150 rows" in content
    shown = re.sub(r"(?s)<(style|script).*?</\1>|<[^>]+>", " ", content)
    assert not re.findall(r".{0,60}(?<![/-])\bvert(?:ex|ices)\b.{0,60}", shown, re.IGNORECASE)
    assert "trained on" in content
    for file, message in ((page, "exists"), (out, "must end in .html"), ("x/y.html", "no such")):
        again = graphfilter(*words, "--out", tmp_path / "q.csv", "--report", file, code=2)
        assert message in again.err


def test_damaged_reference_is_one_line_before_anything_is_written(
    graphfilter, run, tmp_path: Path
) -> None:
    tables = write_tables(tmp_path / "small", N)
    content = bytearray((run / "reference.safetensors").read_bytes())
    content[-3] ^= 1
    (run / "reference.safetensors").write_bytes(content)
    refused = graphfilter("predict", run, *tables, "--out", tmp_path / "p.csv", code=2)
    assert "reference.safetensors: must be as it was saved" in refused.err
    assert not (tmp_path / "p.csv").exists()


def test_ids_that_are_forgotten_are_in_no_graph(graphfilter, tmp_path: Path) -> None:
    tables = write_tables(tmp_path / "small", N)
    fit = (
        "fit",
        *tables,
        *TARGETS["kind"],
        "--out",
        tmp_path / "run",
        *QUICK,
        "--set",
        "forget_ids",
    )
    refused = graphfilter(*fit, "--set", "keep_graph", code=2)
    assert "--set keep_graph keeps the ids that --set forget_ids leaves" in refused.err
    graphfilter(*fit)
    assert not (tmp_path / "run/graph.npz").exists()


LOW = (
    "--model",
    "committee-low",
    "--epochs",
    5,
    "--no-baselines",
    "--set",
    "keep_graph=no",
    "--quiet",
)


def test_known_vertices_are_told_and_forgotten_where_asked(graphfilter, tmp_path: Path) -> None:
    small = write_tables(tmp_path / "small", N)
    grown = write_tables(tmp_path / "grown", GROWN)
    run, forgetful = tmp_path / "run", tmp_path / "forgetful"
    fit = ("fit", *small, *TARGETS["kind"], *LOW)
    graphfilter(*fit, "--out", run)
    graphfilter(*fit, "--out", forgetful, "--set", "forget_ids")

    def predict(folder: Path, name: str, *words: str) -> tuple[str, pd.DataFrame]:
        out = tmp_path / name
        result = graphfilter("predict", folder, *grown, *words, "--out", out, "--overwrite")
        assert "Warning" not in result.err
        return " ".join(result.out.split()), read(out)

    said, known = predict(run, "known.csv")
    assert f"{N} of {GROWN} rows are known by id from the fit." in said
    said, new = predict(run, "new.csv", "--set", "forget_ids")
    assert "The model keeps no ids (--as-of and --set forget_ids leave them out)" in said
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
    assert "known rows are far from what they were" in page
    assert "--set forget_ids ignores them" in page
    assert "known rows are far from what they were" in said
    assert "--set forget_ids ignores them" in said
    edges = pd.read_csv(grown[1], dtype=str)
    for frame, path in ((table, grown[3]), (edges, grown[1])):
        frame.replace(r"^v(\d+)$", r"w\1", regex=True).to_csv(path, index=False)
    said, _ = predict(run, "strangers.csv")
    assert "No row is known by its id from the fit" in said
