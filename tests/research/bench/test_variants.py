"""Systems in a setting of one's own: name@key=value."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfilter import SystemClassifier
from graphfilter.data import make_karate
from graphfilter.systems import SYSTEMS, find_system, get_system
from graphfilter.util.errors import ConfigError
from graphfilter_research.bench.benchmark import run_benchmark
from graphfilter_research.bench.benchmark_page import commands, write_benchmark
from graphfilter_research.bench.record import read_records
from graphfilter_research.bench.summary import summarise


def test_variant_changes_how_a_system_is_trained_and_nothing_else() -> None:
    known = SYSTEMS["gcnii-authors"]
    variant = get_system("gcnii-authors@weight_decay=5e-5@max_epochs=7")
    assert (variant.config.weight_decay, variant.config.max_epochs) == (5e-5, 7)
    assert variant.config.learning_rate == known.config.learning_rate
    assert variant.model == known.model
    assert variant.operator == known.operator
    # What the authors recommend for a dataset is changed too.
    assert variant.for_dataset("texas").config.weight_decay == 5e-5
    assert variant.for_dataset("texas").settings()["n_layers"] == 32
    assert variant.name == "gcnii-authors@max_epochs=7@weight_decay=5e-05"
    assert get_system(variant.name).name == variant.name


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("sgf@", "key=value"),
        ("sgf@patience", "key=value"),
        ("sgf@patience=3@patience=3", "each once"),
        ("sgf@weigth_decay=1", "did you mean 'weight_decay'"),
        ("sgf@patience=1.5", "must be a whole number; got '1.5'"),
        ("sgf@weight_decay=much", "must be a number; got 'much'"),
        ("sgf@weight_decay=-1", "must not be negative"),
        ("sgf@weight_decay=nan", "must be a finite number"),
        ("sgf@monitor=lost", "did you mean 'loss'"),
        ("sfg@patience=3", "did you mean 'sgf'"),
        ("label-propagation@patience=3", "not trained"),
    ],
)
def test_variant_must_change_something_that_there_is(name: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        get_system(name)
    assert find_system(name) is None


def test_variants_are_compared_under_their_names(tmp_path: Path) -> None:
    models = ["sgf", "sgf@weight_decay=0.5"]
    out = tmp_path / "records.jsonl"
    records = run_benchmark(["karate"], models, out=out, runs=2, max_epochs=5)
    assert [(r.model, r.config["weight_decay"]) for r in records[::2]] == [
        ("sgf", 5e-4),
        ("sgf@weight_decay=0.5", 0.5),
    ]
    (summary,) = summarise(records)
    assert list(summary.models) == models
    (command,) = commands(records, "records.jsonl")
    assert "--models sgf,sgf@weight_decay=0.5 " in command
    write_benchmark(tmp_path / "page.html", read_records(out), name="records", metric="accuracy")
    assert "SGF with weight_decay=0.5" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_classifier_takes_a_variant() -> None:
    clf = SystemClassifier(model="sgc@max_epochs=3", random_state=0).fit(graph=make_karate())
    assert clf.n_epochs_ == 3
