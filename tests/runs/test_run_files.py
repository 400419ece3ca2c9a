"""The files of a run, typed: what fit writes is what is read back."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphfilter import SGFClassifier
from graphfilter.data import Columns, make_karate, read_tables, write_tables
from graphfilter.runs.folder import fit_folder
from graphfilter.runs.loading import load_run
from graphfilter.runs.plan import Source, plan_fit
from graphfilter.runs.predict import predict_graph
from graphfilter.util.errors import GraphError, ModelFileError
from graphfilter.util.records import (
    matches,
    read_checked_json,
    read_json,
    to_plain,
    write_checked_json,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on tables, with columns that were named."""
    place = tmp_path_factory.mktemp("tables")
    columns = Columns(id="id", label="label", drop=("f3",))
    graph, encoder = read_tables(*write_tables(make_karate(), place), columns=columns)
    source = Source(graph, encoder, {"vertices": "vertices.csv"}, columns)
    classifier = SGFClassifier(n_layers=2, max_epochs=5, random_state=3)
    plan = plan_fit(source, 3)
    fit_folder(plan, classifier, place / "run", baselines=False, command_out="there")
    return place / "run"


def test_metrics_hold_what_their_readers_know(folder: Path) -> None:
    metrics = read_json(folder / "metrics.json")
    assert set(metrics) == {
        "task", "target", "scores", "headline", "split_rule", "label_frequency",
        "label_frequency_mean", "filter", "epochs", "best_epoch", "stopped", "seconds",
        "peak_memory_mb", "decision", "leaderboard",
    }  # fmt: skip
    assert matches(metrics["scores"], dict[str, dict[str, float | None]])
    assert matches(metrics["label_frequency"], dict[str, float | None])
    assert metrics["stopped"] == ["max_epochs"]
    assert set(metrics["scores"]) == {"train", "val", "test"}


def test_run_comes_back_as_it_was_described(folder: Path) -> None:
    classifier, run, encoder = load_run(folder)
    assert (
        run.command
        == "graphfilter fit --model sgf --epochs 5 --set n_layers=2 --seed 3 --no-baselines "
        "--out there"
    )
    assert run.seed == 3
    assert run.columns == Columns(id="id", label="label", drop=("f3",))
    assert encoder is not None
    assert to_plain(asdict(run)) == read_checked_json(folder / "config.json")["run"]
    assert classifier.n_layers == 2


def test_run_of_an_older_version_takes_defaults(folder: Path, tmp_path: Path) -> None:
    change(folder, tmp_path, {"seed": 3, "of_a_newer_version": 1})
    _, run, encoder = load_run(tmp_path)
    assert (run.seed, run.vertex_features, run.columns, encoder) == (3, True, None, None)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (None, "no run"),
        ([1], "does not describe a run"),
        ({"seed": "3"}, r"does not describe a run \(\$\.seed"),
        ({"columns": {"id": 5}}, r"\$\.columns\.id"),
        ({"encoder": {"columns": 5}}, "encoder is damaged"),
    ],
)
def test_run_that_is_damaged_is_an_error(folder: Path, tmp_path: Path, run, words: str) -> None:
    change(folder, tmp_path, run)
    with pytest.raises(ModelFileError, match=words):
        load_run(tmp_path)


def change(folder: Path, copy: Path, run: Any) -> None:
    """Copy a run, with another description."""
    for name in ("config.json", "model.safetensors"):
        (copy / name).write_bytes((folder / name).read_bytes())
    config = read_checked_json(copy / "config.json")
    write_checked_json(copy / "config.json", {**config, "run": run})


def test_model_without_features_predicts_its_own_graph_only(tmp_path: Path) -> None:
    graph = make_karate()
    bare = graph.replace(features=None, feature_names=None)
    classifier = SGFClassifier(n_layers=2, max_epochs=5, random_state=0)
    done = fit_folder(plan_fit(Source(bare), 0), classifier, tmp_path / "run", baselines=False)
    loaded, run, _ = load_run(tmp_path / "run")
    assert not run.vertex_features
    np.testing.assert_allclose(predict_graph(loaded, run, bare), done.fit.outputs)
    with pytest.raises(GraphError, match="only the graph it was fitted on"):
        predict_graph(loaded, run, bare.subgraph(np.arange(30)))
