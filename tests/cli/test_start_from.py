"""A run is started from, and repeated by its command."""

from __future__ import annotations

import json
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from tests.processes import Command

from graphfilter import (
    GraphClassifier,
    SGFClassifier,
    SGFRegressor,
    SystemClassifier,
    SystemRegressor,
)
from graphfilter.data import make_karate
from graphfilter.estimators.vertex import VertexEstimator
from graphfilter.runs.folder import repeat_command
from graphfilter.runs.plan import Source, plan_fit
from graphfilter.web.fits import Setting

N, N_OLD = 150, 110
QUICK = ("--epochs", 10, "--no-baselines", "--quiet")


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, tuple[str, ...]]:
    """Write the tables of two months: the second has more rows, and words that are new."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 2)).round(3)
    vertices = pd.DataFrame({"id": [f"v{i}" for i in range(N)], "age": x[:, 0], "size": x[:, 1]})
    vertices["colour"] = rng.choice(["red", "blue"], N)
    vertices["drink"] = np.where(x[:, 0] > 0, "tea", "coffee")
    vertices.loc[N - 1, "colour"] = "mauve"
    ends = rng.integers(0, N, (400, 2))
    found = {}
    for name, n in (("old", N_OLD), ("new", N)):
        own = ends[(ends < n).all(axis=1) & (ends[:, 0] != ends[:, 1])]
        edges = pd.DataFrame([[f"v{a}", f"v{b}"] for a, b in own], columns=["from", "to"])
        edges.to_csv(tmp_path / f"{name}_edges.csv", index=False)
        vertices[:n].sample(frac=1, random_state=1).to_csv(tmp_path / f"{name}.csv", index=False)
        files = (tmp_path / f"{name}_edges.csv", tmp_path / f"{name}.csv")
        found[name] = ("--edges", str(files[0]), "--vertices", str(files[1]), "--label", "drink")
    return found


@pytest.fixture
def run(graphfilter, tables, tmp_path: Path) -> Path:
    words = ("--model", "sgf", "--layers", 3, "--out", tmp_path / "run")
    done = graphfilter("fit", *tables["old"], *words, *QUICK)
    assert done.code == 0, done.err
    return tmp_path / "run"


def parts(run: Path) -> dict[str, str]:
    table = pd.read_csv(run / "predictions.csv")
    return dict(zip(table["id"], table["part"], strict=True))


def test_run_begins_with_the_model_columns_and_parts_of_another(
    graphfilter, tables, run: Path, tmp_path: Path
) -> None:
    out = tmp_path / "next"
    words = ("--start-from", run, "--out", out, "--no-baselines")
    done = graphfilter("fit", *tables["new"], *words)
    assert done.code == 0, done.err
    assert "1 of 1 network started from the earlier weights" in done.err
    config, before = (json.loads((folder / "config.json").read_text()) for folder in (out, run))
    start = config["run"]["start_from"]
    assert start == {"run": str(run), "model_sha256": before["model_sha256"]}
    assert before["run"]["start_from"] == {}
    assert config["parameters"]["n_layers"] == 3
    assert config["feature_names"] == before["feature_names"]
    assert f"--start-from {run}" in config["run"]["command"]
    old, new = parts(run), parts(out)
    assert all(new[id] == part for id, part in old.items())
    assert {new[id] for id in new.keys() - old.keys()} == {"train", "val", "test"}
    # The command that repeats it is one that runs, and gives the same.
    repeat = config["run"]["command"].split()[1:-1]
    assert graphfilter(*repeat, tmp_path / "again").code == 0
    first, second = ((f / "predictions.csv").read_bytes() for f in (out, tmp_path / "again"))
    assert first == second


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
def test_killed_fit_resumes_to_the_same_bytes(
    graphfilter, tables, run: Path, tmp_path: Path
) -> None:
    words = [*tables["new"], "--start-from", run, "--epochs", 1000, "--patience", 1000]
    words += ["--no-baselines", "--quiet"]
    with Command(["fit", *words, "--out", tmp_path / "cut"], tmp_path / "said") as fit:
        fit.wait_for(tmp_path / "cut" / "checkpoint.safetensors")
        fit.send(signal.SIGKILL)
        assert fit.wait()
    for out, more in (("cut", ["--resume"]), ("whole", [])):
        done = graphfilter("fit", *words, "--out", tmp_path / out, *more)
        assert done.code == 0, done.err
    cut, whole = ((tmp_path / n / "predictions.csv").read_bytes() for n in ("cut", "whole"))
    assert cut == whole


def test_what_cannot_be_started_from_is_one_line(
    graphfilter, tables, run: Path, tmp_path: Path
) -> None:
    new, vertices = tables["new"], Path(tables["new"][3])
    frame = pd.read_csv(vertices)
    frame.rename(columns={"age": "years"}).to_csv(tmp_path / "years.csv", index=False)
    frame.assign(drink=frame["drink"].replace("tea", "milk")).to_csv(
        tmp_path / "milk.csv", index=False
    )
    frame.assign(split="test").assign(
        split=np.where(frame["id"].str.len() == 2, "train", "test")
    ).to_csv(tmp_path / "split.csv", index=False)
    for words, said in (
        ((*new, "--model", "gcn"), "--model must be that of the run"),
        ((*new, "--model", "sgf", "--layers", 5), "of the model to be fitted"),
        ((*new, "--column", "size=drop"), "=drop must be as in the run"),
        ((*new, "--repeats", 2), "leave it out with --start-from"),
        ((*new[:3], tmp_path / "years.csv", *new[4:]), "'age'"),
        ((*new[:3], tmp_path / "milk.csv", *new[4:]), "it predicts 'coffee', 'tea'"),
        ((*new[:3], tmp_path / "split.csv", *new[4:]), "keep their parts"),
        (("--dataset", "karate"), "a graph of the same source"),
    ):
        out = tmp_path / "out"
        done = graphfilter("fit", *words, "--start-from", run, "--out", out, "--quiet")
        assert done.code == 2, words
        assert said in done.err
        assert len(done.err.strip().splitlines()) == 1, done.err
        assert not out.exists()
    missing = graphfilter("fit", *new, "--start-from", tmp_path / "none", "--out", tmp_path / "o")
    assert missing.code == 2
    (run / "predictions.csv").unlink()
    gone = graphfilter("fit", *new, "--start-from", run, "--out", tmp_path / "o", "--quiet")
    assert gone.code == 2
    assert "predictions.csv" in gone.err


def test_run_is_not_written_over_the_one_it_starts_from(graphfilter, tables, run: Path) -> None:
    before = (run / "model.safetensors").read_bytes()
    words = ("--start-from", run, "--out", run.parent / "." / run.name, "--overwrite", "--quiet")
    refused = graphfilter("fit", *tables["new"], *words)
    assert refused.code == 2
    assert "--out must be another folder than that of --start-from" in refused.err
    assert "could not be repeated" in " ".join(refused.err.split())
    assert (run / "model.safetensors").read_bytes() == before


KARATE = ("--dataset", "karate")
Parse = Callable[[str], dict[str, Any]]


@pytest.fixture
def parse(monkeypatch: pytest.MonkeyPatch) -> Parse:
    """Run a command up to its training; return what would be trained."""
    from graphfilter.cli import main

    def run(command: str) -> dict[str, Any]:
        seen: dict[str, Any] = {}

        def keep(plan: Any, estimator: Any, how: Any, request: Any, **_: Any) -> None:
            seen.update(plan=plan, estimator=estimator, how=how, request=request)

        monkeypatch.setattr("graphfilter.cli.fit.run_fit", keep)
        monkeypatch.setattr("sys.argv", shlex.split(command))
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
        return seen

    return run


def repeated(estimator: VertexEstimator, *words: str, baselines: bool = True) -> str:
    source = Source(make_karate(), words=(*KARATE, *words))
    return repeat_command(plan_fit(source, 7), estimator, "run", baselines=baselines)


@pytest.mark.parametrize(
    "estimator",
    [
        GraphClassifier(random_state=7),
        GraphClassifier(seconds=20.0, random_state=7),
        GraphClassifier(effort="low", max_epochs=9, class_weight="balanced", random_state=7),
        SGFClassifier(random_state=7),
        SGFClassifier(
            n_layers=3, hidden_size=8, operator="laplacian", filter_init="uniform", dropout=0.25,
            n_members=2, patience=5, monitor="roc_auc", feature_scaling="row", device="cpu",
            random_state=7,
        ),
        SystemClassifier(model="appnp@K=8", max_epochs=9, n_members=2, random_state=7),
    ],
)  # fmt: skip
def test_repeated_command_gives_the_same_estimator(
    parse: Parse, estimator: VertexEstimator
) -> None:
    seen = parse(repeated(estimator, baselines=False))
    assert type(seen["estimator"]) is type(estimator)
    assert seen["estimator"].get_params() == estimator.get_params()
    assert (seen["plan"].seed, seen["how"].baselines, str(seen["how"].out)) == (7, False, "run")


def test_repeated_command_gives_the_same_wishes(parse: Parse) -> None:
    said = ("--cost", "Officer:Mr. Hi=5", "--positive", "Officer", "--repeats", "3", "--title", "A")
    seen = parse(repeated(SGFClassifier(), *said))
    assert seen["plan"].source.words == (*KARATE, *sorted_like(seen["plan"].source.words[2:], said))
    asked = seen["request"]
    assert (asked.costs, asked.positive, asked.repeats) == (("Officer:Mr. Hi=5",), "Officer", 3)


def sorted_like(found: tuple[str, ...], said: tuple[str, ...]) -> tuple[str, ...]:
    assert sorted(found) == sorted(said)
    return found


@pytest.mark.parametrize(
    "setting",
    [Setting(model="filter"), Setting(model="filter", max_epochs=40, baselines=False, seed=3)],
)
def test_command_of_the_studio_repeats_its_setting(parse: Parse, setting: Setting) -> None:
    estimator = setting.classifier()
    plan = plan_fit(Source(make_karate(), words=KARATE), setting.seed)
    seen = parse(repeat_command(plan, estimator, "run", baselines=setting.baselines))
    assert type(seen["estimator"]) is SGFClassifier
    params = seen["estimator"].get_params()
    wanted = msgspec.structs.asdict(setting)
    assert (wanted.pop("model"), wanted.pop("effort")) == ("filter", "full")
    assert params["random_state"] == seen["plan"].seed == wanted.pop("seed")
    assert seen["how"].baselines is wanted.pop("baselines")
    assert {name: params[name] for name in wanted} == wanted


@pytest.mark.parametrize("kind", [SGFRegressor, SystemRegressor])
def test_command_of_numbers_names_its_model(kind: type[VertexEstimator]) -> None:
    assert "--model sgf" in repeated(kind(), "--number", "price")


def test_parameters_without_an_option_have_no_command() -> None:
    assert repeated(SGFClassifier(learning_rate=0.1)) == ""
    assert repeated(SGFClassifier(class_weight={"Officer": 2.0})) == ""
